"""A thread that reads the output of a tracer. Errors are kept and raised when the trace ends."""

from __future__ import annotations

import threading
from collections.abc import Callable

from regatta.host.errors import HostError


class Reading:
    """Reads in the background, starting now.

    Args:
        tool: the tool that writes the output.
        read: reads all output, and returns.
    """

    def __init__(self, tool: str, read: Callable[[], None]) -> None:
        self.tool = tool
        self.failure: Exception | None = None
        self._read = read
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._read()
        except Exception as error:
            self.failure = error

    def wait(self, seconds: float) -> None:
        """Wait until everything is read.

        Raises:
            HostError: reading failed or timed out, so the output is incomplete.
        """
        self._thread.join(seconds)
        where = f"output of {self.tool}"
        if self._thread.is_alive():
            raise HostError(where, "the end of the output", f"more after {seconds:g} s", "trace again")
        if self.failure is not None:
            got = f"{type(self.failure).__name__}: {self.failure}"
            raise HostError(where, "complete output", got, "trace again") from self.failure
