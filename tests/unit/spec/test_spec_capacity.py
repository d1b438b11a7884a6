"""`capacity` of a spec: a target, the load among the parameters of the benchmarks, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.specs.spec_examples import write
from regatta.host.errors import Problem
from regatta.host.values.experiment import CapacityTarget, Experiment

Load = Callable[..., Experiment]
One = Callable[..., tuple[str, str, str, str]]
Wrong = Callable[..., tuple[Problem, ...]]

SUITE = """
    suite: web
    benchmarks:
      model: {command: [serve, "{rate}", "{threads}"], adapter: regatta, metric: latency,
              sizes: {default: {parameters: {rate: 1, threads: 1}}}}
      timed: {command: [serve, "{rate}"], sizes: {default: {parameters: {rate: 1}}}}
    """
SPEC = """
    name: small
    benchmarks: [{suite: web, benchmark: NAME, parameters: {rate: RATES}}]
    invocations: {fixed: 3}
    """
TARGET = "{parameter: rate, metric: latency, parameters: {percentile: 99}, at_most: 10, unit: ms}"


@pytest.fixture(autouse=True)
def suite(home: Path) -> None:
    write(home / "configs/suites/web.yml", SUITE)


def spec(rates: str = "[2000, 4000]", name: str = "model") -> str:
    return SPEC.replace("RATES", rates).replace("NAME", name)


def test_a_target_or_a_list_of_them(load: Load) -> None:
    target = CapacityTarget("rate", "latency", 10.0, "ms", {"percentile": 99})
    assert load(spec(), f"capacity: {TARGET}").capacity == (target,)
    other = "{parameter: rate, metric: latency, at_most: 2.5, unit: us}"
    both = load(spec(), f"capacity: [{TARGET}, {other}]").capacity
    assert both == (target, CapacityTarget("rate", "latency", 2.5, "us"))
    assert load(spec()).capacity == ()


@pytest.mark.parametrize(
    ("changed", "key", "got", "fix"),
    [
        (("unit: ms", "unit: msec"), "capacity.unit", "msec", "`ms`"),
        (("at_most: 10", "at_most: 0"), "capacity.at_most", "0", ""),
        (("at_most: 10, ", ""), "capacity.at_most", "missing", "at_most"),
        (("parameter: rate", "parameter: rates"), "capacity.parameter", "rates", "`rate`"),
        (("parameter: rate", "parameter: threads"), "capacity.parameter", "threads", ""),
        (("percentile: 99", "rate: 99"), "capacity.parameters", "a mapping", "remove"),
        (("metric: ", "metrics: "), "capacity.metrics", "metrics", "`metric`"),
    ],
)
def test_a_wrong_target(wrong: Wrong, changed: tuple[str, str], key: str, got: str, fix: str) -> None:
    problems = wrong(spec(), f"capacity: {TARGET.replace(*changed)}")
    (problem,) = (one for one in problems if one.where.endswith(key))
    assert got in problem.got
    assert fix in problem.fix


def test_a_wrong_target_in_a_list_is_named(wrong: Wrong) -> None:
    (problem,) = wrong(spec(), f"capacity: [{TARGET}, {TARGET.replace('parameter: rate', 'parameter: x')}]")
    assert problem.where.endswith("capacity[1].parameter")


@pytest.mark.parametrize(
    ("rates", "got"), [("2000", "2000"), ("[0, 2000]", "0"), ("[-1, 2000]", "-1"), ("[slow, 2000]", "slow")]
)
def test_loads_are_two_or_more_positive_numbers(one: One, rates: str, got: str) -> None:
    where, _, found, fix = one(spec(rates), f"capacity: {TARGET}")
    assert where.endswith("capacity.parameter")
    assert got in found
    assert fix


def test_a_benchmark_with_known_metrics_must_have_that_of_the_target(one: One, load: Load) -> None:
    where, expected, got, _ = one(spec(name="timed"), f"capacity: {TARGET}")
    assert where.endswith("capacity.metric")
    assert "max_rss" in expected
    assert "latency" in got
    # One of the benchmarks can report it.
    assert load(spec(name="[model, timed]"), f"capacity: {TARGET}").capacity


def test_a_duplicate_is_named(one: One) -> None:
    where, *_ = one(spec(), f"capacity: [{TARGET}, {TARGET}]")
    assert where.endswith("capacity[1]")


def test_nothing_is_told_of_loads_while_benchmarks_are_wrong(wrong: Wrong) -> None:
    problems = wrong(spec(name="modell"), f"capacity: {TARGET}")
    assert not [problem for problem in problems if "capacity" in problem.where]
