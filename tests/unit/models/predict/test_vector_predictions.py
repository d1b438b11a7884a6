"""Predictions worked by hand, and what must hold of all of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

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
from regatta.models.predict.what_if import Change, changed
from regatta.models.vectors.values import (
    ApplicationVector,
    ConstantCost,
    Count,
    LinearCost,
    PrimitiveCost,
    Share,
    SystemVector,
    TableCost,
    TablePoint,
    Value,
)


def ends(number: Value) -> tuple[float, float, float]:
    return number.value, number.low, number.high


# Worked by hand


def test_a_time_is_the_sum_of_cost_times_count_with_the_errors_of_both() -> None:
    system = system_of(a=constant(10, 9.7, 10.6), b=constant(100, 90, 100))
    application = application_of(count_of("a", 2, 1.6, 3), count_of("b", 1))
    found = predict(application, system)
    # Errors of a's cost, a's count, b's cost: below 2 x 0.3, 10 x 0.4, 1 x 10; above 2 x 0.6, 10 x 1, 0
    low, high = math.sqrt(0.6**2 + 4**2 + 10**2), math.sqrt(1.2**2 + 10**2)
    assert ends(found.time) == pytest.approx((120, 120 - low, 120 + high))
    assert [row.time.value for row in found.contributions] == [20, 100]
    assert [row.share for row in found.contributions] == pytest.approx([1 / 6, 5 / 6])
    assert ends(found.contributions[0].time) == pytest.approx(
        (20, 20 - math.sqrt(0.6**2 + 4**2), 20 + math.sqrt(1.2**2 + 10**2))
    )
    assert (found.time_unit, found.per, found.level) == ("ns", "request", 0.95)


def test_a_cost_that_is_used_twice_moves_both_uses_together() -> None:
    system = system_of(a=constant(10, 9, 12))
    twice = predict(application_of(count_of("a", 3), count_of("a", 4)), system)
    assert ends(twice.time) == pytest.approx((70, 63, 84))
    assert ends(predict(application_of(count_of("a", 7)), system).time) == pytest.approx(ends(twice.time))


def test_two_sizes_of_one_line_share_both_of_its_coefficients() -> None:
    line = PrimitiveCost("operation", LinearCost("bytes", Value(100, 98, 102), Value(1.0, 0.9, 1.2)))
    found = predict(application_of(count_of("r", 2, bytes=10), count_of("r", 1, bytes=30)), system_of(r=line))
    # 3 x fixed + 50 x per
    assert ends(found.time) == pytest.approx((350, 350 - math.hypot(6, 5), 350 + math.hypot(6, 10)))
    assert [row.cost.value for row in found.contributions] == [110, 130]


def test_kernel_and_user_time_are_told_apart_by_the_user_share() -> None:
    process = replace(constant(1000, 950, 1050), user_share=Value(0.2, 0.15, 0.3))
    found = predict(application_of(count_of("p", 2), count_of("a", 1)), system_of(p=process, a=constant(50)))
    assert found.time.value == 2050
    # Cost 2 x 50 x 0.8 and share 2000 x 0.1 or 0.05; a larger user share is a smaller kernel's.
    assert ends(found.kernel) == pytest.approx((1650, 1650 - math.hypot(80, 200), 1650 + math.hypot(80, 100)))
    assert ends(found.user) == pytest.approx((400, 400 - math.hypot(20, 100), 400 + math.hypot(20, 200)))
    assert [row.user for row in found.contributions] == [400, 0]


def test_a_user_share_that_nobody_knows_leaves_the_time_and_takes_both_of_its_parts() -> None:
    unknown = replace(constant(1000), user_share=Value(math.nan, reason="no user_share was measured"))
    counts = (Count("a", Value(1, 1, 1, 1, "one trace")), count_of("p", 2))
    found = predict(application_of(*counts), system_of(a=constant(50), p=unknown))
    assert ends(found.time) == (2050, 2050, 2050)
    for part in (found.kernel, found.user):
        assert math.isnan(part.value)
        assert part.reason == "no user_share was measured"
    assert [row.time.value for row in found.contributions] == [50, 2000]
    assert found.contributions[0].user == 0
    assert math.isnan(found.contributions[1].user)
    unused = predict(application_of(count_of("a", 1), count_of("p", 0)), system_of(a=constant(50), p=unknown))
    assert (unused.kernel.value, unused.user.value) == (50, 0)


def test_a_little_time_without_a_user_share_widens_the_intervals_of_both_parts() -> None:
    unknown = replace(constant(30), user_share=Value(math.nan, reason="no user_share was measured"))
    found = predict(
        application_of(count_of("a", 1), count_of("p", 1), count_of("q", 0.5)),
        system_of(a=constant(955), p=unknown, q=unknown),
    )
    assert ends(found.time) == (1000, 1000, 1000)
    assert ends(found.kernel) == pytest.approx((977.5, 955, 1000))
    assert ends(found.user) == pytest.approx((22.5, 0, 45))


def test_units_of_time_are_converted_to_nanoseconds() -> None:
    inside = SystemVector("s", "us", {"a": constant(2, 1, 3)})
    found = predict(application_of(count_of("a", 5)), inside)
    assert ends(found.time) == (10_000, 5_000, 15_000)
    assert ends(found.contributions[0].cost) == (2_000, 1_000, 3_000)


def test_a_missing_primitive_makes_the_time_undefined_and_is_named(golden: Golden) -> None:
    found = predict(
        application_of(count_of("a", 5), count_of("b", 1), count_of("b", 2, x=1)), system_of(a=constant(2))
    )
    assert found.missing == ("b",)
    assert math.isnan(found.time.value)
    assert found.time.reason == found.kernel.reason
    golden("no cost", found.time.reason)
    assert found.contributions[0].time.value == 10
    assert math.isnan(found.contributions[0].share)
    assert math.isnan(found.contributions[1].time.value)


def test_an_entry_that_counts_exactly_nothing_needs_neither_cost_nor_argument() -> None:
    line = PrimitiveCost("operation", LinearCost("bytes", Value.exact(1), Value.exact(1)))
    application = application_of(count_of("a", 5), count_of("gone", 0), count_of("line", 0))
    found = predict(application, system_of(a=constant(2), line=line))
    assert ends(found.time) == (10, 10, 10)
    assert found.missing == ()
    assert [(row.time.value, row.share) for row in found.contributions] == [(10, 1), (0, 0), (0, 0)]


def test_an_unknown_interval_leaves_the_value_and_says_why() -> None:
    system = system_of(a=PrimitiveCost("operation", ConstantCost(Value(3, n=1, reason="one invocation"))))
    found = predict(application_of(count_of("a", 2)), system).time
    assert found.value == 6
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.reason == "one invocation"


def test_a_missing_argument_names_application_primitive_and_system(golden: Golden) -> None:
    line = PrimitiveCost("operation", LinearCost("bytes", Value.exact(1), Value.exact(1)))
    with pytest.raises(RegattaError) as caught:
        predict(application_of(count_of("r", 1)), system_of(r=line))
    golden("missing argument", str(caught.value))


def test_a_cost_below_zero_is_refused_even_in_one_part_of_a_distribution(golden: Golden) -> None:
    points = (TablePoint((10.0,), Value.exact(4)), TablePoint((20.0,), Value.exact(1)))
    falling = system_of(r=PrimitiveCost("operation", TableCost(("bytes",), points, "extend")))
    shares = (Share({"bytes": 12.0}, 0.9), Share({"bytes": 30.0}, 0.1))
    parts = application_of(Count("r", Value.exact(2), distribution=shares))
    for application in (application_of(count_of("r", 3, bytes=30)), parts):
        with pytest.raises(RegattaError) as caught:
            predict(application, falling)
        golden("cost below zero", str(caught.value))
    # What is counted exactly 0 times has no cost that could be wrong.
    assert predict(application_of(count_of("r", 0, bytes=30)), falling).time.value == 0


def test_intervals_of_two_levels_are_not_mixed() -> None:
    system = replace(system_of(a=constant(2, 1, 3)), level=0.99)
    with pytest.raises(RegattaError, match="one level"):
        predict(application_of(count_of("a", 2, 1, 3)), system)
    # An exact vector goes with every level.
    assert predict(application_of(count_of("a", 2)), system).level == 0.99


def test_what_an_entry_stands_for_is_kept() -> None:
    entry = replace(count_of("null_call", 7), stands_for=("times", "getpid"), rule="light")
    (row,) = predict(application_of(entry), system_of(null_call=constant(3))).contributions
    assert (row.stands_for, row.rule) == (("times", "getpid"), "light")


# Of all predictions


@settings(max_examples=25, deadline=None)
@given(application_vectors(known=True), system_vectors(known=True), st.floats(0.01, 100))
def test_scaling_a_cost_scales_the_time_of_its_entries_and_of_no_others(
    application: ApplicationVector, system: SystemVector, factor: float
) -> None:
    name = application.counts[0].primitive
    assume(name in system.primitives)
    before, after = (
        predict(application, system),
        predict(application, changed(system, {name: Change(factor)})),
    )
    for old, new in zip(before.contributions, after.contributions, strict=True):
        scale = factor if old.primitive == name else 1.0
        expected = tuple(scale * end for end in ends(old.time))
        # An end near 0 of a large value is a difference of large numbers.
        rounding = 1e-9 + 1e-12 * max((abs(end) for end in expected if math.isfinite(end)), default=0.0)
        assert ends(new.time) == pytest.approx(expected, nan_ok=True, rel=1e-9, abs=rounding)


@settings(max_examples=25, deadline=None)
@given(application_vectors(), system_vectors())
def test_a_count_of_zero_is_as_no_entry_at_all(application: ApplicationVector, system: SystemVector) -> None:
    first = application.counts[0].primitive
    without = tuple(count for count in application.counts if count.primitive != first)
    zero = tuple(
        replace(count, count=Value.exact(0.0)) if count.primitive == first else count
        for count in application.counts
    )
    a = predict(replace(application, counts=without), system)
    b = predict(replace(application, counts=zero), system)
    assert ends(a.time) == pytest.approx(ends(b.time), nan_ok=True)
    assert a.missing == b.missing
    assert all(row.share == 0.0 for row in b.contributions if row.primitive == first)


@settings(max_examples=25, deadline=None)
@given(
    application_vectors(known=True), system_vectors(known=True, complete=True), st.floats(1, 3), st.booleans()
)
def test_intervals_widen_with_uncertainty_and_hold_the_value(
    application: ApplicationVector, system: SystemVector, factor: float, of_counts: bool
) -> None:
    def wider(number: Value) -> Value:
        return Value(
            number.value,
            number.value - factor * (number.value - number.low),
            number.value + factor * (number.high - number.value),
        )

    narrow = predict(application, system)
    if of_counts:
        counts = tuple(replace(count, count=wider(count.count)) for count in application.counts)
        wide = predict(replace(application, counts=counts), system)
    else:
        primitives = {
            name: replace(one, cost=ConstantCost(wider(one.cost.cost)))
            if isinstance(one.cost, ConstantCost)
            else one
            for name, one in system.primitives.items()
        }
        wide = predict(application, replace(system, primitives=primitives))
    slack = 1e-9 * max(1.0, abs(narrow.time.value))
    assert wide.time.value == narrow.time.value
    assert (
        wide.time.low - slack
        <= narrow.time.low
        <= narrow.time.value
        <= narrow.time.high
        <= wide.time.high + slack
    )


@settings(max_examples=25, deadline=None)
@given(application_vectors(known=True), system_vectors(known=True, complete=True))
def test_parts_add_up_and_shares_to_one(application: ApplicationVector, system: SystemVector) -> None:
    found = predict(application, system)
    assert found.kernel.value + found.user.value == pytest.approx(found.time.value)
    assert sum(row.time.value for row in found.contributions) == pytest.approx(found.time.value)
    if found.time.value:
        assert sum(row.share for row in found.contributions) == pytest.approx(1.0)


def test_the_interval_covers_the_truth_as_often_as_its_level_says() -> None:
    random = np.random.default_rng(20261122)
    costs, counts, n, times = np.array([100.0, 20.0, 3.0]), np.array([1.0, 4.0, 40.0]), 12, 1500
    spread = stats.t.ppf(0.975, n - 1) / math.sqrt(n)
    truth = float(costs @ counts)
    covered = 0
    for _ in range(times):
        numbers = []
        for mean in (*costs, *counts):
            sample = random.normal(mean, 0.15 * mean, n)
            half = spread * float(sample.std(ddof=1))
            numbers.append(
                Value(float(sample.mean()), float(sample.mean()) - half, float(sample.mean()) + half)
            )
        system = system_of(
            **{f"p{i}": PrimitiveCost("operation", ConstantCost(numbers[i])) for i in range(3)}
        )
        application = application_of(*(Count(f"p{i}", numbers[3 + i]) for i in range(3)))
        found = predict(application, system).time
        covered += found.low <= truth <= found.high
    # Loose: the standard error of a share of 1500 at 0.95 is 0.006.
    assert 0.93 <= covered / times <= 0.975
