"""Select the pairs of series to compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regatta.answers.baseline import pairs_with_baseline
from regatta.answers.samples import BlockKey, PlannedCell, Samples, Series
from regatta.answers.words import counted
from regatta.host.values.experiment import Baseline


@dataclass(frozen=True)
class Pair:
    """Alternative `cell` and baseline `base`, with series of their own metric; None where a side has none."""

    cell: PlannedCell
    base: PlannedCell
    a: Series | None
    b: Series | None

    @property
    def series(self) -> Series | None:
        """Return a series that exists, for unit and parameters."""
        return self.a or self.b

    @property
    def common(self) -> list[BlockKey]:
        """Return the blocks that contain both sides, in time order."""
        if self.a is None or self.b is None:
            return []
        return [key for key in self.a.by_block if key in self.b.by_block]


def comparison_groups(cells: Sequence[PlannedCell]) -> list[list[PlannedCell]]:
    """Return cells that can be compared: one host, benchmark, heap and metric; in plan order."""
    groups: dict[tuple[object, ...], list[PlannedCell]] = {}
    for cell in cells:
        groups.setdefault(
            (cell.place.host, cell.place.benchmark, cell.place.heap.asked, cell.metric), []
        ).append(cell)
    return list(groups.values())


def pairs_of(samples: Samples, baseline: Baseline) -> tuple[list[Pair], list[str]]:
    """Pair every cell with its baseline, separately for each set of parameters.

    Args:
        samples: samples of the experiment.
        baseline: see `pairs_with_baseline`.

    Returns:
        The pairs in plan order, and a warning about cells without a baseline.
    """
    pairs: list[Pair] = []
    lacking = 0
    for group in comparison_groups(samples.cells):
        planned, without = pairs_with_baseline(group, baseline)
        lacking += len(without)
        for cell, base in planned:
            pairs += [Pair(cell, base, a, b) for a, b in _matching(samples, cell, base)]
    if not lacking:
        return pairs, []
    return pairs, [f"{counted(lacking, 'cell')} had nothing to be compared with: the baseline is not there"]


def _matching(
    samples: Samples, cell: PlannedCell, base: PlannedCell
) -> Iterator[tuple[Series | None, Series | None]]:
    """Match series of two cells' own metric with equal unit and parameters; None where a side has none."""
    sides: list[dict[tuple[str, str], Series]] = [
        {(s.unit, s.parameters_text): s for s in samples.own(c)} for c in (cell, base)
    ]
    keys = list(dict.fromkeys([*sides[0], *sides[1]]))
    if not keys:
        yield None, None
    for key in keys:
        yield sides[0].get(key), sides[1].get(key)
