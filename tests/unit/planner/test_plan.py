"""The plan of a host: blocks hold what is compared, segments hold whole rounds, and nothing depends on when it is made."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from regatta.fleet.plans import write_host_plan, write_runner
from regatta.host.journal.plan_files import read_plan
from regatta.host.values.experiment import DUET, Experiment, Order
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import cross
from regatta.planner.plan import HostPlan, plan_host, segment_bounds
from regatta.store.folder import Folder

Minheaps = dict[tuple[str, str], int]


def plan_of(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> HostPlan:
    return plan_host(experiment, host, cross(experiment, host, minheaps))


def test_a_block_holds_the_alternatives_of_one_benchmark_and_heap(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    plan = plan_of(experiment, host, minheaps)
    assert plan.group_sizes == [6, 6, 6, 6]
    for start in range(0, 24, 6):
        block = plan.cells[start : start + 6]
        assert len({(c.benchmark.label, c.heap) for c in block}) == 1


def test_factors_that_are_not_compared_make_blocks_of_their_own(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    assert plan_of(replace(experiment, compare=("collector",)), host, minheaps).group_sizes == [3] * 8
    together = replace(experiment, compare=("runtime", "collector", "modifiers", "heap"))
    assert plan_of(together, host, minheaps).group_sizes == [12, 12]


@pytest.mark.parametrize("order", [order for order in get_args(Order) if order != DUET])
def test_segments_follow_each_other_and_cover_the_plan(
    order: Order, experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    ordered = replace(experiment, order=order)
    plan = plan_of(ordered, host, minheaps)
    bounds = segment_bounds(ordered, plan.row_count)
    assert len(bounds) == ordered.segments == 3
    assert bounds[0][0] == 0
    assert bounds[-1][1] == plan.row_count == 24 * 7
    assert all(a[1] == b[0] for a, b in pairwise(bounds))


def test_a_segment_holds_whole_rounds(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> None:
    plan = plan_of(experiment, host, minheaps)
    rows = np.concatenate(list(plan.rows()))
    rounds = [set(rows[a:b, 0].tolist()) for a, b in segment_bounds(experiment, plan.row_count)]
    assert rounds == [{0, 1, 2}, {3, 4, 5}, {6}]


def test_the_runner_reads_what_the_planner_wrote(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps, tmp_path: Path
) -> None:
    plan = plan_of(experiment, host, minheaps)
    folder = Folder(tmp_path / "e")
    write_host_plan(folder, plan)
    read = read_plan(folder.host_plan("local"))
    rows = [row for segment in range(3) for block in read.blocks(segment) for row in block]
    planned = np.concatenate(list(plan.rows()))
    assert [[r.round, r.block, r.position] for r in rows] == planned[:, :3].tolist()
    assert [r.cell["cell_id"] for r in rows] == [plan.cells[c].cell_id for c in planned[:, 3]]
    assert len({row.invocation_id for row in rows}) == len(rows) == 24 * 7


def test_the_plan_id_changes_with_the_plan_and_not_with_the_question(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    def plan_id(changed: Experiment) -> str:
        return str(plan_of(changed, host, minheaps).header("")["plan_id"])

    assert plan_id(experiment) == plan_id(replace(experiment, question="another"))
    assert plan_id(experiment) != plan_id(replace(experiment, invocations=8))


def test_a_plan_is_json_without_anything_left_to_look_up(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    text = json.dumps(plan_of(experiment, host, minheaps).header(""))
    assert "{runtime}" not in text


def test_the_runner_is_the_same_bytes_whenever_it_is_made(tmp_path: Path) -> None:
    write_runner(tmp_path / "a.pyz")
    write_runner(tmp_path / "b.pyz")
    assert (tmp_path / "a.pyz").read_bytes() == (tmp_path / "b.pyz").read_bytes()


def test_the_runner_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    write_runner(tmp_path / "runner.pyz")
    # -S: not even the packages that are installed beside this test
    command = [sys.executable, "-I", "-S", str(tmp_path / "runner.pyz"), "segment", "--help"]
    assert "one segment" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
