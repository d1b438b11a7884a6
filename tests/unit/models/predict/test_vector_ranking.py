"""Rankings: what the difference of two times says, and the ratio to a reference."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.golden import Golden
from helpers.vector_examples import (
    application_of,
    application_vectors,
    constant,
    count_of,
    system_of,
    system_vectors,
)
from regatta.host.errors import RegattaError
from regatta.models.predict.prediction import predict
from regatta.models.predict.ranking import rank
from regatta.models.vectors.sums import Sum, ratio, uncertain
from regatta.models.vectors.values import ApplicationVector, SystemVector, Value


def test_systems_come_in_the_order_of_their_predicted_times() -> None:
    systems = [
        system_of("slow", a=constant(40)),
        system_of("fast", a=constant(10)),
        system_of("mid", a=constant(20)),
    ]
    found = rank(application_of(count_of("a", 2)), systems)
    assert [(name, found.times[name].value) for name in found.systems] == [
        ("fast", 20),
        ("mid", 40),
        ("slow", 80),
    ]
    assert all(pair.told_apart for pair in found.pairs)


def test_an_error_of_the_counts_that_both_share_does_not_blur_their_order() -> None:
    # 10 +- 6 uses: times 1000 +- 600 and 3000 +- 1800 overlap, their ratio is 3 whatever the count is.
    application = application_of(count_of("a", 10, 4, 16))
    found = rank(application, [system_of("s1", a=constant(100)), system_of("s2", a=constant(300))])
    (pair,) = found.pairs
    assert pair.told_apart
    assert found.groups == ()
    speed = ratio(found.times["s1"], found.times["s2"])
    assert (speed.low, speed.high) == pytest.approx((1 / 3, 1 / 3))


def test_intervals_that_overlap_a_little_may_still_be_told_apart() -> None:
    systems = [system_of("s1", a=constant(100, 50, 150)), system_of("s2", a=constant(240, 145, 335))]
    (pair,) = rank(application_of(count_of("a", 1)), systems).pairs
    # sqrt(50^2 + 95^2) = 107 < 140, and the model's own error does not close the gap
    assert pair.told_apart


def test_groups_are_the_longest_runs_that_cannot_be_told_apart() -> None:
    systems = [system_of(f"s{n}", a=constant(100 * 1.2**n)) for n in range(4)]
    found = rank(application_of(count_of("a", 1)), [*systems, system_of("far", a=constant(900))])
    # The model's own error is a factor of 1.37 between neighbours and of 1.38 between others, which differ by 1.44.
    assert found.groups == (("s0", "s1"), ("s1", "s2"), ("s2", "s3"))
    assert [(pair.faster, pair.slower) for pair in found.pairs if not pair.told_apart] == list(found.groups)


def test_a_time_of_nothing_is_distinguished_by_the_difference() -> None:
    systems = [
        system_of(name, a=constant(cost)) for name, cost in (("none", 0), ("some", 100), ("more", 300))
    ]
    found = rank(application_of(count_of("a", 1)), systems)
    assert found.groups == ()
    assert all(pair.told_apart for pair in found.pairs)


def test_a_system_without_a_cost_comes_last_and_is_in_no_pair(golden: Golden) -> None:
    found = rank(
        application_of(count_of("a", 1)), [system_of("empty", b=constant(1)), system_of("s", a=constant(1))]
    )
    assert found.systems == ("s", "empty")
    assert math.isnan(found.times["empty"].value)
    golden("no cost", found.times["empty"].reason)
    assert found.pairs == ()


def test_an_unknown_interval_tells_nothing_apart() -> None:
    unknown = system_of("s2", a=constant(500, math.nan, math.nan))
    (pair,) = rank(application_of(count_of("a", 1)), [system_of("s1", a=constant(1)), unknown]).pairs
    assert not pair.told_apart


def test_the_order_of_elapsed_times_has_the_user_time_on_both_sides() -> None:
    application = application_of(count_of("a", 1), user=Value(50, 30, 70))
    systems = [system_of("s1", a=constant(100)), system_of("s2", a=constant(150))]
    found = rank(application, systems, what="elapsed")
    assert [found.times[name].value for name in found.systems] == [150, 200]
    assert found.times["s2"].minus(found.times["s1"]).interval() == Value(50, 50, 50)
    # (100 + u) / (150 + u) for u from 30 to 70
    speed = ratio(found.times["s1"], found.times["s2"])
    assert (speed.low, speed.high) == pytest.approx((130 / 180, 170 / 220))


def test_names_must_be_told_apart_and_there_must_be_a_system() -> None:
    application, system = application_of(count_of("a", 1)), system_of("s", a=constant(1))
    with pytest.raises(RegattaError, match="two systems named s"):
        rank(application, [system, system])
    with pytest.raises(RegattaError, match="at least one system"):
        rank(application, [])


@settings(max_examples=25, deadline=None)
@given(application_vectors(known=True), system_vectors("s1", True, True), system_vectors("s2", True, True))
def test_difference_and_ratio_agree_and_the_ratio_of_a_pair_has_one_error_more(
    application: ApplicationVector, one: SystemVector, other: SystemVector
) -> None:
    assume(all(predict(application, system).time.value > 1e-6 for system in (one, other)))
    found = rank(application, [one, other])
    (pair,) = found.pairs
    faster, slower = (found.times[name] for name in found.systems)
    speed, difference = ratio(slower, faster), slower.minus(faster).interval()
    assert not speed.low > speed.value
    assert not speed.high < speed.value
    if abs(difference.low) / (difference.value + 1e-30) > 1e-6:
        assert (difference.low > 0.0) == (speed.low > 1.0)
    # The model's own error comes on top.
    assert not pair.ratio.low > speed.low
    assert not pair.ratio.high < speed.high
    assert pair.told_apart == (pair.ratio.low > 1.0)


def test_a_ratio_has_the_limits_at_which_the_difference_ends_at_zero() -> None:
    found = ratio(uncertain(Value(10, 8, 12), "a"), uncertain(Value(4, 3, 5), "b"))
    for r, side in ((found.low, 0), (found.high, 1)):
        left = uncertain(Value(10, 8, 12), "a").minus(uncertain(Value(4, 3, 5), "b").times(r)).interval()
        assert (left.low, left.high)[side] == pytest.approx(0, abs=1e-9)
    # Donner and Zou's closed form: (ab - sqrt((ab)^2 - l u' (2a - l)(2b - u'))) / (u' (2b - u')) with l = 8, u' = 5
    assert found.low == pytest.approx((40 - math.sqrt(1600 - 8 * 5 * 12 * 3)) / (5 * 3))
    assert found.high == pytest.approx((40 + math.sqrt(1600 - 12 * 3 * 8 * 5)) / (3 * 5))


@given(st.floats(1e-6, 1e12), st.floats(1e-6, 1e12))
def test_the_ratio_of_exact_numbers_is_exact(above: float, under: float) -> None:
    found = ratio(Sum(above), Sum(under))
    assert (found.low, found.high) == pytest.approx((above / under, above / under))


def test_a_ratio_by_what_may_be_zero_has_no_upper_limit_and_says_so(golden: Golden) -> None:
    found = ratio(uncertain(Value(10, 8, 12), "a"), uncertain(Value(4, -1, 9), "b"))
    assert found.value == 2.5
    assert found.low > 0
    assert math.isnan(found.high)
    golden("divisor that may be zero", found.reason)
    assert math.isnan(ratio(Sum(1.0), Sum(0.0)).value)
