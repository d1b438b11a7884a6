"""Changed costs and counts, and which primitive pays most."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
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
from regatta.models.predict.times import quantity
from regatta.models.predict.what_if import (
    Change,
    changed,
    effect,
    optimise,
    parse_change,
    recounted,
)
from regatta.models.vectors.values import (
    ApplicationVector,
    LinearCost,
    PiecewiseCost,
    PrimitiveCost,
    SystemVector,
    TableCost,
    TablePoint,
    Value,
)


@pytest.mark.parametrize(
    ("text", "factor", "time_ns"),
    [
        ("0.5x", 0.5, None), ("2 x", 2, None), ("0x", 0, None), (".25x", 0.25, None), ("1e-3x", 0.001, None),
        ("+10%", 1.1, None), ("-10%", 0.9, None), ("-100%", 0, None), ("+0%", 1, None),
        ("12us", None, 12_000), ("12µs", None, 12_000), ("12 μs", None, 12_000), ("3ns", None, 3), ("1.5ms", None, 1.5e6), ("2s", None, 2e9),
    ],
)  # fmt: skip
def test_a_change_is_a_factor_a_percentage_or_a_time(
    text: str, factor: float | None, time_ns: float | None
) -> None:
    found = parse_change(text)
    assert found.factor == pytest.approx(math.nan if factor is None else factor, nan_ok=True)
    assert found.number == pytest.approx(math.nan if time_ns is None else time_ns, nan_ok=True)
    assert found.text == text


@pytest.mark.parametrize(
    "text", ["", "x", "0.5", "-2x", "+3us", "10%", "-101%", "1e999x", "0.5xx", "nanx", "5 minutes", "1,5x"]
)
def test_what_is_no_change_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(RegattaError, match="--what-if: expected "):
        parse_change(text, "--what-if")


@given(st.text(max_size=12))
def test_any_text_is_a_change_or_refused(text: str) -> None:
    try:
        found = parse_change(text)
    except RegattaError:
        return
    assert math.isnan(found.factor) != math.isnan(found.time_ns)


def test_half_a_cost_is_half_of_it_and_of_its_interval_and_nothing_else_changes(golden: Golden) -> None:
    line = PrimitiveCost("operation", LinearCost("bytes", Value(4, 2, 6), Value(8, 6, 9)))
    system = system_of(a=constant(10, 8, 14, user=0.3), line=line, b=constant(1))
    found = changed(system, {"a": parse_change("0.5x"), "line": parse_change("+50%")})
    assert found.primitives["a"] == constant(5, 4, 7, user=0.3)
    assert found.primitives["line"].cost == LinearCost("bytes", Value(6, 3, 9), Value(12, 9, 13.5))
    assert found.primitives["b"] is system.primitives["b"]
    golden("name of a changed system", found.name)
    assert system.primitives["a"] == constant(10, 8, 14, user=0.3)


def test_tables_and_pieces_are_scaled_in_all_their_numbers() -> None:
    table = PrimitiveCost("operation", TableCost(("x",), (TablePoint((1.0,), Value(4, 2, 6)),)))
    pieces = PrimitiveCost("operation", PiecewiseCost("x", (5.0,), ((Value.exact(2), Value.exact(4)),) * 2))
    found = changed(system_of(t=table, p=pieces), {"t": parse_change("2x"), "p": parse_change("2x")})
    application = application_of(count_of("t", 1, x=1), count_of("p", 1, x=7))
    assert [row.time.value for row in predict(application, found).contributions] == [8, 60]


def test_a_time_takes_the_place_of_a_cost_in_the_unit_of_its_system() -> None:
    system = SystemVector("s", "us", {"a": constant(10, 8, 14)})
    found = changed(system, {"a": parse_change("500ns")})
    assert found.primitives["a"] == constant(0.5)


def test_an_unknown_primitive_is_refused_with_the_near_names() -> None:
    system = system_of(tcp_connect=constant(1), tcp_latency=constant(1), stat=constant(1))
    with pytest.raises(RegattaError, match="got tcp_conect · fix: `tcp_connect`"):
        changed(system, {"tcp_conect": parse_change("0.5x")})


def test_what_a_change_saves_has_only_the_errors_of_what_changes() -> None:
    # b's error of 50 is on both sides.
    system = system_of(a=constant(10, 8, 11), b=constant(500, 450, 550))
    application = application_of(count_of("a", 4), count_of("b", 1))
    found = effect(application, system, {"a": parse_change("0.5x")})
    assert (found.before.value, found.after.value) == (540, 520)
    assert (found.saved.value, found.saved.low, found.saved.high) == pytest.approx((20, 16, 22))
    assert found.share == pytest.approx(20 / 540)
    told = effect(application, system, {"a": parse_change("3ns"), "b": parse_change("1x")})
    assert (told.saved.value, told.saved.low, told.saved.high) == pytest.approx((28, 20, 32))


def test_a_dearer_primitive_saves_less_than_nothing() -> None:
    found = effect(
        application_of(count_of("a", 4)),
        system_of(a=constant(10, 8, 11), c=constant(1)),
        {"a": parse_change("+10%"), "c": parse_change("0x")},
    )
    assert (found.saved.value, found.saved.low, found.saved.high) == pytest.approx((-4, -4.4, -3.2))
    assert found.unused == ("c",)


@settings(max_examples=25, deadline=None)
@given(application_vectors(known=True), system_vectors(known=True), st.floats(0, 4))
def test_what_is_saved_is_the_difference_of_the_two_predictions(
    application: ApplicationVector, system: SystemVector, factor: float
) -> None:
    name = next(iter(system.primitives))
    change = {name: parse_change(f"{factor:.6f}x")}
    found, other = effect(application, system, change), predict(application, changed(system, change)).time
    slack = 1e-9 * abs(found.before.value) + 1e-9
    assert found.after.value == pytest.approx(other.value, nan_ok=True, rel=1e-9, abs=slack)
    assert found.after.low == pytest.approx(other.low, nan_ok=True, rel=1e-6, abs=10 * slack)
    assert found.saved.value == pytest.approx(
        found.before.value - other.value, nan_ok=True, rel=1e-9, abs=slack
    )


# Counts


@pytest.mark.parametrize(
    ("text", "factor", "count"),
    [("0.5x", 0.5, None), ("+10%", 1.1, None), ("-10 %", 0.9, None), ("12", None, 12), ("0", None, 0), ("1e3", None, 1000)],
)  # fmt: skip
def test_a_change_of_a_count_is_a_factor_a_percentage_or_a_number(
    text: str, factor: float | None, count: float | None
) -> None:
    found = parse_change(text, of="count")
    assert found.factor == pytest.approx(math.nan if factor is None else factor, nan_ok=True)
    assert found.number == pytest.approx(math.nan if count is None else count, nan_ok=True)
    assert found.text == text


@pytest.mark.parametrize("text", ["", "x", "12us", "-2", "+3", "10%", "-101%", "1e999", "1,5", "nan"])
def test_what_is_no_change_of_a_count_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(RegattaError, match="--what-if: expected "):
        parse_change(text, "--what-if", "count")


def test_a_changed_count_gives_the_time_by_hand_and_its_interval_follows() -> None:
    # 4 [3, 6] a at 10 and 2 b at 50: 140, of which the count of a moves 10 down and 20 up.
    application = application_of(count_of("a", 4, 3, 6), count_of("b", 2))
    system = system_of(a=constant(10), b=constant(50))
    assert predict(application, system).time == Value(140, 130, 160)
    half = recounted(application, {"a": parse_change("0.5x", of="count")})
    assert predict(half, system).time == Value(120, 115, 130)
    # A number is exact.
    number = recounted(application, {"a": parse_change("7", of="count")})
    assert predict(number, system).time == Value(170, 170, 170)
    assert application.counts[0].count == Value(4, 3, 6)


def test_entries_of_one_primitive_keep_their_proportions_and_arguments() -> None:
    application = application_of(count_of("a", 3, bytes=1), count_of("b", 5), count_of("a", 1, bytes=9))
    found = recounted(application, {"a": parse_change("2", of="count")})
    assert [(one.primitive, one.count.value, one.arguments) for one in found.counts] == [
        ("a", 1.5, {"bytes": 1}),
        ("b", 5, {}),
        ("a", 0.5, {"bytes": 9}),
    ]
    nothing = application_of(count_of("a", 0), count_of("a", 0))
    assert [one.count.value for one in recounted(nothing, {"a": Change(number=4)}).counts] == [2, 2]


def test_the_time_of_the_applications_own_code_stays_with_changed_counts() -> None:
    # Of 100 ns in user mode, 40 are those of a: 60 remain, and twice as many a take 80.
    user = system_of(a=constant(10, user=1.0))
    application = application_of(count_of("a", 4), user=Value(100, 90, 110))
    found = recounted(application, {"a": parse_change("2x", of="count")})
    assert quantity(found, user, "elapsed").interval() == Value(140, 130, 150)
    again = recounted(found, {"a": parse_change("0x", of="count")})
    assert quantity(again, user, "elapsed").interval() == Value(60, 50, 70)


def test_what_a_changed_count_saves_has_only_the_errors_of_what_changes() -> None:
    system = system_of(a=constant(10, 8, 11), b=constant(500, 450, 550))
    application = application_of(count_of("a", 4), count_of("b", 1))
    half = {"a": parse_change("0.5x", of="count")}
    found = effect(application, system, {}, counts=half)
    assert (found.before.value, found.after.value) == (540, 520)
    assert (found.saved.value, found.saved.low, found.saved.high) == pytest.approx((20, 16, 22))
    more = {**half, "c": parse_change("2x", of="count")}
    both = effect(application, system, {"a": parse_change("0.5x")}, counts=more)
    assert (both.saved.value, both.saved.low, both.saved.high) == pytest.approx((30, 24, 33))
    assert both.unused == ("c",)


def test_a_primitive_without_a_cost_can_be_counted_as_nothing() -> None:
    application = application_of(count_of("a", 4), count_of("gone", 1))
    found = effect(
        application, system_of(a=constant(10)), {}, counts={"gone": parse_change("0x", of="count")}
    )
    assert math.isnan(found.before.value)
    assert found.after == Value(40, 40, 40)


@settings(max_examples=25, deadline=None)
@given(application_vectors(known=True), system_vectors(known=True), st.floats(0, 4), st.booleans())
def test_what_a_changed_count_saves_is_the_difference_of_the_two_predictions(
    application: ApplicationVector, system: SystemVector, number: float, absolute: bool
) -> None:
    change = parse_change(f"{number:.6f}{'' if absolute else 'x'}", of="count")
    changes = {application.counts[0].primitive: change}
    found = effect(application, system, {}, counts=changes)
    other = predict(recounted(application, changes), system).time
    before = found.before.value
    slack = 1e-9 * abs(before) + 1e-9 if math.isfinite(before) else 1e-9
    assert found.after.value == pytest.approx(other.value, nan_ok=True, rel=1e-9, abs=slack)
    assert found.after.low == pytest.approx(other.low, nan_ok=True, rel=1e-6, abs=10 * slack)
    assert found.saved.value == pytest.approx(before - other.value, nan_ok=True, rel=1e-9, abs=slack)


# Largest savings


def test_the_dearest_primitive_comes_first_with_what_it_could_save() -> None:
    application = application_of(count_of("a", 2), count_of("b", 1), count_of("a", 1), count_of("c", 0))
    other = system_of("other", a=constant(20), b=constant(5), c=constant(1))
    system = system_of(a=constant(10), b=constant(10, 8, 13), c=constant(9))
    a, b, c = optimise(application, system, 40, [other])
    assert (a.primitive, a.time.value, a.share, a.best) == ("a", 30, 0.75, "")
    assert (b.best, b.as_best.value, b.as_best.low, b.as_best.high) == ("other", 5, 3, 8)
    assert b.as_best_share == 5 / 40
    assert (c.primitive, c.time.value) == ("c", 0)


def test_what_the_system_lacks_can_save_nothing() -> None:
    application = application_of(count_of("a", 2), count_of("gone", 1))
    (row,) = optimise(application, system_of(a=constant(10)), math.nan)
    assert row.primitive == "a"
    assert math.isnan(row.share)
