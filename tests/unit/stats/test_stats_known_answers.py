"""Statistics against published values: NIST StRD, R's documented outputs, textbooks."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy

from regatta.stats.anova import block_anova, one_way
from regatta.stats.intervals import geometric_mean, mean_interval
from regatta.stats.ratios import paired_log_ratio, welch_log_ratio
from regatta.stats.studentized_range import quantile, upper_tail
from regatta.stats.tukey import tukey

SCIPY_DATA = Path(scipy.__file__).parent / "stats/tests/data"
NIST = SCIPY_DATA / "nist_anova"

# R datasets PlantGrowth and InsectSprays (public domain, shipped with R)
PLANT_GROWTH = [
    [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
    [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
    [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
]
INSECT_SPRAYS = [
    [10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13],
    [11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13],
    [0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4],
    [3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4],
    [3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4],
    [11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13],
]
# R dataset sleep: Student's own example of 1908
SLEEP_1 = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SLEEP_2 = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
# Box, Hunter and Hunter, table 4.4: yield of penicillin, five blends (blocks) of four processes
PENICILLIN = [[89, 88, 97, 94], [84, 77, 92, 79], [81, 87, 87, 85], [87, 92, 89, 84], [79, 81, 80, 88]]


def nist(name: str) -> tuple[list[np.ndarray], float, float, float]:
    """Groups, certified F, certified SS between and within."""
    lines = (NIST / f"{name}.dat").read_text().splitlines()
    first, last = (int(x) for x in re.search(r"Data\s+\(lines (\d+) to (\d+)\)", "\n".join(lines)).groups())
    between = next(line for line in lines if line.startswith("Between")).split()
    within = next(line for line in lines if line.startswith("Within")).split()
    rows = [line.split() for line in lines[first - 1 : last] if line.strip()]
    keys = sorted({row[0] for row in rows})
    groups = [np.array([float(value) for key, value in rows if key == name]) for name in keys]
    return groups, float(between[-1]), float(between[-3]), float(within[-2])


@pytest.mark.parametrize(
    ("name", "digits"),
    [("SiRstv", 9), ("AtmWtAg", 9)]
    + [(f"SmLs0{i}", 9) for i in range(1, 7)]
    + [(f"SmLs0{i}", 4) for i in range(7, 10)],
)
def test_one_way_anova_agrees_with_nist(name: str, digits: int) -> None:
    groups, f, between, error = nist(name)
    fit = one_way(groups)
    assert fit.f == pytest.approx(f, rel=10.0**-digits)
    # SmLs07 to 09 have 13 digits in common: as doubles the data themselves are off by more than 4 digits of the squares.
    if digits == 9:
        assert fit.between == pytest.approx(between, rel=1e-9)
        assert fit.error == pytest.approx(error, rel=1e-9)


def test_mean_and_deviation_agree_with_nist_numacc4() -> None:
    values = np.array([10000000.2] + [10000000.1, 10000000.3] * 500)
    interval = mean_interval(values)
    assert interval.point == pytest.approx(10000000.2, rel=1e-15)
    # half-width = t(.975; 1000) s/sqrt(1001) and s is certified as 0.1; the data themselves are only good to 1e-9 in doubles
    half = (interval.high - interval.low) / 2
    assert half * math.sqrt(1001) / 1.9623390808264078 == pytest.approx(0.1, rel=1e-7)


def test_one_way_and_tukey_agree_with_r_on_plant_growth() -> None:
    fit = one_way(PLANT_GROWTH)
    assert (fit.df_between, fit.df_error) == (2, 27)
    assert fit.f == pytest.approx(4.846088, abs=5e-7)
    assert fit.p == pytest.approx(0.01591, abs=5e-6)
    pairs = tukey(fit)
    # R prints second - first
    expected = {
        (0, 1): (-0.371, -1.0622161, 0.3202161, 0.3908711),
        (0, 2): (0.494, -0.1972161, 1.1852161, 0.1979960),
        (1, 2): (0.865, 0.1737839, 1.5562161, 0.0120064),
    }
    for pair in pairs:
        difference, low, high, p = expected[pair.first, pair.second]
        interval = pair.difference
        assert -interval.point == pytest.approx(difference, abs=1e-9)
        assert (-interval.high, -interval.low) == pytest.approx((low, high), abs=6e-8)
        assert pair.p == pytest.approx(p, abs=6e-8)


def test_tukey_agrees_with_r_on_insect_sprays() -> None:
    fit = one_way(INSECT_SPRAYS)
    assert (fit.df_between, fit.df_error) == (5, 66)
    assert fit.f == pytest.approx(34.702, abs=5e-4)
    found = {(x.first, x.second): x for x in tukey(fit)}
    expected = {
        (0, 1): (0.8333333, -3.866075, 5.532742, 0.9951810),
        (0, 2): (-12.4166667, -17.116075, -7.717258, 0.0000000),
        (0, 3): (-9.5833333, -14.282742, -4.883925, 0.0000014),
        (0, 4): (-11.0000000, -15.699409, -6.300591, 0.0000000),
        (0, 5): (2.1666667, -2.532742, 6.866075, 0.7542147),
    }
    for key, (difference, low, high, p) in expected.items():
        interval = found[key].difference
        assert -interval.point == pytest.approx(difference, abs=6e-8)
        assert (-interval.high, -interval.low) == pytest.approx((low, high), abs=6e-7)
        assert found[key].p == pytest.approx(p, abs=6e-8)


def test_block_anova_agrees_with_box_hunter_and_hunter() -> None:
    fit = block_anova(PENICILLIN)
    assert fit.method == "block-anova"
    assert (fit.between, fit.error) == (pytest.approx(70.0), pytest.approx(226.0))
    assert (fit.df_between, fit.df_error) == (3, 12)
    assert fit.f == pytest.approx(1.2389, abs=5e-5)
    assert fit.p == pytest.approx(0.3387, abs=5e-5)


def test_a_missing_cell_gives_the_error_of_yates_missing_value_formula() -> None:
    table = np.array(PENICILLIN, dtype=float)
    missing = table.copy()
    missing[1, 2] = np.nan
    fit = block_anova(missing)
    b, t = table.shape
    block, column, total = np.nansum(missing[1]), np.nansum(missing[:, 2]), np.nansum(missing)
    filled = missing.copy()
    filled[1, 2] = (b * block + t * column - total) / ((b - 1) * (t - 1))
    assert fit.method == "block-anova-ls"
    assert fit.error == pytest.approx(block_anova(filled).error, rel=1e-12)
    assert fit.df_error == (b - 1) * (t - 1) - 1
    # Cochran and Cox: variance of a difference with the column that lost one value: 1/b + 1/b + t/(b (b-1) (t-1))
    variance = fit.spread[2, 2] + fit.spread[0, 0] - 2 * fit.spread[0, 2]
    assert variance == pytest.approx(2 / b + t / (b * (b - 1) * (t - 1)), rel=1e-12)


def test_paired_ratio_agrees_with_r_on_students_sleep() -> None:
    answer = paired_log_ratio(np.exp(SLEEP_1), np.exp(SLEEP_2))
    interval = answer.interval
    assert math.log(interval.point) == pytest.approx(-1.58, abs=1e-12)
    assert math.log(interval.low) == pytest.approx(-2.4598858, abs=6e-8)
    assert math.log(interval.high) == pytest.approx(-0.7001142, abs=6e-8)
    assert answer.p == pytest.approx(0.002833, abs=5e-7)


def test_welch_ratio_agrees_with_r_on_students_sleep() -> None:
    answer = welch_log_ratio(np.exp(SLEEP_1), np.exp(SLEEP_2))
    assert math.log(answer.interval.low) == pytest.approx(-3.3654832, abs=6e-8)
    assert math.log(answer.interval.high) == pytest.approx(0.2054832, abs=6e-8)
    assert answer.p == pytest.approx(0.07939, abs=5e-6)


def test_mean_interval_of_one_to_five_by_hand() -> None:
    interval = mean_interval([1, 2, 3, 4, 5])
    # t(.975; 4) = 2.776445, s = sqrt(2.5)
    assert (interval.n, interval.point) == (5, 3.0)
    assert interval.high - 3.0 == pytest.approx(2.776445 * math.sqrt(2.5 / 5), abs=1e-6)


def test_geometric_mean_by_hand() -> None:
    interval = geometric_mean([1.0, 2.0, 4.0])
    # logs 0, ln 2, 2 ln 2: s = ln 2, t(.975; 2) = 4.302653
    assert interval.point == pytest.approx(2.0)
    assert interval.high == pytest.approx(2.0 * 2.0 ** (4.302653 / math.sqrt(3)), rel=1e-6)
    assert interval.low == pytest.approx(2.0 / 2.0 ** (4.302653 / math.sqrt(3)), rel=1e-6)


def test_studentized_range_agrees_with_values_of_arbitrary_precision() -> None:
    cases = json.loads((SCIPY_DATA / "studentized_range_mpmath_ref.json").read_text())["cdf_data"]
    assert len(cases) > 50
    for case in cases:
        k, df, q = case["src_case"]["k"], case["src_case"]["v"], case["src_case"]["q"]
        assert 1.0 - upper_tail(q, k, df)[0] == pytest.approx(case["mp_result"], abs=1e-9), (q, k, df)


@pytest.mark.parametrize("k", [2, 3, 5, 20])
@pytest.mark.parametrize("df", [1, 2, 4, 27, 116, 1000])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_studentized_range_quantile_agrees_with_scipy(level: float, k: int, df: int) -> None:
    from scipy.stats import studentized_range

    assert quantile(level, k, df) == pytest.approx(studentized_range.ppf(level, k, df), rel=1e-8)
