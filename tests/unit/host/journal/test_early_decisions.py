"""The rule `decide`: each comparison is measured until it has an answer, and no longer."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.runner_plans import HOST, Runner, python, write_plan
from regatta.host.journal.decisions import DECISIONS, planned_rounds, read_decisions
from regatta.host.journal.early_decisions import Spent, decide_early
from regatta.host.journal.journal import read_records
from regatta.host.journal.looks import Limits, look
from regatta.host.journal.stopping import Pair, Rule
from regatta.planner.stopping import t_quantiles

STEADY = {"method": "fixed", "iterations": 1, "warmup": 0, "window": 10, "threshold": 0.02}
MAXIMUM = 24
T = t_quantiles(0.993, MAXIMUM - 1)
RULE = Rule("decide", 3, MAXIMUM, 2.0, T)
#: by which share of a per cent a value is off, by its round: the same in every run
NOISE = [0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 0.2, -0.2, 0.8, -0.8, 0.4]


def pair(differences: list[float], a: str = "a", b: str = "b", problem: str = "") -> Pair:
    return Pair(a, b, "", differences, problem, range(len(differences)))


def logs(*cells: str, values: list[float] | None = None) -> dict[str, dict[str, list[dict[int, float]]]]:
    numbers = [noise / 100 for noise in NOISE * 2] if values is None else values
    return {cell: {"": [dict(enumerate(numbers))]} for cell in cells}


def decided(pairs: list[Pair], seen: int, **changes: Any) -> Any:
    ids = sorted({name for one in pairs for name in (one.a, one.b)})
    return decide_early(RULE, pairs, logs(*ids), ids, 0, seen, **changes)


def test_a_large_difference_has_its_answer_at_the_first_look() -> None:
    found = decided([pair([0.5, 0.501, 0.499, 0.5])], 4)
    (one,) = found.pairs
    assert (found.needed, one.needed, one.outcome, one.n) == (3, 3, "greater", 3)
    assert found.met
    assert found.cells == {"a": 3, "b": 3}


def test_before_the_first_look_nothing_is_decided() -> None:
    assert decided([pair([0.5, 0.5])], 2).needed is None


def test_an_alternative_leaves_when_all_of_its_comparisons_have_an_answer() -> None:
    close = [0.015 + noise / 50 for noise in NOISE]
    pairs = [pair([0.5, 0.501, 0.499, *[0.5] * 9], "b", "a"), pair(close, "c", "a")]
    found = decided(pairs, 5)
    assert found.needed is None
    assert found.cells == {"b": 3}
    later = decided(pairs, 12)
    assert later.cells["b"] == 3


@given(st.lists(st.floats(-0.2, 0.2), min_size=4, max_size=MAXIMUM), st.data())
def test_later_rounds_never_change_an_answer(differences: list[float], data: st.DataObject) -> None:
    seen = data.draw(st.integers(3, len(differences)))
    early, late = (decided([pair(differences[:n])], n).pairs[0] for n in (seen, len(differences)))
    if early.needed is not None:
        assert (late.needed, late.outcome, late.n) == (early.needed, early.outcome, early.n)
    elif late.needed is not None:
        assert late.needed > seen


def test_an_answer_stays_though_its_invocations_were_repeated() -> None:
    (first,) = decided([pair([0.5, 0.501, 0.499])], 3).pairs
    again = decided([pair([0.0, 0.01, -0.01, 0.5])], 4, kept=[asdict(first)])
    assert again.pairs == (first,)
    assert again.needed == 3


def test_missing_rounds_are_waited_for_and_at_the_end_it_is_said() -> None:
    few = Pair("a", "b", "", [0.5, 0.5], "", [0, 5])
    assert decided([few], 12).needed is None
    found = decided([few], MAXIMUM)
    assert (found.needed, found.pairs[0].outcome) == (MAXIMUM, "undecided")
    assert "too few" in found.reason


def test_somebody_who_waits_is_told_after_ten_rounds_that_there_are_too_few() -> None:
    few = Pair("a", "b", "", [0.5, 0.5], "", [0, 5])
    awaited = replace(RULE, is_awaited=True)
    assert decide_early(awaited, [few], logs("a", "b"), ["a", "b"], 0, 9).needed is None
    found = decide_early(awaited, [few], logs("a", "b"), ["a", "b"], 0, 10)
    assert (found.needed, found.pairs[0].outcome) == (10, "undecided")
    assert found.reason.endswith(": 2 after 10 rounds")


def test_no_look_is_before_the_pilot() -> None:
    rule = replace(RULE, pilot=6)
    clear = [pair([0.5, 0.501, 0.499, 0.5, 0.501, 0.5])]
    assert decide_early(rule, clear, logs("a", "b"), ["a", "b"], 0, 5).needed is None
    assert decide_early(rule, clear, logs("a", "b"), ["a", "b"], 0, 6).needed == 6


def test_a_pilot_is_run_also_where_nothing_is_compared() -> None:
    alone = [pair([], problem="no logs")]
    for pilot, needed in ((6, 10), (20, 20)):
        rule = replace(RULE, pilot=pilot)
        assert decide_early(rule, alone, logs("a", "b"), ["a", "b"], 0, 20).needed == needed


@pytest.mark.parametrize("mean", [0.0, 0.01, 0.03])
def test_the_expected_rounds_give_an_answer_at_this_mean_and_spread(mean: float) -> None:
    few = [mean + noise / 20 for noise in NOISE[:8]]
    (open_,) = decided([pair(few)], 8).pairs
    assert open_.outcome is None
    assert open_.expected is not None
    assert open_.reason.endswith(f"about {open_.expected} rounds would give one")
    centre, sd = statistics.fmean(few), statistics.stdev(few)

    def outcome(n: int) -> str | None:
        """What the last of n rounds with this mean and spread says."""
        spread = [centre + sign * sd * math.sqrt((n - 1) / n) for sign in (1, -1) * (n // 2)]
        limits = Limits(t_quantiles(0.993, n), RULE.width)
        return look(spread, limits, 0).outcome

    more, fewer = (2 * round(open_.expected * share / 2) for share in (1.1, 0.7))
    assert outcome(more) in ("equivalent", "less", "greater")
    assert outcome(fewer) == "undecided"


def test_what_can_never_be_compared_is_left_out() -> None:
    found = decided([pair([], problem="no logs"), pair([0.5, 0.501, 0.499], "c", "a")], 3)
    assert found.needed == 3
    assert "no logs" in found.pairs[0].reason
    alone = decided([pair([], problem="no logs")], 3)
    assert (alone.needed, alone.met) == (10, False)


@pytest.mark.parametrize(("difference", "outcome"), [(0.1, "greater"), (-0.1, "less"), (0.001, "equivalent")])
def test_counts_that_do_not_vary_have_an_exact_answer(difference: float, outcome: str) -> None:
    counts = Pair("a", "b", "", [difference] * 3, "", range(3), counted=True)
    constant = logs("a", "b", values=[2.0] * 3)
    assert decide_early(RULE, [counts], constant, ["a", "b"], 0, 3).pairs[0].outcome == outcome
    # They differ by the same factor in each round, but vary.
    assert decide_early(RULE, [counts], logs("a", "b"), ["a", "b"], 0, 3).needed is None


def test_times_that_are_equal_by_a_coarse_clock_have_no_answer() -> None:
    ticks = pair([0.1] * MAXIMUM)
    assert decided([ticks], 20).needed is None
    found = decided([ticks], MAXIMUM)
    assert (found.needed, found.pairs[0].outcome, found.met) == (MAXIMUM, "undecided", False)
    assert "do not vary" in found.reason


def test_an_interval_beyond_all_numbers_has_no_half_width() -> None:
    """With 900 comparisons, t of three values is 512."""
    rule = Rule("decide", 3, MAXIMUM, 2.0, [2000.0, 512.0, 60.0, *T[3:]])
    found = decide_early(rule, [pair([0.0, 4.6, 0.1])], logs("a", "b"), ["a", "b"], 0, 3)
    assert (found.needed, found.pairs[0].half_width_percent) == (None, None)


def test_an_alternative_that_left_never_returns() -> None:
    pairs = [pair([0.5, 0.501, 0.499], "b", "a"), pair([0.5, 0.501, 0.499, 0.5], "b", "c")]
    found = decided(pairs, 4, gone={"b": 3}, kept=[asdict(decided(pairs[:1], 3).pairs[0])])
    assert found.cells["b"] == 3
    assert [one.outcome for one in found.pairs] == ["greater", "undecided"]


def test_an_answer_stays_though_its_values_can_no_longer_be_compared() -> None:
    pairs = [pair([0.5, 0.501, 0.499], "b", "a"), pair([0.01, 0.02, 0.0], "c", "a")]
    early = decided(pairs, 3)
    assert early.cells == {"b": 3}
    spoiled = [pair([], "b", "a", "no logs"), pair([], "c", "a", "no logs")]
    found = decided(spoiled, 4, gone=early.cells, kept=[asdict(one) for one in early.pairs])
    assert (found.pairs[0], found.cells["b"]) == (early.pairs[0], 3)


def test_one_alternative_needs_few_rounds() -> None:
    found = decided([Pair("a", "", "", [0.1, 0.2, 0.3])], 3)
    assert (found.needed, found.met) == (10, False)
    assert "one alternative" in found.reason


def test_several_modes_or_dependence_need_all_rounds() -> None:
    wide = [0.03 * noise for noise in NOISE]
    two_modes = [0.0] * 6 + [0.4] * 6
    doubtful = [value + 0.001 * noise for value, noise in zip(two_modes, NOISE, strict=True)]
    found = decide_early(RULE, [pair(wide)], logs("a", "b", values=doubtful), ["a", "b"], 0, 12)
    assert found.needed is None
    assert "modes" in found.pairs[0].reason
    in_turns = [(-1) ** at * 0.1 + 0.001 * noise for at, noise in enumerate(NOISE * 2)]
    found = decided([pair(in_turns)], MAXIMUM)
    assert found.needed == MAXIMUM
    assert "depend" in found.reason


def test_a_spent_budget_ends_what_has_no_answer() -> None:
    close = [0.015 + noise / 50 for noise in NOISE]
    pairs = [pair(close)]
    spent = Spent(10.0, dict.fromkeys(range(12), 1.0))
    assert decided(pairs, 9, spent=spent).needed is None
    found = decided(pairs, 10, spent=spent)
    assert (found.needed, found.pairs[0].outcome) == (10, "undecided")
    assert "budget" in found.reason
    assert decided(pairs, 12, spent=Spent(13.5, dict.fromkeys(range(12), 1.0))).needed is None


def test_one_slow_round_does_not_end_a_budget() -> None:
    close = [0.015 + noise / 50 for noise in NOISE]
    by_round = {**dict.fromkeys(range(12), 60.0), 8: 1900.0}
    assert decided([pair(close)], 9, spent=Spent(3600.0, by_round)).needed is None


def test_repeated_rounds_do_not_end_a_comparison_in_the_past() -> None:
    answer_at_six = [0.02, 0.08, 0.05, 0.02, 0.08, 0.05, 0.05, 0.05]
    by_round = {**dict.fromkeys(range(8), 1.0), 0: 60.0, 1: 60.0}
    free, late = (
        decided([pair(answer_at_six)], 8, spent=spent) for spent in (Spent(), Spent(100.0, by_round))
    )
    assert late == free
    assert (late.pairs[0].outcome, late.needed) == ("greater", 6)


def test_a_budget_ends_before_a_look_that_it_does_not_reach() -> None:
    close = [0.015 + noise / 35 for noise in NOISE * 2]
    by_round = dict.fromkeys(range(MAXIMUM), 1.0)
    assert decided([pair(close)], 15).needed is None
    # The looks are after 15 and 17 rounds.
    assert decided([pair(close)], 15, spent=Spent(17.0, by_round)).needed is None
    assert decided([pair(close)], 15, spent=Spent(16.0, by_round)).needed == 15


def test_rounds_that_a_budget_does_not_allow_are_not_hoped_for() -> None:
    """After ten rounds, one more could not decide; fourteen more might."""
    close = [0.01 + noise / 50 for noise in NOISE]
    by_round = dict.fromkeys(range(12), 1.0)
    assert decided([pair(close)], 10, spent=Spent(100.0, by_round)).needed is None
    found = decided([pair(close)], 10, spent=Spent(11.0, by_round))
    assert (found.needed, found.pairs[0].outcome) == (10, "undecided")
    assert "chance" in found.reason


def reporting(name: str, values: list[float], fails: int = 0) -> dict[str, Any]:
    """A program that reports the value of its round, and fails in the first rounds."""
    code = (
        "import json, os, sys; r = int(os.environ['REGATTA_INVOCATION'].rpartition('-r')[2]); "
        f"sys.exit(3) if r < {fails} else None; v = {values!r}; "
        "open(os.environ['REGATTA_RESULTS'], 'w').write(json.dumps({'iteration': 0, 'metric': 'elapsed',"
        " 'value': v[r % len(v)], 'unit': 'ns'}) + '\\n')"
    )
    return python(name, code, adapter={"name": "regatta", "options": {}})


def around(start: float, percent: float) -> list[float]:
    return [start * (1 + percent * noise / 100) for noise in NOISE]


def planned(folder: Path, cells: list[dict[str, Any]], pairs: list[list[int]], segment: int = 12) -> Runner:
    made = Runner(folder)
    group = {"key": "the-group", "cells": list(range(len(cells))), "pairs": pairs}
    stopping = {
        "rule": "decide", "pilot": 3, "maximum": MAXIMUM, "target_percent": 2.0, "level": 0.95, "t": T,
        "steady": STEADY, "groups": [group],
    }  # fmt: skip
    write_plan(
        made.folder, cells, rounds=MAXIMUM, rounds_per_segment=segment, stopping=stopping, discarded_rounds=0
    )
    return made


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    # Against the first: one is twice as slow, and one differs by less than is relevant.
    cells = [
        reporting("a", [1e6]),
        reporting("b", around(2e6, 1.0)),
        reporting("c", around(1.005e6, 2.0)),
    ]
    return planned(tmp_path / "e", cells, [[1, 0], [2, 0]])


def rounds(runner: Runner) -> Counter[str]:
    return Counter(record["cell_id"] for record in read_records(runner.folder.path))


def decision(runner: Runner) -> dict[str, Any]:
    (entry,) = read_decisions(runner.folder.journal / HOST / DECISIONS).values()
    return entry


def test_the_runner_stops_each_alternative_within_a_segment(runner: Runner) -> None:
    for segment in (0, 1):
        done = runner.run(segment)
        assert (done.returncode, done.stderr) == (0, "")
    header = json.loads((runner.folder.host_plan(HOST) / "plan.json").read_text())
    ids = [cell["cell_id"] for cell in header["cells"]]
    counted = rounds(runner)
    first, slow, close = (counted[cell_id] for cell_id in ids)
    assert slow == 3
    assert 3 < close == first <= MAXIMUM
    entry = decision(runner)
    assert (entry["needed"], entry["met"]) == (close, True)
    assert [one["outcome"] for one in entry["pairs"]] == ["greater", "equivalent"]
    assert planned_rounds(header, {"the-group": entry}) == [first, slow, close]
    told = [runner.receipt(segment) for segment in (0, 1)]
    assert sum(one["planned"] for one in told) == sum(counted.values())
    assert sum(one["planned"] + one["not_needed"] for one in told) == 3 * MAXIMUM


def test_who_continues_decides_the_same(runner: Runner, tmp_path: Path) -> None:
    for segment in (0, 1):
        runner.run(segment)
    before = rounds(runner), decision(runner)
    (runner.folder.journal / HOST / DECISIONS).unlink()
    for segment in (0, 1):
        assert runner.run(segment).returncode == 0
    after = rounds(runner), decision(runner)
    assert after[0] == before[0]
    assert {**after[1], "seen": 0} == {**before[1], "seen": 0}
    assert not math.isnan(before[1]["pairs"][0]["half_width_percent"])


def test_lost_decisions_are_made_again_though_only_a_later_segment_runs(runner: Runner) -> None:
    runner.run(0)
    before = decision(runner)["cells"]
    (runner.folder.journal / HOST / DECISIONS).write_text("{}")
    assert runner.run(1).returncode == 0
    assert decision(runner)["cells"].items() >= before.items()
    assert min(rounds(runner).values()) == 3


def test_an_alternative_that_fails_at_first_is_compared_later(tmp_path: Path) -> None:
    cells = [
        reporting("a", [1e6]),
        reporting("b", around(2e6, 1.0)),
        reporting("c", around(1.2e6, 0.1), fails=3),
    ]
    runner = planned(tmp_path / "e", cells, [[1, 0], [2, 0]])
    assert runner.run(0).returncode == 0
    entry = decision(runner)
    assert entry["needed"] == 6
    assert [one["outcome"] for one in entry["pairs"]] == ["greater", "greater"]


def test_values_that_appear_late_do_not_bring_an_alternative_back(tmp_path: Path) -> None:
    cells = [
        reporting("a", around(3e6, 0.1)),
        reporting("b", [1e6]),
        reporting("c", around(1.01e6, 2.5)),
        reporting("d", around(9e6, 0.1), fails=3),
    ]
    pairs = [[0, 1], [0, 2], [1, 2], [0, 3], [1, 3], [2, 3]]
    runner = planned(tmp_path / "e", cells, pairs, segment=8)
    for segment in (0, 1, 2):
        assert runner.run(segment).returncode == 0
    entry = decision(runner)
    assert entry["needed"] is not None
    header = json.loads((runner.folder.host_plan(HOST) / "plan.json").read_text())
    counted = rounds(runner)
    assert [counted[cell["cell_id"]] for cell in header["cells"]] == planned_rounds(
        header, {"the-group": entry}
    )
