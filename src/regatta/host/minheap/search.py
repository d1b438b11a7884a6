"""The search for minheap: the least heap in MiB in which a benchmark completes under every collector (Georges et al. 2007, section 5.1).

Every attempt is a record, kept with the identity of what ran. The commands come from the controller, with the heap left open.
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


#: stands for the heap (MiB) in every text of an open attempt. No argument of a process can hold it
HEAP = "\0"
#: a heap so tight that the program takes this many times as long as in a roomy one is no heap it completes in
SLOW_FACTOR = 5
LEAST_TIMEOUT_S = 10.0


class NotMeasured(Exception):
    """The search needs an attempt that is not recorded."""


@dataclass(frozen=True)
class OpenAttempt:
    """An attempt under one collector, whose heap is left open."""

    #: what the cell's id is the digest of
    identity: Mapping[str, Any]
    #: the cell as a plan holds it
    cell: PlanCell
    #: of the plan, without `plan_id` and the cell's id
    header: Mapping[str, Any]


@dataclass(frozen=True)
class MinheapSearch:
    """What is searched: one benchmark on one runtime of one host."""

    #: label
    benchmark: str
    runtime: str
    platform: str
    #: of all attempts, relative to the folder of minheaps
    file: str
    #: runs a size must survive
    passes: int
    #: no heap beyond it is tried
    largest_mib: int
    #: of an attempt, where no quicker one is known
    timeout_s: float
    #: by collector
    attempts: Mapping[str, OpenAttempt]


class Attempts:
    """The attempts of one search, in a file that is only appended to."""

    def __init__(self, directory: Path, search: MinheapSearch) -> None:
        """Read what was tried before. `directory`: of the attempts of all hosts."""
        self.directory, self.search = directory, search
        self.path = directory / search.file
        self._outcomes: dict[str, list[Record]] = {}
        #: of the completing attempts that were asked for, by collector
        self._quickest_s: dict[str, float] = {}
        if self.path.exists():
            for record in read_file(self.path):
                if not isinstance(record, Damage):
                    self.add(record)

    def read_again(self, records: Iterable[Record]) -> None:
        """Know these attempts, and no others."""
        self._outcomes.clear()
        self._quickest_s.clear()
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Note an attempt."""
        self._outcomes.setdefault(record["cell_id"], []).append(record)

    def cell_id(self, collector: str, heap_mib: int) -> str:
        """The id of one attempt's cell."""
        return digest_of(_with_heap(self.search.attempts[collector].identity, heap_mib))

    def planned(self, collector: str, heap_mib: int) -> tuple[dict[str, Any], PlanCell]:
        """The header of one attempt's plan, and its cell."""
        attempt = self.search.attempts[collector]
        cell: PlanCell = _with_heap(attempt.cell, heap_mib)
        cell["cell_id"] = self.cell_id(collector, heap_mib)
        cell["heap_mib"], cell["timeout_s"] = heap_mib, self.timeout_s(collector)
        return with_plan_id({**attempt.header, "cell": cell["cell_id"]}), cell

    def remembered(self, collector: str, heap_mib: int, nth: int) -> Record | None:
        """The record of an attempt that was made before.

        One that was given less time than an attempt has now, and did not end in it, says nothing.
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
        """How long an attempt may take: `SLOW_FACTOR` times the collector's own quickest completing one, once there is one."""
        quickest_s = self._quickest_s.get(collector)
        allowed_s = self.search.timeout_s
        if quickest_s is None:
            return allowed_s
        return min(allowed_s, max(LEAST_TIMEOUT_S, SLOW_FACTOR * quickest_s))

    def known(self) -> int:
        """The minheap, from what is recorded.

        Raises:
            NotMeasured: an attempt is missing.
            HostError: no heap is enough.
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
            HostError: no heap is enough.
        """
        search = self.search
        try:
            return search_minheap(ask, list(search.attempts), search.passes, search.largest_mib)
        except NoHeapIsEnough as error:
            raise HostError(
                f"minheap of {search.benchmark} on {search.runtime}", f"to complete in {error.heap_mib} MiB",
                f"{error.outcome} under {error.collector}",
                f"see the last record in {self.path}, mend its cause, and remove the file to try again",
            ) from error  # fmt: skip


def attempt_of(record: Record) -> Attempt:
    """What an attempt's record says of its heap size."""
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
