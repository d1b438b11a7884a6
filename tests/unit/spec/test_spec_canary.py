"""`canary` of a spec: one native benchmark beside the others, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.specs.spec_examples import write
from regatta.host.errors import Problem
from regatta.host.values.experiment import Experiment
from regatta.spec.plan_size import count_cells

Load = Callable[..., Experiment]
Wrong = Callable[..., tuple[Problem, ...]]

SUITES = {
    "bird": """
        suite: bird
        benchmarks:
          mixed: {kind: native, command: [work, "{turns}"], sizes: {default: {parameters: {turns: 7}}, small: {parameters: {turns: 1}}}}
          java: {kind: java, command: ["{runtime}", X]}
        """,
    "own": """
        suite: own
        benchmarks:
          tool: {kind: native, command: [tool]}
        """,
}
SPEC = """
    name: small
    benchmarks: [{suite: own, benchmark: tool}]
    modifiers: {a: {environment: {A: "1"}}, b: {environment: {A: "2"}}}
    modifier_sets: [[a], [b]]
    invocations: {fixed: 3}
    """


@pytest.fixture(autouse=True)
def suites(home: Path) -> None:
    for name, text in SUITES.items():
        write(home / f"configs/suites/{name}.yml", text)


def test_it_is_one_more_benchmark_that_is_crossed_with_nothing(load: Load) -> None:
    experiment = load(SPEC, "canary: {suite: bird, benchmark: mixed, size: small}")
    assert experiment.canary == "bird/mixed:small"
    assert [benchmark.label for benchmark in experiment.benchmarks] == [
        "own/tool:default",
        "bird/mixed:small",
    ]
    assert count_cells(experiment) == count_cells(load(SPEC)) + 1


def test_it_keeps_its_own_metric(load: Load) -> None:
    experiment = load(SPEC, "canary: {suite: bird, benchmark: mixed}\nmetric: max_rss")
    assert [benchmark.metric for benchmark in experiment.benchmarks] == ["max_rss", "elapsed"]


@pytest.mark.parametrize(
    ("more", "where", "got"),
    [
        (
            "canary: {suite: bird, benchmark: mixed, size: [default, small]}",
            "canary",
            "2: bird/mixed:default",
        ),
        ("canary: {suite: bird, benchmark: java}", "canary", "bird/java:default (java)"),
        ("canary: {suite: own, benchmark: tool}", "canary", "own/tool:default"),
        ("canary: {suite: birds, benchmark: mixed}", "canary.suite", "birds"),
        ("canary: {suite: bird, benchmark: mixes}", "canary.benchmark", "mixes"),
        ("canary: {suite: bird, benchmark: mixed, size: huge}", "canary.size", "huge"),
        ("canary: {suite: bird, benchmark: mixed}\norder: back-to-back", "order", "back-to-back"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(wrong: Wrong, more: str, where: str, got: str) -> None:
    (problem,) = wrong(SPEC, more)
    assert problem.where.endswith(where)
    assert got in problem.got
