"""Read a journal for the database: new lines, the tags of each cell, and the conditions that select its points."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from regatta.host.files import read_object
from regatta.host.journal.journal import MAXIMUM_LINE_BYTES, journal_files, open_journal, segment_files
from regatta.host.journal.record import DamagedLine, decode_record
from regatta.host.values.cell import heap_text
from regatta.host.values.record import Record
from regatta.influx.lines import identifier, quoted, tag_text
from regatta.store.cells import known_cells, planned_cells
from regatta.store.folder import Folder

#: value for the parts of a cell that neither journal nor plan describe
UNKNOWN = "unknown"


def new_lines(path: Path, offset: int) -> Iterator[bytes]:
    """Yield the whole lines of a file from an offset. An unfinished line is skipped, unless it is too long for a record."""
    with open_journal(path) as file:
        file.seek(offset)
        while line := file.readline(MAXIMUM_LINE_BYTES):
            if not line.endswith(b"\n") and len(line) < MAXIMUM_LINE_BYTES:
                return
            yield line


def record_of(line: bytes) -> Record | None:
    """Return the record in a line; None: it is damaged."""
    try:
        return decode_record(line)
    except DamagedLine:
        return None


def segment_of(path: Path) -> int:
    """Return the segment number in the name of a journal file."""
    return int(path.stem) if path.stem.isdecimal() else zlib.crc32(path.stem.encode())


def journal_hosts(folder: Folder) -> list[str]:
    """Return hosts with a journal."""
    return sorted({path.parent.name for path in journal_files(folder.path)})


def experiment_names(folder: Folder, host: str = "*") -> list[str]:
    """Return the experiment names in the records of a host, or of all: the name of the folder, unless it was renamed."""
    names = {folder.name}
    for path in journal_files(folder.path) if host == "*" else segment_files(folder.journal / host):
        for line in new_lines(path, 0):
            if (record := record_of(line)) is not None:
                names.add(str(record.get("experiment")))
                break
    return sorted(names)


def tagged(**wanted: str | Iterable[str] | None) -> str:
    """Return an InfluxQL condition: each tag has one of its values; None allows any value."""
    parts = []
    for tag, values in wanted.items():
        if values is not None:
            some = [values] if isinstance(values, str) else values
            parts.append(" OR ".join(f"{identifier(tag)} = {quoted(tag_text(value))}" for value in some))
    return " AND ".join(f"({part})" for part in parts)


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
