"""Select the pairs of series to compare."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from regatta.answers.spine.samples import BlockKey, PlannedCell, Samples, Series
from regatta.answers.spine.words import counted
from regatta.host.values import levels
from regatta.host.values.levels import ALWAYS, Levels, baseline_pairs, place_key


@dataclass(frozen=True)
class Pair:
    """Alternative `cell` and baseline `base`, with series of their metric; None for a side without one."""

    cell: PlannedCell
    base: PlannedCell
    a: Series | None
    b: Series | None

    @property
    def series(self) -> Series | None:
        """Return a series that exists, for unit and parameters."""
        return self.a or self.b

    @property
    def keys(self) -> tuple[Hashable, Hashable] | None:
        """Return the keys of both series; None if one does not exist."""
        return None if self.a is None or self.b is None else (self.a.key, self.b.key)

    @property
    def disturbed(self) -> bool:
        """Return whether a side has too few undisturbed values."""
        return any(side is not None and side.disturbed for side in (self.a, self.b))

    @property
    def common(self) -> list[BlockKey]:
        """Return the blocks that contain both sides, in time order."""
        if self.a is None or self.b is None:
            return []
        return [key for key in self.a.by_block if key in self.b.by_block]


def comparison_groups(
    cells: Sequence[PlannedCell], compared: Collection[str] = ALWAYS
) -> list[list[PlannedCell]]:
    """Return cells that can be compared, in plan order: one host and metric, and equal levels of all other factors."""
    groups: dict[tuple[object, ...], list[PlannedCell]] = {}
    for cell in cells:
        key = cell.place.host, cell.metric, cell.better, place_key(cell.place.levels, compared)
        groups.setdefault(key, []).append(cell)
    return list(groups.values())


def pairs_of(
    samples: Samples, baseline: Levels, compared: Sequence[str] = ALWAYS
) -> tuple[list[Pair], list[str]]:
    """Pair every cell with its baseline, separately for each set of parameters.

    Args:
        baseline: see `baseline_pairs`.
        compared: the compared factors.

    Returns:
        The pairs in plan order, and a warning about cells without a baseline.
    """
    pairs: list[Pair] = []
    lacking = 0
    for group in comparison_groups(samples.cells, compared):
        planned, without = baseline_pairs([cell.place.levels for cell in group], baseline, compared)
        lacking += len(without)
        for cell, base in ((group[a], group[b]) for a, b in planned):
            pairs += [Pair(cell, base, a, b) for a, b in _matching(samples, cell, base)]
    if not lacking:
        return pairs, []
    return pairs, [f"{counted(lacking, 'cell')} not compared: no baseline in the same place"]


def _matching(
    samples: Samples, cell: PlannedCell, base: PlannedCell
) -> Iterator[tuple[Series | None, Series | None]]:
    """Match series of two cells' own metric with equal unit and parameters, except those in which the cells differ.

    Yields:
        The series of both; None where a side has none.
    """
    differ = differing(cell, base)
    sides = [{series_key(s, differ): s for s in samples.own(c)} for c in (cell, base)]
    keys = list(dict.fromkeys([*sides[0], *sides[1]]))
    if not keys:
        yield None, None
    for key in keys:
        yield sides[0].get(key), sides[1].get(key)


def differing(a: PlannedCell, b: PlannedCell) -> tuple[str, ...]:
    """Return the factors in which two cells differ."""
    return levels.differing(a.place.levels, b.place.levels)


def series_key(series: Series, compared: Iterable[str]) -> tuple[str, str]:
    """Return the key that a series shares with those of the other levels of the compared factors: unit and parameters."""
    return series.unit, levels.shared_parameters(series.parameters_text, compared)
