"""Log handler that Snakemake calls with all messages, from a separate thread.

Errors here never stop the workflow: failed output is dropped, with one message.
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
    """Writes events and shows progress: a bar on a terminal; elsewhere the text of Snakemake.

    Errors are shown even with `--quiet all`, which hides them in Snakemake.
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
        """Return whether this handler replaces the text of Snakemake."""
        return self._screen is not None

    @property
    def writes_to_file(self) -> bool:
        """Return False: Snakemake would use such a file as its log."""
        return False

    @property
    def has_filter(self) -> bool:
        """Return True: all messages are needed here, independent of those shown."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Return False: errors keep the format of Snakemake."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """Return False."""
        return False

    def emit(self, record: LogRecord) -> None:
        """Handle one message of Snakemake."""
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
        """Handle the end of the workflow."""
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
                print(f"logger of Regatta: {error} · the workflow continues", file=sys.stderr, flush=True)
