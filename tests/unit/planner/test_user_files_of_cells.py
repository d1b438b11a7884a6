"""A file that the user brings belongs to what a cell is, and so does what lies beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.specs.made_experiments import java_benchmark
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import Experiment, UserFile
from regatta.host.values.resolved import File, ResolvedHost
from regatta.planner.cells import cross

JAR, DATA, OTHER = File("/f/a.jar", "a" * 64), File("/f/data", "d" * 64), File("/f/other.jar", "e" * 64)


def cell(experiment: Experiment, host: ResolvedHost, files: dict[str, File], jar: str = "{file.kit}") -> Cell:
    brought = {"kit": UserFile("a.jar", "x", beside=("data",)), "other": UserFile("other.jar", "x")}
    benchmark = java_benchmark(
        "x", command=("{runtime}", "-jar", jar), files=brought, arrange={"d": "{file.kit}/d"}
    )
    host = replace(host, files={benchmark.label: files})
    return cross(replace(experiment, benchmarks=(benchmark,), heaps=()), host, {}).cells[0]


def test_its_path_is_in_the_command_and_in_what_is_arranged(
    experiment: Experiment, host: ResolvedHost
) -> None:
    made = cell(experiment, host, {"kit": JAR, "kit/data": DATA, "other": OTHER})
    assert made.argv[-2:] == ("-jar", "/f/a.jar")
    assert made.arrange == {"d": "/f/a.jar/d"}


def test_what_lies_beside_it_is_checked_before_each_segment_and_what_is_not_named_is_not(
    experiment: Experiment, host: ResolvedHost
) -> None:
    made = cell(experiment, host, {"kit": JAR, "kit/data": DATA, "other": OTHER})
    assert {JAR, DATA} <= set(made.files)
    assert OTHER not in made.files


@pytest.mark.parametrize("changed", ["kit", "kit/data"])
def test_other_contents_make_another_cell(experiment: Experiment, host: ResolvedHost, changed: str) -> None:
    files = {"kit": JAR, "kit/data": DATA, "other": OTHER}
    before = cell(experiment, host, files)
    after = cell(experiment, host, {**files, changed: replace(files[changed], sha256="b" * 64)})
    moved = cell(experiment, host, {**files, changed: replace(files[changed], path="/g/a")})
    assert after.cell_id != before.cell_id
    assert moved.cell_id == before.cell_id
