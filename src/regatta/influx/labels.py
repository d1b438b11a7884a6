"""Labels of the records of a host: the tags of each cell, and the number of CPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from regatta.host.files import read_object
from regatta.host.values.cell import heap_text
from regatta.store.cells import known_cells, planned_cells
from regatta.store.folder import Folder

#: value for the parts of a cell that neither journal nor plan describe
UNKNOWN = "unknown"


class CellLabel(NamedTuple):
    """Tags of a cell, followed by its fields."""

    benchmark: str
    runtime: str
    collector: str
    modifiers: str
    heap: str
    label: str
    heap_factor: float | None
    heap_mib: float | None

    @property
    def tags(self) -> tuple[str, str, str, str, str]:
        """Return benchmark, runtime, collector, modifiers and heap."""
        return self[:5]

    @property
    def fields(self) -> dict[str, str | float | None]:
        """Return the fields by name."""
        return {"heap_factor": self.heap_factor, "heap_mib": self.heap_mib, "label": self.label}


@dataclass(frozen=True)
class HostLabels:
    """One host: its cells by id, and its number of CPUs."""

    cells: Mapping[str, CellLabel] = field(default_factory=dict)
    #: None if unknown
    cpus: int | None = None
    #: ids of cells whose name in the plan differs from their first recorded name
    renamed: frozenset[str] = frozenset()

    def of(self, record: Mapping[str, Any]) -> CellLabel:
        """Return the label of the cell of a record."""
        cell_id = str(record.get("cell_id"))
        return self.cells.get(cell_id) or CellLabel(
            UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, cell_id, None, None
        )


def cell_label(cell: Mapping[str, Any]) -> CellLabel:
    """Return the label of a cell from a plan or a journal; older ones lack some parts."""
    factor, mib = (_number(cell.get(name)) for name in ("heap_factor", "heap_mib"))
    return CellLabel(
        str(cell.get("benchmark") or UNKNOWN),
        str(cell.get("runtime") or ""),
        str(cell.get("collector") or ""),
        str(cell.get("modifiers") or ""),
        heap_text(factor, mib),
        str(cell.get("label") or cell.get("cell_id", "")),
        factor,
        mib,
    )


def read_labels(folder: Folder, host: str) -> HostLabels:
    """Return the labels of the cells of a host: their first recorded names, regardless of the names in the current plan."""
    found = {one: cell_label(cell) for one, cell in known_cells(folder, host).items()}
    planned = {one: cell_label(cell).tags for one, cell in planned_cells(folder, host).items()}
    renamed = frozenset(one for one, tags in planned.items() if tags != found[one].tags)
    return HostLabels(found, _cpus(folder, host, read_object(folder.host_plan(host) / "plan.json")), renamed)


def _cpus(folder: Folder, host: str, plan: Mapping[str, Any]) -> int | None:
    # The plan comes first: it exists before the first record and does not change with the records.
    fingerprint = plan.get("host_fingerprint")
    text = str(fingerprint.get("cpus", "")) if isinstance(fingerprint, dict) else ""
    if text.isdigit() and int(text):
        return int(text)
    topology = read_object(folder.journal / host / "cores.json").get("topology")
    return len(topology) if isinstance(topology, list) and topology else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
