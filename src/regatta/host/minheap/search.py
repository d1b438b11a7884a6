"""Search for the minheap: the smallest heap in MiB in which a benchmark completes with every collector.

Source: Georges et al. 2007, section 5.2 and table 3. Every attempt is recorded with the identity of the files that ran. The commands
come from the controller with a placeholder for the heap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regatta.host.errors import HostError
from regatta.host.journal.journal import Damage, read_file
from regatta.host.journal.plan_files import with_plan_id
from regatta.host.values.digest import digest_of
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Record

#: outcome of an attempt
Attempt = Literal["ok", "oom", "timeout", "crashed", "failed"]

#: `attempt(collector, heap_mib, nth)`: the outcome of pass number `nth` (from 0) at a size
Asks = Callable[[str, int, int], Attempt]

FIRST_MIB = 16


class NoHeapIsEnough(Exception):
    """The benchmark does not complete in the largest heap. `collector` and `outcome` describe the failure."""

    def __init__(self, collector: str, heap_mib: int, outcome: Attempt) -> None:
        self.collector, self.heap_mib, self.outcome = collector, heap_mib, outcome
        super().__init__(f"{outcome} under {collector} at {heap_mib} MiB")


def search_minheap(attempt: Asks, collectors: Sequence[str], passes: int, largest_mib: int) -> int:
    """Find the smallest heap that completes `passes` runs with every collector.

    For each collector in turn, keep the current size if it completes. Otherwise double it until it completes, then
    bisect between failure and success to one MiB. Finally the size must complete `passes` times with each collector.
    On a failure, increase it by 1/32 and repeat all passes, because one success near the limit is weak evidence.

    Args:
        attempt: executes one attempt, or returns a recorded outcome.
        collectors: at least one.
        passes: runs that a size must complete, at least 1.
        largest_mib: the largest heap to try.

    Returns:
        MiB, from 1 to `largest_mib`.

    Raises:
        NoHeapIsEnough: the benchmark does not complete at `largest_mib`.
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
    """Return the smallest size, at least `known`, at which one pass completes."""
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


#: placeholder of the heap (MiB) in all texts of an open attempt; an argument of a process cannot contain it
HEAP = "\0"
#: a heap is too small if the program takes more than this multiple of its time in a large heap
SLOW_FACTOR = 5
#: until a collector has completed once, its time is at most this multiple of the other collectors' times
OTHER_COLLECTOR_FACTOR = 3
LEAST_TIMEOUT_S = 10.0


class NotMeasured(Exception):
    """The search needs an attempt that is not recorded."""


@dataclass(frozen=True)
class OpenAttempt:
    """An attempt with one collector and a placeholder for the heap."""

    #: input of the digest that is the cell's id
    identity: Mapping[str, Any]
    #: the cell as in a plan
    cell: PlanCell
    #: header of the plan, without `plan_id` and the cell's id
    header: Mapping[str, Any]


@dataclass(frozen=True)
class MinheapSearch:
    """The subject of a search: one benchmark on one runtime of one host."""

    #: benchmark label
    benchmark: str
    runtime: str
    platform: str
    #: file of all attempts, relative to the folder of minheaps
    file: str
    #: runs that a size must complete
    passes: int
    #: the largest heap to try
    largest_mib: int
    #: time limit of an attempt, if no completed attempt gives a lower one
    timeout_s: float
    #: collector -> attempt
    attempts: Mapping[str, OpenAttempt]


