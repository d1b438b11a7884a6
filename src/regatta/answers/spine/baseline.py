"""Check a baseline and resolve the levels that it selects."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from regatta.answers.spine.samples import PlannedCell
from regatta.host.errors import Problem, SpecError
from regatta.host.values.levels import Levels


def check_baseline(baseline: Levels, cells: Sequence[PlannedCell]) -> None:
    """Reject a baseline that names something the experiment does not have.

    Args:
        baseline: factor -> level.
        cells: all cells of the experiment; without any, nothing is checked.

    Raises:
        SpecError: the message suggests the nearest name.
    """
    problems = []
    for factor, level in baseline.items() if cells else ():
        every = (
            cell.place.platform if factor == "platform" else cell.place.levels.get(factor) for cell in cells
        )
        known = [name for name in dict.fromkeys(every) if name]
        if level not in known:
            near = difflib.get_close_matches(level, known, 1)
            fix = f"{factor}={near[0]}" if near else ""
            problems.append(Problem(f"baseline {factor}", f"one of {', '.join(known) or 'none'}", level, fix))
    if problems:
        raise SpecError(problems)


def asks_beyond_collectors(baseline: Levels) -> bool:
    """Return whether the baseline asks for more than the best collector, such as a comparison of runtimes.

    If so, the comparisons with the baseline are the answer, and the leading collector is secondary.
    """
    return bool(baseline.keys() - {"collector", "platform"})
