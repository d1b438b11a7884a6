"""When a block group has been measured often enough: decided by hand and by the rule alike, always with a reason."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.golden import Golden
from regatta.host.journal.invocation_value import invocation_values
from regatta.host.journal.modes import modes_in
from regatta.host.journal.stopping import GroupDecision, Pair, Rule, decide, decide_by_time, rounds_for
from regatta.planner.stopping import t_quantiles

T = t_quantiles(0.95, 29)
STEIN = Rule("stein", 4, 30, 1.0, T)
JAVASTATS = Rule("javastats", 4, 30, 1.0, T)
PER_CELL = Rule("javastats-cell", 4, 30, 1.0, T)
#: standard deviation 0.01 exactly: 0.01 * sqrt(3 / 4) * (1, -1, 1, -1)
PILOT = [0.01 * math.sqrt(0.75) * sign for sign in (1, -1, 1, -1)]
NO_PILOTS: dict[str, list[float]] = {}


def pair(differences: list[float], problem: str = "") -> Pair:
    return Pair("a", "b", "", differences, problem)


def test_t_is_from_the_tables() -> None:
    assert T[:3] == pytest.approx([12.7062047, 4.3026527, 3.1824463])
    assert T[28] == pytest.approx(2.0452296)


def test_stein_asks_for_what_the_pilots_spread_says(golden: Golden) -> None:
    assert statistics.stdev(PILOT) == pytest.approx(0.01)
    # (t(3) s / w)^2 = (3.1824463 * 0.01 / 0.00995033)^2 = 10.229
    assert rounds_for(STEIN, 0.01, 3) == 11
    found = decide(STEIN, [pair(PILOT)], NO_PILOTS, 4)
    assert (found.needed, found.met) == (11, True)
    golden("met", found.reason)
    assert found.pairs[0].half_width_percent == pytest.approx(
        100 * math.expm1(3.1824463 * 0.01 / math.sqrt(11))
    )
    assert found.pairs[0].half_width_percent < 1.0


def test_a_group_needs_what_its_most_uncertain_comparison_needs() -> None:
    found = decide(STEIN, [pair([d / 10 for d in PILOT]), pair(PILOT)], NO_PILOTS, 4)
    assert found.needed == 11
    assert [p.needed for p in found.pairs] == [4, 11]


def test_a_target_beyond_the_maximum_is_said_with_what_the_maximum_gives(golden: Golden) -> None:
    found = decide(STEIN, [pair([2 * d for d in PILOT])], NO_PILOTS, 4)
    assert (found.needed, found.met) == (30, False)
    # 100 (exp(3.1824463 * 0.02 / sqrt 30) - 1) = 1.169; (3.1824463 * 0.02 / 0.00995033)^2 = 40.9
    golden("beyond_the_maximum", found.reason)


def test_blocks_that_the_pilot_lost_are_made_up_for() -> None:
    three = [0.01, -0.01, 0.0]
    found = decide(STEIN, [pair(three)], NO_PILOTS, 4)
    # t(2) = 4.3026527: (4.3026527 * 0.01 / 0.00995033)^2 = 18.7, and one block is lost
    assert found.needed == 20


def test_too_few_common_blocks_take_the_maximum(golden: Golden) -> None:
    pairs = [pair([d / 10 for d in PILOT]), pair([0.0, 0.1])]
    for rule, seen in ((STEIN, 4), (JAVASTATS, 30)):
        found = decide(rule, pairs, NO_PILOTS, seen)
        assert (found.needed, found.met) == (30, False)
        golden("too_few_blocks", found.reason)
    assert decide(JAVASTATS, pairs, NO_PILOTS, 8).needed is None


@pytest.mark.parametrize("rule", [STEIN, JAVASTATS])
def test_what_never_gives_a_value_has_no_say(rule: Rule, golden: Golden) -> None:
    small = [d / 10 for d in PILOT]
    found = decide(rule, [pair(small), pair([], "c has failed")], NO_PILOTS, 4)
    assert (found.needed, found.met) == (4, True)
    assert found.pairs[1].reason == "excluded: c has failed"
    alone = decide(rule, [pair([], "c has failed")], NO_PILOTS, 4)
    assert (alone.needed, alone.met) == (4, False)
    golden("alone", alone.reason)


@pytest.mark.parametrize("rule", [STEIN, JAVASTATS])
def test_blocks_that_all_agree_need_no_more(rule: Rule) -> None:
    found = decide(rule, [pair([0.7] * 4)], NO_PILOTS, 4)
    assert (found.needed, found.met) == (4, True)
    assert "4 blocks" in found.reason


def test_javastats_goes_on_until_every_interval_is_narrow(golden: Golden) -> None:
    # t(3) * 0.01 / 2 = 1.6 %; twice as many blocks: t(7) = 2.364624, sd 0.00926: 0.77 %
    first = decide(JAVASTATS, [pair(PILOT)], NO_PILOTS, 4)
    assert (first.needed, first.met) == (None, False)
    golden("not_yet", first.reason)
    second = decide(JAVASTATS, [pair(PILOT * 2)], NO_PILOTS, 8)
    assert (second.needed, second.met) == (8, True)
    golden("met_after", second.reason)
    last = decide(JAVASTATS, [pair([10 * d for d in PILOT] * 7)], NO_PILOTS, 30)
    assert (last.needed, last.met) == (30, False)
    golden("never", last.reason)


def test_a_cell_stops_when_the_interval_of_its_mean_is_within_a_share_of_the_mean(golden: Golden) -> None:
    def of(scale: float, times: int, seen: int) -> GroupDecision:
        values = [500.0 * (1 + scale * d) for d in PILOT] * times
        return decide(PER_CELL, [Pair("a", "", "", values)], {"a": [0.0, 0.0, 0.0, 9.0]}, seen)

    # t(3) * 0.01 / 2 = 1.591 % of the mean; half the spread: 0.796 %
    first = of(1.0, 1, 4)
    assert (first.needed, first.met, first.modes) == (None, False, ())
    assert first.pairs[0].half_width_percent == pytest.approx(1.5912232)
    assert first.pairs[0].sd == pytest.approx(0.01)
    second = of(0.5, 1, 4)
    assert (second.needed, second.met) == (4, True)
    golden("cell_met", second.reason)
    assert second.pairs[0].half_width_percent == pytest.approx(1.5912232 / 2)
    last = of(10.0, 7, 30)
    # sd 0.1 * sqrt(0.75 * 28 / 27) = 0.08819; t(27) = 2.0518305: 3.42 %
    assert (last.needed, last.met) == (30, False)
    golden("cell_not_met", last.reason)


def test_a_cell_without_enough_values_goes_on_to_the_maximum(golden: Golden) -> None:
    assert decide(PER_CELL, [Pair("a", "", "", [5.0, 5.1])], NO_PILOTS, 8).needed is None
    last = decide(PER_CELL, [Pair("a", "", "", [5.0, 5.1])], NO_PILOTS, 30)
    assert last.needed == 30
    golden("too_few_invocations", last.reason)


@pytest.mark.parametrize(
    ("pilot", "looks", "coverage", "rounds"),
    [(3, range(3, 31), 0.904, 10.0), (10, range(10, 31, 10), 0.940, 15.6)],
)
def test_cells_that_stop_alone_cover_as_the_methodology_says(
    pilot: int, looks: range, coverage: float, rounds: float
) -> None:
    rule, rng, cells = Rule("javastats-cell", pilot, 30, 1.0, T), random.Random(2007), 2000
    covered, run = 0, 0
    for _ in range(cells):
        values = [rng.gauss(1.0, 0.015) for _ in range(30)]
        n = next(n for n in looks if decide(rule, [Pair("a", "", "", values[:n])], NO_PILOTS, n).needed)
        mean = statistics.fmean(values[:n])
        half = T[n - 2] * statistics.stdev(values[:n], mean) / math.sqrt(n)
        covered += abs(mean - 1.0) <= half
        run += n
    # four standard deviations of a binomial share; rounds vary by about 8
    assert covered / cells == pytest.approx(coverage, abs=4 * math.sqrt(coverage * (1 - coverage) / cells))
    assert run / cells == pytest.approx(rounds, abs=4 * 8 / math.sqrt(cells))


def test_several_modes_take_the_maximum_and_are_named(golden: Golden) -> None:
    rule = Rule("stein", 10, 30, 1.0, T)
    quiet = [0.001 * i for i in range(10)]
    found = decide(rule, [pair(quiet)], {"calm": quiet, "torn": [*quiet[:9], math.log(1.2)]}, 10)
    assert (found.needed, found.modes) == (30, ("torn",))
    golden("modes", found.reason)


@given(
    st.lists(st.floats(-1, 1), min_size=4, max_size=4), st.floats(-5, 5), st.sampled_from([STEIN, JAVASTATS])
)
def test_which_side_is_faster_does_not_matter(values: list[float], shift: float, rule: Rule) -> None:
    """Were it otherwise, the number of rounds would tell of the difference and the interval would not cover."""
    one = decide(rule, [pair(values)], NO_PILOTS, 4)
    other = decide(rule, [pair([shift - value for value in values])], NO_PILOTS, 4)
    if one.pairs[0].sd and one.pairs[0].sd > 1e-9 and other.pairs[0].sd:
        assert one.needed is None or abs(one.needed - (other.needed or 0)) <= 1
    assert one.needed is None or 4 <= one.needed <= 30


def test_no_more_is_ever_asked_for_when_the_spread_is_smaller() -> None:
    chance = random.Random(20070101)
    for _ in range(200):
        pilot = [chance.gauss(0, 0.02) for _ in range(4)]
        more, less = (decide(STEIN, [pair([f * d for d in pilot])], NO_PILOTS, 4).needed for f in (1.0, 0.5))
        assert more is not None
        assert less is not None
        assert less <= more


def test_one_slow_run_in_ten_is_a_gap() -> None:
    """One run in ten is 20 % slower, standard deviation 1 %: found whenever it is in the pilot."""
    chance = random.Random(20070101)
    found = possible = 0
    for _ in range(2000):
        slow = [chance.random() < 0.1 for _ in range(10)]
        values = [math.log(1.2) * s + chance.gauss(0, 0.01) for s in slow]
        possible += any(slow)
        found += any(slow) and modes_in(values, math.log1p(0.01))
    assert possible > 1000
    assert found >= 0.99 * possible


@pytest.mark.parametrize("n", [5, 7, 10, 11, 17, 30, 60, 200])
def test_normal_values_rarely_look_like_modes(n: int) -> None:
    """1.5 % by design; the bound is four standard errors of 4,000 samples away."""
    chance = random.Random(n)
    rate = sum(modes_in([chance.gauss(0, 1) for _ in range(n)], 0.0) for _ in range(4000)) / 4000
    assert rate < 0.023


def test_two_and_three_modes_are_found_and_a_coarse_clock_is_none() -> None:
    jitter = [0.001 * math.sin(i) for i in range(12)]
    assert modes_in([j + 0.2 * (i % 2) for i, j in enumerate(jitter)], 0.01)
    assert modes_in([j + 0.2 * (i % 3) for i, j in enumerate(jitter)], 0.01)
    assert not modes_in([0.001 * (i % 2) for i in range(12)], 0.01)
    assert not modes_in([1.0] * 12, 0.0)
    assert not modes_in([0.0, 0.0, 0.0, 9.0], 0.0)


STEADY = {"method": "fixed", "iterations": 4, "warmup": 2, "window": 2, "threshold": 0.02}
ROWS = [[i, "elapsed", v, "ns", None, None] for i, v in enumerate([9.0, 5.0, 4.0, 4.02, 4.1])]


@pytest.mark.parametrize(
    ("method", "number"),
    [
        ("startup", 9.0),
        ("fixed", (4.0 + 4.02 + 4.1) / 3),
        ("cov", 4.01),
        ("changepoints", (4.0 + 4.02 + 4.1) / 3),
    ],
)
def test_an_invocations_number_is_made_as_the_spec_says(method: str, number: float) -> None:
    found = invocation_values(reversed(ROWS), "elapsed", {**STEADY, "method": method})
    assert found == {("ns", ""): pytest.approx(number)}


def test_a_steady_state_that_is_not_reached_gives_no_number() -> None:
    assert invocation_values(ROWS, "elapsed", {**STEADY, "method": "cov", "threshold": 1e-6}) == {}
    assert invocation_values(ROWS[:2], "elapsed", STEADY) == {}
    assert invocation_values(ROWS[:1], "elapsed", STEADY) == {("ns", ""): 9.0}


def test_other_metrics_are_left_alone_and_parameters_are_series() -> None:
    rows = [
        [0, "latency", 1.0, "ns", 10, {"size": 2, "a": 1}],
        [0, "latency", 3.0, "ns", 10, {"size": 4, "a": 1}],
        [0, "user", 7.0, "s", None, None],
    ]
    assert invocation_values(rows, "latency", STEADY) == {
        ("ns", '{"a":1,"size":2}'): 1.0,
        ("ns", '{"a":1,"size":4}'): 3.0,
    }


@pytest.mark.parametrize(
    ("walls_ms", "needed", "met"),
    [
        ([[5, 5, 5]], 600, True),
        ([[5], [15]], 300, True),
        ([[1000], [1]], 10, False),
        ([[4000, 4000]], 10, False),
        ([[0.1]], 3000, True),
        ([[0]], 3000, True),
        # The median: one slow run does not shorten the measurement.
        ([[10, 10, 900]], 300, True),
        ([[10], []], 10, False),
    ],
)
def test_a_measuring_time_allows_as_many_rounds_for_all_alternatives(
    walls_ms: list[list[float]], needed: int, met: bool
) -> None:
    walls_ns = [[round(1e6 * one) for one in walls] for walls in walls_ms]
    decision = decide_by_time(10, 3000, 3.0, walls_ns)
    assert (decision.needed, decision.met) == (needed, met)
