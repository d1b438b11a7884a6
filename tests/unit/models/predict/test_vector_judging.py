"""Predictions beside measurements: coverage, and the three levels."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from helpers.golden import Golden
from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.models.predict.accuracy import coverage, shared_processor
from regatta.models.predict.ranking import compared
from regatta.models.predict.times import TracedOn, quantity
from regatta.models.predict.what_if import changed, parse_change
from regatta.models.vectors.values import ApplicationVector, SystemVector, Value

APPLICATION = application_of(count_of("a", 1))


def elapsed(application: ApplicationVector, system: SystemVector, traced_on: TracedOn | None = None) -> Value:
    return quantity(application, system, "elapsed", traced_on).interval()


def measured(kernel: float, spread: float = 0.0) -> Value:
    return Value(kernel, kernel - spread, kernel + spread)


def test_coverage_is_the_explained_share_with_its_interval(golden: Golden) -> None:
    words, warning = coverage(Value(80, 76, 84), Value.exact(100))
    golden("explained share", words)
    assert warning == ""


def test_a_vector_that_explains_little_is_warned_of(golden: Golden) -> None:
    _, warning = coverage(Value.exact(30), Value(100, 90, 110))
    golden("little explained", warning)
    assert coverage(Value.exact(50), Value.exact(100))[1] == ""


def test_more_than_everything_is_told(golden: Golden) -> None:
    more, _ = coverage(Value(130, 120, 140), Value(100, 98, 102))
    golden("more than everything", more)
    open_, _ = coverage(Value(103, 90, 110), Value.exact(100))
    assert "exceeds" not in open_


def test_coverage_of_what_was_not_measured_is_not_known() -> None:
    reason = "the kernel has no counters"
    words, warning = coverage(Value.exact(5), Value(math.nan, reason=reason))
    assert words.endswith(f"undefined ({reason}).")
    assert warning == ""


def test_pairs_are_right_wrong_open_or_the_same() -> None:
    systems = [
        system_of("s1", a=constant(100, 99, 101)),
        system_of("s2", a=constant(150, 149, 151)),
        system_of("s3", a=constant(152, 151, 153)),
        system_of("s4", a=constant(300, 299, 301)),
    ]
    real = {"s1": measured(100, 1), "s2": measured(120, 1), "s3": measured(130, 1), "s4": measured(119, 5)}
    found = compared(APPLICATION, systems, real)
    assert {tuple(sorted(pair)): verdict for pair, verdict in found.verdicts.items()} == {
        ("s1", "s2"): "right",
        ("s1", "s3"): "right",
        ("s1", "s4"): "right",
        # 150 and 152 cannot be told apart, though the order of the values is the measured one.
        ("s2", "s3"): "open",
        ("s2", "s4"): "same",
        ("s3", "s4"): "wrong",
    }
    assert not found.ranked_right
    assert found.times["s2"].value == 150


def test_a_better_test_of_the_measured_times_goes_before_their_intervals() -> None:
    systems = [system_of("s1", a=constant(100)), system_of("s2", a=constant(150))]
    real = {"s1": measured(100, 20), "s2": measured(110, 20)}
    assert [*compared(APPLICATION, systems, real).verdicts.values()] == ["same"]
    by_blocks = {frozenset(("s1", "s2")): True}
    found = compared(APPLICATION, systems, real, differ=by_blocks)
    assert [*found.verdicts.values()] == ["right"]
    assert found.ranked_right


def test_what_was_not_measured_is_left_out_and_nothing_to_judge_is_not_right() -> None:
    systems = [system_of("s1", a=constant(100)), system_of("s2", a=constant(110))]
    found = compared(APPLICATION, systems, {"s1": measured(100)})
    assert [*found.times] == ["s1"]
    assert found.verdicts == {}
    assert not found.ranked_right
    assert compared(APPLICATION, systems, {}).times == {}


def test_elapsed_time_has_the_user_time_that_primitives_do_not_hold_already() -> None:
    system = system_of(fork=constant(1000, user=0.2))
    application = application_of(count_of("fork", 1), user=Value.exact(500))
    # The kernel's 800 and the 500 that were measured, of which 200 are the primitive's.
    assert elapsed(application, system).value == pytest.approx(1300)
    faster = system_of("faster", fork=constant(500, user=0.2))
    # Of the user time on `s`, 300 are the application's own wherever it runs.
    assert elapsed(application, faster, traced_on={"faster": system}).value == pytest.approx(800)
    little = application_of(count_of("fork", 1), user=Value.exact(50))
    assert elapsed(little, system).value == pytest.approx(1000)
    assert math.isnan(elapsed(application_of(count_of("fork", 1)), system).value)


def test_own_user_time_goes_with_what_work_in_user_mode_costs() -> None:
    here = system_of("here", fork=constant(1000, user=0.2), user_work=constant(10))
    there = system_of("there", fork=constant(500, user=0.2), user_work=constant(20, 18, 22))
    application = application_of(count_of("fork", 1), user=Value.exact(500))
    found = elapsed(application, there, {"there": here})
    # 300 are the application's own on `here`; a step of it takes twice as long, give or take a tenth.
    assert found.value == pytest.approx(500 + 600)
    assert (found.low, found.high) == (pytest.approx(1100 - 60), pytest.approx(1100 + 60))
    assert elapsed(application, here, {"here": here}).value == pytest.approx(1300)
    without = system_of("without", fork=constant(500, user=0.2))
    assert elapsed(application, without, {"without": here}).value == pytest.approx(800)


def test_what_a_changed_cost_saves_in_user_mode_stays_saved() -> None:
    before = system_of("s", fork=constant(1000, 900, 1100, user=0.4))
    application = application_of(count_of("fork", 1), user=Value.exact(800))
    after = changed(before, {"fork": parse_change("0.5x", "--what-if")}, "s")
    found = elapsed(application, after, {"s": before})
    assert found.value == pytest.approx(500 + 400)
    # One number in both places: half of it, less four tenths of it, moves the sum by a tenth.
    assert (found.low, found.high) == (pytest.approx(890), pytest.approx(910))


@pytest.mark.parametrize(("share", "told"), [("", False), ("0.97", False), ("0.51", True), ("much", False)])
def test_costs_that_are_no_processor_time_are_named(share: str, told: bool) -> None:
    system = replace(system_of("s", a=constant(1)), provenance={"processor_share": share})
    assert ("for 51 % of the time" in shared_processor(system)) == told
