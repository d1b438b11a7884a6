"""The search for minheap: the least heap in MiB in which a benchmark completes under every collector (Georges et al. 2007, section 5.1).

Pure: what happens at a heap size is asked of the caller, who may answer from attempts that are already recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

#: how an attempt can end
Attempt = Literal["ok", "oom", "timeout", "crashed", "failed"]

#: `attempt(collector, heap_mib, nth)`: the outcome of the nth pass (from 0) at a size
Asks = Callable[[str, int, int], Attempt]

FIRST_MIB = 16


class NoHeapIsEnough(Exception):
    """The benchmark does not complete at the largest heap; `collector` and `outcome` say how."""

    def __init__(self, collector: str, heap_mib: int, outcome: Attempt) -> None:
        self.collector, self.heap_mib, self.outcome = collector, heap_mib, outcome
        super().__init__(f"{outcome} under {collector} at {heap_mib} MiB")


def search_minheap(attempt: Asks, collectors: Sequence[str], passes: int, largest_mib: int) -> int:
    """Find the least heap that survives `passes` runs under every collector.

    For each collector in turn: if the size found so far completes, it stands; otherwise the size doubles until it completes, and is
    halved between failure and success to one MiB. At last the size must complete `passes` times under each; when one of these
    fails, it grows by a step of 1/32 and all passes are asked again, for one success near the edge proves little.

    Args:
        attempt: runs, or remembers, one attempt.
        collectors: at least one.
        passes: runs a size must survive, at least 1.
        largest_mib: no heap beyond it is tried.

    Returns:
        MiB, from 1 to `largest_mib`.

    Raises:
        NoHeapIsEnough: it does not complete at `largest_mib`.
    """
    found = 0
    for collector in collectors:
        found = _least(attempt, collector, found, largest_mib)
    while True:
        tries = ((c, attempt(c, found, nth)) for nth in range(passes) for c in collectors)
        broken = next(((c, outcome) for c, outcome in tries if outcome != "ok"), None)
        if broken is None:
            return found
        if found >= largest_mib:
            raise NoHeapIsEnough(broken[0], found, broken[1])
        found = min(found + max(1, found // 32), largest_mib)


def _least(attempt: Asks, collector: str, known: int, largest_mib: int) -> int:
    """Least size, at least `known`, at which one pass completes."""
    if known and attempt(collector, known, 0) == "ok":
        return known
    fails = known
    size = min(max(FIRST_MIB, 2 * known), largest_mib)
    while (outcome := attempt(collector, size, 0)) != "ok":
        if size >= largest_mib:
            raise NoHeapIsEnough(collector, size, outcome)
        fails, size = size, min(2 * size, largest_mib)
    while size - fails > 1:
        middle = (fails + size) // 2
        if attempt(collector, middle, 0) == "ok":
            size = middle
        else:
            fails = middle
    return size
