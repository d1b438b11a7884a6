"""Comparing many against R's answers (tests/reference/many.R), published tables, and what must hold of any data."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regatta.stats import quadrature, studentized_range
from regatta.stats.anova import Anova, block_anova, block_anova_many, one_way, one_way_many
from regatta.stats.manova import Manova, block_manova, manova
from regatta.stats.multiplicity import benjamini_hochberg, holm
from regatta.stats.tukey import tukey, tukey_many

pytestmark = pytest.mark.usefixtures("no_warnings")

R: dict[str, Any] = json.loads((Path(__file__).parents[2] / "reference/many.json").read_text())
STATISTICS = ("wilks", "pillai", "hotelling_lawley", "roy")


def grouped(case: dict[str, Any]) -> list[np.ndarray]:
    y, group = np.array(case["y"]), np.array(case["group"])
    return [y[group == code] for code in np.unique(group)]


@pytest.mark.parametrize("name", ["balanced", "unbalanced"])
def test_one_way_anova_and_tukey_agree_with_r(name: str) -> None:
    case = R["tukey"][name]
    fit = one_way(grouped(case))
    assert (fit.df_between, fit.df_error) == tuple(case["anova"]["df"])
    assert (fit.between, fit.error) == pytest.approx(case["anova"]["ss"], rel=1e-9)
    assert (fit.f, fit.p) == pytest.approx((case["anova"]["f"][0], case["anova"]["p"][0]), rel=1e-8)
    found = {f"{pair.second + 1}-{pair.first + 1}": pair for pair in tukey(fit)}
    assert set(found) == set(case["pairs"])
    for key, difference, low, high, p in zip(
        *(case[column] for column in ("pairs", "difference", "low", "high", "p")), strict=True
    ):
        interval = found[key].difference
        assert -interval.point == pytest.approx(difference, rel=1e-9, abs=1e-10)
        # R's own quantile is good to some 1e-5
        assert (-interval.high, -interval.low) == pytest.approx((low, high), abs=1e-5)
        assert found[key].p == pytest.approx(p, abs=1e-8)


@pytest.mark.parametrize("name", ["balanced", "unbalanced", "two"])
def test_manova_agrees_with_r(name: str) -> None:
    case = R["manova"][name]
    answer = manova(case["table"], case["group"])
    assert answer.reason == ""
    in_r = {"df_between": "df1", "df_error": "df2"}
    for statistic in STATISTICS:
        found, expected = getattr(answer, statistic), case[statistic]
        # R's p of Roy's statistic is a lower bound unless only one eigenvalue is not 0.
        p = "p_lower_bound" if statistic == "roy" and name != "two" else "p"
        assert math.isnan(found.p) == (p == "p_lower_bound")
        in_r["p_lower_bound"] = "p"
        for column in ("value", "f", "df_between", "df_error", p):
            assert getattr(found, column) == pytest.approx(expected[in_r.get(column, column)], rel=1e-10), (
                statistic,
                column,
            )


@given(st.integers(0, 2**32 - 1), st.floats(-1e4, 1e4), st.floats(0.01, 100.0))
@settings(deadline=None, max_examples=40)
def test_manova_is_free_of_unit_origin_and_order(seed: int, shift: float, scale: float) -> None:
    random = np.random.default_rng(seed)
    table, group = random.normal(size=(20, 3)), np.repeat([0, 1, 2, 3], 5)
    order = random.permutation(20)
    plain = manova(table, group)
    moved = manova((table * [1.0, scale, 1.0] + [shift, 0.0, 0.0])[order], group[order])
    for statistic in STATISTICS:
        assert getattr(moved, statistic).value == pytest.approx(getattr(plain, statistic).value, rel=1e-6)


def test_manova_says_why_there_is_no_answer() -> None:
    random = np.random.default_rng(1)
    table, group = random.normal(size=(12, 2)), np.repeat([0, 1, 2], 4)
    summed = np.column_stack([table, table.sum(axis=1)])
    cases: list[tuple[Manova, str]] = [
        (manova(np.empty((0, 2)), []), "no values"),
        (manova(np.where(table == table[3, 1], np.nan, table), group), "not a finite number"),
        (manova(table, np.zeros(12, int)), "fewer than two alternatives"),
        (manova(table[::4], group[::4]), "too few rows"),
        (manova(summed, group), "a sum of others"),
        (manova(np.column_stack([table, group]), group), "does not vary"),
        (manova(np.zeros((12, 2)), group), "does not vary"),
    ]
    for answer, reason in cases:
        assert reason in answer.reason
        assert all(math.isnan(getattr(answer, statistic).p) for statistic in STATISTICS)


def test_two_alternatives_in_blocks_are_hotellings_paired_test() -> None:
    rng = np.random.default_rng(41)
    table = rng.normal(0, 1, (12, 2, 3)) + rng.normal(0, 50, (12, 1, 3))
    d = table[:, 0] - table[:, 1]
    t2 = 12 * d.mean(axis=0) @ np.linalg.solve(np.cov(d.T), d.mean(axis=0))
    found = block_manova(table)
    for statistic in STATISTICS[:3]:
        one = getattr(found, statistic)
        assert (one.f, one.df_between, one.df_error) == pytest.approx((t2 * 9 / (11 * 3), 3, 9))
    assert found.n == 24
    assert "1 degrees of freedom" in block_manova(table[:2]).reason
    assert "fewer than two alternatives" in block_manova(table[:, :1]).reason
    with pytest.raises(ValueError, match="blocks, alternatives, responses"):
        block_manova(table[0])


@pytest.mark.parametrize(("effect", "least", "most"), [(0.0, 0.02, 0.09), (0.02, 0.95, 1.0)])
def test_what_a_block_shares_hides_no_difference_and_shows_none(
    effect: float, least: float, most: float
) -> None:
    """Blocks vary by 5 %, alternatives by 1 %: without blocks, 2 % is found in none of these experiments."""
    rng = np.random.default_rng(42)
    tables = rng.normal(0, 0.05, (300, 10, 1, 1)) + rng.normal(0, 0.01, (300, 10, 3, 3))
    tables[:, :, 1] += effect
    shown = [block_manova(table).pillai.p < 0.05 for table in tables]
    assert least <= np.mean(shown) <= most


def test_adjusted_p_values_agree_with_r() -> None:
    case = {
        name: [math.nan if value is None else value for value in values]
        for name, values in R["adjusted"].items()
    }
    for given_p, adjust, expected in (
        ("p", holm, "holm"),
        ("p", benjamini_hochberg, "bh"),
        ("holed", holm, "holed_holm"),
        ("holed", benjamini_hochberg, "holed_bh"),
    ):
        np.testing.assert_allclose(adjust(case[given_p]), case[expected], rtol=1e-12)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_adjusting_nothing_or_the_unknown_gives_it_back(adjust: Any) -> None:
    assert adjust([]).size == 0
    assert np.isnan(adjust([math.nan, math.nan])).all()
    assert adjust([0.03]).tolist() == [0.03]


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=30), st.randoms(use_true_random=False))
def test_adjusted_p_values_are_no_smaller_and_keep_their_order(p: list[float], random: Any) -> None:
    places = list(range(len(p)))
    random.shuffle(places)
    for adjust in (holm, benjamini_hochberg):
        found = adjust(p)
        known = ~np.isnan(p) if p else np.zeros(0, bool)
        assert (np.isnan(found) == ~known).all()
        assert (found[known] >= np.array(p)[known]).all()
        assert (found[known] <= 1.0).all()
        np.testing.assert_array_equal(adjust([p[i] for i in places]), found[places] if p else found)
    assert (benjamini_hochberg(p)[known] <= holm(p)[known]).all()


def same(a: Anova, b: Anova) -> None:
    assert (a.method, a.df_between, a.df_error, a.reason) == (b.method, b.df_between, b.df_error, b.reason)
    for name in ("effects", "spread", "linked", "counts"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("between", "error", "f", "p", "mean_square_error"):
        assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-12, nan_ok=True)


def test_many_families_at_once_are_each_as_by_itself() -> None:
    random = np.random.default_rng(5)
    tables = random.normal(size=(60, 6, 4)) + 10.0
    tables[1] = 3.0
    tables[2, 0, 0] = np.nan
    tables[3, 1, 1] = np.inf
    tables[4, :, 2] = np.nan
    for many, single in (
        (block_anova_many(tables), [block_anova(table) for table in tables]),
        (one_way_many(tables), [one_way(list(table.T)) for table in tables]),
    ):
        for a, b in zip(many, single, strict=True):
            same(a, b)
        for together, fit in zip(tukey_many(many), many, strict=True):
            for a, b in zip(together, tukey(fit), strict=True):
                assert (a.first, a.second, a.difference.reason) == (b.first, b.second, b.difference.reason)
                assert a.difference.low == pytest.approx(b.difference.low, rel=1e-12, nan_ok=True)
                # 60 families have more p values than are integrated one by one
                assert a.p == pytest.approx(b.p, abs=1e-9, nan_ok=True)


def test_no_families_are_no_answer() -> None:
    assert (block_anova_many(np.empty((0, 3, 2))), one_way_many(np.empty((0, 3, 2))), tukey_many([])) == (
        [],
        [],
        [],
    )
    with pytest.raises(ValueError, match="three dimensions"):
        block_anova_many([[1.0]])


@pytest.mark.parametrize(
    ("k", "df"),
    [(2, 1.0), (5, 2.0), (21, 3.0), (5, 7.5), (21, 9.0), (2, 116.0), (5, 116.0), (50, 116.0), (5, 5000.0)],
)
def test_interpolated_p_values_are_those_of_the_integral(k: int, df: float) -> None:
    q = np.concatenate([np.linspace(0.0, 15.0, 270), np.geomspace(15.0, 1e7, 20), [1e300, math.inf]])
    together = studentized_range.upper_tail(q, k, df)
    every = np.concatenate(
        [studentized_range.upper_tail(q[i : i + 100], k, df) for i in range(0, q.size, 100)]
    )
    np.testing.assert_allclose(together, every, rtol=0, atol=1e-9)


@pytest.mark.full
@pytest.mark.parametrize("k", [2, 21])
@pytest.mark.parametrize("df", [1.0, 2.0, 3.0, 5.0, 20.0, 1e6])
def test_the_integrals_have_nodes_enough(k: int, df: float, monkeypatch: pytest.MonkeyPatch) -> None:
    q = np.geomspace(0.1, 1e5, 20)
    plain = studentized_range.upper_tail(q, k, df)
    monkeypatch.setattr(quadrature, "_STEP", 0.3)
    monkeypatch.setattr(quadrature, "_SCALE_STEP", 0.15)
    for name in ("normal_rule", "scale_rule"):
        monkeypatch.setattr(studentized_range, name, getattr(quadrature, name).__wrapped__)
    np.testing.assert_allclose(plain, studentized_range.upper_tail(q, k, df), rtol=0, atol=1e-12)


@pytest.mark.full
def test_tukey_claims_something_false_in_one_family_of_twenty() -> None:
    families = 4000
    for make, fit in ((one_way_many, (families, 10, 5)), (block_anova_many, (families, 10, 5))):
        random = np.random.default_rng(20071021)
        values = random.normal(size=fit) + random.normal(size=(families, 10, 1)) * (make is block_anova_many)
        wrong = sum(any(pair.p < 0.05 for pair in pairs) for pairs in tukey_many(make(values)))
        # 5 % plus or minus four standard deviations
        assert abs(wrong / families - 0.05) < 4 * math.sqrt(0.05 * 0.95 / families)
