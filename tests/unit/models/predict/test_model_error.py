"""The error of the model itself: what it adds to an interval, and that its numbers are those of the published data."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.models.predict.accuracy import agreement, calibration, contains_1
from regatta.models.predict.model_error import (
    OF_LIBRARIES,
    OF_SYSTEM_CALLS,
    errors_of,
    ratio_with_model_error,
    time_with_model_error,
)
from regatta.models.vectors.model_error import ModelError, with_model_error
from regatta.models.vectors.values import Value

ACCURACY = Path(__file__).parents[4] / "perf" / "accuracy"
#: a standard deviation of 0.1 at any distance, of which Student's quantile is 2.571 at 95 %
TENTH = ModelError(0.1, 0.0, 6)


@pytest.fixture(scope="module")
def predicting() -> ModuleType:
    """The script, which imports what stands with it."""
    sys.path.insert(0, str(ACCURACY))
    try:
        spec = importlib.util.spec_from_file_location("predicting", ACCURACY / "predicting.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["predicting"] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ACCURACY))
    return module


def test_an_exact_prediction_has_the_models_own_error_alone() -> None:
    found = with_model_error(Value.exact(100.0), TENTH, 0.95)
    assert (found.value, found.low, found.high) == pytest.approx(
        (100.0, 100 / math.exp(0.2571), 100 * math.exp(0.2571)), rel=1e-4
    )


def test_both_errors_add_as_the_root_of_the_sum_of_squares_on_each_side() -> None:
    half = TENTH.half_width(0.0, 0.95)
    found = with_model_error(Value(1.0, math.exp(-0.3), math.exp(0.4)), TENTH, 0.95)
    assert math.log(found.low) == pytest.approx(-math.sqrt(0.3**2 + half**2))
    assert math.log(found.high) == pytest.approx(math.sqrt(0.4**2 + half**2))


def test_the_error_grows_with_the_ratio_in_either_direction_and_with_the_level() -> None:
    widths = [OF_LIBRARIES.ratios.half_width(math.log(ratio), 0.95) for ratio in (1.0, 2.0, 90.0)]
    assert widths == sorted(widths)
    assert OF_LIBRARIES.ratios.half_width(math.log(1 / 90), 0.95) == widths[-1]
    assert widths[-1] == pytest.approx(t.ppf(0.975, 9) * math.hypot(0.139, 0.067 * math.log(90)))
    assert OF_LIBRARIES.ratios.half_width(0.0, 0.8) < OF_LIBRARIES.ratios.half_width(0.0, 0.95)


@given(st.floats(1e-3, 1e3), st.floats(0.0, 0.99), st.floats(0.0, 5.0))
def test_a_ratio_and_its_inverse_have_the_same_interval(value: float, below: float, above: float) -> None:
    number = Value(value, value * (1 - below), value * (1 + above))
    inverse = Value(1 / number.value, 1 / number.high, 1 / number.low)
    found, turned = (ratio_with_model_error(one, OF_LIBRARIES, 0.95) for one in (number, inverse))
    assert (1 / turned.high, 1 / turned.low) == pytest.approx((found.low, found.high))


@pytest.mark.parametrize(
    "number",
    [Value(math.nan, reason="no cost"), Value(5.0, reason="no interval"), Value.exact(0.0)],
    ids=["undefined", "no interval", "nothing"],
)
def test_what_has_no_interval_gets_none(number: Value) -> None:
    assert repr(with_model_error(number, TENTH, 0.95)) == repr(number)


def test_an_end_that_is_open_stays_open() -> None:
    assert with_model_error(Value(2.0, 0.0, 3.0), TENTH, 0.95).low == 0.0
    assert math.isnan(with_model_error(Value(2.0, 1.5, math.nan), TENTH, 0.95).high)


def test_a_time_knows_its_distance_only_with_the_traced_system() -> None:
    near, far, unknown = (
        time_with_model_error(Value.exact(50.0), OF_LIBRARIES, 0.95, 100.0, traced)
        for traced in (100.0, 1.0, math.nan)
    )
    assert near == unknown
    assert far.high > near.high
    assert math.log(near.high / 50.0) == pytest.approx(OF_LIBRARIES.times.half_width(0.0, 0.95))


def test_predicted_and_measured_agree_within_the_errors_of_both() -> None:
    predicted = Value(1.2, 1.1, 1.3)
    assert not contains_1(agreement(predicted, Value.exact(1.0)))
    assert contains_1(agreement(predicted, Value(1.0, 0.8, 1.25)))
    assert contains_1(agreement(Value(1.2, 0.0, 1.3), Value.exact(1.0)))
    assert contains_1(agreement(Value(1.2, 1.1, math.nan), Value.exact(5.0)))
    assert math.isnan(agreement(predicted, Value(1.0)).low)


def test_a_calibration_of_good_intervals_is_on_the_diagonal() -> None:
    half = TENTH.half_width(0.0, 0.95)
    errors = [0.1 * t.ppf((n + 0.5) / 200, 5) for n in range(200)]
    offs = [Value(math.exp(one), math.exp(one - half), math.exp(one + half)) for one in errors]
    found = calibration([(off, TENTH) for off in offs], 0.95)
    assert list(found.values()) == pytest.approx(list(found), abs=0.006)
    # Too narrow by half
    narrow = [
        Value(off.value, off.value * math.exp(-half / 2), off.value * math.exp(half / 2)) for off in offs
    ]
    assert all(share < level for level, share in calibration([(off, TENTH) for off in narrow], 0.95).items())
    assert calibration([(off, TENTH) for off in offs[:9]], 0.95) == {}


def test_the_numbers_are_those_of_the_published_times(predicting: ModuleType) -> None:
    fits = predicting.fits_of()
    assert {name: len(errors) for name, (errors, _) in fits.items()} == {
        "ratios": 90 + 12, "times of Java": 30, "times of servers": 8, "speedups of Java": 90, "speedups of servers": 18,
        "young collections": 40, "full collections": 42, "concurrent cycles": 28,
    }  # fmt: skip
    for errors, used in fits.values():
        found = predicting.fitted(errors)
        assert (found.base, found.per_log) == pytest.approx((used.base, used.per_log), abs=6e-4)
        assert found.applications == used.applications


def test_the_published_coverage_is_that_of_the_script(predicting: ModuleType) -> None:
    published = (ACCURACY.parents[1] / "docs" / "predict.md").read_text()
    rows = predicting.rows_of()
    assert len(rows) == 27
    for row in rows:
        assert f"| {row.of} | {row.left_out} | {len(row.tried)} | {row.shares} |\n" in published
    ratios = [row for row in rows if row.of.startswith("ratios") and row.left_out == "an application"]
    right, unclear, wrong = (sum(each) for each in zip(*(row.verdicts for row in ratios), strict=True))
    assert f"{right} are predicted right, {unclear} are open" in " ".join(published.split())
    assert wrong == 0


def test_a_primitive_that_is_or_may_be_in_the_kernel_makes_an_application_one_of_system_calls() -> None:
    application = application_of(count_of("a", 1), count_of("b", 1))
    of_a, of_b = constant(1, user=1.0), constant(1, user=0.9)
    assert errors_of(application, [system_of(a=of_a, b=of_a)]) == OF_LIBRARIES
    assert errors_of(application, [system_of(a=of_a), system_of(a=of_a, b=of_b)]) == OF_SYSTEM_CALLS
    assert errors_of(application, [system_of(a=constant(1, user=math.nan))]) == OF_SYSTEM_CALLS
    assert errors_of(application, [system_of(a=of_a, other=of_b)]) == OF_LIBRARIES


def test_nothing_of_what_is_left_out_is_fitted(predicting: ModuleType) -> None:
    errors = predicting.ratios_of(predicting.cells_of(predicting.DOCUMENT.read_text()))
    folds = [*predicting.folds_of(errors, "one of each")]
    assert len(folds) == 36
    for fold in folds:
        used = [one for one in errors if fold(one)[0]]
        tried = [one for one in errors if fold(one)[1]]
        (application,) = {one.application for one in tried}
        (system,) = set.intersection(*(set(one.systems) for one in tried))
        assert application not in {one.application for one in used}
        assert all(system not in one.systems for one in used)
        assert len(tried) == 5
