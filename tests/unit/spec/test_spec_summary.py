"""`summary` of a benchmark: what the repetitions of an invocation become, and the methods that take it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.specs.spec_examples import write
from regatta.host.errors import Problem
from regatta.host.values.experiment import Experiment

Load = Callable[..., Experiment]
One = Callable[..., tuple[str, str, str, str]]
Wrong = Callable[..., tuple[Problem, ...]]

SPEC = """
    name: small
    benchmarks: [{suite: ops, benchmark: BENCHMARK}]
    invocations: {fixed: 3}
    """


def of(home: Path, text: str) -> None:
    write(
        home / "configs/suites/ops.yml",
        f"suite: ops\nbenchmarks:\n  one: {{command: [x], {text}}}\n  two: {{command: [y]}}\n",
    )


def spec(benchmark: str = "one") -> str:
    return SPEC.replace("BENCHMARK", benchmark)


def test_it_is_the_mean_unless_the_suite_says_otherwise(home: Path, load: Load) -> None:
    of(home, "summary: median")
    found = load(spec("all"), "iterations: {method: fixed}").benchmarks
    assert [b.summary for b in found] == ["median", "mean"]


def test_where_a_suite_sums_repetitions_up_the_method_is_fixed_unless_the_spec_says_otherwise(
    home: Path, load: Load
) -> None:
    of(home, "summary: median")
    assert load(spec("all")).steady.method == "fixed"
    assert load(spec("two")).steady.method == "startup"


@pytest.mark.parametrize(
    ("method", "count"), [("startup", 1), ("cov", 20), ("changepoints", 20), ("replay", 2)]
)
def test_methods_that_rest_on_means_are_refused_beside_it(
    home: Path, one: One, method: str, count: int
) -> None:
    of(home, "summary: minimum")
    where, expected, got, _ = one(spec(), f"iterations: {{count: {count}, method: {method}}}")
    assert where == "spec.yml:4:iterations.method"
    assert expected.startswith("`method: fixed`, ")
    assert " minimum" in expected
    assert got == f"'{method}'"


@pytest.mark.parametrize("method", ["startup", "cov", "changepoints", "replay"])
def test_every_method_goes_with_means(home: Path, load: Load, method: str) -> None:
    of(home, "summary: mean")
    count = 1 if method == "startup" else 20
    assert load(spec(), f"iterations: {{count: {count}, method: {method}}}").steady.method == method


def test_wrong_iterations_are_told_alone(home: Path, one: One) -> None:
    of(home, "summary: median")
    where, *_ = one(spec(), "iterations: {method: fixd}")
    assert where == "spec.yml:4:iterations.method"


@pytest.mark.parametrize(
    "text",
    [
        "summary: minimum, better: higher",
        "summary: maximum",
    ],
)
def test_the_repetition_that_was_disturbed_most_is_no_summary(
    home: Path, wrong: Wrong, text: str, golden: Golden
) -> None:
    of(home, text)
    (problem,) = wrong(spec(), "iterations: {method: fixed}")
    golden(text, str(problem))


def test_a_statistic_that_there_is_not_has_the_nearest_that_there_is(home: Path, wrong: Wrong) -> None:
    of(home, "summary: medan")
    (problem,) = wrong(spec())
    assert problem.expected.endswith(" mean, median, minimum, maximum")
    assert problem.fix == "use `median`"
