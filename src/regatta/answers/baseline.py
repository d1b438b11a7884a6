"""Select the baseline of each cell."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regatta.answers.samples import PlannedCell
from regatta.host.errors import Problem, SpecError
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.experiment import Baseline

#: in the order of sentences
_FACTORS = ("collector", "runtime", "modifiers")


@dataclass(frozen=True)
class _Key:
    runtime: str
    collector: str
    modifiers: str


def check_baseline(baseline: Baseline, cells: Sequence[PlannedCell]) -> None:
    """Reject a baseline that names something the experiment does not have.

    Raises:
        SpecError: the message suggests the nearest name.
    """
    problems = []
    for factor in _FACTORS:
        value = getattr(baseline, factor)
        known = list(
            dict.fromkeys(getattr(cell.place, factor) for cell in cells if getattr(cell.place, factor))
        )
        if value is not None and cells and value not in known:
            near = difflib.get_close_matches(value, known, 1)
            fix = f"{factor}={near[0]}" if near else ""
            problems.append(Problem(f"baseline {factor}", f"one of {', '.join(known) or 'none'}", value, fix))
    if problems:
        raise SpecError(problems)


def asks_beyond_collectors(baseline: Baseline) -> bool:
    """Return whether the baseline asks for more than the best collector, such as a comparison of runtimes.

    If so, the comparisons with the baseline are the answer, and the leading collector is secondary.
    """
    return baseline.runtime is not None or baseline.modifiers is not None


def pairs_with_baseline(
    group: Sequence[PlannedCell], baseline: Baseline
) -> tuple[list[tuple[PlannedCell, PlannedCell]], list[PlannedCell]]:
    """Pair the cells of one benchmark, heap and host with their baselines.

    Args:
        group: cells in plan order.
        baseline: factors that are None keep the value of the cell. If no factor is set, each factor is compared
            separately with the first listed (modifiers: with `none`), and the other factors stay the same.

    Returns:
        `(alternative, baseline)` pairs, and the cells whose baseline is missing from the group.
    """
    by_key = {_key(cell): cell for cell in group}
    pairs: list[tuple[PlannedCell, PlannedCell]] = []
    without: list[PlannedCell] = []
    for cell in group:
        for wanted in _wanted(cell, group, baseline):
            found = by_key.get(wanted)
            if found is None:
                without.append(cell)
            elif found is not cell:
                pairs.append((cell, found))
    return pairs, without


def _wanted(cell: PlannedCell, group: Sequence[PlannedCell], baseline: Baseline) -> list[_Key]:
    own = _key(cell)
    set_factors = {
        factor: getattr(baseline, factor) for factor in _FACTORS if getattr(baseline, factor) is not None
    }
    if set_factors:
        if not cell.place.collector:
            # A native program has no collector and no other runtime, so its baseline can only differ in modifiers.
            set_factors = {factor: value for factor, value in set_factors.items() if factor == "modifiers"}
        return [replace(own, **set_factors)] if set_factors else []
    keys = {_key(other) for other in group}
    result = []
    for factor in _FACTORS:
        values = [getattr(other.place, factor) for other in group]
        first = NO_MODIFIERS if factor == "modifiers" and NO_MODIFIERS in values else values[0]
        wanted = replace(own, **{factor: first})
        if wanted != own and wanted in keys:
            result.append(wanted)
    return result


def _key(cell: PlannedCell) -> _Key:
    return _Key(cell.place.runtime, cell.place.collector, cell.place.modifiers)
