"""Several factors against R's anova and car::Anova (tests/reference/many.R), least squares on the rows, and edges."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.golden import Golden
from regatta.stats.anova import one_way
from regatta.stats.factorial import FactorialAnova, factorial_anova

pytestmark = pytest.mark.usefixtures("no_warnings")

R: dict[str, Any] = json.loads((Path(__file__).parents[2] / "reference/many.json").read_text())["factorial"]
KINDS = {1: "I", 2: "II", 3: "III"}
SHAPES = ["two_balanced", "two_unbalanced", "three_balanced", "three_unbalanced"]


def factors_of(case: dict[str, Any]) -> list[tuple[str, np.ndarray]]:
    return [(name, np.array(codes)) for name, codes in case["codes"].items()]


def agrees(answer: FactorialAnova, table: dict[str, Any]) -> None:
    *sources, residuals = table["source"]
    assert residuals == "Residuals"
    assert [row.source for row in answer.rows if row.df] == sources
    assert answer.df_error == table["df"][-1]
    assert answer.ss_error == pytest.approx(table["ss"][-1], rel=1e-9)
    for row, df, ss, f, p in zip(
        (row for row in answer.rows if row.df), table["df"], table["ss"], table["f"], table["p"], strict=False
    ):
        assert row.df == df
        assert (row.ss, row.f, row.p) == pytest.approx((ss, f, p), rel=1e-8), row.source


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_factors_and_interactions_agree_with_r(shape: str, kind: int) -> None:
    case = R[shape]
    agrees(factorial_anova(case["y"], factors_of(case), kind), case[KINDS[kind]])
    lower = len(case["codes"]) - 1
    agrees(factorial_anova(case["y"], factors_of(case), kind, lower), case[f"lower_{KINDS[kind]}"])


def test_empty_cells_take_degrees_of_freedom_from_the_interaction_as_in_r(golden: Golden) -> None:
    case = R["two_holes"]
    answer = factorial_anova(case["y"], factors_of(case), 1)
    agrees(answer, case["I"])
    golden("empty cells", answer.rows[-1].note)
    third = factorial_anova(case["y"], factors_of(case), 3)
    assert "2 of 12 are empty" in third.reason
    assert third.reason.endswith("use type 2")
    assert all(math.isnan(row.f) and math.isnan(row.ss) for row in third.rows)


def test_types_coincide_for_equal_cells_and_one_factor_is_the_one_way_analysis() -> None:
    case = R["three_balanced"]
    first, second, third = (factorial_anova(case["y"], factors_of(case), kind) for kind in KINDS)
    assert first.rows == second.rows == third.rows
    assert first.method == "factorial-anova-balanced"
    y, codes = np.array(R["two_unbalanced"]["y"]), np.array(R["two_unbalanced"]["codes"]["a"])
    single = factorial_anova(y, [("a", codes)], 2)
    plain = one_way([y[codes == code] for code in np.unique(codes)])
    assert (single.rows[0].f, single.rows[0].p) == pytest.approx((plain.f, plain.p), rel=1e-10)


def test_effect_sizes_by_hand() -> None:
    answer = factorial_anova([1.0, 2.0, 3.0, 6.0, 7.0, 8.0], [("a", [0, 0, 0, 1, 1, 1])])
    (row,) = answer.rows
    # SS 37.5, SSE 4: F = 37.5; eta² = 37.5/41.5; omega² = (37.5 - 1)/(41.5 + 1)
    assert (row.ss, answer.ss_error, row.f) == pytest.approx((37.5, 4.0, 37.5))
    assert row.eta2_partial == pytest.approx(37.5 / 41.5)
    assert row.omega2_partial == pytest.approx(36.5 / 42.5)


def residual(y: np.ndarray, design: np.ndarray) -> tuple[float, int]:
    solution, _, rank, _ = np.linalg.lstsq(design, y, rcond=1e-10)
    return float(((y - design @ solution) ** 2).sum()), int(rank)


@given(st.integers(0, 2**32 - 1), st.integers(12, 60))
@settings(deadline=None, max_examples=60)
def test_any_table_of_types_one_and_two_is_least_squares_on_the_rows(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    codes = {name: random.integers(0, size, n) for name, size in (("a", 3), ("b", 2), ("c", 3))}
    y = random.normal(size=n) + codes["a"]

    def columns(term: tuple[str, ...]) -> np.ndarray:
        key = sum(codes[name] * 10**place for place, name in enumerate(term))
        return (np.asarray(key)[:, None] == np.unique(key)).astype(float)

    terms = [term for size in (1, 2, 3) for term in itertools.combinations("abc", size)]
    for kind in (1, 2):
        answer = factorial_anova(y, list(codes.items()), kind)
        full = residual(y, np.hstack([columns(term) for term in terms]))
        assert answer.ss_error == pytest.approx(full[0], abs=1e-8)
        assert answer.df_error == n - full[1]
        for place, term in enumerate(terms):
            before = terms[:place] if kind == 1 else [t for t in terms if not set(term) <= set(t)]
            base = np.hstack([np.ones((n, 1)), *(columns(t) for t in before)])
            without, with_it = residual(y, base), residual(y, np.hstack([base, columns(term)]))
            row = answer.rows[place]
            assert row.df == with_it[1] - without[1]
            if row.df:
                assert row.ss == pytest.approx(without[0] - with_it[0], abs=1e-8)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]), st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
@settings(deadline=None, max_examples=40)
def test_f_is_free_of_unit_origin_order_and_names_of_levels(
    seed: int, kind: int, shift: float, scale: float
) -> None:
    random = np.random.default_rng(seed)
    a, b = (x.ravel() for x in np.indices((3, 4)))
    again = random.integers(0, 12, 20)
    a, b = np.concatenate([a, a[again]]), np.concatenate([b, b[again]])
    y = random.normal(size=a.size)
    plain = factorial_anova(y, [("a", a), ("b", b)], kind)
    order = random.permutation(a.size)
    relabelled = random.permutation(3)[a] * 10**12
    moved = factorial_anova((y * scale + shift)[order], [("a", relabelled[order]), ("b", b[order] - 7)], kind)
    for one, other in zip(plain.rows, moved.rows, strict=True):
        assert other.f == pytest.approx(one.f, rel=1e-4, abs=1e-6)
        assert other.df == one.df


def test_digits_in_common_and_extreme_units_do_not_hurt() -> None:
    case = R["two_unbalanced"]
    y = np.array(case["y"])
    for moved in ((y - 1000.0) + 2.0**40, y * 1e-200, y * 1e150):
        answer = factorial_anova(moved, factors_of(case), 2)
        for row, f in zip(answer.rows, case["II"]["f"], strict=False):
            assert row.f == pytest.approx(f, rel=1e-3 if moved[0] == y[0] - 1000.0 + 2.0**40 else 1e-8)


def test_what_cannot_be_estimated_says_why(golden: Golden) -> None:
    empty: list[int] = []
    cases = [
        (factorial_anova([], [("a", empty)]), "no values"),
        (factorial_anova([1.0, math.nan], [("a", [0, 1])]), "not a finite number"),
        (factorial_anova([1.0], [("a", [0])]), "no degrees of freedom"),
        (factorial_anova([1.0, 2.0], [("a", [0, 1])]), "no degrees of freedom"),
        (factorial_anova([1.0, 1.0, 2.0, 2.0], [("a", [0, 0, 1, 1])]), "do not vary"),
        (factorial_anova([0.0, 0.0, 0.0], [("a", [0, 0, 1])]), "do not vary"),
        (factorial_anova([1.0, 2.0, 4.0, 8.0], [("a", [0, 0, 1, 1]), ("b", [0, 1, 0, 1])]), "(order 1)"),
    ]  # fmt: skip
    for answer, reason in cases:
        assert reason in answer.reason
        assert all(math.isnan(row.f) and math.isnan(row.p) and reason in row.reason for row in answer.rows)
    golden("one value per cell", cases[-1][0].reason)


def test_a_factor_of_one_level_and_factors_that_are_one_are_named(golden: Golden) -> None:
    y = [1.0, 2.0, 4.0, 8.0, 3.0]
    for kind in KINDS:
        answer = factorial_anova(y, [("a", [0, 0, 1, 1, 0]), ("host", [5] * 5)], kind)
        assert answer.reason == ""
        assert ["one level of host" in row.reason for row in answer.rows] == [False, True, True]
        assert answer.rows[0].reason == ""
    answer = factorial_anova(y, [("a", [0, 0, 1, 1, 0]), ("b", [7, 7, 9, 9, 7])], 2)
    (reason,) = {row.reason for row in answer.rows}
    golden("factors that are one", reason)
    first = factorial_anova(y, [("a", [0, 0, 1, 1, 0]), ("b", [7, 7, 9, 9, 7])], 1)
    assert [math.isnan(row.f) for row in first.rows] == [False, True, True]


def test_a_model_too_large_for_memory_is_refused_with_what_to_do() -> None:
    random = np.random.default_rng(1)
    codes = [(name, random.integers(0, 40, 30_000)) for name in "abc"]
    for kind in (1, 2):
        answer = factorial_anova(random.normal(size=30_000), codes, kind)
        assert "use a lower order" in answer.reason
        assert factorial_anova(random.normal(size=30_000), codes, kind, 1).reason == ""


@pytest.mark.parametrize(
    ("factors", "kind", "order"),
    [([], 2, None), ([("a", [0, 1]), ("a", [0, 1])], 2, None), ([("a", [0])], 2, None), ([("a", [0, 1])], 4, None),
     ([("a", [0, 1])], 2, 2), ([("a", [0, 1])], 2, 0)],
)  # fmt: skip
def test_a_wrong_call_is_refused(factors: list[tuple[str, list[int]]], kind: int, order: int | None) -> None:
    with pytest.raises(ValueError, match="expected"):
        factorial_anova([1.0, 2.0], factors, kind, order)
