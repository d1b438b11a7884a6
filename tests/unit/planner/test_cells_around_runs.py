"""What a suite says about each run beside its command: expected exit codes, and a command after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from helpers.specs.made_experiments import native_benchmark
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import Benchmark, Expectation, Experiment, Runtime
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import cross


def cells_of(experiment: Experiment, host: ResolvedHost, *benchmarks: Benchmark) -> list[Cell]:
    native = (Runtime("native", "native", "none"),)
    return cross(replace(experiment, benchmarks=benchmarks, runtimes=native), host, {}).cells


@pytest.mark.parametrize(
    ("codes", "planned"), [((0,), None), ((0, 3), [0, 3]), ((), [])], ids=["default", "listed", "any"]
)
def test_only_other_exit_codes_are_in_the_plan_and_in_the_identity(
    experiment: Experiment, host: ResolvedHost, codes: tuple[int, ...], planned: Any
) -> None:
    plain = native_benchmark("x")
    (usual,) = cells_of(experiment, host, plain)
    (cell,) = cells_of(experiment, host, replace(plain, expect=Expectation(exit_codes=codes)))
    assert cell.to_json(1.0, 1)["expect"].get("exit_codes") == planned
    assert (cell.cell_id == usual.cell_id) == (planned is None)


def test_a_command_after_each_run_is_in_the_plan_and_in_the_identity(
    experiment: Experiment, host: ResolvedHost
) -> None:
    plain = native_benchmark("x")
    (usual,) = cells_of(experiment, host, plain)
    (cell,) = cells_of(experiment, host, replace(plain, conclude=("true", "x")))
    assert "conclude" not in usual.to_json(1.0, 1)
    assert cell.to_json(1.0, 1)["conclude"] == ["/bin/true", "x"]
    assert cell.cell_id != usual.cell_id
