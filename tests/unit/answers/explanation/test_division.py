"""A difference with known causes, divided into parts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regatta.answers.explanation.division import RARE, WAITING, Run, divide
from regatta.answers.explanation.result import Part
from regatta.stats.estimate import Interval

A, B = "a;main (a);first (a)", "a;main (a);second (a)"
MEASURED = Interval(10, 0.05, 0.04, 0.06, 0.95, "paired")


def rounds(
    before: dict[str, float], after: dict[str, float], whole: tuple[float, float], n: int = 10
) -> list[tuple[Run, Run]]:
    """Runs whose times vary by 1 %."""
    random = np.random.default_rng(3)

    def run(times: dict[str, float], whole_s: float) -> Run:
        found = {stack: used_s * random.normal(1.0, 0.01) for stack, used_s in times.items()}
        elapsed_s, sampled_s = whole_s - sum(times.values()) + sum(found.values()), sum(found.values())
        return Run(elapsed_s, found, False, elapsed_s, sampled_s)

    return [(run(before, whole[0]), run(after, whole[1])) for _ in range(n)]


def by_name(parts: tuple[Part, ...]) -> dict[str, Part]:
    return {part.name: part for part in parts}


def test_the_elapsed_time_of_one_thread_is_divided_with_its_waiting() -> None:
    found = divide(rounds({A: 0.6, B: 0.3}, {A: 0.65, B: 0.3}, (1.0, 1.07)), MEASURED, 0.95)
    assert found.quantity == "elapsed time"
    parts = by_name(found.parts)
    assert {name for name, part in parts.items() if part.is_cause} >= {"function first"}
    assert not parts["function second"].is_cause
    assert parts["function first"].contribution.point == pytest.approx(0.05, abs=0.01)
    assert parts[WAITING].contribution.point == pytest.approx(0.02, abs=0.003)
    total = math.fsum(part.contribution.point for part in found.parts)
    assert total == pytest.approx(found.profiled.point)
    causes = math.fsum(part.contribution.point for part in found.parts if part.is_cause)
    assert found.unexplained.point == pytest.approx(MEASURED.point - causes)


def test_the_processor_time_is_divided_if_threads_run_at_the_same_time() -> None:
    found = divide(rounds({A: 0.9, B: 0.8}, {A: 0.9, B: 1.0}, (1.0, 1.0)), MEASURED, 0.95)
    assert found.quantity == "processor time"
    parts = by_name(found.parts)
    assert WAITING not in parts
    assert parts["function second"].is_cause
    assert parts["function second"].contribution.point == pytest.approx(0.2 / 1.7, abs=0.01)
    causes = math.fsum(part.contribution.point for part in found.parts if part.is_cause)
    assert found.unexplained.point == pytest.approx(found.profiled.point - causes)


def test_work_that_is_new_or_gone_is_a_part() -> None:
    parts = by_name(divide(rounds({A: 0.5}, {B: 0.5}, (1.0, 1.0)), MEASURED, 0.95).parts)
    assert parts["function first"].shares == pytest.approx((0.5, 0.0), abs=0.01)
    assert parts["function second"].contribution.point == pytest.approx(0.5, abs=0.01)
    assert parts["function first"].is_cause
    assert parts["function second"].is_cause


def test_rare_work_is_one_part() -> None:
    rare = {f"a;f{i} (a)": 0.002 for i in range(40)}
    parts = by_name(divide(rounds({A: 0.5, **rare}, {A: 0.5, **rare}, (1.0, 1.0)), MEASURED, 0.95).parts)
    assert set(parts) == {"function first", WAITING, RARE}
    assert parts[RARE].shares[0] == pytest.approx(0.08, abs=0.005)


def test_without_a_cause_everything_is_unexplained() -> None:
    found = divide(rounds({A: 0.5, B: 0.4}, {A: 0.5, B: 0.4}, (1.0, 1.0)), MEASURED, 0.95)
    assert not any(part.is_cause for part in found.parts)
    assert found.unexplained == MEASURED
