"""The canary: one cell in a block of its own in each round, whatever the experiment compares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers.specs.made_experiments import java_benchmark
from regatta.host.values.experiment import Exclude, Experiment, Runtime, Stopping
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import cross
from regatta.planner.plan import HostPlan, plan_host

Minheaps = dict[tuple[str, str], int]


@pytest.fixture
def with_canary(experiment: Experiment) -> Experiment:
    bird = replace(java_benchmark("bird"), kind="native", command=("true",))
    native = Runtime("native", "native", "none")
    return replace(
        experiment,
        benchmarks=(*experiment.benchmarks, bird),
        runtimes=(*experiment.runtimes, native),
        canary=bird.label,
    )


def plan_of(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> HostPlan:
    return plan_host(experiment, host, cross(experiment, host, minheaps))


def test_it_runs_once_in_each_round_at_any_place(
    experiment: Experiment, with_canary: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    plain, plan = (plan_of(one, host, minheaps) for one in (experiment, with_canary))
    assert plan.group_sizes == [*plain.group_sizes, 1]
    assert [cell.cell_id for cell in plan.cells[:-1]] == [cell.cell_id for cell in plain.cells]
    rows = np.concatenate(list(plan.rows()))
    canary = len(plan.cells) - 1
    assert sorted(rows[rows[:, 3] == canary, 0]) == list(range(7))
    places = [np.flatnonzero(rows[rows[:, 0] == at, 3] == canary)[0] for at in range(7)]
    assert len(set(places)) > 1
    assert plan.canary
    assert not plain.canary


def test_it_has_no_twin_and_no_exclusion_reaches_it(
    with_canary: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    chosen = replace(with_canary, aa=True, excludes=(Exclude(modifiers="none", runtime="a"),))
    plan = plan_of(chosen, host, minheaps)
    (canary,) = (cell for cell in plan.cells if cell.benchmark.label == with_canary.canary)
    assert plan.group_sizes[-1] == 1
    assert not canary.twin_of


def test_it_has_its_own_block_even_if_benchmarks_are_compared(
    with_canary: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    tool = replace(java_benchmark("tool"), kind="native", command=("true", "tool"))
    both = replace(
        with_canary, benchmarks=(*with_canary.benchmarks, tool), compare=(*with_canary.compare, "benchmark")
    )
    plan = plan_of(both, host, minheaps)
    place = next(i for i, cell in enumerate(plan.cells) if cell.benchmark.label == both.canary)
    starts = np.cumsum([0, *plan.group_sizes])
    assert plan.group_sizes[starts.tolist().index(place)] == 1


def test_another_amount_of_work_is_another_canary(
    with_canary: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    *others, bird = with_canary.benchmarks
    more = replace(with_canary, benchmarks=(*others, replace(bird, parameters={"turns": 2})))
    assert plan_of(more, host, minheaps).canary != plan_of(with_canary, host, minheaps).canary


def test_it_does_not_run_alone(with_canary: Experiment, host: ResolvedHost, minheaps: Minheaps) -> None:
    nothing = replace(with_canary, excludes=(Exclude(host="local"),))
    assert plan_of(nothing, host, minheaps).cells == []


@pytest.mark.parametrize("rule", ["stein", "javastats-cell", "decide"])
def test_no_rule_asks_it(
    experiment: Experiment, with_canary: Experiment, host: ResolvedHost, minheaps: Minheaps, rule: str
) -> None:
    stopping = Stopping(rule, 4, 9, 1.0)  # type: ignore[arg-type]
    plain, plan = (
        plan_of(replace(one, stopping=stopping, invocations=9), host, minheaps).header("")["stopping"]
        for one in (experiment, with_canary)
    )
    assert plan == plain
