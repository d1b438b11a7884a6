"""Modifiers: those of `configs/modifiers.yml` by name, the spec's own beside them, and what a training run must say."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.specs.spec_examples import JAVA, write
from regatta.fleet.user_files import find_user_files
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Experiment, Training, plan_path
from regatta.host.values.resolved import File
from regatta.spec.load import load_spec

Load = Callable[..., Experiment]
ROOT = Path(__file__).resolve().parents[3]

REGISTRY = """
    modifiers:
      interpreter: {flags: [-Xint], controls_compilation: true, refused_by: {jdk-25: for the test}}
      cache:
        flags: ["-XX:AOTCache={trained}"]
        train: {flags: ["-XX:AOTCacheOutput={output}"], output: app.aot}
    """


@pytest.fixture
def registered(home: Path) -> None:
    write(home / "configs/modifiers.yml", REGISTRY)


@pytest.mark.usefixtures("registered")
def test_registered_modifiers_are_used_by_name_and_only_where_they_are_named(load: Load) -> None:
    assert load(JAVA).modifiers == ((),)
    experiment = load(
        JAVA, "modifiers: {own: {flags: [-Xss1m]}}\nmodifier_sets: [[], [interpreter, own], [cache]]"
    )
    assert [[m.name for m in s] for s in experiment.modifiers] == [[], ["interpreter", "own"], ["cache"]]
    interpreter, cache = experiment.modifiers[1][0], experiment.modifiers[2][0]
    assert interpreter.controls_compilation
    assert interpreter.refused_by == {"jdk-25": "for the test"}
    assert cache.training == Training(("-XX:AOTCacheOutput={output}",), "app.aot")
    assert [[m.name for m in s] for s in load(JAVA, "modifiers: {own: {}}").modifiers] == [[], ["own"]]


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    "text",
    [
        "modifiers: {interpreter: {flags: [-Xint]}}",
        "modifier_sets: [[interpretor]]",
        "modifiers: {m: {refused_by: {jdk-26: why}}}",
        "modifiers: {m: {flags: ['{trained}']}}",
        "modifiers: {m: {train: {flags: ['{output}'], output: a}}}",
        "modifiers: {m: {plans: folder}}",
        "modifiers: {m: {flags: ['-XX:File={plan}']}}",
        "modifiers: {m: {flags: ['{trained}'], train: {flags: [-Xshare:dump], output: a}}}",
        "modifiers: {m: {flags: ['{trained}'], train: {flags: ['{output}'], output: ../a}}}",
    ],
)
def test_what_is_wrong_with_a_modifier_is_said(load: Load, text: str, golden: Golden) -> None:
    with pytest.raises(SpecError) as caught:
        load(JAVA, text)
    golden(text, str(caught.value))


def test_a_wrong_entry_of_the_registry_is_told_once(home: Path, load: Load) -> None:
    write(home / "configs/modifiers.yml", "modifiers: {interpreter: {flag: [-Xint]}}")
    with pytest.raises(SpecError) as caught:
        load(JAVA, "modifier_sets: [[], [interpreter]]")
    (problem,) = caught.value.problems
    assert "configs/modifiers.yml" in problem.where


def test_the_modifiers_that_come_with_it_control_compilation(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yml"
    names = ["interpreter", "c1-only", "c2-only", "compile-all", "aot-cache"]
    write(
        spec,
        "name: x\nruntimes: [temurin-25]\nheap: {sizes_mib: [64]}\n"
        "benchmarks: [{suite: vm, benchmark: compress, size: s10}]\ninvocations: {fixed: 1}\n"
        f"modifier_sets: [[], {', '.join(f'[{name}]' for name in names)}]\n",
    )
    sets = load_spec(spec, ROOT).modifiers
    assert [m.name for one in sets for m in one] == names
    assert all(m.controls_compilation for one in sets for m in one)


def test_replay_needs_two_iterations_and_leaves_out_the_first(load: Load) -> None:
    assert load(JAVA, "iterations: {count: 2, method: replay}").steady.warmup == 1
    experiment = load(JAVA, "iterations: {count: 12, warmup: 8, method: replay}")
    assert (experiment.steady.method, experiment.steady.warmup) == ("replay", 8)
    assert experiment.discarded_rounds == 1
    with pytest.raises(SpecError, match="`count` >= 2"):
        load(JAVA, "iterations: {method: replay}")


def test_plans_of_the_benchmarks_and_runtimes_of_a_spec_are_files_to_copy(home: Path, load: Load) -> None:
    text = "modifiers: {replay: {plans: plans/best, flags: ['-XX:CompilerDirectivesFile={plan}']}}"
    assert all(not benchmark.files for benchmark in load(JAVA, text).benchmarks)
    before = load(JAVA, text)
    (benchmark,), runtime = before.benchmarks, before.runtimes[0].name
    folder = Path(before.spec_path).absolute().parent / "plans/best"
    path = folder / plan_path(benchmark.label, runtime)
    for one in (path, folder / plan_path(benchmark.label, "another")):
        write(one, "[]\n")
    experiment = load(JAVA, text)
    key = experiment.modifiers[1][0].plan_key(runtime)
    assert find_user_files(experiment, home) == {
        benchmark.label: {key: File(str(path), hashlib.sha256(path.read_bytes()).hexdigest())}
    }
