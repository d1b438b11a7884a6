"""The recorded cells of a host: from its journal, or from its plan if an older journal has no descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regatta.host.files import read_object, write_first
from regatta.host.journal.cells import description_line
from regatta.host.journal.journal import CELLS, Damage, described_cells, read_file, segment_files
from regatta.host.values.plan_cell import CellDescription
from regatta.store.folder import Folder


def planned_cells(folder: Folder, host: str) -> dict[str, Mapping[str, Any]]:
    """Return cell id -> the cell in the plan of the host; empty without a readable plan."""
    cells = read_object(folder.host_plan(host) / "plan.json").get("cells")
    return {
        str(cell.get("cell_id")): cell
        for cell in (cells if isinstance(cells, list) else ())
        if isinstance(cell, dict)
    }


def known_cells(folder: Folder, host: str) -> dict[str, Mapping[str, Any]]:
    """Return cell id -> the description from its first record, or from the plan for cells without a description."""
    return {**planned_cells(folder, host), **described_cells(folder.journal / host)}


def describe_older_records(folder: Folder) -> None:
    """Add descriptions from the plans to journals without them, as Regatta 0.1 wrote them.

    Call this before a plan is replaced or removed. Otherwise cells missing from the next plan lose their names.

    Raises:
        OSError: the disk is full, or a journal cannot be read.
    """
    for host in folder.planned_hosts():
        path = folder.journal / host / CELLS
        if path.exists():
            continue
        recorded = {
            record["cell_id"]
            for file in segment_files(path.parent)
            for record in read_file(file)
            if not isinstance(record, Damage)
        }
        lines = [
            description_line(cell, folder.name, host)
            for one, cell in planned_cells(folder, host).items()
            if one in recorded
        ]
        if lines:
            write_first(path, b"".join(lines))


def unplanned_cells(folder: Folder, host: str) -> list[CellDescription]:
    """Return descriptions of cells in the journal of the host but no longer in its plan, in the order of the journal."""
    planned = planned_cells(folder, host)
    return [cell for one, cell in described_cells(folder.journal / host).items() if one not in planned]
