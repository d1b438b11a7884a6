"""Cells whose command needs a file that a training run of the same command leaves; and modifiers that are refused."""

from __future__ import annotations

from dataclasses import replace

from helpers.golden import Golden
from helpers.specs.made_experiments import java_benchmark, native_benchmark
from regatta.host.values.cell import TrainingRun
from regatta.host.values.experiment import Experiment, Modifier, Runtime, Training, UserFile
from regatta.host.values.resolved import File, ResolvedHost
from regatta.planner.cells import Crossing, Minheaps, cross

CACHE = Modifier("cache", ("-XX:Use={trained}",), training=Training(("-XX:Make={output}",), "app.aot"))
INTERPRETER = Modifier("interpreter", ("-Xint",))


def with_sets(experiment: Experiment, *sets: tuple[Modifier, ...]) -> Experiment:
    return replace(experiment, modifiers=sets, benchmarks=(java_benchmark("x"),))


def test_a_training_run_is_the_same_command_with_its_own_flags(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    crossing = cross(with_sets(experiment, (), (CACHE,), (CACHE, INTERPRETER)), host, minheaps)
    plain, cached, both = crossing.cells[:3]
    assert plain.training is None
    assert cached.training == TrainingRun((*plain.argv[:4], "-XX:Make={output}", *plain.argv[4:]), "app.aot")
    assert cached.argv == (*plain.argv[:4], "-XX:Use={trained}", *plain.argv[4:])
    assert both.training is not None
    assert "-Xint" in both.training.argv
    assert len({cell.cell_id for cell in crossing.cells}) == len(crossing.cells)


def test_how_the_file_is_made_is_part_of_what_is_measured(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    other = replace(CACHE, training=Training(("-XX:MakeOtherwise={output}",), "app.aot"))
    ids = [
        {cell.cell_id for cell in cross(with_sets(experiment, (m,)), host, minheaps).cells}
        for m in (CACHE, other)
    ]
    assert not ids[0] & ids[1]


def test_what_a_runtime_refuses_is_impossible_with_its_reason(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    runtimes = dict(host.runtimes)
    refusal = "the JVM refuses: Unrecognized VM option"
    runtimes["a"] = replace(runtimes["a"], modifiers={"cache": refusal})
    refused = replace(INTERPRETER, refused_by={"b": "too slow here"})
    crossing = cross(
        with_sets(experiment, (), (CACHE,), (refused,)), replace(host, runtimes=runtimes), minheaps
    )
    reasons = {(label.split(" · ")[1], reason) for label, reason in crossing.impossible}
    assert ("a serial cache", f"cache: {refusal}") in reasons
    assert ("b g1 interpreter", "interpreter: too slow here") in reasons
    assert len(crossing.impossible) == 2 * 3 * 2
    assert {c.runtime for c in crossing.cells if c.modifiers == "cache"} == {"b"}


def test_a_training_run_has_no_input(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> None:
    spec = with_sets(experiment, (), (CACHE,))
    reading = tuple(replace(benchmark, input="/f") for benchmark in spec.benchmarks)
    crossing = cross(replace(spec, benchmarks=reading), host, minheaps)
    assert {cell.modifiers for cell in crossing.cells} == {"none"}
    assert all(reason.startswith("cache: ") for _, reason in crossing.impossible)


def test_two_training_runs_for_one_command_are_impossible(
    experiment: Experiment, host: ResolvedHost, minheaps: Minheaps
) -> None:
    second = replace(CACHE, name="second")
    crossing = cross(with_sets(experiment, (CACHE, second)), host, minheaps)
    assert crossing.cells == []
    assert "one training run" in crossing.impossible[0][1]


def test_flags_of_a_jvm_are_impossible_with_a_native_program(
    experiment: Experiment,
    host: ResolvedHost,
    minheaps: Minheaps,
    golden: Golden,
) -> None:
    mixed = replace(
        experiment,
        benchmarks=(native_benchmark("true"),),
        runtimes=(Runtime("native", "native", "none"),),
        modifiers=((), (INTERPRETER,), (Modifier("quiet", (), {"QUIET": "1"}),)),
    )
    crossing = cross(mixed, host, minheaps)
    assert [cell.modifiers for cell in crossing.cells] == ["none", "quiet"]
    ((_, reason),) = crossing.impossible
    golden("flags of a JVM", reason)


def test_the_content_of_a_compilation_plan_is_part_of_what_is_measured(
    experiment: Experiment,
    host: ResolvedHost,
    minheaps: Minheaps,
    golden: Golden,
) -> None:
    replay = Modifier("replay", ("-XX:Directives={plan}",), plans="/plans")
    key = replay.plan_key("a")
    benchmark = replace(java_benchmark("x"), files={key: UserFile("/plans/x.json", "regatta jit-plan")})
    planned = replace(with_sets(experiment, (), (replay,)), benchmarks=(benchmark,))

    def cells(path: str, digest: str) -> Crossing:
        return cross(
            planned, replace(host, files={benchmark.label: {key: File(path, digest * 64)}}), minheaps
        )

    first, moved, other = (cells(*given) for given in (("/here/x", "1"), ("/there/x", "1"), ("/here/x", "2")))
    replayed = [cell for cell in first.cells if cell.modifiers == "replay"]
    assert {cell.runtime for cell in replayed} == {"a"}
    assert all("-XX:Directives=/here/x" in cell.argv for cell in replayed)
    assert all(File("/here/x", "1" * 64) in cell.files for cell in replayed)
    # The path is not part of the identity, and plain cells do not depend on the plan.
    assert [cell.cell_id for cell in first.cells] == [cell.cell_id for cell in moved.cells]
    same = {cell.cell_id for cell in first.cells} & {cell.cell_id for cell in other.cells}
    assert same == {cell.cell_id for cell in first.cells if cell.modifiers == "none"}
    (reason,) = {reason for label, reason in first.impossible if " b " in f" {label} "}
    golden("no compilation plan", reason)
