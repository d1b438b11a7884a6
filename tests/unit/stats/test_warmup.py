"""Classes of warm-up by change points: made-up invocations whose class is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.one_at_a_time import course_of
from regatta.stats.warmup import Course, common_kind, courses_of, without_spikes


def _noise(n: int, seed: int = 1, spread: float = 0.01) -> np.ndarray:
    return np.random.default_rng(seed).normal(1.0, spread, n)


def _spikes(x: np.ndarray) -> int:
    return int(without_spikes(x[np.newaxis])[1].sum())


def test_noise_is_flat_and_steady_from_the_beginning() -> None:
    x = _noise(300)
    assert course_of(x) == Course("flat", 0, float(x.mean()))
    assert _spikes(x) == 0


def test_slow_iterations_at_the_beginning_are_a_warmup() -> None:
    x = _noise(300)
    x[:40] *= 1.5
    x[:5] *= 3.0
    course = course_of(x)
    assert (course.kind, course.start) == ("warmup", 40)
    assert course.mean == pytest.approx(x[40:].mean())


def test_a_short_series_shows_its_warmup() -> None:
    x = _noise(30, 3)
    x[:3] *= (5.0, 2.0, 1.3)
    course = course_of(x)
    assert (course.kind, course.start) == ("warmup", 3)


def test_the_first_iteration_alone_is_a_warmup_and_no_spike() -> None:
    x = _noise(50)
    x[0] = 8.0
    course = course_of(x)
    # A segment has two values at least.
    assert (course.kind, course.start, _spikes(x)) == ("warmup", 2, 0)


def test_a_series_that_settles_on_a_slower_level_is_a_slowdown() -> None:
    x = _noise(400)
    x[100:] *= 1.3
    course = course_of(x)
    assert (course.kind, course.start) == ("slowdown", 100)


def test_a_change_near_the_end_is_no_steady_state(golden: Golden) -> None:
    x = _noise(400)
    x[301:] *= 1.3
    course = course_of(x)
    assert (course.kind, course.start) == ("no steady state", -1)
    assert math.isnan(course.mean)
    golden("a change near the end", course.reason)


def test_a_run_that_gets_back_to_its_level_near_the_end_was_not_steady_there() -> None:
    x = _noise(400)
    x[310:350] *= 1.3
    assert course_of(x).kind == "no steady state"


def test_more_of_what_should_be_high_is_a_warmup() -> None:
    x = _noise(200)
    x[:20] *= 0.5
    assert course_of(x).kind == "slowdown"
    assert course_of(x, higher_is_better=True).kind == "warmup"


def test_levels_that_differ_by_less_than_the_tolerance_are_one() -> None:
    x = _noise(400, spread=0.0005)
    x[:200] *= 1.006
    assert course_of(x).kind == "flat"
    assert course_of(x).breaks == (200,)
    assert course_of(x, tolerance=0.001).kind == "warmup"


def test_a_single_spike_is_no_segment_but_part_of_the_mean() -> None:
    x = _noise(200)
    x[120] = 9.0
    course = course_of(x)
    assert (course.kind, course.breaks, _spikes(x)) == ("flat", (), 1)
    assert course.mean == pytest.approx(x.mean())


def test_regular_collections_are_no_changes() -> None:
    x = _noise(300)
    x[7::10] *= 1.4
    assert course_of(x).kind == "flat"


@pytest.mark.parametrize("n", [0, 1, 6, 19])
def test_a_short_series_is_not_judged(n: int) -> None:
    course = course_of(_noise(n))
    assert (course.kind, course.start) == ("", -1)
    assert math.isnan(course.mean)
    assert f"{n} iteration" in course.reason
    assert "(minimum 20)" in course.reason


def test_what_is_no_number_is_not_judged(golden: Golden) -> None:
    golden("not a number", course_of([1.0] * 30 + [math.nan]).reason)


def test_equal_iterations_are_flat() -> None:
    assert course_of([2.0] * 30) == Course("flat", 0, 2.0)


def test_a_negative_tolerance_is_refused() -> None:
    with pytest.raises(ValueError, match="tolerance"):
        course_of([1.0] * 30, tolerance=-0.1)


@pytest.mark.full
@pytest.mark.parametrize("n", [20, 30, 100, 300])
def test_noise_is_nearly_always_flat_whatever_its_shape(n: int) -> None:
    rng = np.random.default_rng(n)
    series = [rng.normal(1.0, 0.05, n) for _ in range(60)] + [
        np.exp(rng.normal(0.0, 0.2, n)) for _ in range(60)
    ]
    assert sum(course_of(x).kind != "flat" for x in series) <= 2


def test_invocations_that_differ_are_inconsistent() -> None:
    assert common_kind(["flat", "flat", ""]) == "flat"
    assert common_kind(["flat", "warmup"]) == "inconsistent"
    assert common_kind(["", ""]) == common_kind([]) == ""


def test_spikes_give_way_to_the_median_around_them() -> None:
    x = _noise(500, 2)
    x[[250, 300]] = 5.0, 0.1
    (calm,), (spikes,) = without_spikes(x[np.newaxis])
    assert np.flatnonzero(spikes).tolist() == [250, 300]
    assert calm[250] == pytest.approx(1.0, abs=0.01)
    assert calm[~spikes].tolist() == x[~spikes].tolist()


def test_no_values_have_no_spikes() -> None:
    calm, spikes = without_spikes(np.zeros((3, 0)))
    assert calm.shape == spikes.shape == (3, 0)


@pytest.mark.parametrize("n", [6, 40, 250, 600])
def test_a_table_gives_what_each_row_gives(n: int) -> None:
    table = np.random.default_rng(n).normal(1.0, 0.01, (7, n))
    table[1:3, : n // 5] *= 1.4
    table[3, n // 2] = 9.0
    table[4, 3] = math.nan
    table[5] = 1.0
    table[6, -3:] *= 2.0
    assert repr(courses_of(table)) == repr([course_of(row) for row in table])


def test_a_table_has_two_dimensions() -> None:
    with pytest.raises(ValueError, match="dimensions"):
        courses_of([1.0] * 30)
    with pytest.raises(ValueError, match="dimensions"):
        without_spikes([1.0] * 30)
