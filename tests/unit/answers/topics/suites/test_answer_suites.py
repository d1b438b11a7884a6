"""Geometric means over a suite: for these benchmarks, for benchmarks like these, and only over what both sides completed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of, rows_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.suite_pairs.topic import SUITE_PAIRS
from regatta.answers.topics.suites.topic import SUITES
from regatta.stats.intervals import mean_interval
from regatta.stats.ratios import paired_log_ratio

PROGRAMS = ("h2", "lzw", "jess")
ROUNDS = 10


def measured(
    directory: Path,
    ratios: list[float],
    failing: tuple[str, ...] = (),
    suite: str = "apps",
    noise: float = 0.01,
) -> Answer:
    """g1 against serial on one program for each ratio; g1 fails on those named `failing`."""
    rng = np.random.default_rng(8)
    cells: list[dict[str, Any]] = []
    records = []
    for block, (program, ratio) in enumerate(zip(PROGRAMS, ratios, strict=False)):
        sides = [cell(name, benchmark=f"{suite}/{program}:small") for name in ("serial", "g1")]
        cells += sides
        for r in range(ROUNDS):
            drift = 1e9 * math.exp(rng.normal(0, 0.1))
            for position, (side, factor) in enumerate(zip(sides, (1.0, ratio), strict=True)):
                place = {"block": block, "position": position}
                if position and program in failing:
                    records.append(record(side, r, status="oom", reason="out of memory", **place))
                else:
                    value = drift * factor * math.exp(rng.normal(0, noise))
                    records.append(record(side, r, [value], **place))
    return answer_experiment(write_experiment(directory, cells, records, ROUNDS))


def test_the_mean_is_geometric_and_has_two_intervals(tmp_path: Path) -> None:
    answer = measured(tmp_path, [0.9, 1.0, 1.2])
    (suite,) = SUITES.of(answer)
    logs = [math.log(c.ratio.point) for c in answer.comparisons]
    assert suite.these.point == pytest.approx(math.exp(sum(logs) / 3))
    further = mean_interval(logs)
    assert (suite.like_these.low, suite.like_these.high) == pytest.approx(
        (math.exp(further.low), math.exp(further.high))
    )
    errors = [
        (math.log(c.ratio.high / c.ratio.low) / 2 / 2.2621571627409915) ** 2 for c in answer.comparisons
    ]
    df = sum(errors) ** 2 / sum(e**2 / 9 for e in errors)
    assert 20 < df < 27
    half = math.log(suite.these.high / suite.these.low) / 2
    # t(0.975) lies between those of 20 and 27 degrees of freedom.
    assert 2.0518 < half / (math.sqrt(sum(errors)) / 3) < 2.0860
    assert [member.benchmark for member in suite.members] == [f"apps/{name}:small" for name in PROGRAMS]
    assert not suite.generalises


def test_what_does_not_generalise_is_said_so(tmp_path: Path, golden: Golden) -> None:
    answer = measured(tmp_path, [0.7, 0.95, 0.93])
    (words,) = answer.findings["suites"]
    golden("does-not-generalise", words)
    assert not SUITES.of(answer)[0].generalises


def test_what_generalises_does_so_as_far_as_the_sample_is_fair(tmp_path: Path, golden: Golden) -> None:
    answer = measured(tmp_path, [0.9, 0.91, 0.89])
    assert SUITES.of(answer)[0].generalises
    golden("generalises", SUITES.of(answer)[0].words)
    assert SUITES.of(answer)[0].verdict.practical == "yes"


def test_where_nothing_is_shown_the_bounds_are_told(tmp_path: Path, golden: Golden) -> None:
    (suite,) = SUITES.of(measured(tmp_path, [1.0, 1.0, 1.0], noise=0.05))
    golden("no-significant-difference", suite.words)
    assert suite.these.low < 1 < suite.these.high
    assert suite.like_these.low < 1 < suite.like_these.high


def test_a_benchmark_that_one_side_did_not_complete_is_left_out_by_name(
    tmp_path: Path, golden: Golden
) -> None:
    answer = measured(tmp_path, [0.9, 1.0, 0.8], failing=("lzw",))
    (suite,) = SUITES.of(answer)
    assert [member.benchmark for member in suite.members] == ["apps/h2:small", "apps/jess:small"]
    ((name, reason),) = suite.left_out
    assert name == "apps/lzw:small"
    golden("failed-on-one-side", reason)
    assert "(excluded: lzw)" in suite.words
    assert suite.like_these.n == 2


@pytest.mark.parametrize(
    ("ratios", "failing"), [([0.9], ()), ([0.9, 1.0], ("h2",)), ([0.9, 1.0], ("h2", "lzw"))]
)
def test_fewer_than_two_common_benchmarks_are_no_suite(
    tmp_path: Path, ratios: list[float], failing: tuple[str, ...]
) -> None:
    answer = measured(tmp_path, ratios, failing=failing)
    assert SUITES.of(answer) == ()
    assert "suites" not in answer.findings


def test_a_benchmark_of_many_settings_has_no_one_ratio(tmp_path: Path, golden: Golden) -> None:
    programs = [
        [cell(c, benchmark=f"lm/{name}:default") for c in ("serial", "g1")] for name in ("a", "b", "c")
    ]
    records = [
        record(
            one,
            r,
            [
                [
                    0,
                    "elapsed",
                    1e6 * (1 + i + 0.01 * ((3 * r + k + i) % 5)),
                    "ns",
                    None,
                    {"size": size} if k == 2 else None,
                ]
                for size in ((1, 2) if k == 2 else (1,))
            ],
            block=k,
            position=i,
        )
        for k, sides in enumerate(programs)
        for i, one in enumerate(sides)
        for r in range(5)
    ]
    answer = answer_experiment(write_experiment(tmp_path, [c for s in programs for c in s], records, 5))
    (suite,) = SUITES.of(answer)
    assert len(suite.members) == 2
    ((name, reason),) = suite.left_out
    assert name == "lm/c:default"
    golden("many-settings", reason)


def test_equal_ratios_leave_the_spread_unknown(tmp_path: Path) -> None:
    cells = [cell(c, benchmark=f"apps/{name}:small") for name in ("a", "b") for c in ("serial", "g1")]
    records = [
        record(one, r, [1e9 * (1 + i % 2)], block=i // 2, position=i % 2)
        for r in range(3)
        for i, one in enumerate(cells)
    ]
    answer = answer_experiment(write_experiment(tmp_path, cells, records, 3))
    (suite,) = SUITES.of(answer)
    assert suite.these.point == pytest.approx(2.0)
    assert math.isnan(suite.these.low)
    assert "undefined" in suite.words


def test_the_ratios_are_those_of_the_blocks(tmp_path: Path) -> None:
    answer = measured(tmp_path, [0.9, 1.1])
    for member, comparison in zip(SUITES.of(answer)[0].members, answer.comparisons, strict=True):
        assert member.ratio == comparison.ratio
    values = [[s.value for s in c.samples] for c in answer.cells[:2]]
    assert SUITES.of(answer)[0].members[0].ratio.low == pytest.approx(
        paired_log_ratio(values[1], values[0]).interval.low
    )


def test_unpaired_benchmarks_of_one_round_are_not_independent(tmp_path: Path) -> None:
    """g1 was added later: each side has 10 rounds, not 10 for each of its benchmarks."""
    rng = np.random.default_rng(9)
    cells = [[cell(side, benchmark=f"apps/{p}:small") for p in PROGRAMS] for side in ("serial", "g1")]
    logs = {
        (i, k, r): rounds[r] + rng.normal(0, 0.002)
        for i in range(2)
        for rounds in [rng.normal(0, 0.02, ROUNDS)]
        for k in range(3)
        for r in range(ROUNDS)
    }
    records = [
        record(cells[i][k], r, [1e9 * math.exp(value)], block=k, plan_id=f"plan-{i}")
        for (i, k, r), value in logs.items()
    ]
    answer = answer_experiment(
        write_experiment(tmp_path, [c for side in cells for c in side], records, ROUNDS)
    )
    (suite,) = SUITES.of(answer)
    means = [[np.mean([logs[i, k, r] for k in range(3)]) for r in range(ROUNDS)] for i in (1, 0)]
    expected = stats.ttest_ind(*means, equal_var=False).confidence_interval(0.95)
    assert (suite.these.low, suite.these.high) == pytest.approx(tuple(np.exp(expected)))
    assert suite.like_these.low <= suite.these.low


def several(
    directory: Path, effects: dict[str, list[float]], rng: np.random.Generator, **failing: str
) -> Answer:
    """Collectors with a ratio to serial on each program; `failing` names the program on which a collector fails."""
    cells: list[dict[str, Any]] = []
    records = []
    for block, program in enumerate(PROGRAMS):
        sides = [cell(name, benchmark=f"apps/{program}:small") for name in effects]
        cells += sides
        for r in range(ROUNDS):
            drift = 1e9 * math.exp(rng.normal(0, 0.1))
            for position, (side, (name, ratios)) in enumerate(zip(sides, effects.items(), strict=True)):
                place = {"block": block, "position": position}
                if failing.get(name) == program:
                    records.append(record(side, r, status="oom", reason="out of memory", **place))
                else:
                    value = drift * ratios[block] * math.exp(rng.normal(0, 0.01))
                    records.append(record(side, r, [value], **place))
    return answer_experiment(write_experiment(directory, cells, records, ROUNDS))


def test_all_pairs_over_a_suite_have_simultaneous_intervals_and_leaders(
    tmp_path: Path, golden: Golden
) -> None:
    effects = {
        "serial": [1.0] * 3,
        "g1": [0.8, 0.9, 0.85],
        "parallel": [0.9, 0.8, 0.85],
        "z": [1.2, 1.3, 1.1],
    }
    answer = several(tmp_path, effects, np.random.default_rng(10))
    (found,) = SUITE_PAIRS.of(answer)
    assert (found.pairs[0].a_name, found.pairs[0].b_name) == ("jdk-21 serial", "jdk-21 g1")
    assert len(found.pairs) == 6
    assert (set(found.leaders), found.winner) == ({"jdk-21 g1", "jdk-21 parallel"}, "")
    assert found.names[2:] == ("jdk-21 serial", "jdk-21 z")
    golden("leaders", found.words)
    # Pairs with the baseline are the means of the suite, with wider intervals.
    g1 = next(one for one in SUITES.of(answer) if one.a_name == "jdk-21 g1")
    pair = found.pairs[0].ratio
    assert pair.point == pytest.approx(1 / g1.these.point)
    assert 1 / pair.low > g1.these.high
    assert found.pairs[0].p == pytest.approx(1 - (1 - g1.p) ** 6)
    assert pair.method == "sidak-geometric-mean-these"
    document = document_of(answer)
    assert {"benchmarks", "names", "pairs", "leaders", "winner"} <= set(document["suite_pairs"][0])
    assert sum(row["kind"] == "suite-pair" for row in rows_of(answer)) == 6
    leaders, pairs = SUITE_PAIRS.tables_of(View(answer))
    assert [row[leaders.columns.index("leader")] for row in leaders.rows] == ["yes", "yes", "", ""]
    assert (len(pairs.rows), pairs.detail) == (6, True)


def test_all_pairs_over_a_suite_are_over_the_benchmarks_that_all_completed(tmp_path: Path) -> None:
    effects = {"serial": [1.0] * 3, "g1": [0.8] * 3, "z": [1.2] * 3}
    answer = several(tmp_path / "one", effects, np.random.default_rng(10), z="lzw")
    (found,) = SUITE_PAIRS.of(answer)
    assert found.benchmarks == ("apps/h2:small", "apps/jess:small")
    assert found.winner == "jdk-21 g1"
    none = several(tmp_path / "two", effects, np.random.default_rng(10), z="lzw", g1="jess")
    assert SUITE_PAIRS.of(none) == ()
    two = several(tmp_path / "three", {"serial": [1.0] * 3, "g1": [0.8] * 3}, np.random.default_rng(10))
    assert SUITE_PAIRS.of(two) == ()
