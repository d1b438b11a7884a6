"""An application's own time in user mode: what is left of it, how it goes from system to system, and what changes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.models.predict.mixing import as_mix, speedup
from regatta.models.predict.times import TracedOn, brings_user_time, of_one_thread, overcounted, quantity
from regatta.models.predict.what_if import changed, effect, parse_change
from regatta.models.vectors.sums import ratio
from regatta.models.vectors.values import (
    ApplicationVector,
    PrimitiveCost,
    SystemVector,
    TableCost,
    TablePoint,
    Value,
)

OLD = system_of("old", a=constant(1000), user_work=constant(20, 18, 22))
NEW = system_of("new", a=constant(1000), user_work=constant(10, 9, 11))
CGI = application_of(count_of("a", 4), name="cgi", user=Value.exact(4000))
FAST = application_of(count_of("a", 2), name="fast", user=Value.exact(1000))


def elapsed(application: ApplicationVector, system: SystemVector, traced_on: TracedOn | None = None) -> Value:
    return quantity(application, system, "elapsed", traced_on).interval()


def test_what_is_left_of_it_keeps_its_upper_end_where_it_is_0() -> None:
    system = system_of(a=constant(1000, user=0.5))
    above = application_of(count_of("a", 1), user=Value(501, 201, 801))
    found = elapsed(above, system)
    assert (found.value, found.low, found.high) == pytest.approx((1001, 701, 1301))
    below = application_of(count_of("a", 1), user=Value(499, 199, 799))
    found = elapsed(below, system)
    assert (found.value, found.low, found.high) == pytest.approx((1000, 1000, 1299))
    none = application_of(count_of("a", 1), user=Value(100, 50, 150))
    found = elapsed(none, system)
    assert (found.low, found.high) == (1000, 1000)


def test_a_change_of_what_work_in_user_mode_costs_acts_where_it_was_traced_too() -> None:
    changes = {"user_work": parse_change("0.5x")}
    traced = {"old": OLD, "new": OLD}
    found = elapsed(CGI, changed(OLD, changes, "old"), traced)
    # The error of that cost is that of the cost before: a half is a half.
    assert (found.value, found.low, found.high) == pytest.approx((6000, 6000, 6000))
    assert elapsed(CGI, changed(NEW, changes, "new"), traced).value == pytest.approx(5000)
    for system, saved in ((OLD, 2000), (NEW, 1000)):
        told = effect(CGI, system, changes, traced)
        assert told.saved.value == pytest.approx(saved)
        assert told.before.value - told.after.value == pytest.approx(saved)
        assert told.unused == ()
    exact = effect(CGI, OLD, changes, traced).saved
    assert (exact.low, exact.high) == pytest.approx((2000, 2000))
    without = application_of(count_of("a", 4), name="cgi")
    assert effect(without, OLD, changes, traced).unused == ("user_work",)


def test_a_speed_up_of_applications_that_were_traced_on_two_systems_is_the_ratio_of_their_predictions() -> (
    None
):
    traced = {"cgi": OLD, "fast": NEW}

    def where(application: ApplicationVector) -> SystemVector:
        return traced[application.name]

    for system in (OLD, NEW):
        times = [elapsed(one, system, {system.name: traced[one.name]}).value for one in (CGI, FAST)]
        found = speedup(as_mix(CGI), as_mix(FAST), system, traced=where)
        assert found.own_user.value == pytest.approx(times[0] / times[1]) == pytest.approx(2)
    # CGI's 4000 on `old` are 2000 on `new`.
    assert found.user.value == pytest.approx(2000)
    assert found.user_stays.value == pytest.approx(6000 / 4000)


def test_a_system_that_does_not_tell_what_work_in_user_mode_costs_has_it_as_it_was() -> None:
    plain = system_of("plain", a=constant(1000))
    assert brings_user_time(NEW, OLD)
    assert not brings_user_time(plain, OLD)
    assert not brings_user_time(OLD, plain)
    assert elapsed(CGI, plain, {"plain": OLD}).value == pytest.approx(8000)


def by_kind(*costs: float) -> PrimitiveCost:
    """`user_work` of several kinds."""
    points = tuple(TablePoint((float(kind),), Value.exact(cost)) for kind, cost in enumerate(costs))
    return PrimitiveCost("operation", TableCost(("kind",), points))


def test_own_code_is_any_mixture_of_the_kinds_of_user_work() -> None:
    there = system_of("there", user_work=by_kind(1, 2, 4))
    slow = system_of("slow", user_work=by_kind(10, 10, 4))
    alike = system_of("alike", user_work=by_kind(2, 4, 8))
    application = application_of(name="own", user=Value.exact(100))
    traced = {"there": there, "slow": there, "alike": there}
    assert elapsed(application, there, traced) == Value(100, 100, 100)
    assert elapsed(application, alike, traced) == Value(200, 200, 200)
    found = elapsed(application, slow, traced)
    # Ten thousand mixtures whose shares are uniform on the simplex.
    shares = np.random.default_rng(1).dirichlet([1, 1, 1], 10_000)
    times = 100 * shares @ np.array([10, 5, 1])
    assert found.value == pytest.approx(100 * 16 / 3)
    half = 1.959964 * np.std(times)
    assert (found.value - found.low, found.high - found.value) == pytest.approx((half, half), rel=0.03)
    assert np.mean((found.low < times) & (times < found.high)) > 0.94


def test_the_mixture_of_an_application_is_the_same_on_all_systems() -> None:
    there = system_of("there", user_work=by_kind(1, 1, 1))
    a = system_of("a", user_work=by_kind(9, 5, 1))
    b = system_of("b", user_work=by_kind(18, 10, 2))
    application = application_of(name="own", user=Value.exact(100))
    traced = {"a": there, "b": there}
    times = [quantity(application, system, "elapsed", traced) for system in (a, b)]
    # Neither time is known well, but b takes twice as long for every mixture.
    assert ratio(times[1], times[0]) == Value(2, pytest.approx(2), pytest.approx(2))
    assert not brings_user_time(a, system_of("fewer", user_work=by_kind(1, 1)))
    assert not brings_user_time(a, NEW)


# ---- Java ----


def test_pauses_of_a_collector_are_no_own_code() -> None:
    """They stay as they are on a system where own code takes half the time."""
    application = replace(CGI, pause_time=Value(1000, 900, 1100))
    traced: TracedOn = {"old": OLD, "new": OLD}
    assert elapsed(application, OLD, traced).value == pytest.approx(4 * 1000 + 4000)
    # Without the width of the pauses: they are on both sides.
    assert elapsed(application, OLD, traced) == elapsed(CGI, OLD, traced)
    assert elapsed(CGI, NEW, traced).value == pytest.approx(4 * 1000 + 4000 / 2)
    assert elapsed(application, NEW, traced).value == pytest.approx(4 * 1000 + 3000 / 2 + 1000)


def test_counts_of_threads_that_work_at_the_same_time_take_their_part_of_the_elapsed_time() -> None:
    """Two threads make 4 calls of 1000 ns each in user mode within 5000 ns: 3000 ns are own code."""
    slow = system_of("slow", a=constant(3000, user=1), user_work=constant(20))
    fast = system_of("fast", a=constant(1000, user=1), user_work=constant(10))
    both = application_of(count_of("a", 4), name="both", user=Value.exact(5000))
    one = of_one_thread(replace(both, parallelism=2.0))
    assert (one.counts[0].count, one.parallelism, one.provenance["parallelism"]) == (Value.exact(2), 1.0, "2")
    assert of_one_thread(both) is both
    assert of_one_thread(one) is one
    traced = {"slow": fast, "fast": fast}
    assert elapsed(one, fast, traced).value == pytest.approx(5000)
    assert elapsed(one, slow, traced).value == pytest.approx(2 * 3000 + (5000 - 2 * 1000) * 2)


def test_primitives_that_take_more_than_the_measured_time_are_reported() -> None:
    system = system_of(a=constant(1000, user=1))
    assert overcounted(application_of(count_of("a", 4), user=Value.exact(2000)), system) == pytest.approx(1.0)
    assert overcounted(application_of(count_of("a", 4), user=Value.exact(4000)), system) == 0.0
    assert overcounted(application_of(count_of("b", 4), user=Value.exact(4000)), system) == 0.0
