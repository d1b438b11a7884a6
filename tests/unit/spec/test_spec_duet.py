"""`order: duet`: what cannot be in the same spec, because it needs the whole host or values of single alternatives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.specs.spec_examples import write
from regatta.host.errors import Problem
from regatta.host.values.experiment import Experiment

Load = Callable[..., Experiment]
Wrong = Callable[..., tuple[Problem, ...]]

SUITE = """
    suite: own
    benchmarks:
      tool: {kind: native, command: [tool]}
      there: {kind: native, command: [tool], directory: /tmp}
    """
SPEC = """
    name: small
    benchmarks: [{suite: own, benchmark: tool}]
    modifiers: {a: {environment: {A: "1"}}, b: {environment: {A: "2"}}}
    modifier_sets: [[a], [b]]
    order: duet
    """
FIXED = "invocations: {fixed: 3}"


@pytest.fixture(autouse=True)
def suite(home: Path) -> None:
    write(home / "configs/suites/own.yml", SUITE)


def test_two_alternatives_are_enough(load: Load) -> None:
    assert load(SPEC, FIXED).order == "duet"


@pytest.mark.parametrize(
    ("more", "key"),
    [
        (f"{FIXED}\naa: true", "aa"),
        (f"{FIXED}\ncounters: [page-faults]", "counters"),
        (f"{FIXED}\nisolation: {{kind: docker}}", "isolation"),
        (f"{FIXED}\ncanary: {{suite: toy, benchmark: gzip}}", "canary"),
        ("invocations: {adaptive: {rule: javastats-cell}}", "invocations.adaptive.rule"),
        ("invocations: {fixed: 3, seconds: 5, maximum: 9}", "invocations.seconds"),
    ],
)
def test_what_needs_the_whole_host_is_refused(wrong: Wrong, more: str, key: str) -> None:
    (problem,) = wrong(SPEC, more)
    assert problem.where.endswith(f":{key}")
    assert "order: duet" in problem.expected


def test_a_shared_folder_is_refused(wrong: Wrong) -> None:
    (problem,) = wrong(SPEC.replace("benchmark: tool", "benchmark: there"), FIXED)
    assert (problem.where.rpartition(":")[2], problem.got) == ("benchmarks", "/tmp")
