"""How far an experiment is: from its journal, and from what its runners say of themselves."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from regatta.store.folder import Folder
from regatta.store.journal import read_records


@dataclass
class RecordedCell:
    """What the journal has of one cell on one host."""

    invocation_ids: set[str] = field(default_factory=set)
    elapsed_s: list[float] = field(default_factory=list)

    @property
    def invocations(self) -> int:
        """Distinct invocations with a record."""
        return len(self.invocation_ids)

    @property
    def median_elapsed_s(self) -> float:
        """Median wall time of its processes."""
        return statistics.median(self.elapsed_s)


def recorded_cells(folder: Folder) -> dict[tuple[str, str], RecordedCell]:
    """(host, cell_id) -> what is recorded."""
    found: dict[tuple[str, str], RecordedCell] = {}
    for record in read_records(folder.path):
        cell = found.setdefault((record["host"], record["cell_id"]), RecordedCell())
        cell.invocation_ids.add(record["invocation_id"])
        cell.elapsed_s.append(record["elapsed_ns"] / 1e9)
    return found
