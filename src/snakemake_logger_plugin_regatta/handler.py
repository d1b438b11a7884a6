"""The handler that Snakemake calls with all that it has to say, from a thread of its own.

Nothing that goes wrong here stops the workflow: what cannot be shown or written down is given up, and that is said once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from logging import WARNING, LogRecord
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.base import LogHandlerBase

if TYPE_CHECKING:
    from snakemake_logger_plugin_regatta.happenings import Happenings
    from snakemake_logger_plugin_regatta.screen import Screen


class LogHandler(LogHandlerBase):
    """Writes events, and is what a person sees: a bar on a terminal; elsewhere Snakemake's own text, as ever.

    With `--quiet all`, by which Snakemake hides them, errors are shown all the same.
    """

    def __post_init__(self) -> None:
        settings = self.common_settings
        quiet = {str(getattr(word, "name", word)).lower() for word in settings.quiet or ()}
        idle = settings.dryrun or "--touch" in sys.argv or "-t" in sys.argv
        self._happenings: Happenings | None = None
        self._screen: Screen | None = None
        self._complained = False
        if not idle:
            from snakemake_logger_plugin_regatta.happenings import Happenings

            self._happenings = Happenings()
        talkative = settings.verbose or settings.debug_dag
        errors_only = "all" in quiet and not settings.dryrun
        if errors_only or not (idle or quiet or talkative or not sys.stderr.isatty()):
            from snakemake_logger_plugin_regatta.screen import Screen

            self._screen = Screen(errors_only, settings.nocolor)

    @property
    def writes_to_stream(self) -> bool:
        """Whether Snakemake's own text is left out."""
        return self._screen is not None

    @property
    def writes_to_file(self) -> bool:
        """No: Snakemake takes such a file for its log."""
        return False

    @property
    def has_filter(self) -> bool:
        """Yes: all must be seen here, whatever is shown."""
        return True

    @property
    def has_formatter(self) -> bool:
        """No: errors are shown in Snakemake's words."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """No."""
        return False

    def emit(self, record: LogRecord) -> None:
        """Take one thing that Snakemake says."""
        job = self._try(self._happenings.take, record) if self._happenings else None
        if self._screen is None:
            return
        if job is not None:
            self._try(self._screen.show, job)
        try:
            self._screen.take(record, self.format)
        except Exception as error:
            self._complain(error)
            if record.levelno >= WARNING:
                with suppress(Exception):
                    print(self.format(record), file=sys.stderr, flush=True)

    def close(self) -> None:
        """The workflow has ended."""
        if self._screen is not None:
            self._try(self._screen.close)
        if self._happenings is not None:
            self._try(self._happenings.close)
        self._happenings = self._screen = None
        super().close()

    def _try(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            self._complained = True
            with suppress(Exception):
                print(f"regatta's logger: {error} · the work goes on", file=sys.stderr, flush=True)
