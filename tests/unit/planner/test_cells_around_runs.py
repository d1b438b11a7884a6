"""What a suite says about each run beside its command: expected exit codes, a command after it, and its streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from helpers.specs.made_experiments import native_benchmark
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import Benchmark, Expectation, Experiment, Runtime, UserFile
from regatta.host.values.resolved import File, ResolvedHost
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


def test_a_file_for_the_input_is_part_of_the_identity_by_its_contents(
    experiment: Experiment, host: ResolvedHost
) -> None:
    reads = replace(native_benchmark("x"), input="{file.data}", files={"data": UserFile("data", "here")})

    def cell(sha256: str) -> Cell:
        there = replace(host, files={reads.label: {"data": File("/f/data", sha256)}})
        return cells_of(experiment, there, reads)[0]

    planned = cell("0" * 64).to_json(1.0, 1)
    assert planned["input"] == "/f/data"
    assert {"path": "/f/data", "sha256": "0" * 64} in planned["files"]
    assert cell("0" * 64).cell_id != cell("1" * 64).cell_id


def test_streams_are_in_the_plan_and_in_the_identity(experiment: Experiment, host: ResolvedHost) -> None:
    plain = native_benchmark("x")
    changed = [replace(plain, **{key: "/f"}) for key in ("input", "output")]  # type: ignore[arg-type]
    cells = [cells_of(experiment, host, one)[0] for one in (plain, *changed)]
    assert len({cell.cell_id for cell in cells}) == 3
    streams = [{"input", "output"} & cell.to_json(1.0, 1).keys() for cell in cells]
    assert streams == [set(), {"input"}, {"output"}]
