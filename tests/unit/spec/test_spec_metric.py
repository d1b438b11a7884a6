"""`metric` of a spec: what is compared, and the time of the process as the default of startup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.specs.spec_examples import JAVA, MINIMAL, write
from regatta.host.errors import Problem
from regatta.host.values.experiment import Experiment

Load = Callable[..., Experiment]
One = Callable[..., tuple[str, str, str, str]]
Wrong = Callable[..., tuple[Problem, ...]]

#: one benchmark for each way in which a program can be timed
OPS = """
    suite: ops
    benchmarks:
      process: {kind: program, command: ["{runtime}", x]}
      harness: {kind: program, command: ["{runtime}", x], adapter: regatta}
      native: {command: [x], adapter: regatta}
      rate: {kind: program, command: ["{runtime}", x], adapter: regatta, metric: rate, better: higher}
      printed: {command: [x], adapter: regex, adapter_options: {pattern: "(?P<value>[0-9]+)", metric: total}, metric: total}
      named: {command: [x], adapter: regex, adapter_options: {pattern: "(?P<metric>x)(?P<value>[0-9]+)"}}
      middle: {command: [x], adapter: regatta, summary: median}
      least: {command: [x], adapter: regatta, summary: minimum}
    """
SPEC = """
    name: small
    runtimes: [jdk-21]
    define: {runtimes: {python: {kind: program, provider: path, path: python3}}}
    benchmarks: [{suite: ops, benchmark: NAMES}]
    invocations: {fixed: 3}
    """


def spec(home: Path, names: str) -> str:
    write(home / "configs/suites/ops.yml", OPS)
    run = {"process", "harness", "rate"} & set(names.strip("[]").split(", "))
    return SPEC.replace("NAMES", names).replace("[jdk-21]", "[python]" if run else "[]")


def metrics(experiment: Experiment) -> list[tuple[str, str]]:
    return [(b.metric, b.better) for b in experiment.benchmarks]


def test_startup_of_a_jvm_is_the_time_of_its_process(load: Load) -> None:
    assert metrics(load(JAVA)) == [("process_elapsed", "lower")]
    assert metrics(load(JAVA, "iterations: {method: startup}")) == [("process_elapsed", "lower")]


@pytest.mark.parametrize(
    "iterations", ["{count: 2}", "{method: fixed}", "{count: 20, method: cov}", "{count: 2, method: replay}"]
)
def test_other_methods_compare_the_metric_of_the_suite(load: Load, iterations: str) -> None:
    assert metrics(load(JAVA, f"iterations: {iterations}")) == [("elapsed", "lower")]


def test_the_first_iteration_remains_available_by_name(load: Load) -> None:
    assert metrics(load(JAVA, "metric: elapsed")) == [("elapsed", "lower")]


def test_startup_replaces_only_a_time_that_a_program_under_a_runtime_takes_itself(
    home: Path, load: Load
) -> None:
    found = load(spec(home, "[process, harness, native, rate]"))
    assert metrics(found) == [
        ("elapsed", "lower"),
        ("process_elapsed", "lower"),
        ("elapsed", "lower"),
        ("rate", "higher"),
    ]


def test_a_metric_of_the_spec_applies_to_every_benchmark(home: Path, load: Load) -> None:
    found = load(spec(home, "[process, harness, native, rate]"), "metric: process_elapsed")
    assert metrics(found) == [("process_elapsed", "lower")] * 4
    found = load(spec(home, "[harness, rate]"), "metric: {name: rate}")
    assert metrics(found) == [("rate", "higher")] * 2
    found = load(spec(home, "[harness, rate]"), "metric: {name: throughput, better: higher}")
    assert metrics(found) == [("throughput", "higher")] * 2


def test_a_summary_of_the_suite_applies_to_another_metric_only_if_it_is_a_median(
    home: Path, load: Load
) -> None:
    one = spec(home, "[native, middle, least]")
    assert [b.summary for b in load(one, "metric: elapsed").benchmarks] == ["mean", "median", "minimum"]
    own = load(one, "metric: {name: cpu, better: lower}")
    assert [b.summary for b in own.benchmarks] == ["mean", "median", "mean"]
    assert [b.summary for b in load(one, "metric: process_elapsed").benchmarks] == ["mean"] * 3


def test_a_metric_that_a_benchmark_cannot_have_is_an_error(home: Path, one: One, golden: Golden) -> None:
    golden("misspelt", str(Problem(*one(MINIMAL, "metric: elapse"))))
    golden("of one", str(Problem(*one(spec(home, "[process, printed]"), "metric: user"))))
    golden("of both", str(Problem(*one(spec(home, "[process, printed]"), "metric: cpu"))))


def test_a_metric_that_only_the_program_knows_is_no_error(home: Path, load: Load) -> None:
    found = load(spec(home, "[harness, named]"), "metric: {name: cpu, better: lower}")
    assert metrics(found) == [("cpu", "lower")] * 2


def test_it_is_never_guessed_whether_less_of_a_metric_is_better(home: Path, one: One, golden: Golden) -> None:
    golden("direction", str(Problem(*one(spec(home, "[harness, named]"), "metric: throughput"))))


@pytest.mark.parametrize("method", ["cov", "changepoints", "replay"])
def test_the_time_of_a_process_has_no_steady_state(one: One, method: str) -> None:
    where, expected, got, _ = one(
        JAVA, f"iterations: {{count: 20, method: {method}}}\nmetric: process_elapsed"
    )
    assert where == "spec.yml:6:iterations.method"
    assert expected.startswith("`method: startup` or `fixed`")
    assert got == f"'{method}'"


def test_wrong_metrics_are_told_alone(one: One) -> None:
    where, *_ = one(JAVA, "metric: [a]")
    assert where == "spec.yml:6:metric"
