"""Interleaved blocks beside sequential measuring, on simulated machines that drift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from regatta.stats.ratios import paired_log_ratios

Floats = npt.NDArray[np.float64]
PAIRS, RUNS = 2000, 30
NOISE = 0.03
#: of the second command to the first
RATIO = 1.02


@dataclass
class _Found:
    """Shares of the simulated comparisons."""

    covered: float
    blocks_wrong: float
    sequential_excludes: float
    sequential_wrong: float


def machine(rng: np.random.Generator, drift: float) -> Floats:
    """Return the relative duration of each run in the order of time, shape (PAIRS, 2 * RUNS).

    A linear change over the whole time has a normal slope with this standard deviation, a random walk half of it. The noise of
    each run is skewed: gamma with shape 4.
    """
    runs = 2 * RUNS
    line = rng.normal(0.0, drift, (PAIRS, 1)) * np.linspace(0.0, 1.0, runs)
    walk = np.cumsum(rng.normal(0.0, drift / 2 / np.sqrt(runs), (PAIRS, runs)), axis=1)
    return np.exp(line + walk + NOISE * (rng.gamma(4.0, 0.5, (PAIRS, runs)) - 2.0))


def _simulated(drift: float) -> _Found:
    rng = np.random.default_rng(1)
    times = machine(rng, drift)
    blocks = times.reshape(PAIRS, RUNS, 2)
    place = rng.integers(0, 2, (PAIRS, RUNS, 1))
    first = np.take_along_axis(blocks, place, axis=2)[..., 0]
    second = RATIO * np.take_along_axis(blocks, 1 - place, axis=2)[..., 0]
    intervals = [contrast.interval for contrast in paired_log_ratios(second, first)]
    ratio, deviation = _as_hyperfine(times[:, :RUNS], RATIO * times[:, RUNS:])
    return _Found(
        covered=float(np.mean([one.low <= RATIO <= one.high for one in intervals])),
        blocks_wrong=float(np.mean([one.high < 1.0 for one in intervals])),
        sequential_excludes=float(np.mean(np.abs(ratio - RATIO) > deviation)),
        sequential_wrong=float(np.mean(ratio < 1.0)),
    )


def _as_hyperfine(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the ratio of means, and the standard deviation beside it.

    Source: hyperfine, "x ± s times faster than": propagated standard deviations of single runs.
    """
    ratio = second.mean(axis=1) / first.mean(axis=1)
    parts = [(side.std(axis=1, ddof=1) / side.mean(axis=1)) ** 2 for side in (first, second)]
    return ratio, ratio * np.sqrt(parts[0] + parts[1])


# The table in docs/methodology.md, "Blocks", has these figures. A version of numpy may draw other numbers.
@pytest.mark.parametrize(
    ("drift", "covered", "sequential_excludes", "sequential_wrong"),
    [
        (0.0, 0.952, 0.000, 0.008),
        (0.02, 0.952, 0.003, 0.080),
        (0.05, 0.954, 0.124, 0.259),
        (0.10, 0.952, 0.392, 0.378),
    ],
)
def test_paired_blocks_cover_the_ratio_where_sequential_runs_mislead(
    drift: float, covered: float, sequential_excludes: float, sequential_wrong: float
) -> None:
    found = _simulated(drift)
    assert 0.94 <= found.covered <= 0.96
    assert found.covered == pytest.approx(covered, abs=0.006)
    assert found.blocks_wrong == 0.0
    assert found.sequential_excludes == pytest.approx(sequential_excludes, abs=0.006)
    assert found.sequential_wrong == pytest.approx(sequential_wrong, abs=0.006)
