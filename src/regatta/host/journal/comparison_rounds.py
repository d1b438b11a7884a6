"""Build the comparisons of a block group from its values, as input of the stopping rules. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regatta.host.journal.round_values import BlockKey, CellRounds
from regatta.host.journal.stopping import Pair
from regatta.host.units import is_counted
from regatta.host.values.levels import differing, levels_of_planned, shared_parameters
from regatta.host.values.plan_cell import PlanCell


def pairs_of(
    group: Mapping[str, Any],
    cells: Sequence[PlanCell],
    rounds: Mapping[str, CellRounds],
    *,
    logs: bool = True,
    hopeful: bool = False,
) -> list[Pair]:
    """Return the comparisons of a group, separately for each series of the metric.

    Args:
        group: from `stopping` in `plan.json`: `cells` and `pairs`, by index.
        cells: of the plan.
        rounds: recorded values (`read_rounds`).
        logs: whether a cell without a counterpart is judged by the logs of its values.
        hopeful: whether a cell without a valid value may have one in a later round, unless it was given up.
    """
    found: list[Pair] = []
    for a, b in group["pairs"]:
        if b is None:
            found += _alone(cells[a], rounds[cells[a]["cell_id"]], logs)
        else:
            of_a, of_b = rounds[cells[a]["cell_id"]], rounds[cells[b]["cell_id"]]
            found += _paired(cells[a], cells[b], of_a, of_b, hopeful)
    return found


def pilots_of(
    group: Mapping[str, Any],
    cells: Sequence[PlanCell],
    rounds: Mapping[str, CellRounds],
    pilot: range,
) -> dict[str, list[float]]:
    """Return the logs of values in the pilot rounds by alternative (and parameters, if it has several series).

    Of alternatives that ran at once, return the differences of logs by comparison: what slows both is in no answer.
    """
    found: dict[str, list[float]] = {}
    if _are_at_once(group, cells, rounds):
        for pair in pairs_of(group, cells, rounds):
            of_pilot = pair.until(pilot.stop)
            labels = " / ".join(cells[index]["label"] for index in group["cells"])
            found[f"{labels} {pair.series}".rstrip()] = of_pilot
        return found
    for index in group["cells"]:
        for (_, parameters), values in rounds[cells[index]["cell_id"]].values.items():
            chosen = [value for round_, value in values.items() if round_ in pilot]
            if min(chosen, default=0.0) > 0:
                found[f"{cells[index]['label']} {parameters}".rstrip()] = [math.log(v) for v in chosen]
    return found


def logs_of(
    group: Mapping[str, Any], cells: Sequence[PlanCell], rounds: Mapping[str, CellRounds]
) -> dict[str, dict[str, list[dict[int, float]]]]:
    """Return cell id -> series -> of this host alone, round -> log of the value, of values above 0.

    Those of alternatives that ran at once are in no answer.
    """
    if _are_at_once(group, cells, rounds):
        return {}
    return {
        cells[index]["cell_id"]: {
            series: [{round_: math.log(value) for round_, value in values.items() if value > 0}]
            for (_, series), values in rounds[cells[index]["cell_id"]].values.items()
        }
        for index in group["cells"]
    }


def _are_at_once(
    group: Mapping[str, Any], cells: Sequence[PlanCell], rounds: Mapping[str, CellRounds]
) -> bool:
    return any(rounds[cells[index]["cell_id"]].at_once for index in group["cells"])


def _alone(cell: PlanCell, of: CellRounds, logs: bool) -> Iterator[Pair]:
    for key, values in of.values.items():
        problem = _no_logs(values.values(), cell)
        own = [] if problem else [math.log(value) if logs else value for value in values.values()]
        yield Pair(cell["cell_id"], "", key[1], own, problem)
    if not of.values:
        yield Pair(cell["cell_id"], "", "", (), _nothing(cell))


def _paired(a: PlanCell, b: PlanCell, of_a: CellRounds, of_b: CellRounds, hopeful: bool) -> Iterator[Pair]:
    # A metric can repeat the parameters in which the cells differ.
    differ = differing(levels_of_planned(a), levels_of_planned(b))
    keys = [
        {(unit, shared_parameters(text, differ)): (unit, text) for unit, text in of.values}
        for of in (of_a, of_b)
    ]
    for shared in dict.fromkeys([*keys[0], *keys[1]]):
        key_a, key_b = keys[0].get(shared, ("", "")), keys[1].get(shared, ("", ""))
        problem = ""
        for cell, of, key in ((a, of_a, key_a), (b, of_b, key_b)):
            values = of.values.get(key, {}).values()
            if values or not hopeful or of.skipped:
                problem = problem or _no_logs(values, cell)
        differences: list[float] = []
        blocks: list[BlockKey] = []
        if not problem:
            left, right = of_a.by_block.get(key_a, {}), of_b.by_block.get(key_b, {})
            blocks = sorted((block for block in left if block in right), key=lambda block: block[1])
            differences = [math.log(left[block]) - math.log(right[block]) for block in blocks]
        rounds = [round_ for _, round_, _ in blocks]
        sides = [1 if of_a.halves.get(block) == 0 else -1 for block in blocks] if of_a.at_once else []
        unit, series = keys[0].get(shared, key_b)
        counted = is_counted(unit)
        yield Pair(a["cell_id"], b["cell_id"], series, differences, problem, rounds, counted, sides)
    if not of_a.values and not of_b.values:
        may_follow = hopeful and not (of_a.skipped or of_b.skipped)
        yield Pair(a["cell_id"], b["cell_id"], "", (), "" if may_follow else _nothing(a))


def _no_logs(values: Any, cell: PlanCell) -> str:
    if not values:
        return _nothing(cell)
    return "" if min(values) > 0 else f"{cell['label']} has a value <= 0"


def _nothing(cell: PlanCell) -> str:
    return f"{cell['label']} has no valid invocation"