class Attempts:
    """The attempts of one search, in an append-only file."""

    def __init__(self, directory: Path, search: MinheapSearch) -> None:
        """Read earlier attempts. `directory` is the folder with the attempts of all hosts."""
        self.directory, self.search = directory, search
        self.path = directory / search.file
        self._outcomes: dict[str, list[Record]] = {}
        #: collector -> time of its fastest completed attempt among those requested
        self._quickest_s: dict[str, float] = {}
        if self.path.exists():
            for record in read_file(self.path):
                if not isinstance(record, Damage):
                    self.add(record)

    def read_again(self, records: Iterable[Record]) -> None:
        """Replace all known attempts with these records."""
        self._outcomes.clear()
        self._quickest_s.clear()
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Add an attempt."""
        self._outcomes.setdefault(record["cell_id"], []).append(record)

    def cell_id(self, collector: str, heap_mib: int) -> str:
        """Return the cell id of one attempt."""
        return digest_of(_with_heap(self.search.attempts[collector].identity, heap_mib))

    def planned(self, collector: str, heap_mib: int) -> tuple[dict[str, Any], PlanCell]:
        """Return the plan header of one attempt, and its cell."""
        attempt = self.search.attempts[collector]
        cell: PlanCell = _with_heap(attempt.cell, heap_mib)
        cell["cell_id"] = self.cell_id(collector, heap_mib)
        cell["heap_mib"], cell["timeout_s"] = heap_mib, self.timeout_s(collector)
        return with_plan_id({**attempt.header, "cell": cell["cell_id"]}), cell

    def remembered(self, collector: str, heap_mib: int, nth: int) -> Record | None:
        """Return the record of an earlier attempt.

        Ignore timeouts with a lower time limit than the current one: they say nothing.
        """
        patience_ns = self.timeout_s(collector) * 1e9
        made = self._outcomes.get(self.cell_id(collector, heap_mib), [])
        records = [r for r in made if r["status"] != "timeout" or r["elapsed_ns"] >= patience_ns]
        if nth >= len(records):
            return None
        record = records[nth]
        if record["status"] == "ok":
            elapsed_s = record["elapsed_ns"] / 1e9
            self._quickest_s[collector] = min(elapsed_s, self._quickest_s.get(collector, elapsed_s))
        return record

    def timeout_s(self, collector: str) -> float:
        """Return the time limit: `SLOW_FACTOR` times the fastest completed attempt of the collector.

        Without one, the slowest other collector counts: in a heap that is enough for another collector, this one may collect
        without end. Without any, it is the limit of the search.
        """
        quickest_s = self._quickest_s.get(collector)
        allowed_s = self.search.timeout_s
        if quickest_s is None:
            if not self._quickest_s:
                return allowed_s
            quickest_s = OTHER_COLLECTOR_FACTOR * max(self._quickest_s.values())
        return min(allowed_s, max(LEAST_TIMEOUT_S, SLOW_FACTOR * quickest_s))

    def known(self) -> int:
        """Return the minheap from the records.

        Raises:
            NotMeasured: an attempt is missing.
            HostError: no heap is sufficient.
        """

        def ask(collector: str, heap_mib: int, nth: int) -> Attempt:
            record = self.remembered(collector, heap_mib, nth)
            if record is None:
                raise NotMeasured
            return attempt_of(record)

        return self.find(ask)

    def find(self, ask: Asks) -> int:
        """Run the search with the given source of attempts.

        Raises:
            HostError: no heap is sufficient.
        """
        search = self.search
        try:
            return search_minheap(ask, list(search.attempts), search.passes, search.largest_mib)
        except NoHeapIsEnough as error:
            raise HostError(
                f"minheap of {search.benchmark} on {search.runtime}",
                f"a completed invocation in {error.heap_mib} MiB",
                f"{error.outcome} under {error.collector}",
                f"see the last record in {self.path}, correct the cause, and remove the file to try again",
            ) from error


def attempt_of(record: Record) -> Attempt:
    """Return the outcome of an attempt from its record."""
    status: Any = record["status"]
    return "ok" if status == "perturbed" else status


def _with_heap(value: Any, heap_mib: int) -> Any:
    if isinstance(value, str):
        return value.replace(HEAP, str(heap_mib))
    if isinstance(value, (list, tuple)):
        return [_with_heap(item, heap_mib) for item in value]
    if isinstance(value, Mapping):
        return {key: _with_heap(item, heap_mib) for key, item in value.items()}
    return value
