"""A/A: one configuration of every block group a second time, under another name, through the whole pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regatta.host.values.cell import Cell
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Baseline


def with_twin(group: Sequence[Cell], baseline: Baseline) -> list[Cell]:
    """Add the twin of one cell to a block group.

    Args:
        group: cells that share a block, at least one, in the order of the spec.
        baseline: the first cell that matches it gets the twin; where none does, the first of the group.

    Returns:
        The group, and the same command once more with an identity of its own.
    """
    wanted = {factor: name for factor, name in vars(baseline).items() if name is not None}
    original = next(
        (cell for cell in group if all(getattr(cell, factor) == name for factor, name in wanted.items())),
        group[0],
    )
    return [
        *group,
        replace(original, cell_id=digest_of(["twin", original.cell_id]), twin_of=original.cell_id),
    ]
