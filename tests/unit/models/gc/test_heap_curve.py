"""Curves over the heap: recovery, coverage, refusals and errors on published data."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regatta.models.gc.heap_curve import CURVES, HEAP_PRIORS, HeapCurve, HeapPoint, HeapPriors, fit_curve

MINHEAP = 64.0
EXACT = [0.999, 1.0, 1.001]


def time_at(heap: float, live: float = 0.7 * MINHEAP, power: float = 1.0) -> float:
    return float(2.0 + 1.5 * ((2 * MINHEAP - live) / (heap - live)) ** power)


def curve_of(factors: list[float], power: float = 1.0) -> HeapCurve:
    points = [
        HeapPoint(factor * MINHEAP, [time_at(factor * MINHEAP, power=power) * one for one in EXACT])
        for factor in factors
    ]
    return fit_curve(points, MINHEAP)


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_a_curve_recovers_times_between_measured_heaps(power: float) -> None:
    curve = curve_of([1.25, 1.5, 2, 3, 4, 6, 8], power)
    for factor in (1.35, 1.75, 2.5, 3.5, 5.0, 7.0):
        predicted = curve.at(factor * MINHEAP).time
        assert predicted.point == pytest.approx(time_at(factor * MINHEAP, power=power), rel=0.03)
        assert predicted.low < predicted.point < predicted.high
        assert not predicted.reason


def test_a_curve_solves_for_the_heap_of_a_time() -> None:
    curve = curve_of([1.25, 1.5, 2, 3, 4, 6, 8])
    needed = curve.heap_for(time_at(2.5 * MINHEAP))
    assert needed.point == pytest.approx(2.5 * MINHEAP, rel=0.05)
    assert needed.low < 2.5 * MINHEAP < needed.high
    below = curve.heap_for(1.0)
    assert math.isinf(below.point)


def test_intervals_contain_the_true_mean_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(11)
    level, covered, asked = 0.9, 0, 0
    for _ in range(60):
        live, power = (
            rng.normal(HEAP_PRIORS.live_share, HEAP_PRIORS.live_sd),
            rng.normal(HEAP_PRIORS.power, 0.4),
        )
        live, power = min(live, 0.95), max(power, 0.9)
        extra = math.exp(rng.normal(-2.3, 1.0))

        def true(factor: float, live: float = live, power: float = power, extra: float = extra) -> float:
            return float(1.0 + extra * ((2 - live) / (factor - live)) ** power)

        def error(factor: float, true: Callable[[float], float] = true) -> float:
            share = 1 - 1 / true(factor)
            return float(rng.normal(0, math.hypot(HEAP_PRIORS.model_sd, HEAP_PRIORS.overhead_sd * share)))

        points = [
            HeapPoint(factor, (true(factor) * np.exp(error(factor) + rng.normal(0, 0.01, 6))).tolist())
            for factor in (2.0, 6.0)
        ]
        curve = fit_curve(points, 1.0)
        for factor in (1.2, 1.6, 3.0, 9.0):
            found = curve.at(factor, level).time
            covered += found.low <= true(factor) * math.exp(error(factor)) <= found.high
            asked += 1
    assert 0.86 <= covered / asked <= 0.995


def test_the_tight_end_is_refused_unless_it_was_measured() -> None:
    far = curve_of([2, 6])
    assert far.at(1.2 * MINHEAP).time.reason
    assert math.isfinite(far.at(1.2 * MINHEAP).time.point)
    assert not far.at(1.6 * MINHEAP).time.reason
    assert not curve_of([1.2, 6]).at(1.2 * MINHEAP).time.reason


def test_a_heap_below_the_minimum_has_no_time() -> None:
    found = curve_of([2, 6]).at(0.9 * MINHEAP).time
    assert math.isnan(found.point)
    assert found.reason


def test_without_a_minimum_heap_smaller_heaps_are_refused() -> None:
    curve = fit_curve([HeapPoint(128.0, [2.0, 2.02]), HeapPoint(512.0, [1.5, 1.51])])
    assert curve.at(100.0).time.reason
    assert not curve.at(256.0).time.reason


def test_one_heap_supports_no_other_heap() -> None:
    curve = fit_curve([HeapPoint(128.0, [2.0, 2.02])], MINHEAP)
    assert not curve.at(128.0).time.reason
    assert curve.at(256.0).time.reason


def test_a_log_of_pauses_narrows_the_curve_of_one_heap() -> None:
    plain = fit_curve([HeapPoint(128.0, [2.0, 2.02])], MINHEAP).at(512.0).time
    logged = fit_curve([HeapPoint(128.0, [2.0, 2.02], 0.1)], MINHEAP).at(512.0).time
    assert logged.high / logged.low < plain.high / plain.low


def test_a_fit_is_reproducible() -> None:
    assert np.array_equal(curve_of([2, 6]).asymptote, curve_of([2, 6]).asymptote)


def test_the_next_heap_lies_near_an_unmeasured_answer() -> None:
    curve = curve_of([2, 6])
    following = curve.next_heap(curve.heaps_for(time_at(1.6 * MINHEAP)))
    assert MINHEAP <= following.heap_bytes < 2 * MINHEAP
    assert 0 < following.shrinks_by <= 1
    assert curve.next_heap(np.full(CURVES, 5.0)).shrinks_by == 0


def test_pause_share_counts_the_second_half(study: Any) -> None:
    starts = np.arange(0.0, 10.0, 0.1)
    log = list(zip(starts, np.where(starts < 4.9, 50.0, 10.0), strict=True))
    assert study.pause_share(log) == pytest.approx(0.1, rel=0.05)
    assert math.isnan(study.pause_share(log[:1]))


@pytest.mark.parametrize(
    ("points", "minheap", "names"),
    [
        ([], MINHEAP, "points"),
        ([HeapPoint(128.0, [])], MINHEAP, "seconds"),
        ([HeapPoint(128.0, [0.0])], MINHEAP, "seconds"),
        ([HeapPoint(128.0, [math.nan])], MINHEAP, "seconds"),
        ([HeapPoint(-1.0, [1.0])], MINHEAP, "heap_bytes"),
        ([HeapPoint(128.0, [1.0]), HeapPoint(128.0, [1.0])], MINHEAP, "points"),
        ([HeapPoint(32.0, [1.0])], MINHEAP, "minheap_bytes"),
        ([HeapPoint(128.0, [1.0])], 0.0, "minheap_bytes"),
        ([HeapPoint(128.0, [1.0], 1.5)], MINHEAP, "pause_share"),
    ],
)
def test_bad_input_is_refused(points: list[HeapPoint], minheap: float, names: str) -> None:
    with pytest.raises(ValueError, match=rf"^{names}: "):
        fit_curve(points, minheap)


def test_bad_arguments_of_a_curve_are_refused() -> None:
    curve = curve_of([2, 6])
    with pytest.raises(ValueError, match=r"^confidence level: "):
        curve.at(128.0, 1.0)
    with pytest.raises(ValueError, match=r"^heap_bytes: "):
        curve.at(math.inf)
    with pytest.raises(ValueError, match=r"^answers: "):
        curve.next_heap([1.0])


# Published data


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the program that leaves one program out, `perf/heap_advice.py`."""
    monkeypatch.syspath_prepend(Path(__file__).parents[4] / "perf")
    return importlib.import_module("heap_advice")


