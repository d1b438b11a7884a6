"""The test of a host before a duet, on times made up: what it refuses, when it ends, and what it keeps."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import t

from helpers.synthetic_journal import cell, record
from regatta.host.duet.trial import LOOKS, TRIALS, Trial, Trials, failed, judged, trials_in, value_of

FIRST, SECOND, LAST = LOOKS
STEADY = {"method": "fixed", "iterations": 1, "warmup": 0, "window": 10, "threshold": 0.02}
#: deviations of mean 0 and median 0, in every even number of values
WAVE = [1.0, 1.0, -1.0, -1.0, 0.0, 0.0]


def times(
    rounds: int, slower: float = 0.0, noise: float = 0.0, halves: float = 0.0, apart: float = 0.0
) -> tuple[list[float], list[tuple[float, float]]]:
    """Return times alone and beside itself, from logs of the effects."""
    alone, beside = [], []
    for place in range(rounds):
        common = 0.3 * math.sin(place)
        sides = [halves / 2, -halves / 2]
        own = place % 2
        alone.append(math.exp(common + sides[own]))
        both = [math.exp(common + side + slower + noise * WAVE[place % len(WAVE)]) for side in sides]
        both[own] *= math.exp(apart)
        beside.append((both[0], both[1]))
    return alone, beside


def done(*found: Any) -> Trial:
    trial = judged("loop", *found)
    assert trial is not None
    return trial


@pytest.mark.parametrize("rounds", LOOKS)
def test_its_quantiles_are_those_of_student(rounds: int) -> None:
    assert LOOKS[rounds] == pytest.approx(t.ppf(0.995, rounds - 1), abs=1e-6)


def test_a_program_that_is_as_fast_beside_itself_may_run_and_ends_the_test_early() -> None:
    trial = done(*times(FIRST, slower=0.02, noise=0.005))
    assert trial.refused == ""
    point, low, high = trial.slower
    assert low < 2.0 < high < 10.0
    assert point == pytest.approx(100 * math.expm1(0.02), abs=0.5)


def test_a_program_that_is_slower_is_refused_early() -> None:
    trial = done(*times(FIRST, slower=0.3, noise=0.01))
    assert "35.0 %" in trial.refused


@pytest.mark.parametrize(("slower", "refused"), [(0.05, False), (0.15, True)])
def test_noise_needs_more_rounds_and_the_median_decides_at_last(slower: float, refused: bool) -> None:
    wild = {"slower": slower, "noise": 0.4}
    assert judged("loop", *times(FIRST, **wild)) is None
    assert judged("loop", *times(SECOND, **wild)) is None
    assert bool(done(*times(LAST, **wild)).refused) == refused


def test_halves_that_differ_are_told_and_do_not_make_equal_programs_differ() -> None:
    trial = done(*times(FIRST, halves=0.2))
    assert trial.halves[0] == pytest.approx(100 * math.expm1(0.2))
    assert trial.apart[1] < 0.0 < trial.apart[2]
    assert trial.refused == ""


@pytest.mark.parametrize(("apart", "refused"), [(0.005, False), (0.03, True)])
def test_two_copies_that_differ_are_refused_if_it_matters(apart: float, refused: bool) -> None:
    alone, beside = times(FIRST, apart=apart)
    beside = [(left * (1 + place * 1e-6), right) for place, (left, right) in enumerate(beside)]
    assert bool(done(alone, beside).refused) == refused


def test_more_is_better_makes_a_value_a_time() -> None:
    found: Any = record(cell(), 0, [4.0])
    planned: Any = cell()
    assert value_of(found, planned, STEADY) == 4.0
    planned["better"] = "higher"
    assert value_of(found, planned, STEADY) == 0.25


@pytest.mark.parametrize(
    ("values", "status", "reason", "why"),
    [
        ([], "ok", None, "elapsed"),
        ([0.0], "ok", None, "elapsed"),
        ([1.0], "failed", "exit code 3", "exit code 3"),
        ([1.0], "timeout", None, "timeout"),
    ],
)
def test_an_invocation_without_a_usable_value_says_why(
    values: list[float], status: str, reason: str | None, why: str
) -> None:
    found: Any = record(cell(), 0, values, status=status, reason=reason)
    planned: Any = cell()
    with pytest.raises(ValueError, match=why):
        value_of(found, planned, STEADY)


def test_tests_are_kept_for_the_same_halves_only(tmp_path: Path) -> None:
    halves = [[0], [1]]
    trials = Trials(tmp_path, halves)
    assert trials.refused("a") is None
    trials.add("a", done(*times(FIRST)))
    trials.add("b", failed("loop", "exit code 3"))
    again = Trials(tmp_path, halves)
    assert again.refused("a") == ""
    assert "exit code 3" in (again.refused("b") or "")
    assert Trials(tmp_path, [[1], [2]]).refused("a") is None
    # Those of other halves stay, for a later allocation of the same CPUs.
    Trials(tmp_path, [[1], [2]]).add("a", failed("loop", "exit code 4"))
    assert Trials(tmp_path, halves).refused("a") == ""


@pytest.mark.parametrize(
    "text", ["", "{", '{"v": 1, "halves": {"0 | 1": {"a": {"refused": 1}}}}', "[]", '{"v": 1, "halves": []}']
)
def test_a_damaged_file_has_no_tests(tmp_path: Path, text: str) -> None:
    (tmp_path / TRIALS).write_text(text)
    assert Trials(tmp_path, [[0], [1]]).refused("a") is None


@pytest.mark.parametrize(
    "changed",
    [
        {"slower": [1.0, 2.0]},
        {"slower": [1.0, 2.0, "3"]},
        {"apart": 1.0},
        {"alone": 5},
        {"beside": [[1.0]]},
        {"label": None},
    ],
)
def test_another_shape_is_no_test(changed: dict[str, Any]) -> None:
    whole = {
        "label": "loop", "refused": "", "slower": [1.0, 0.0, 2.0], "apart": None, "halves": None, "alone": [1.0],
        "beside": [[1.0, 2.0]],
    }  # fmt: skip

    def found(one: dict[str, Any]) -> dict[str, dict[str, Trial]]:
        return trials_in({"v": 1, "halves": {"0 | 1": {"a": one}}})

    assert found(whole)["0 | 1"]["a"].slower == (1.0, 0.0, 2.0)
    assert found({**whole, **changed}) == {"0 | 1": {}}
