"""Families of collectors: judged at once, each as by itself, and by the paper's way where it is asked for."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.families.words import pair_of, ranking, winner
from regatta.answers.spine.parts import FamilyPair
from regatta.answers.spine.verdicts import judge
from regatta.stats.anova import block_anova, one_way
from regatta.stats.estimate import Interval
from regatta.stats.multiplicity import benjamini_hochberg
from regatta.stats.tukey import tukey

COLLECTORS = ("serial", "g1", "parallel")
HEAPS = (1.5, 2.0, 3.0, 4.0)
ROUNDS = 10


def tables() -> np.ndarray:
    """Shape (heaps, rounds, collectors), ns; at 3 x minheap two values are missing, at 4 x no collector has any."""
    rng = np.random.default_rng(11)
    factors = np.array([[1.0, 0.95, 1.1], [1.0, 1.0, 1.0], [1.0, 1.01, 1.0], [1.0, 1.0, 1.0]])
    blocks = np.exp(rng.normal(0, 0.05, (len(HEAPS), ROUNDS, 1)))
    values = 1e9 * factors[:, None, :] * blocks * np.exp(rng.normal(0, 0.01, (len(HEAPS), ROUNDS, 3)))
    values[2, 3, 1] = values[2, 7, 0] = np.nan
    values[3] = np.nan
    return values


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    cells: list[dict[str, Any]] = []
    records: list[dict[str, Any]] = []
    for block, (heap, table) in enumerate(zip(HEAPS, tables(), strict=True)):
        own = [cell(name, heap_factor=heap, heap_mib=int(heap * 32)) for name in COLLECTORS]
        cells += own
        records += [
            record(one, r, [float(table[r, i])], position=i, block=block)
            for r in range(ROUNDS)
            for i, one in enumerate(own)
            if not math.isnan(table[r, i])
        ]
    return write_experiment(tmp_path, cells, records, ROUNDS)


def test_every_family_is_judged_as_by_itself(experiment: Path, golden: Golden) -> None:
    families = answer_experiment(experiment).families
    assert [family.method for family in families] == [
        "block-anova+sidak", "block-anova+sidak", "block-anova-ls+sidak", "block-anova+sidak"
    ]  # fmt: skip
    for family, table in zip(families[:3], tables()[:3], strict=True):
        fit = block_anova(np.log(table))
        assert (family.f, family.p) == pytest.approx((fit.f, fit.p), rel=1e-12)
        for found, (i, j) in zip(family.pairs, combinations(range(3), 2), strict=True):
            logs = np.log(table[:, i]) - np.log(table[:, j])
            logs = logs[~np.isnan(logs)]
            single = stats.ttest_1samp(logs, 0.0)
            ends = single.confidence_interval(0.95 ** (1 / 3))
            assert (found.ratio.low, found.ratio.high) == pytest.approx(np.exp(ends), rel=1e-12)
            assert found.p == pytest.approx(1 - (1 - single.pvalue) ** 3, rel=1e-9)
    golden("no-valid-invocation", families[3].reason)


def test_p_of_families_is_adjusted_over_the_answer_for_exploration(experiment: Path) -> None:
    answer = answer_experiment(experiment)
    q = [family.q for family in answer.families]
    # The F test assumes equal variances; the smallest adjusted p of the pairs does not.
    smallest = [min((pair.p for pair in family.pairs), default=math.nan) for family in answer.families]
    np.testing.assert_allclose(q, benjamini_hochberg(smallest))
    np.testing.assert_allclose([family.p_pairs for family in answer.families], smallest)
    assert math.isnan(q[3])
    shown = [family["q"] for family in document_of(answer)["families"]]
    assert shown == [*q[:3], None]


def test_q_by_the_papers_way_is_that_of_its_f_test(experiment: Path) -> None:
    families = answer_experiment(experiment, method="georges2007").families
    q = [family.q for family in families]
    np.testing.assert_allclose(q, benjamini_hochberg([family.p for family in families]))


def test_the_papers_way_is_one_way_on_the_values_without_blocks(experiment: Path) -> None:
    answer = answer_experiment(experiment, method="georges2007")
    for family, table in zip(answer.families[:3], tables()[:3], strict=True):
        groups = [column[~np.isnan(column)] for column in table.T]
        fit = one_way(groups)
        assert family.method == "georges2007-anova+tukey"
        assert (family.f, family.p, family.df_error) == pytest.approx((fit.f, fit.p, fit.df_error), rel=1e-9)
        for found, expected in zip(family.pairs, tukey(fit), strict=True):
            mean = groups[expected.second].mean()
            interval = expected.difference
            assert (found.ratio.point, found.ratio.low, found.ratio.high) == pytest.approx(
                tuple(1 + x / mean for x in (interval.point, interval.low, interval.high)), rel=1e-9
            )
        assert f"{fit.df_error + 3} invocations" in family.words
    assert not any("interleaved" in warning for warning in answer.warnings)


def test_collectors_that_no_block_ties_are_compared_unpaired(tmp_path: Path, golden: Golden) -> None:
    """serial and g1 were measured by one plan, parallel and z by another, much faster machine state."""
    names = ("serial", "g1", "parallel", "z")
    cells = [cell(name) for name in names]
    rng = np.random.default_rng(12)
    level = {"serial": 1.0, "g1": 0.8, "parallel": 0.5, "z": 0.4}
    records = [
        record(
            one,
            r + 10 * (i // 2),
            [float(1e9 * level[one["collector"]] * np.exp(rng.normal(0, 0.01)))],
            position=i,
            plan_id=f"plan-{i // 2}",
        )
        for i, one in enumerate(cells)
        for r in range(8)
    ]
    answer = answer_experiment(write_experiment(tmp_path, cells, records, 20))
    (family,) = answer.families
    methods = {(p.a_name, p.b_name): p.ratio.method for p in family.pairs}
    assert methods["serial", "g1"] == methods["parallel", "z"] == "sidak-paired-log-t"
    assert set(methods.values()) == {"sidak-paired-log-t", "sidak-welch-log"}
    values = [np.log([s.value for s in one.samples]) for one in answer.cells]
    single = stats.ttest_ind(values[0], values[3], equal_var=False)
    serial_z = next(p for p in family.pairs if (p.a_name, p.b_name) == ("serial", "z"))
    ends = single.confidence_interval(0.95 ** (1 / 6))
    assert (serial_z.ratio.low, serial_z.ratio.high) == pytest.approx(np.exp(ends))
    golden("two-plans", family.words)
    assert any(one.startswith("4 pairs of alternatives unpaired (") for one in answer.warnings)
    assert winner(family.pairs, family.names, "lower") == "z"


def test_an_alternative_that_was_measured_later_and_is_faster_is_not_ignored(
    tmp_path: Path, golden: Golden
) -> None:
    """serial and g1 share blocks; z was added later, and is faster than both, or has one value."""
    cells = [cell(name) for name in ("serial", "g1", "z")]
    rng = np.random.default_rng(14)
    level = {"serial": 1.0, "g1": 0.8, "z": 0.7}
    for count, expected in ((8, "z"), (1, "")):
        records = [
            record(
                one,
                r,
                [float(1e9 * level[one["collector"]] * np.exp(rng.normal(0, 0.01)))],
                position=i,
                plan_id="plan-late" if i == 2 else "plan",
            )
            for i, one in enumerate(cells)
            for r in range(count if i == 2 else 8)
        ]
        answer = answer_experiment(write_experiment(tmp_path / str(count), cells, records, 8))
        (family,) = answer.families
        (shown,) = document_of(answer)["families"]
        assert (shown["winner"], shown["leaders"]) == (expected, [expected or "g1"])
        assert winner(family.pairs, family.names, "lower") == expected
        golden(f"later-with-{count}-values", family.words)


def pair(a: str, b: str, point: float, low: float, high: float) -> FamilyPair:
    ratio = Interval(5, point, low, high, 0.95, "sidak")
    return FamilyPair(a, b, ratio, 0.01, judge(ratio, 1.0))


def test_an_alternative_without_any_ratio_is_ranked_last_in_both_directions() -> None:
    unknown = (math.nan, math.nan, math.nan)
    pairs = [pair("a", "b", 2.0, 1.5, 2.5), pair("a", "c", *unknown), pair("b", "c", *unknown)]
    assert ranking(["a", "b", "c"], pairs, "lower") == ["b", "a", "c"]
    assert ranking(["a", "b", "c"], pairs, "higher") == ["a", "b", "c"]


def test_a_pair_is_found_in_both_directions() -> None:
    pairs = [pair("a", "b", 2.0, 1.6, 2.5)]
    assert pair_of(pairs, "a", "b") is pairs[0]
    turned = pair_of(pairs, "b", "a")
    assert (turned.a_name, turned.b_name, turned.p) == ("b", "a", 0.01)
    assert (turned.ratio.point, turned.ratio.low, turned.ratio.high) == (0.5, 0.4, 1 / 1.6)
