"""Sample the memory that the processes of a tree have for themselves, while they run."""

from __future__ import annotations

import threading
import time
from types import TracebackType

from regatta.models.system_calls.processes import anonymous_bytes, tree_of

_EVERY_S = 0.05


class MemorySamples:
    """Samples the descendants of a process, without that process, from the `with` statement to its end.

    `rows`: (ns since 1970, bytes of anonymous memory). Pages that processes share after a fork count once for each.
    """

    def __init__(self, root: int) -> None:
        self.rows: list[tuple[int, int]] = []
        self._root = root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> MemorySamples:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(_EVERY_S):
            now = time.time_ns()
            total = sum(anonymous_bytes(pid) for pid in tree_of(self._root)[1:])
            if total:
                self.rows.append((now, total))
