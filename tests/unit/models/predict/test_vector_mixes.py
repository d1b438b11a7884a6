"""Mixes of requests, and the speed-up from one mix to another."""

from __future__ import annotations

import math
from dataclasses import replace

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
from regatta.models.predict.mixing import as_mix, mixed, normalized, replaced, speedup
from regatta.models.predict.prediction import has_intervals, predict
from regatta.models.vectors.values import ApplicationVector, Count, SystemVector, Value

STATIC = application_of(
    count_of("a", 1), count_of("read", 1, bytes=100), name="static", user=Value(10, 9, 11)
)
CGI = application_of(count_of("a", 5, 4, 7), count_of("fork", 1), name="cgi", user=Value(90, 80, 100))


def test_a_mix_is_the_mean_request_by_weight() -> None:
    found = mixed("web", [(STATIC, 7), (CGI, 3)])
    counts = {(count.primitive, tuple(count.arguments)): count.count for count in found.counts}
    assert list(counts) == [("a", ()), ("read", ("bytes",)), ("fork", ())]
    assert [round(count.value, 12) for count in counts.values()] == [2.2, 0.7, 0.3]
    assert (counts["a", ()].low, counts["a", ()].high) == pytest.approx((1.9, 2.8))
    assert found.user_time is not None
    assert found.user_time.value == pytest.approx(34)
    assert (found.user_time.low, found.user_time.high) == pytest.approx(
        (34 - math.hypot(0.7, 3), 34 + math.hypot(0.7, 3))
    )
    assert found.provenance == {"mix": "static 0.7, cgi 0.3"}


def test_a_mix_is_made_of_as_many_invocations_as_the_least_of_its_uncertain_parts() -> None:
    one = application_of(
        replace(count_of("a", 1), count=Value(1, 0.9, 1.1, 9)), name="one", user=Value(10, 9, 11, 5)
    )
    other = application_of(
        replace(count_of("a", 3), count=Value(3, 2, 4, 4)), name="other", user=Value(20, 18, 21, 7)
    )
    exact = application_of(count_of("a", 2), name="exact", user=Value.exact(3))
    found = mixed("web", [(one, 1), (other, 1), (exact, 1)])
    assert found.counts[0].count.n == 4
    assert found.user_time is not None
    assert found.user_time.n == 5
    assert mixed("web", [(exact, 1)]).counts[0].count.n == 0


def test_what_is_of_one_trace_stays_so_in_a_mix() -> None:
    once, often = Value(10, 10, 10, 1, "one trace"), Value(20, 18, 22, 5)
    alone = application_of(Count("a", once), name="alone", user=once)
    others = application_of(Count("a", often), name="others", user=often)
    found = mixed("web", [(alone, 1), (others, 1)])
    assert (found.counts[0].count.n, found.counts[0].count.low) == (1, pytest.approx(14))
    assert found.user_time is not None
    assert found.user_time.n == 1


def test_weights_whose_sum_is_beyond_every_number_are_a_mix_and_others_are_what_they_were() -> None:
    found = mixed("web", [(STATIC, 1e308), (CGI, 1e308)])
    assert found.provenance == {"mix": "static 0.5, cgi 0.5"}
    assert normalized([(STATIC, 0.7), (CGI, 0.1)]) == [(STATIC, 0.7 / (0.7 + 0.1)), (CGI, 0.1 / (0.7 + 0.1))]
    assert normalized([(STATIC, 5e-324), (CGI, 0.0)]) == [(STATIC, 1.0)]


def test_the_user_time_of_a_vector_is_one_of_its_intervals() -> None:
    alone = application_of(count_of("a", 1), user=Value(10, 9, 11))
    assert has_intervals(alone)
    assert not has_intervals(replace(alone, user_time=Value.exact(10)))
    with pytest.raises(RegattaError, match="one level"):
        mixed("web", [(alone, 1), (replace(alone, name="b", level=0.99), 1)])


def test_a_mix_without_every_user_time_has_none() -> None:
    assert mixed("web", [(STATIC, 1), (replace(CGI, user_time=None), 1)]).user_time is None


