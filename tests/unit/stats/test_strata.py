"""Factors in blocks against a published split-plot experiment, least squares on the rows, and simulated error rates."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regatta.stats.factorial import factorial_anova
from regatta.stats.strata import VALUES, StrataAnova, StrataRow, independent_anova, strata_anova

pytestmark = pytest.mark.usefixtures("no_warnings")

#: Yates, "Complex Experiments", Supplement to JRSS 2 (1935): yield of oats in 6 blocks of 3 plots (Victory, Golden Rain,
#: Marvellous), each plot divided into 4 subplots with 0, 0.2, 0.4 and 0.6 cwt of nitrogen. Table from Venables and Ripley,
#: "Modern Applied Statistics with S", section 10.2.
OATS = np.array(
    [
        [[111, 130, 157, 174], [117, 114, 161, 141], [105, 140, 118, 156]],
        [[61, 91, 97, 100], [70, 108, 126, 149], [96, 124, 121, 144]],
        [[68, 64, 112, 86], [60, 102, 89, 96], [89, 129, 132, 124]],
        [[74, 89, 81, 122], [64, 103, 132, 133], [70, 89, 104, 117]],
        [[62, 90, 100, 116], [80, 82, 94, 126], [63, 70, 109, 99]],
        [[53, 74, 118, 113], [89, 82, 86, 104], [97, 99, 119, 121]],
    ],
    dtype=float,
)
BLOCK, VARIETY, NITROGEN = (axis.ravel() for axis in np.indices(OATS.shape))
FACTORS = [("variety", VARIETY), ("nitrogen", NITROGEN)]


def oats(kept: np.ndarray | None = None, kind: int = 2, values: np.ndarray = OATS) -> StrataAnova:
    chosen = np.ones(BLOCK.size, dtype=bool) if kept is None else kept
    return strata_anova(
        values.ravel()[chosen],
        [(name, codes[chosen]) for name, codes in FACTORS],
        [("plots", (BLOCK * 3 + VARIETY)[chosen]), ("blocks", BLOCK[chosen])],
        kind,
    )


def by_source(found: StrataAnova) -> dict[str, StrataRow]:
    return {row.source: row for row in found.rows}


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_a_split_plot_experiment_has_its_published_table(kind: int) -> None:
    found = oats(kind=kind)
    rows = by_source(found)
    published = {
        "variety": (2, 10, 1786.36, 601.33, 1.485, 0.2724),
        "nitrogen": (3, 45, 20020.50, 177.08, 37.686, 2.458e-12),
        "variety:nitrogen": (6, 45, 321.75, 177.08, 0.3028, 0.9322),
    }
    for source, (df, df_error, ss, ms_error, f, p) in published.items():
        row = rows[source]
        assert row.df == df
        assert row.df_error == pytest.approx(df_error)
        assert (row.ss, row.ms_error) == pytest.approx((ss, ms_error), rel=2e-5)
        assert row.f == pytest.approx(f, abs=1e-3)
        # The plots vary so equally that the approximate degrees of freedom are the exact ones.
        assert (row.df_approx, row.df_error_approx) == pytest.approx((df, df_error))
        assert row.p == pytest.approx(p, rel=1e-3)
    assert [(one.name, one.units, one.df_error) for one in found.strata] == [
        ("within plots", 72, 45), ("between plots", 18, 10)
    ]  # fmt: skip
    assert [one.ss_error for one in found.strata] == pytest.approx([7968.75, 6013.31], rel=1e-5)
    assert [row.stratum for row in found.rows] == ["between plots", "within plots", "within plots"]
    assert found.method == "strata-anova-balanced"


def residual(y: np.ndarray, design: np.ndarray) -> tuple[float, int]:
    solution, _, rank, _ = np.linalg.lstsq(design, y, rcond=1e-10)
    return float(((y - design @ solution) ** 2).sum()), int(rank)


def dummies(*codes: np.ndarray) -> np.ndarray:
    _, key = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
    result: np.ndarray = np.eye(key.max() + 1)[key.ravel()]
    return result


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2]), st.integers(45, 70))
@settings(deadline=None, max_examples=40)
def test_sums_of_squares_within_blocks_are_least_squares_with_a_mean_for_every_block(
    seed: int, kind: int, n: int
) -> None:
    random = np.random.default_rng(seed)
    kept = np.zeros(72, dtype=bool)
    kept[random.permutation(72)[:n]] = True
    found = oats(kept, kind)
    codes = {"variety": VARIETY[kept], "nitrogen": NITROGEN[kept]}
    y, plots = OATS.ravel()[kept], dummies(BLOCK[kept], VARIETY[kept])
    full = residual(y, np.hstack([plots, dummies(*codes.values())]))
    stratum = found.strata[0]
    assert stratum.ss_error == pytest.approx(full[0], rel=1e-8)
    assert stratum.df_error == n - full[1]
    rows = by_source(found)
    main = residual(y, np.hstack([plots, dummies(codes["nitrogen"])]))
    assert rows["nitrogen"].ss == pytest.approx(residual(y, plots)[0] - main[0], rel=1e-8)
    interaction = rows["variety:nitrogen"]
    assert interaction.ss == pytest.approx(main[0] - full[0], rel=1e-6, abs=1e-6)
    assert interaction.df == full[1] - main[1]


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]), st.floats(0.0, 0.15))
@settings(deadline=None, max_examples=25)
def test_effects_of_blocks_and_rounds_do_not_change_what_is_tested_inside_them(
    seed: int, kind: int, missing: float
) -> None:
    random = np.random.default_rng(seed)
    kept = random.random(72) >= missing
    plain = by_source(oats(kept, kind))
    rounds = by_source(oats(kept, kind, OATS + random.normal(0, 1000, (6, 1, 1))))
    blocks = by_source(oats(kept, kind, OATS + random.normal(0, 1000, (6, 3, 1))))
    for source in ("variety", "nitrogen", "variety:nitrogen"):
        assert rounds[source].p == pytest.approx(plain[source].p, rel=1e-4, abs=1e-12)
    for source in ("nitrogen", "variety:nitrogen"):
        assert blocks[source].p == pytest.approx(plain[source].p, rel=1e-4, abs=1e-12)


def test_p_does_not_depend_on_unit_origin_order_and_names_of_levels() -> None:
    random = np.random.default_rng(4)
    order = random.permutation(72)[:66]
    plain = oats(np.isin(np.arange(72), order))
    moved = strata_anova(
        OATS.ravel()[order] * 1e150,
        [("variety", random.permutation(3)[VARIETY][order] * 10**12), ("nitrogen", NITROGEN[order] - 7)],
        [("plots", (BLOCK * 3 + VARIETY)[order] * 5 + 1), ("blocks", -BLOCK[order])],
    )
    for one, other in zip(plain.rows, moved.rows, strict=True):
        assert (other.f, other.p, other.eta2_partial) == pytest.approx(
            (one.f, one.p, one.eta2_partial), rel=1e-6
        )


def test_rounds_of_one_cell_per_block_are_the_blocks() -> None:
    alone = strata_anova(OATS.ravel(), FACTORS, [("blocks", np.arange(72)), ("rounds", BLOCK)])
    assert {row.stratum for row in alone.rows} == {"between blocks"}
    # Without subplots, each effect is tested against its own interaction with the blocks: 3 x 5 degrees of freedom.
    nitrogen = by_source(alone)["nitrogen"]
    means = OATS.mean(axis=1)
    errors = means - means.mean(axis=0) - means.mean(axis=1, keepdims=True) + means.mean()
    assert nitrogen.ms_error == pytest.approx(3 * (errors**2).sum() / 15)
    assert (nitrogen.df, nitrogen.df_error) == pytest.approx((3, 15))


def test_hosts_are_tested_against_rounds() -> None:
    random = np.random.default_rng(6)
    host, number, collector = (axis.ravel() for axis in np.indices((3, 8, 4)))
    y = random.normal(0, 1, (3, 8))[host, number] + random.normal(0, 0.1, host.size)
    found = by_source(
        strata_anova(y, [("host", host), ("collector", collector)], [("rounds", host * 8 + number)])
    )
    assert found["host"].stratum == "between rounds"
    assert found["host:collector"].stratum == found["collector"].stratum == "within rounds"
    means = y.reshape(3, 8, 4).mean(axis=2)
    expected = factorial_anova(means.ravel(), [("host", np.repeat(np.arange(3), 8))])
    assert found["host"].f == pytest.approx(expected.rows[0].f)
    assert (found["host"].df, found["host"].df_error) == pytest.approx((2, 21))


def null_p(collectors: int, noisy: float, missing: float, experiments: int, seed: int) -> np.ndarray:
    """p of collector, heap and interaction where nothing differs: block SD 3 %, error 1 %, 10 rounds, 3 heaps."""
    random = np.random.default_rng(seed)
    collector, heap, number = (axis.ravel() for axis in np.indices((collectors, 3, 10)))
    found = []
    for _ in range(experiments):
        y = random.normal(0, 0.03, (10, 3))[number, heap]
        y = y + random.normal(0, 0.01, heap.size) * np.where(collector == 0, noisy, 1.0)
        kept = random.random(heap.size) >= missing
        fit = strata_anova(
            y[kept],
            [("collector", collector[kept]), ("heap", heap[kept])],
            [("blocks", (number * 3 + heap)[kept]), ("rounds", number[kept])],
        )
        found.append([row.p for row in fit.rows])
    return np.array(found)


@pytest.mark.parametrize(("noisy", "missing"), [(1.0, 0.0), (10.0, 0.0), (1.0, 0.1)])
def test_without_effects_one_in_twenty_is_significant(noisy: float, missing: float) -> None:
    # 300 experiments: a standard error of 1.3 percentage points.
    rates = (null_p(3, noisy, missing, 300, 9) < 0.05).mean(axis=0)
    assert (rates < 0.10).all()
    assert (rates > 0.01).all()


def test_undefined_effects_have_a_reason() -> None:
    once = strata_anova(
        [1.0, 2.0, 3.0, 5.0], [("a", [0, 1, 0, 1]), ("b", [0, 0, 1, 1])], [("blocks", [0, 0, 1, 1])]
    )
    rows = by_source(once)
    assert all(math.isnan(row.f) and math.isnan(row.p) and row.reason for row in rows.values())
    assert "degrees of freedom" in rows["a"].reason
    constant = strata_anova(
        np.tile([1.0, 2.0], 8), [("a", np.tile([0, 1], 8))], [("blocks", np.repeat(np.arange(8), 2))]
    )
    assert "do not vary" in constant.reason
    holes = oats(~((VARIETY == 0) & (NITROGEN == 1)), kind=3)
    assert "1 of 12 are empty" in holes.reason
    assert oats(~((VARIETY == 0) & (NITROGEN == 1)), kind=2).rows[2].note.startswith("5 of 6")
    assert strata_anova([1.0, math.nan], [("a", [0, 1])], [("blocks", [0, 0])]).reason
    assert strata_anova([], [("a", [])], [("blocks", [])]).reason


def test_few_blocks_assume_equal_variances_and_say_so() -> None:
    row = by_source(oats(BLOCK < 2))["nitrogen"]
    assert "equal variances assumed" in row.note
    assert (row.df, row.df_error, row.df_approx, row.df_error_approx) == pytest.approx((3, 9, 3, 9))


def test_units_that_are_not_nested_are_rejected() -> None:
    with pytest.raises(ValueError, match="units"):
        strata_anova([1.0, 2.0, 3.0], [("a", [0, 1, 0])], [("blocks", [0, 0, 1]), ("rounds", [0, 1, 1])])
    with pytest.raises(ValueError, match="units"):
        strata_anova([1.0, 2.0], [("a", [0, 1])], [])


def test_independent_values_have_the_factorial_analysis() -> None:
    plain = factorial_anova(OATS.ravel(), FACTORS)
    found = independent_anova(OATS.ravel(), FACTORS)
    for row, one in zip(found.rows, plain.rows, strict=True):
        assert (row.stratum, row.df, row.df_error, row.ss, row.f, row.p) == (
            VALUES, one.df, plain.df_error, one.ss, one.f, one.p
        )  # fmt: skip
    assert [(one.name, one.df_error) for one in found.strata] == [(VALUES, 60)]


def test_all_interactions_of_three_factors_are_tested_where_they_vary() -> None:
    random = np.random.default_rng(3)
    number, a, b, c = (axis.ravel() for axis in np.indices((5, 2, 2, 3)))
    fit = strata_anova(
        random.normal(size=a.size),
        [("a", a), ("b", b), ("c", c)],
        [("blocks", (number * 2 + a)), ("rounds", number)],
    )
    terms = [":".join(term) for size in (1, 2, 3) for term in itertools.combinations("abc", size)]
    assert [row.source for row in fit.rows] == terms
    assert {row.source for row in fit.rows if row.stratum == "between blocks"} == {"a"}


def test_more_combinations_in_one_block_than_are_analyzed_together_have_a_reason() -> None:
    combinations = 1600
    levels = np.tile(np.arange(combinations), 2)
    values = np.random.default_rng(3).normal(size=2 * combinations)
    found = strata_anova(values, [("a", levels)], [("blocks", np.repeat([0, 1], combinations))])
    assert found.rows[0].stratum == ""
    assert math.isnan(found.rows[0].f)
    assert f"{combinations:,}" in found.reason
