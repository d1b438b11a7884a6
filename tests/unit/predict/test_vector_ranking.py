"""Rankings: what the difference of two times says, and the ratio to a reference."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings

from helpers.vector_examples import (
    application_of,
    application_vectors,
    constant,
    count_of,
    system_of,
    system_vectors,
)
from regatta.host.errors import RegattaError
from regatta.predict.prediction import predict
from regatta.predict.ranking import rank
from regatta.predict.sums import Sum, ratio, uncertain
from regatta.spec.vectors import ApplicationVector, SystemVector, Value


def test_systems_come_in_the_order_of_their_predicted_times_with_speeds_beside_the_reference() -> None:
    systems = [
        system_of("slow", a=constant(40)),
        system_of("fast", a=constant(10)),
        system_of("mid", a=constant(20)),
    ]
    found = rank(application_of(count_of("a", 2)), systems)
    assert [(row.system, row.rank, row.time.value) for row in found.rows] == [
        ("fast", 1, 20),
        ("mid", 2, 40),
        ("slow", 3, 80),
    ]
    assert [row.speed.value for row in found.rows] == [4, 2, 1]
    assert found.reference == "slow"
    assert [row.speed.value for row in rank(application_of(count_of("a", 2)), systems, "mid").rows] == [
        2,
        1,
        0.5,
    ]


def test_an_error_of_the_counts_that_both_share_does_not_blur_their_order() -> None:
    # 10 +- 5 uses: times 1000 +- 500 and 1100 +- 550 overlap widely, their difference is 10 x 10 +- 5 x 10.
    application = application_of(count_of("a", 10, 5, 15))
    found = rank(application, [system_of("s1", a=constant(100)), system_of("s2", a=constant(110))])
    (pair,) = found.pairs
    assert (pair.difference.value, pair.difference.low, pair.difference.high) == (100, 50, 150)
    assert pair.told_apart
    assert pair.overlap
    assert found.groups == ()
    # Whatever the count is, the ratio is that of the costs.
    assert [end for row in found.rows for end in (row.speed.low, row.speed.high)] == pytest.approx(
        [1, 1, 10 / 11, 10 / 11]
    )


def test_intervals_that_overlap_a_little_may_still_be_told_apart() -> None:
    systems = [system_of("s1", a=constant(100, 90, 110)), system_of("s2", a=constant(117, 107, 127))]
    (pair,) = rank(application_of(count_of("a", 1)), systems).pairs
    # sqrt(10^2 + 10^2) = 14.1 < 17
    assert (pair.overlap, pair.told_apart) == (True, True)
    assert pair.difference.low == pytest.approx(17 - math.hypot(10, 10))


def test_groups_are_the_longest_runs_that_cannot_be_told_apart() -> None:
    systems = [system_of(f"s{n}", a=constant(100 + 10 * n, 92 + 10 * n, 108 + 10 * n)) for n in range(4)]
    found = rank(application_of(count_of("a", 1)), [*systems, system_of("far", a=constant(900))])
    # Neighbours differ by 10 +- 11.3, others by 20 and more.
    assert found.groups == (("s0", "s1"), ("s1", "s2"), ("s2", "s3"))
    pair = found.pair("s2", "s0")
    assert pair is not None
    assert (pair.first, pair.second, pair.told_apart) == ("s0", "s2", True)


def test_a_system_without_a_cost_comes_last_without_a_rank() -> None:
    found = rank(
        application_of(count_of("a", 1)), [system_of("empty", b=constant(1)), system_of("s", a=constant(1))]
    )
    assert [(row.system, row.rank) for row in found.rows] == [("s", 1), ("empty", 0)]
    assert found.rows[1].prediction.missing == ("a",)
    assert math.isnan(found.rows[0].speed.value)
    assert found.rows[0].speed.reason == "empty has no cost for a"
    assert found.pairs == ()


def test_an_unknown_interval_tells_nothing_apart() -> None:
    unknown = system_of("s2", a=constant(500, math.nan, math.nan))
    (pair,) = rank(application_of(count_of("a", 1)), [system_of("s1", a=constant(1)), unknown]).pairs
    assert not pair.told_apart
    assert math.isnan(pair.difference.low)


def test_the_order_of_elapsed_times_has_the_user_time_on_both_sides() -> None:
    application = application_of(count_of("a", 1), user=Value(50, 30, 70))
    systems = [system_of("s1", a=constant(100)), system_of("s2", a=constant(150))]
    found = rank(application, systems, what="elapsed")
    assert [row.time.value for row in found.rows] == [150, 200]
    assert found.pairs[0].difference == Value(50, 50, 50)
    # (100 + u) / (150 + u) for u from 30 to 70
    assert (found.rows[1].speed.low, found.rows[1].speed.high) == pytest.approx((130 / 180, 170 / 220))


def test_names_must_be_told_apart_and_the_reference_be_there() -> None:
    application, system = application_of(count_of("a", 1)), system_of("s", a=constant(1))
    with pytest.raises(RegattaError, match="two named s"):
        rank(application, [system, system])
    with pytest.raises(RegattaError, match="a reference among s"):
        rank(application, [system], "other")
    with pytest.raises(RegattaError, match="at least one system"):
        rank(application, [])


@settings(max_examples=25, deadline=None)
@given(application_vectors(known=True), system_vectors("s1", True, True), system_vectors("s2", True, True))
def test_difference_and_ratio_agree_and_what_does_not_overlap_is_told_apart(
    application: ApplicationVector, one: SystemVector, other: SystemVector
) -> None:
    assume(all(predict(application, system).time.value > 1e-6 for system in (one, other)))
    found = rank(application, [one, other])
    (pair,) = found.pairs
    if not pair.overlap:
        assert pair.told_apart
    slower, faster = (row for row in reversed(found.rows))
    speed = faster.speed if slower.system == found.reference else slower.speed
    assert not speed.low > speed.value
    assert not speed.high < speed.value
    margin = abs(pair.difference.low) / (pair.difference.value + 1e-30)
    if found.reference == slower.system and margin > 1e-6:
        assert pair.told_apart == (speed.low > 1.0)


def test_a_ratio_has_the_limits_at_which_the_difference_ends_at_zero() -> None:
    found = ratio(uncertain(Value(10, 8, 12), "a"), uncertain(Value(4, 3, 5), "b"))
    for r, side in ((found.low, 0), (found.high, 1)):
        left = uncertain(Value(10, 8, 12), "a").minus(uncertain(Value(4, 3, 5), "b").times(r)).interval()
        assert (left.low, left.high)[side] == pytest.approx(0, abs=1e-9)
    # Donner and Zou's closed form: (ab - sqrt((ab)^2 - l u' (2a - l)(2b - u'))) / (u' (2b - u')) with l = 8, u' = 5
    assert found.low == pytest.approx((40 - math.sqrt(1600 - 8 * 5 * 12 * 3)) / (5 * 3))
    assert found.high == pytest.approx((40 + math.sqrt(1600 - 12 * 3 * 8 * 5)) / (3 * 5))


def test_a_ratio_by_what_may_be_zero_has_no_upper_limit_and_says_so() -> None:
    found = ratio(uncertain(Value(10, 8, 12), "a"), uncertain(Value(4, -1, 9), "b"))
    assert found.value == 2.5
    assert found.low > 0
    assert math.isnan(found.high)
    assert found.reason == "the interval of what is divided by holds 0"
    assert math.isnan(ratio(Sum(1.0), Sum(0.0)).value)
