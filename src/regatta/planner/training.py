"""Add the files from the training runs of cells to their commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from regatta.host.errors import RegattaError
from regatta.host.values.cell import TRAINED, Cell
from regatta.host.values.resolved import File
from regatta.planner.cells import Crossing


def train_cells(
    crossing: Crossing, train: Callable[[Sequence[Cell]], Mapping[str, File | RegattaError]]
) -> Crossing:
    """Make every training run of a crossing, and add its file to the command of the cell.

    Args:
        crossing: of the host; not modified.
        train: makes the runs of these cells on their host; returns cell id -> the file, or the error.

    Returns:
        The crossing with complete commands. A cell whose training run fails (for example, because the heap is too small) is
        impossible, with the reason.
    """
    wanted = [cell for cell in crossing.cells if cell.training is not None]
    made = train(wanted) if wanted else {}
    cells: list[Cell] = []
    impossible = list(crossing.impossible)
    for cell in crossing.cells:
        file = made.get(cell.cell_id)
        if cell.training is None:
            cells.append(cell)
        elif isinstance(file, File):
            argv = tuple(argument.replace(TRAINED, file.path) for argument in cell.argv)
            check = tuple(argument.replace(TRAINED, file.path) for argument in cell.check)
            cells.append(replace(cell, argv=argv, check=check, files=(*cell.files, file)))
        else:
            reason = _in_one_line(file) if file is not None else "no result from the host"
            impossible.append((cell.label, f"training run failed: {reason}"))
    return Crossing(cells, impossible, crossing.excluded)


def _in_one_line(error: RegattaError) -> str:
    lines = [line.strip() for problem in error.problems for line in problem.got.splitlines() if line.strip()]
    told = [line for line in lines if "OutOfMemoryError" in line] or lines[-1:]
    return "; ".join([*lines[:1], *(line for line in told[:1] if line != lines[0])])
