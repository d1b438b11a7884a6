"""What the recorded cells of a host are: as its journal says, and where an older journal says nothing, as its plan does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regatta.host.files import read_object
from regatta.host.journal.journal import described_cells
from regatta.host.values.plan_cell import CellDescription
from regatta.store.folder import Folder


def planned_cells(folder: Folder, host: str) -> dict[str, Mapping[str, Any]]:
    """Cell id -> the cell as the host's plan holds it; nothing where there is no plan that can be read."""
    cells = read_object(folder.host_plan(host) / "plan.json").get("cells")
    return {
        str(cell.get("cell_id")): cell
        for cell in (cells if isinstance(cells, list) else ())
        if isinstance(cell, dict)
    }


def known_cells(folder: Folder, host: str) -> dict[str, Mapping[str, Any]]:
    """Cell id -> what the cell was when it was first recorded; of cells that no line describes, what the plan says."""
    return {**planned_cells(folder, host), **described_cells(folder.journal / host)}


def unplanned_cells(folder: Folder, host: str) -> list[CellDescription]:
    """Descriptions of the cells that the host's journal has and its plan has no longer, in the order of the journal."""
    planned = planned_cells(folder, host)
    return [cell for one, cell in described_cells(folder.journal / host).items() if one not in planned]
