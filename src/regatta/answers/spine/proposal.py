"""Estimate the number of rounds that reach a target, from the spread of existing records."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from regatta.answers.spine.words import counted
from regatta.fleet.deciding import mean_pair, name_of
from regatta.host.journal.comparison_rounds import pairs_of
from regatta.host.journal.decisions import read_decisions
from regatta.host.journal.looks import Limits, Look, look, rounds_expected
from regatta.host.journal.round_values import read_rounds
from regatta.host.journal.stopping import (
    BY_TIME,
    LEAST_BLOCKS,
    UNTIL_DECIDED,
    Pair,
    Rule,
    percent_of,
    rounds_for,
)
from regatta.host.values.experiment import Experiment, Stopping
from regatta.planner.plan import HostPlan
from regatta.planner.stopping import block_groups, t_quantiles
from regatta.store.folder import Folder

#: if a spec has no target
_TARGET_PERCENT = 1.0
#: quantiles for more degrees of freedom than this differ in the third digit
_MOST_DF = 200
_ALL_ROUNDS = 1 << 31


def propose_rounds(experiment: Experiment, plans: Mapping[str, HostPlan], folder: Folder) -> dict[str, Any]:
    """Propose a number of rounds.

    Args:
        experiment: its target, or 1 % if its number of rounds is fixed.
        plans: host -> plan.
        folder: of the experiment. Records of any plan count if their cells are the same.

    Returns:
        `target_percent`; `comparisons`: host (several, if they decide together), `a` and `b` (labels; `b` is null if a cell is
        alone in its group), `parameters`, `n` blocks so far, `sd` of their differences of logs, `reached_percent` (half-width now)
        and `rounds` in total, null with fewer than 3 blocks; `rounds`: the maximum over comparisons, null if unknown; `words`.
        With `decide`, the rounds are those that give an answer with the mean and the spread so far, and the target is the
        relevance.

    Raises:
        OSError: a journal cannot be read.
    """
    stopping = experiment.stopping
    target = stopping.target_percent if stopping and stopping.target_percent else _TARGET_PERCENT
    decides = stopping is not None and stopping.rule == UNTIL_DECIDED
    usual = Rule("stein", 2, _ALL_ROUNDS, target, t_quantiles(experiment.level, _MOST_DF))
    rules = {
        host: Rule.from_plan(plan.header("")["stopping"]) if decides else usual
        for host, plan in plans.items()
    }
    found = {host: _of_host(host, experiment, plan, folder, rules[host]) for host, plan in plans.items()}
    if stopping is not None and stopping.together:
        found = _over_hosts(found, plans)
    comparisons = [
        {
            "host": host,
            "a": one.a,
            "b": one.b,
            "parameters": one.pair.series,
            **_need(one.pair, rules[one.host], experiment.discarded_rounds),
        }
        for host, own in found.items()
        for one in own
    ]
    known = [one for one in comparisons if one["rounds"] is not None]
    worst = max(known, key=lambda one: one["rounds"], default=None)
    return {
        "target_percent": target,
        "comparisons": comparisons,
        "rounds": None if worst is None else worst["rounds"],
        "words": _words(
            f"rounds for an answer, relevant from {target:g} %"
            if decides
            else f"rounds for intervals within {target:g} %",
            worst,
            len(comparisons) - len(known),
        ),
    }


@dataclass(frozen=True)
class _Compared:
    """A comparison on a host: its values and the labels of its alternatives."""

    host: str
    pair: Pair
    a: str
    b: str | None
    #: the same on all hosts of a platform
    names: tuple[str, str]


def _over_hosts(
    found: Mapping[str, Sequence[_Compared]], plans: Mapping[str, HostPlan]
) -> dict[str, list[_Compared]]:
    """Return the mean comparisons of the hosts of each platform, by the names of the hosts."""
    groups: dict[tuple[str, ...], list[_Compared]] = {}
    for host, own in found.items():
        for one in own:
            key = (plans[host].host.platform, *one.names, one.pair.series)
            groups.setdefault(key, []).append(one)
    together: dict[str, list[_Compared]] = {}
    for many in groups.values():
        pooled = replace(many[0], pair=mean_pair([one.pair for one in many]))
        together.setdefault(", ".join(one.host for one in many), []).append(pooled)
    return together


def _of_host(
    host: str, experiment: Experiment, plan: HostPlan, folder: Folder, rule: Rule
) -> list[_Compared]:
    as_if = experiment.stopping or Stopping("stein", 10, 30, rule.target_percent)
    groups = block_groups(experiment, as_if, plan.cells, plan.group_sizes)
    cells = [cell.to_json(experiment.timeout_s, experiment.steady.iterations) for cell in plan.cells]
    labels = {cell["cell_id"]: cell["label"] for cell in cells}
    names = {cell["cell_id"]: name_of(cell) for cell in cells}
    rounds = range(experiment.discarded_rounds, _ALL_ROUNDS)
    by_id = {cell["cell_id"]: cell for cell in cells}
    decisions = read_decisions(folder.decisions(host))
    recorded = read_rounds(
        folder.journal / host, by_id, rounds, vars(experiment.steady), vars(experiment.limits)
    )
    return [
        _Compared(host, pair, labels[pair.a], labels.get(pair.b), (names[pair.a], names.get(pair.b, "")))
        for group in groups
        for pair in pairs_of(group, cells, recorded)
        # A measuring time that suffices decides without an answer.
        if decisions.get(group["key"], {}).get("rule") != BY_TIME
    ]


def _need(pair: Pair, rule: Rule, first: int) -> dict[str, Any]:
    differences = pair.until()
    n = len(differences)
    # A single alternative has no answer.
    if n < LEAST_BLOCKS or (rule.name == UNTIL_DECIDED and not pair.b):
        return {"n": n, "sd": None, "reached_percent": None, "rounds": None}
    sd = statistics.stdev(differences)
    half = rule.quantile(n - 1) * sd / math.sqrt(n)
    if rule.name == UNTIL_DECIDED:
        mean, limits = statistics.fmean(differences), Limits(rule.t, rule.width)
        is_open = look(differences, limits, 1).outcome in (None, "undecided")
        so_far = pair.rounds[-1] - first + 1
        rounds = rounds_expected(Look(None, n, mean, sd, half), limits, so_far) if is_open else so_far
    else:
        rounds = rounds_for(rule, sd, n - 1)
    return {"n": n, "sd": sd, "reached_percent": percent_of(half), "rounds": rounds}


def _words(what: str, worst: Mapping[str, Any] | None, unknown: int) -> str:
    if worst is None:
        return f"{what}: undefined (fewer than {LEAST_BLOCKS} recorded rounds)"
    against = f" / {worst['b']}" if worst["b"] else ""
    words = (
        f"{what}: {worst['rounds']}, from the standard deviation of {worst['a']}{against} "
        f"({100 * math.expm1(worst['sd']):.2g} %, n = {worst['n']})"
    )
    return f"{words}; undefined for {counted(unknown, 'comparison')}" if unknown else words
