"""`order: duet` in a plan: two alternatives in each block, which swap their places, with identities of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from regatta.host.errors import SpecError
from regatta.host.values.experiment import Exclude, Experiment
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import Crossing, cross
from regatta.planner.plan import HostPlan, plan_host, segment_bounds

Minheaps = dict[tuple[str, str], int]


@pytest.fixture
def duet(experiment: Experiment) -> Experiment:
    return replace(
        experiment, order="duet", runtimes=experiment.runtimes[:1], collectors=experiment.collectors[:2]
    )


def planned(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> tuple[HostPlan, Crossing]:
    crossing = cross(experiment, host, minheaps)
    return plan_host(experiment, host, crossing), crossing


def test_alternatives_swap_their_places_every_round(
    duet: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    plan, _ = planned(duet, host, minheaps)
    assert set(plan.group_sizes) == {2}
    rows = np.concatenate(list(plan.rows()))
    for cell in range(len(plan.cells)):
        places = rows[rows[:, 3] == cell][:, 2]
        assert set(np.diff(places)) == {-1, 1}
    assert plan.header("")["steady"]["method"] == "fixed"
    bounds = segment_bounds(duet, plan.row_count)
    assert (bounds[0][0], bounds[-1][1]) == (0, plan.row_count)
    assert all(end % 2 == 0 for _, end in bounds)


def test_they_are_other_cells_than_those_of_other_orders(
    duet: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    ids = [
        {cell.cell_id for cell in planned(one, host, minheaps)[0].cells}
        for one in (duet, replace(duet, order="williams"))
    ]
    assert not ids[0] & ids[1]


def test_three_alternatives_are_refused_with_their_names(
    duet: Experiment, experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    with pytest.raises(SpecError) as caught:
        planned(replace(duet, collectors=experiment.collectors[:3]), host, minheaps)
    assert all(problem.got.startswith("3: ") for problem in caught.value.problems)


def test_two_that_are_not_compared_are_refused(
    duet: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    x, y = duet.benchmarks
    both = replace(
        duet,
        benchmarks=(x, replace(y, metric="throughput")),
        collectors=duet.collectors[:1],
        compare=(*duet.compare, "benchmark"),
    )
    with pytest.raises(SpecError, match="one metric"):
        planned(both, host, minheaps)


def test_an_alternative_without_its_partner_is_not_possible_and_the_rest_is_planned(
    duet: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    second = duet.collectors[1].name
    chosen = replace(duet, excludes=(Exclude(collector=second, benchmark=duet.benchmarks[0].label),))
    plan, crossing = planned(chosen, host, minheaps)
    assert {cell.benchmark.label for cell in plan.cells} == {duet.benchmarks[1].label}
    assert [label for label, _ in crossing.impossible]
    assert all("order: duet" in reason for _, reason in crossing.impossible)


def test_nothing_to_compare_is_refused(duet: Experiment, host: ResolvedHost, minheaps: Minheaps) -> None:
    with pytest.raises(SpecError, match="order: duet"):
        planned(replace(duet, collectors=duet.collectors[:1]), host, minheaps)
