"""A/A: the twin is the same command under another identity, and every block group has exactly one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from regatta.host.values.cell import Cell
from regatta.host.values.experiment import Experiment
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import cross
from regatta.planner.plan import HostPlan, plan_host

Minheaps = dict[tuple[str, str], int]


def twins_of(plan: HostPlan) -> Iterator[tuple[Cell, Cell]]:
    by_id = {cell.cell_id: cell for cell in plan.cells}
    return ((by_id[cell.twin_of], cell) for cell in plan.cells if cell.twin_of)


def test_every_block_group_has_one_twin_in_its_own_blocks(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    crossing = cross(experiment, host, minheaps)
    plain = plan_host(experiment, host, crossing)
    plan = plan_host(replace(experiment, aa=True), host, crossing)
    assert plan.group_sizes == [size + 1 for size in plain.group_sizes]
    assert len(list(twins_of(plan))) == len(plan.group_sizes)
    assert not any(cell.twin_of for cell in plain.cells)


def test_a_twin_runs_the_same_command_under_a_name_of_its_own(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    plan = plan_host(replace(experiment, aa=True), host, cross(experiment, host, minheaps))
    for original, twin in twins_of(plan):
        assert (twin.argv, twin.environment, twin.files) == (
            original.argv,
            original.environment,
            original.files,
        )
        assert twin.cell_id != original.cell_id
        assert twin.label == f"{original.label} (again)"
    ids = [cell.cell_id for cell in plan.cells]
    assert len(set(ids)) == len(ids)


def test_the_twin_is_the_baselines(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> None:
    chosen = replace(experiment, aa=True, baseline={"collector": "g1"})
    plan = plan_host(chosen, host, cross(chosen, host, minheaps))
    assert {original.collector for original, _ in twins_of(plan)} == {"g1"}


def test_other_cells_keep_their_identity_when_a_twin_is_asked_for(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    crossing = cross(experiment, host, minheaps)
    plan = plan_host(replace(experiment, aa=True), host, crossing)
    assert [c.cell_id for c in plan.cells if not c.twin_of] == [
        c.cell_id for c in plan_host(experiment, host, crossing).cells
    ]
