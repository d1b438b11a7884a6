"""Count series while points are made, and estimate their number from a plan before measuring."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from regatta.host.journal.journal import journal_files
from regatta.host.values.cell import Cell
from regatta.store.folder import Folder

#: Typical numbers of reported metrics: elapsed, user, system and memory of a process; metrics of the Java harness with kinds of
#: pauses and beans (17 to 45 with collectors of OpenJDK 11 to 25); sets of parameters of the C programs (1 to 30).
_OF_PROCESS, _OF_JAVA, _OF_NATIVE = 4, 30, 10
#: besides iterations and their means: the invocations, a ratio, and two overheads
_OF_CELL = 4
#: its state, and one per kind of event
_OF_HOST = 11

_MEASURED = """
select host, cell_id, count(distinct (metric, unit, coalesce(parameters, ''), status))
from invocations join iterations using (record) group by host, cell_id
"""


class SeriesCount:
    """Counts distinct series, about 100 bytes each."""

    def __init__(self, known: Iterable[int] = ()) -> None:
        """Continue from the digests of known series."""
        #: one digest per series
        self.seen: set[int] = set(known)

    def __len__(self) -> int:
        return len(self.seen)

    def add(self, key: str) -> None:
        """Count a series by the beginning of its lines (`regatta.influx.lines.series_key`)."""
        digest = hashlib.blake2b(key.encode("utf-8", "backslashreplace"), digest_size=8).digest()
        self.seen.add(int.from_bytes(digest, "little"))


@dataclass(frozen=True)
class SeriesEstimate:
    """Estimated number of series of a finished experiment."""

    series: int
    #: cells that were measured, so that their series are known
    known_cells: int
    cells: int


def estimate_series(cells: Iterable[Cell], measured: Mapping[tuple[str, str], int]) -> SeriesEstimate:
    """Estimate from the plan: a measured cell has its known series, any other cell those of its benchmark or its kind.

    `measured`: (host, cell id) -> series of its iterations (`measured_series`).
    """
    cells = list(cells)
    of_benchmark: dict[str, int] = {}
    for cell in cells:
        own = measured.get((cell.host, cell.cell_id), 0)
        of_benchmark[cell.benchmark.label] = max(own, of_benchmark.get(cell.benchmark.label, 0))
    total = len({cell.host for cell in cells}) * _OF_HOST
    for cell in cells:
        own = measured.get((cell.host, cell.cell_id)) or of_benchmark[cell.benchmark.label]
        # Each series of iterations has an estimate, too.
        total += 2 * (own or _usual(cell)) + _OF_CELL
    known = sum((cell.host, cell.cell_id) in measured for cell in cells)
    return SeriesEstimate(total, known, len(cells))


def measured_series(folder: Folder) -> dict[tuple[str, str], int]:
    """Return (host, cell id) -> distinct metrics, units and parameters of its records; empty without records.

    Raises:
        StoreError: the embedded database cannot be created.
    """
    if not journal_files(folder.path):
        return {}
    from regatta.store.database import open_database

    with open_database(folder.path) as connection:
        rows = connection.execute(_MEASURED).fetchall()
    return {(host, cell): count for host, cell, count in rows}


def _usual(cell: Cell) -> int:
    if cell.benchmark.adapter == "process":
        return _OF_PROCESS
    return _OF_JAVA if cell.benchmark.kind == "java" else _OF_NATIVE
