"""What a plan tells the runner about stopping: the pilot is the first segment, and pairs are those that the analysis compares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from regatta.answers.spine.pairs import pairs_of
from regatta.answers.spine.parts import Place
from regatta.answers.spine.samples import PlannedCell, Samples
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import Experiment, SteadyState, Stopping
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import cross
from regatta.planner.plan import HostPlan, plan_host, segment_bounds
from regatta.planner.stopping import t_quantiles
from regatta.stats.looks import level_of_looks

Minheaps = dict[tuple[str, str], int]
STEIN = Stopping("stein", 4, 9, 1.0)


def plan_of(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> HostPlan:
    return plan_host(experiment, host, cross(experiment, host, minheaps))


@pytest.fixture
def adaptive(experiment: Experiment) -> Experiment:
    return replace(experiment, stopping=STEIN, invocations=STEIN.maximum)


def as_analysed(cells: list[Cell]) -> list[PlannedCell]:
    return [
        PlannedCell(i, Place(c.host, c.platform, c.benchmark.label, c.runtime, c.collector, c.modifiers,
                             c.heap), c.cell_id, c.label, c.benchmark.metric, c.benchmark.better, 9)
        for i, c in enumerate(cells)
    ]  # fmt: skip


def test_fixed_rounds_need_no_rule(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> None:
    assert plan_of(experiment, host, minheaps).header("")["stopping"] is None


def test_a_spec_chooses_the_discarded_rounds_and_the_key_of_a_decision_depends_on_them(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    plan = plan_of(replace(adaptive, discarded=3), host, minheaps)
    header, usual = plan.header(""), plan_of(adaptive, host, minheaps).header("")
    assert (usual["discarded_rounds"], usual["rounds"]) == (0, 9)
    assert (header["discarded_rounds"], header["rounds"]) == (3, 12)
    assert segment_bounds(plan.experiment, plan.row_count)[0] == (0, 168)
    keys = [[group["key"] for group in one["stopping"]["groups"]] for one in (header, usual)]
    assert not set(keys[0]) & set(keys[1])
    startup = replace(adaptive, steady=SteadyState("startup", 1, 0), discarded=0)
    assert plan_of(startup, host, minheaps).header("")["discarded_rounds"] == 0


def test_a_measuring_time_needs_no_quantiles_and_adds_no_key_to_other_rules(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    timed = replace(adaptive, stopping=Stopping("seconds", 4, 9, seconds=3.0))
    header = plan_of(timed, host, minheaps).header("")["stopping"]
    rule = {name: header[name] for name in header if name not in ("level", "steady", "groups")}
    assert rule == {"rule": "seconds", "pilot": 4, "maximum": 9, "seconds": 3.0}
    assert "seconds" not in plan_of(adaptive, host, minheaps).header("")["stopping"]


def test_deciding_shares_the_error_among_all_comparisons_of_the_host(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    stopping = Stopping("decide", 3, 9, 2.0, budget_s=7200.0)
    plan = plan_of(replace(experiment, stopping=stopping, invocations=9), host, minheaps)
    told = plan.header("")["stopping"]
    pairs, largest = (
        of(len(group[key]) for group in told["groups"]) for of, key in ((sum, "pairs"), (max, "cells"))
    )
    assert told["compared"] == max(pairs, math.comb(largest, 2)) > 1
    assert told["budget_s"] == 7200.0
    assert told["t"] == t_quantiles(level_of_looks(0.95 ** (1 / told["compared"]), 9), 8)
    # Looks are within segments, so the first one is as long as the others.
    rows = plan.row_count // 9
    assert segment_bounds(plan.experiment, plan.row_count)[0] == (
        0,
        rows * plan.experiment.rounds_per_segment,
    )
    # The first look is after the pilot.
    late = replace(plan.experiment, stopping=replace(stopping, pilot=7), rounds_per_segment=4)
    assert segment_bounds(late, plan.row_count) == [(0, rows * 7), (rows * 7, rows * 9)]
    one_look = plan_of(replace(late, stopping=replace(stopping, pilot=9)), host, minheaps)
    assert one_look.header("")["stopping"]["t"] == t_quantiles(0.95 ** (1 / told["compared"]), 8)
    # With fewer comparisons, each has more of the error: a decision is another one.
    fewer = replace(plan, cells=plan.cells[: plan.group_sizes[0]], group_sizes=plan.group_sizes[:1])
    other = fewer.header("")["stopping"]["groups"][0]["key"]
    assert other != told["groups"][0]["key"]


def test_hosts_that_decide_together_look_after_each_segment_and_then_only(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    stopping = Stopping("decide", 4, 9, 2.0, together=True)
    plan = plan_of(replace(experiment, stopping=stopping, invocations=9), host, minheaps)
    told = plan.header("")["stopping"]
    assert told["looks"] == [4, 7, 9]
    rows = plan.row_count // 9
    assert segment_bounds(plan.experiment, plan.row_count) == [
        (rows * first, rows * end) for first, end in ((0, 4), (4, 7), (7, 9))
    ]
    keys = {group["key"] for group in told["groups"]}
    other = replace(plan, experiment=replace(plan.experiment, rounds_per_segment=2))
    assert not keys & {group["key"] for group in other.header("")["stopping"]["groups"]}


def test_the_pilot_is_the_first_segment(adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps) -> None:
    plan = plan_of(adaptive, host, minheaps)
    assert adaptive.segments == 3
    assert segment_bounds(adaptive, plan.row_count) == [(0, 96), (96, 168), (168, 216)]


def test_what_is_discarded_comes_before_the_pilot(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    startup = replace(adaptive, steady=SteadyState("startup", 1, 0))
    plan = plan_of(startup, host, minheaps)
    assert (startup.discarded_rounds, startup.rounds) == (1, 10)
    assert segment_bounds(startup, plan.row_count) == [(0, 120), (120, 192), (192, 240)]
    header = plan.header("")
    assert (header["rounds"], header["discarded_rounds"], header["rows"]) == (10, 1, 240)


def test_a_short_startup_experiment_takes_no_segment_more(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    startup = replace(experiment, invocations=3, steady=SteadyState("startup", 1, 0))
    assert segment_bounds(startup, plan_of(startup, host, minheaps).row_count) == [(0, 96)]


def test_without_a_baseline_all_of_a_group_are_compared(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    groups = plan_of(adaptive, host, minheaps).header("")["stopping"]["groups"]
    assert [len(group["pairs"]) for group in groups] == [15] * 4
    assert groups[1]["cells"] == [6, 7, 8, 9, 10, 11]
    assert all(6 <= i < 12 for pair in groups[1]["pairs"] for i in pair)


@pytest.mark.parametrize(
    "baseline", [{"collector": "serial"}, {"runtime": "a"}, {"runtime": "b", "collector": "g1"}]
)
def test_with_a_baseline_pairs_are_those_of_the_analysis(
    baseline: Mapping[str, str], adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    plan = plan_of(replace(adaptive, baseline=baseline), host, minheaps)
    planned = {tuple(p) for group in plan.header("")["stopping"]["groups"] for p in group["pairs"]}
    pairs, _ = pairs_of(Samples(cells=as_analysed(plan.cells)), baseline)
    analysed = {(pair.cell.number, pair.base.number) for pair in pairs}
    assert planned == analysed


def test_a_cell_that_is_alone_is_judged_by_its_own_mean(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    alone = replace(adaptive, collectors=adaptive.collectors[:1], compare=("collector",))
    groups = plan_of(alone, host, minheaps).header("")["stopping"]["groups"]
    assert [group["pairs"] for group in groups] == [[[i, None]] for i in range(8)]


def test_a_twin_is_compared_with_what_it_repeats_alone(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    plan = plan_of(
        replace(adaptive, aa=True, baseline={"runtime": "a", "collector": "serial"}), host, minheaps
    )
    (first, *_) = plan.header("")["stopping"]["groups"]
    twin = next(i for i in first["cells"] if plan.cells[i].twin_of)
    assert [p for p in first["pairs"] if twin in p] == [[twin, 0]]


def test_a_groups_key_is_the_same_until_what_it_depends_on_changes(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    def keys(changed: Experiment) -> list[str]:
        return [g["key"] for g in plan_of(changed, host, minheaps).header("")["stopping"]["groups"]]

    own = keys(adaptive)
    assert len(set(own)) == 4
    assert keys(replace(adaptive, question="another", rounds_per_segment=2)) == own
    assert keys(replace(adaptive, benchmarks=adaptive.benchmarks[:1])) == own[:2]
    assert keys(replace(adaptive, runtimes=adaptive.runtimes[::-1])) == own
    for other in (
        replace(adaptive, seed=6),
        replace(adaptive, stopping=replace(STEIN, maximum=10), invocations=10),
        replace(adaptive, collectors=adaptive.collectors[:2]),
    ):
        assert not set(keys(other)) & set(own)


def test_decisions_rest_on_the_summary_but_what_is_measured_does_not(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    def made(summary: str) -> tuple[list[str], list[str], set[str]]:
        benchmarks = tuple(replace(b, summary=summary) for b in adaptive.benchmarks)  # type: ignore[arg-type]
        header = plan_of(replace(adaptive, benchmarks=benchmarks), host, minheaps).header("")
        keys = [group["key"] for group in header["stopping"]["groups"]]
        cells = header["cells"]
        return keys, [cell["cell_id"] for cell in cells], {cell["summary"] for cell in cells}

    mean, median, minimum = made("mean"), made("median"), made("minimum")
    assert mean[1] == median[1] == minimum[1]
    assert not set(mean[0]) & set(median[0])
    assert not set(median[0]) & set(minimum[0])
    assert (mean[2], median[2]) == ({"mean"}, {"median"})


def test_decisions_rest_on_the_metric_but_what_is_measured_does_not(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    def made(metric: str) -> tuple[list[str], list[str]]:
        benchmarks = tuple(replace(b, metric=metric) for b in adaptive.benchmarks)
        header = plan_of(replace(adaptive, benchmarks=benchmarks), host, minheaps).header("")
        groups = header["stopping"]["groups"]
        return [group["key"] for group in groups], [cell["cell_id"] for cell in header["cells"]]

    first, process = made("elapsed"), made("process_elapsed")
    assert first[1] == process[1]
    assert not set(first[0]) & set(process[0])


def test_with_the_rule_for_cells_each_cell_is_a_group(
    adaptive: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    rule = replace(STEIN, rule="javastats-cell")
    header = plan_of(replace(adaptive, stopping=rule), host, minheaps).header("")
    groups = header["stopping"]["groups"]
    assert [group["cells"] for group in groups] == [[i] for i in range(len(header["cells"]))]
    assert [group["pairs"] for group in groups] == [[[i, None]] for i in range(len(header["cells"]))]
    assert len({group["key"] for group in groups}) == len(groups)
