"""The bounds of a plan are checked in the spec, before anything is built."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from helpers.specs.spec_examples import MINIMAL
from regatta.host.errors import Problem
from regatta.host.values.experiment import Experiment
from regatta.spec import chooser
from regatta.spec.plan_size import MAX_CELLS, MAX_SEGMENTS, count_cells

Wrong = Callable[..., tuple[Problem, ...]]


def _invocations(rounds: int) -> str:
    assert "invocations: {fixed: 3}" in MINIMAL
    return MINIMAL.replace("invocations: {fixed: 3}", f"invocations: {{fixed: {rounds}}}")


@pytest.mark.parametrize("rounds", [MAX_SEGMENTS + 1, 3 * MAX_SEGMENTS - 1])
def test_too_many_segments_are_refused_with_the_rounds_that_fit(
    wrong: Wrong, load: Callable[..., Experiment], rounds: int
) -> None:
    (problem,) = wrong(_invocations(rounds), "segment: {rounds: 1}")
    assert problem.where.endswith(":segment")
    fits = -(-rounds // MAX_SEGMENTS)
    assert problem.fix == f"write `segment: {{rounds: {fits}}}`"
    assert load(_invocations(rounds), f"segment: {{rounds: {fits}}}").segments <= MAX_SEGMENTS
    assert load(_invocations(MAX_SEGMENTS), "segment: {rounds: 1}").segments == MAX_SEGMENTS


def test_too_many_invocations_are_refused(wrong: Wrong) -> None:
    modifiers = "modifiers: {a: {environment: {A: '1'}}, b: {environment: {B: '1'}}}"
    (problem,) = wrong(_invocations(10_000_000), f"segment: {{rounds: 10000}}\n{modifiers}")
    assert problem.where.endswith(":invocations")


def _crossed(sets: int) -> str:
    """A spec of 1,000 benchmarks and so many sets of modifiers."""
    kib = list(range(1, 1001))
    benchmarks = f"[{{suite: toy, benchmark: gzip, parameters: {{kib: {kib}}}}}]"
    modifiers = "".join(f"      m{i}: {{environment: {{M{i}: x}}}}\n" for i in range(sets - 1))
    return MINIMAL.replace("[{suite: toy, benchmark: gzip}]", benchmarks) + f"modifiers:\n{modifiers}"


def test_too_many_cells_are_refused(wrong: Wrong, load: Callable[..., Experiment]) -> None:
    assert count_cells(load(_crossed(3))) == 3000
    (problem,) = wrong(_crossed(MAX_CELLS // 1000 + 1))
    assert problem.where.endswith(":benchmarks")
    assert problem.got.startswith("101,000")


def test_too_many_benchmarks_are_refused_before_all_of_them_are_read(
    wrong: Wrong, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chooser, "MAX_CELLS", 900)
    (problem,) = wrong(_crossed(2))
    assert problem.where.endswith(":benchmarks[0]")