@settings(max_examples=25, deadline=None)
@given(
    application_vectors("a", known=True),
    application_vectors("b", known=True),
    system_vectors(known=True, complete=True),
    st.floats(0.01, 0.99),
)
def test_the_time_of_a_mix_is_linear_in_its_weights(
    one: ApplicationVector, other: ApplicationVector, system: SystemVector, part: float
) -> None:
    found = predict(mixed("web", [(one, part), (other, 1 - part)]), system)
    times = [predict(application, system).time.value for application in (one, other)]
    assert found.time.value == pytest.approx(part * times[0] + (1 - part) * times[1], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((1, -1), "weight of at least 0"),
        ((0, 0), "a weight above 0"),
        ((1, math.nan), "weight of at least 0"),
    ],
)
def test_weights_that_make_no_mix_are_refused(weights: tuple[float, float], message: str) -> None:
    with pytest.raises(RegattaError, match=message):
        mixed("web", [(STATIC, weights[0]), (CGI, weights[1])])


def test_different_units_of_work_are_not_mixed() -> None:
    with pytest.raises(RegattaError, match="one unit of work"):
        mixed("web", [(STATIC, 1), (replace(CGI, per="collection"), 1)])


def test_one_application_takes_the_place_of_another_with_its_weight() -> None:
    fastcgi = application_of(count_of("a", 2), name="fastcgi")
    assert replaced([(STATIC, 0.7), (CGI, 0.3)], {"cgi": fastcgi}) == [(STATIC, 0.7), (fastcgi, 0.3)]
    with pytest.raises(RegattaError, match=r"the mix \(static, cgi\)"):
        replaced([(STATIC, 0.7), (CGI, 0.3)], {"perl": fastcgi})


# Speed-ups (section 6.3.3.3)


def test_the_speed_up_is_told_of_the_kernel_with_user_time_that_stays_and_with_that_of_each_side() -> None:
    system = system_of(fork=constant(1000, user=0.2), rest=constant(100))
    cgi = application_of(count_of("fork", 1), count_of("rest", 2), name="cgi", user=Value.exact(300))
    fastcgi = application_of(count_of("rest", 4), name="fastcgi", user=Value.exact(50))
    found = speedup(as_mix(cgi), as_mix(fastcgi), system)
    assert found.user.value == 300
    assert found.kernel.value == 2.5
    assert found.user_stays.value == pytest.approx(1300 / 700)
    assert found.own_user.value == pytest.approx(1300 / 450)
    # Half of a processor in user mode: the 100 that are CGI's own take 200 there, and FastCGI's 50 take 100.
    half = system_of("half", fork=constant(1000, user=0.2), rest=constant(100), user_work=constant(2))
    whole = system_of("whole", fork=constant(1000, user=0.2), rest=constant(100), user_work=constant(1))
    found = speedup(as_mix(cgi), as_mix(fastcgi), half, traced=lambda _: whole)
    assert found.own_user.value == pytest.approx(1400 / 500)
    # 200 in the primitives, and CGI's own 100 that take 200 there
    assert found.user.value == pytest.approx(400)
    assert found.user_stays.value == pytest.approx(1.4 / (1 / 2.5 + 0.4))


def test_what_both_mixes_share_does_not_blur_the_speed_up() -> None:
    system = system_of(a=constant(100, 50, 150))
    before, after = (
        application_of(count_of("a", 4), name="before"),
        application_of(count_of("a", 2), name="after"),
    )
    found = speedup(as_mix(before), as_mix(after), system, Value.exact(0)).kernel
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))
    # The static part of both has the same count.
    static = application_of(count_of("a", 10, 2, 20), name="static")
    mixes = [[(static, 0.5), (part, 0.5)] for part in (before, after)]
    blurred = speedup(*mixes, system_of(a=constant(100)), Value.exact(0)).kernel
    # (10 + 4) / (10 + 2), and 10 may be 2 or 20
    assert (blurred.value, blurred.low, blurred.high) == pytest.approx((14 / 12, 24 / 22, 6 / 4))


def test_without_a_user_time_only_the_kernels_speed_up_is_known(golden: Golden) -> None:
    found = speedup(
        as_mix(application_of(count_of("a", 2))),
        as_mix(application_of(count_of("a", 1), name="b")),
        system_of(a=constant(1)),
    )
    assert found.kernel.value == 2
    for unknown in (found.user, found.user_stays, found.own_user):
        assert math.isnan(unknown.value)
        golden("no user time", unknown.reason)


def test_an_uncertain_user_time_widens_the_speed_up() -> None:
    system = system_of(a=constant(100))
    before, after = (
        application_of(count_of("a", 9), name="before"),
        application_of(count_of("a", 3), name="after"),
    )
    found = speedup(as_mix(before), as_mix(after), system, Value(100, 0, 300)).user_stays
    assert (found.value, found.low, found.high) == pytest.approx((1000 / 400, 1200 / 600, 900 / 300))
