"""Benchmarks whose parameters a spec chose: each its own cell, in its own blocks, as sizes are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.golden import Golden
from helpers.specs.made_experiments import java_benchmark, resolved_runtime
from regatta.host.errors import SpecError
from regatta.host.values.experiment import (
    Benchmark,
    Exclude,
    Experiment,
    Input,
    Modifier,
    Runtime,
    Scalar,
)
from regatta.host.values.resolved import File, ResolvedHost
from regatta.planner.cells import cross
from regatta.planner.plan import plan_host


def program(command: tuple[str, ...] = ("true", "{parallel}"), **chosen: Scalar) -> Benchmark:
    return java_benchmark(
        "t", kind="native", command=command, adapter="process", parameters={"parallel": 1, **chosen}, chosen=chosen
    )  # fmt: skip


def of(experiment: Experiment, *benchmarks: Benchmark, **changes: object) -> Experiment:
    native = Runtime("native", "native", "none")
    return replace(experiment, benchmarks=benchmarks, runtimes=(native,), **changes)  # type: ignore[arg-type]


def test_a_chosen_value_is_in_the_command_and_in_the_label(
    experiment: Experiment, host: ResolvedHost
) -> None:
    (cell,) = cross(of(experiment, program(parallel=4)), host, {}).cells
    assert cell.argv == ("/bin/true", "4")
    assert cell.label == "s/t:small parallel=4 · native"


def test_each_value_is_a_cell_even_where_the_command_does_not_show_it(
    experiment: Experiment, host: ResolvedHost
) -> None:
    """A parameter may change an input alone, whose bytes may happen to be equal."""
    source = {"text": Input("text", ("make-text", "{parallel}", "{output}"))}
    benchmarks = [
        replace(program(("true",), parallel=n), inputs=source, arrange={"copy": "{input.text}"})
        for n in (1, 2, 3)
    ]
    inputs = {b.label: {"text": File(f"/cache/text-{b.chosen['parallel']}", "0" * 64)} for b in benchmarks}
    cells = cross(of(experiment, *benchmarks), replace(host, inputs=inputs), {}).cells
    assert len({cell.cell_id for cell in cells}) == 3


def test_values_that_nothing_uses_are_the_same_command_twice(
    experiment: Experiment,
    host: ResolvedHost,
    golden: Golden,
) -> None:
    benchmarks = [program(("true",), parallel=n) for n in (1, 2)]
    with pytest.raises(SpecError, match=r"same command .*parallel=1.*parallel=2") as caught:
        cross(of(experiment, *benchmarks), host, {})
    golden("fix of a parameter without use", caught.value.problems[0].fix)


def test_a_parameter_of_one_language_needs_an_exclude_for_the_other(
    experiment: Experiment, host: ResolvedHost
) -> None:
    commands = {"python": ("{runtime}", "s.py", "{parallel}"), "perl": ("{runtime}", "s.pl")}
    benchmarks = [replace(program((), parallel=n), kind="program", commands=commands) for n in (1, 2)]
    runtimes = tuple(Runtime(name, "program", "path", language=name) for name in commands)
    there = {name: resolved_runtime(name) for name in commands}
    spec = replace(of(experiment, *benchmarks), runtimes=runtimes, collectors=(), heaps=())
    # Each value of one language is paired with the other language, which is measured beside it.
    assert len(cross(spec, replace(host, runtimes=there), {}).cells) == 4
    with pytest.raises(SpecError, match="the same command for"):
        cross(replace(spec, runtimes=runtimes[1:]), replace(host, runtimes=there), {})
    spec = replace(spec, compare=("parameters.parallel",))
    with pytest.raises(SpecError) as caught:
        cross(spec, replace(host, runtimes=there), {})
    (problem,) = caught.value.problems
    assert "parallel=1 · perl" in problem.got
    assert "parallel=2 · perl" in problem.got
    alone = replace(spec, excludes=(Exclude(benchmark="s/t:small parallel=2", runtime="perl"),))
    cells = cross(alone, replace(host, runtimes=there), {}).cells
    assert [cell.runtime for cell in cells] == ["python", "perl", "python"]


@pytest.mark.parametrize(
    "changed", ["prepare", "conclude", "environment", "directory", "check", "input", "output"]
)
def test_a_command_that_differs_around_the_measured_one_is_another(
    experiment: Experiment, host: ResolvedHost, changed: str
) -> None:
    value: object = (
        {"A": "1"}
        if changed == "environment"
        else "/f"
        if changed in ("directory", "input", "output")
        else ("true", "x")
    )
    benchmarks = [program(("true",), parallel=1), replace(program(("true",), parallel=2), **{changed: value})]
    assert len(cross(of(experiment, *benchmarks), host, {}).cells) == 2


def test_another_value_beside_it_leaves_a_cell_what_it_was(
    experiment: Experiment, host: ResolvedHost
) -> None:
    (alone,) = cross(of(experiment, program(parallel=2)), host, {}).cells
    both = cross(of(experiment, program(parallel=1), program(parallel=2)), host, {}).cells
    assert alone.cell_id in {cell.cell_id for cell in both}


def test_cells_of_different_values_share_no_block(experiment: Experiment, host: ResolvedHost) -> None:
    modifiers = ((), (Modifier("utf8", environment={"LC_ALL": "C.UTF-8"}),))
    many = of(
        experiment,
        program(parallel=1),
        program(parallel=2),
        modifiers=modifiers,
        baseline={"modifiers": "none"},
    )
    plan = plan_host(many, host, cross(many, host, {}))
    assert plan.group_sizes == [2, 2]
    assert [cell.benchmark.label for cell in plan.cells] == ["s/t:small parallel=1"] * 2 + [
        "s/t:small parallel=2"
    ] * 2


def test_one_value_can_be_excluded(experiment: Experiment, host: ResolvedHost) -> None:
    without = of(
        experiment,
        program(parallel=1),
        program(parallel=2),
        excludes=(Exclude(benchmark="s/t:small parallel=2"),),
    )
    crossing = cross(without, host, {})
    assert [cell.benchmark.label for cell in crossing.cells] == ["s/t:small parallel=1"]
    assert crossing.excluded == 1


def test_truth_is_written_as_yaml_writes_it(experiment: Experiment, host: ResolvedHost) -> None:
    (cell,) = cross(of(experiment, program(parallel=True)), host, {}).cells
    assert cell.argv == ("/bin/true", "true")
    assert cell.benchmark.label == "s/t:small parallel=true"


def test_compared_parameters_and_programs_share_a_block(experiment: Experiment, host: ResolvedHost) -> None:
    programs = [program(parallel=1), program(parallel=4), program(("false", "{parallel}"), parallel=1)]
    programs[2] = replace(programs[2], name="f")
    named = replace(host, programs={**host.programs, "false": host.programs["true"]})
    sizes = {}
    for compare in (
        ("runtime",),
        ("parameters.parallel",),
        ("benchmark",),
        ("benchmark", "parameters.parallel"),
    ):
        chosen = of(experiment, *programs, compare=compare)
        sizes[compare] = plan_host(chosen, named, cross(chosen, named, {})).group_sizes
    assert list(sizes.values()) == [[1, 1, 1], [2, 1], [2, 1], [3]]
