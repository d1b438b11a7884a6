"""The input of the runner's stopping rule: the rule with its numbers, and the compared pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from regatta.host.journal.looks import several_looks
from regatta.host.journal.stopping import PER_CELL, UNTIL_DECIDED, WITHOUT_TARGET
from regatta.host.values.cell import Cell
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Experiment, Stopping
from regatta.host.values.levels import Levels, baseline_pairs, levels_of_cell
from regatta.planner.cells import is_canary

#: An alternative and its counterpart, by index into the cells of the plan; None: it is alone in its group.
IndexPair = tuple[int, int | None]


def stopping_header(
    experiment: Experiment, cells: Sequence[Cell], group_sizes: Sequence[int]
) -> dict[str, Any] | None:
    """Return `stopping` of `plan.json`; None if the number of rounds is fixed.

    Args:
        experiment: with its rule.
        cells: in the order of their block groups.
        group_sizes: number of cells of each group.
    """
    stopping = experiment.stopping
    if stopping is None:
        return None
    groups = block_groups(experiment, stopping, cells, group_sizes)
    pairs = (sum(b is not None for _, b in group["pairs"]) for group in groups)
    compared = sharing_the_error((len(group["cells"]) for group in groups), pairs)
    return {
        **_told(stopping),
        "level": experiment.level,
        **_quantiles(experiment, stopping, compared),
        **({"looks": experiment.segment_ends} if stopping.together else {}),
        "steady": vars(experiment.steady),
        "groups": groups,
    }


def _quantiles(experiment: Experiment, stopping: Stopping, compared: int) -> dict[str, Any]:
    """Return the quantiles of Student's t for the runner; `compared`: number of comparisons that share the error."""
    if stopping.rule in WITHOUT_TARGET:
        return {}
    df = stopping.maximum - 1
    if stopping.rule != UNTIL_DECIDED:
        return {"t": t_quantiles(experiment.level, df)}
    t = t_of_looks(experiment.level, stopping.pilot, stopping.maximum, compared)
    return {"t": t, "compared": compared}


def t_of_looks(level: float, pilot: int, maximum: int, compared: int) -> list[float]:
    """Return the quantiles of each look of `decide`: all intervals of `compared` comparisons together have the level (Sidak)."""
    from regatta.stats.looks import level_of_looks

    return t_quantiles(level_of_looks(level ** (1 / compared), several_looks(pilot, maximum)), maximum - 1)


def sharing_the_error(sizes: Iterable[int], pairs: Iterable[int]) -> int:
    """Return the number of comparisons of a host that share the error, at least 1.

    Args:
        sizes, pairs: of each block group, the number of cells and of comparisons. The analysis also compares all pairs of a group.
    """
    return max(1, sum(pairs), *(math.comb(size, 2) for size in sizes))


def block_groups(
    experiment: Experiment, stopping: Stopping, cells: Sequence[Cell], group_sizes: Sequence[int]
) -> list[dict[str, Any]]:
    """Return each block group, or with `javastats-cell` each cell: its `cells` and `pairs` by index, and a `key` that hashes the inputs of a decision."""
    placed_pairs, first = [], 0
    alone = stopping.rule == PER_CELL
    for size in [1] * len(cells) if alone else group_sizes:
        if is_canary(experiment, cells[first].benchmark):
            # It runs as long as the others.
            first += size
            continue
        pairs = [(0, None)] if alone else compared_pairs(cells[first : first + size], experiment.baseline)
        placed = [(first + a, None if b is None else first + b) for a, b in pairs]
        placed_pairs.append((range(first, first + size), placed))
        first += size
    pairs_of_groups = (sum(b is not None for _, b in placed) for _, placed in placed_pairs)
    compared = sharing_the_error((len(members) for members, _ in placed_pairs), pairs_of_groups)
    groups = []
    for members, placed in placed_pairs:
        identity = {
            "cells": sorted(cells[i].cell_id for i in members),
            "pairs": sorted(sorted(cells[i].cell_id for i in pair if i is not None) for pair in placed),
            "rule": _told(stopping),
            "level": experiment.level,
            "steady": vars(experiment.steady),
            "seed": experiment.seed,
        }
        # The mean is not named, so that existing decisions stay valid.
        if summaries := sorted({cells[i].benchmark.summary for i in members} - {"mean"}):
            identity["summary"] = " ".join(summaries)
        # A spec can change the metric of a benchmark without changing its cells. The usual one is not named, as above.
        if metrics := sorted({cells[i].benchmark.metric for i in members} - {"elapsed"}):
            identity["metric"] = " ".join(metrics)
        # They determine which rounds are the pilot. The usual number is not named, as above.
        if experiment.discarded is not None:
            identity["discarded"] = experiment.discarded
        # All comparisons of the host share the error.
        if stopping.rule == UNTIL_DECIDED:
            identity["compared"] = compared
        # They decide after each segment.
        if stopping.together:
            identity["looks"] = experiment.segment_ends
        groups.append(
            {"key": digest_of(identity), "cells": list(members), "pairs": [list(p) for p in placed]}
        )
    return groups


def _told(stopping: Stopping) -> dict[str, Any]:
    """Return the rule without the parameters that it does not have; `looks` says whether hosts decide together."""
    return {name: value for name, value in vars(stopping).items() if value is not None and name != "together"}


def compared_pairs(group: Sequence[Cell], baseline: Levels) -> list[IndexPair]:
    """Return the compared pairs of a block group, by index.

    If the group has a cell that matches the baseline, each alternative is compared with it, as in the analysis. Otherwise all
    pairs of one metric are compared. The twin of an A/A test is compared with its original. Without any pair, cells are
    judged by their own means.
    """
    own = [i for i, cell in enumerate(group) if not cell.twin_of]
    levels = [levels_of_cell(group[i]) for i in own]
    with_baseline = baseline_pairs(levels, baseline, ())[0] if baseline else []
    pairs: list[IndexPair] = [(own[a], own[b]) for a, b in with_baseline] or list(combinations(own, 2))
    pairs = [(a, b) for a, b in pairs if b is None or _metric(group[a]) == _metric(group[b])]
    ids = {group[i].cell_id: i for i in own}
    pairs += [(i, ids[cell.twin_of]) for i, cell in enumerate(group) if cell.twin_of in ids]
    return pairs or [(i, None) for i in own]


def _metric(cell: Cell) -> tuple[str, str]:
    return cell.benchmark.metric, cell.benchmark.better


def t_quantiles(level: float, df: int) -> list[float]:
    """Return two-sided quantiles of Student's t for 1 to `df` degrees of freedom, because the runner cannot compute them."""
    from scipy.special import stdtrit

    return [float(t) for t in stdtrit(np.arange(1, df + 1), 0.5 + level / 2)]
