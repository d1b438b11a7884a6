"""The crossing: every cell that can exist, none that cannot, and identities that change with what is measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.specs.made_experiments import java_benchmark, native_benchmark, resolved_runtime
from regatta.host.errors import SpecError
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import (
    Collector,
    Exclude,
    Experiment,
    Heap,
    Modifier,
    Runtime,
    SteadyState,
)
from regatta.host.values.resolved import File, ResolvedHost
from regatta.planner.cells import cross

Minheaps = dict[tuple[str, str], int]
#: as a JVM that lacks a collector was found to say
REFUSAL = "the JVM refuses: no such option"


def ids(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> set[str]:
    return {cell.cell_id for cell in cross(experiment, host, minheaps).cells}


def test_it_is_full(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> None:
    crossing = cross(experiment, host, minheaps)
    assert len(crossing.cells) == 2 * 2 * 3 * 2
    assert len({cell.label for cell in crossing.cells}) == 24
    assert not crossing.impossible


def test_a_command_is_the_runtime_its_flags_the_heap_and_the_benchmark(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    cell = cross(experiment, host, minheaps).cells[0]
    assert cell.argv == ("/opt/a/bin/java", "-XX:+Useserial", "-Xms30m", "-Xmx30m", "-cp", "x.jar", "x", "3")


def test_native_benchmarks_have_neither_collector_nor_heap(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    native = replace(
        experiment,
        benchmarks=(native_benchmark("t"),),
        runtimes=(*experiment.runtimes, Runtime("native", "native", "none")),
    )
    (cell,) = cross(native, host, minheaps).cells
    assert (cell.argv, cell.collector, cell.heap, cell.runtime) == (("/bin/true",), "", Heap(), "native")


def test_a_collector_that_the_jvm_refuses_is_reported(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    runtimes = dict(host.runtimes) | {"b": resolved_runtime("b", {"g1": REFUSAL})}
    crossing = cross(experiment, replace(host, runtimes=runtimes), minheaps)
    assert len(crossing.cells) == 24 - 4
    assert {reason for _, reason in crossing.impossible} == {REFUSAL}
    assert len(crossing.impossible) == 4


def test_a_runtime_that_cannot_be_had_is_reported(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    runtimes = {"a": host.runtimes["a"]}
    crossing = cross(
        experiment, replace(host, runtimes=runtimes, missing_runtimes={"b": "no such package"}), minheaps
    )
    assert {cell.runtime for cell in crossing.cells} == {"a"}
    assert {reason for _, reason in crossing.impossible} == {"no such package"}


def test_what_the_spec_says_a_runtime_refuses_is_not_asked(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    refusing = (Collector("serial", ("-XX:+Useserial",), {"a": "crashes"}), *experiment.collectors[1:])
    crossing = cross(replace(experiment, collectors=refusing), host, minheaps)
    assert len(crossing.impossible) == 4


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        (Exclude(collector="g1"), 16),
        (Exclude(collector="g1", heap=Heap(1.5)), 20),
        (Exclude(benchmark="x", runtime="a"), 18),
        (Exclude(benchmark="s/x:small"), 12),
        (Exclude(heap=Heap(mib=60)), 12),
        (Exclude(host="elsewhere"), 24),
    ],
)
def test_excludes_leave_out_what_matches_all_their_conditions(
    exclude: Exclude, left: int, experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    crossing = cross(replace(experiment, excludes=(exclude,)), host, minheaps)
    assert len(crossing.cells) == left
    assert crossing.excluded == 24 - left


def test_a_missing_minheap_names_the_command_that_measures_it(
    experiment: Experiment, host: ResolvedHost
) -> None:
    with pytest.raises(SpecError) as caught:
        cross(experiment, host, {("s/x:small", "a"): 20})
    assert len(caught.value.problems) == 3
    assert all(p.fix == "run `regatta minheap e.yml`" for p in caught.value.problems)


def test_factors_that_give_the_same_heap_are_one_cell_and_the_others_are_told(
    experiment: Experiment, host: ResolvedHost
) -> None:
    tight = replace(experiment, heaps=(Heap(factor=1.0), Heap(factor=1.1), Heap(factor=2.0)))
    crossing = cross(tight, host, {(f"s/{b}:small", r): 5 for b in "xy" for r in "ab"})
    assert {cell.heap.mib for cell in crossing.cells} == {5, 6, 10}
    same = cross(tight, host, {(f"s/{b}:small", r): 1 for b in "xy" for r in "ab"})
    assert {cell.heap.mib for cell in same.cells} == {1, 2}
    assert len(same.impossible) == 12


def test_two_names_for_the_same_command_are_refused(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    twins = (*experiment.collectors, Collector("twin", ("-XX:+Useserial",)))
    runtimes = {n: replace(r, collectors={**r.collectors, "twin": ""}) for n, r in host.runtimes.items()}
    with pytest.raises(SpecError, match=r"same command .*serial .*twin "):
        cross(replace(experiment, collectors=twins), replace(host, runtimes=runtimes), minheaps)


def test_an_equal_runtime_is_refused_unless_it_is_an_a_a_comparison(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    equal = replace(host, runtimes={**host.runtimes, "b": replace(host.runtimes["a"], name="b")})
    with pytest.raises(SpecError, match="same command for"):
        cross(experiment, equal, minheaps)
    a, b = experiment.runtimes
    compared = cross(replace(experiment, runtimes=(a, replace(b, aa=True))), equal, minheaps).cells
    alone = cross(replace(experiment, runtimes=(a,)), equal, minheaps).cells
    assert [cell.cell_id for cell in compared if cell.runtime == "a"] == [cell.cell_id for cell in alone]
    assert len({cell.cell_id for cell in compared}) == len(compared) == 2 * len(alone)


def test_adding_to_the_spec_leaves_every_old_identity_as_it_was(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    old = ids(experiment, host, minheaps)
    grown = replace(
        experiment,
        modifiers=((), (Modifier("m", ("-Xint",)),)),
        heaps=(*experiment.heaps, Heap(factor=6.0)),
        invocations=30,
        question="another one",
        order="williams",
        excludes=(),
    )
    assert old < ids(grown, host, minheaps)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 6},
        {"steady": SteadyState("fixed", 4, 1)},
        {"benchmarks": (java_benchmark("x", parameters={"n": 4}), java_benchmark("y", parameters={"n": 4}))},
        {
            "benchmarks": (
                java_benchmark("x", environment={"A": "1"}),
                java_benchmark("y", environment={"A": "1"}),
            )
        },
    ],
)
def test_whatever_changes_the_numbers_changes_the_identity(
    change: dict[str, object], experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    assert not ids(experiment, host, minheaps) & ids(replace(experiment, **change), host, minheaps)  # type: ignore[arg-type]


def test_another_build_of_a_runtime_or_another_class_of_host_is_another_cell(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    old = ids(experiment, host, minheaps)
    rebuilt = {n: replace(r, identity=f"{n} rebuilt") for n, r in host.runtimes.items()}
    assert not old & ids(experiment, replace(host, runtimes=rebuilt), minheaps)
    assert not old & ids(experiment, replace(host, host_class="other"), minheaps)


def test_where_a_runtime_lies_is_no_part_of_its_identity(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    moved = {n: replace(r, program=f"/elsewhere{r.program}") for n, r in host.runtimes.items()}
    assert ids(experiment, host, minheaps) == ids(experiment, replace(host, runtimes=moved), minheaps)


def test_how_long_it_waits_and_when_it_is_disturbed_are_no_part_of_the_identity(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    patient = replace(experiment, timeout_s=99.0, limits=replace(experiment.limits, retries=9))
    assert ids(experiment, host, minheaps) == ids(patient, host, minheaps)


def test_a_program_that_a_command_starts_is_a_part_of_what_is_measured(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    started = replace(
        native_benchmark("t"), command=("true", "--", "{program.gzip}", "-9"), check=("./prog",)
    )
    assert started.programs == ("true", "gzip")
    native = replace(
        experiment, benchmarks=(started,), runtimes=(Runtime("native", "native", "none"),), collectors=()
    )

    def cell(gzip: File) -> Cell:
        programs = {**host.programs, "gzip": gzip}
        (found,) = cross(native, replace(host, programs=programs), minheaps).cells
        return found

    first = cell(File("/usr/bin/gzip", "1" * 64))
    assert first.argv == ("/bin/true", "--", "/usr/bin/gzip", "-9")
    assert File("/usr/bin/gzip", "1" * 64) in first.files
    assert cell(File("/usr/bin/gzip", "2" * 64)).cell_id != first.cell_id