def p90(errors: Iterable[tuple[float, float]], least: float) -> float:
    return float(np.percentile([abs(error) for factor, error in errors if factor >= least], 90))


def test_programs_left_out_are_predicted_better_than_by_a_formula_and_their_intervals_hold(
    study: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = study.read_reference()
    assert len(programs) == 22
    monkeypatch.setattr(study, "MODEL_SDS", (0.006, 0.008))
    found = study.LeaveOneOut(programs, [study.MEASURED], {"power": (1.5, 1.75)}).predictions()
    held = [one for each in found.values() for one in each[study.MEASURED]]
    assert len(held) == 176
    assert np.mean([one.covered for one in held]) >= 0.93
    assert np.mean([one.covered for one in held if one.factor >= 1.5]) >= 0.93
    ours = [(one.factor, one.error) for one in held]
    formula = study.errors_of(programs, lambda one, factor: study.by_live(one, factor, 0.7))
    for least in (1.0, 1.5):
        assert p90(ours, least) <= p90(formula, least)


def test_intervals_hold_if_a_heap_with_a_large_overhead_was_measured(study: Any) -> None:
    def coverage(priors: HeapPriors) -> float:
        held = [
            one
            for program in study.read_reference().values()
            for one in study.held_out(program, (1.0, 3.0, 6.0), priors)
        ]
        return float(np.mean([one.covered for one in held]))

    assert coverage(HEAP_PRIORS) >= 0.93
    # Without an error of the overhead, the heap of 1 x determines all others.
    assert coverage(replace(HEAP_PRIORS, overhead_sd=0.0)) < 0.9


def test_priors_chosen_without_a_program_do_not_depend_on_it(study: Any) -> None:
    programs = {
        name: one for name, one in study.read_reference().items() if name in ("avrora", "fop", "h2", "xalan")
    }
    changed = dict(programs, xalan=replace(programs["xalan"], times=programs["fop"].times))
    choices = [
        study.LeaveOneOut(some, [study.MEASURED], {"live_share": (0.7, 0.9)}).chosen("xalan")
        for some in (programs, changed)
    ]
    assert choices[0] == choices[1]


def test_pairs_of_collectors_are_seldom_decided_wrongly_for_a_program_left_out(study: Any) -> None:
    pairs = study.collector_pairs(study.read_reference())
    decided = pairs["right"] + pairs["wrong"] + pairs["near"]
    assert decided > 100
    assert pairs["wrong"] <= 0.05 * decided
