"""Test of normality by Shapiro and Wilk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import ArrayLike

from regatta.stats.estimate import NAN, only_rounding
from regatta.stats.moments import vector

#: limits of the approximation of p
LEAST, MOST = 3, 5000


@dataclass(frozen=True)
class Normality:
    """The statistic W of Shapiro and Wilk for `n` values, 0 to 1 (1: normal quantiles), and p of "normal"."""

    n: int
    w: float
    p: float
    reason: str = ""


def shapiro_wilk(values: ArrayLike) -> Normality:
    """Test whether independent values are normally distributed.

    Args:
        values: shape (n,), any unit.

    Returns:
        W and p. NaN with a reason below 3 and above 5000 values, without any spread, or if a value is not finite.

    Source: Shapiro and Wilk, Biometrika 52 (1965); P. Royston, Remark AS R94, Applied Statistics 44 (1995), for n up to 5000.
    """
    x = np.sort(vector(values))
    n = int(x.size)
    if not LEAST <= n <= MOST:
        return Normality(n, NAN, NAN, f"n = {n}; the test needs {LEAST} to {MOST} values")
    if not np.isfinite(x).all():
        return Normality(n, NAN, NAN, "a value is not finite")
    largest = float(np.abs(x).max())
    if only_rounding(float(x[-1] - x[0]), largest):
        return Normality(n, NAN, NAN, "all values are equal")
    # The middle and the range do not affect W; without them, squares neither overflow nor lose digits.
    return Normality(n, *_test()((x - x[n // 2]) / (x[-1] - x[0])))


@cache
def _test() -> Callable[[np.ndarray], tuple[float, float]]:
    """Return the test of scipy: of sorted values with 0 in the middle, to W and p.

    Its compiled part is loaded without `scipy.stats`, whose import takes a second: half of what an analysis takes. The part is
    private to scipy; where it is missing, the public function is used.
    """
    place = [str(Path(scipy.__file__).parent / "stats")]
    found = PathFinder.find_spec("_ansari_swilk_statistics", place)
    if found is None or found.loader is None:
        from scipy.stats import shapiro

        def public(x: np.ndarray) -> tuple[float, float]:
            w, p = shapiro(x)
            return float(w), float(p)

        return public
    part = module_from_spec(found)
    found.loader.exec_module(part)

    def test(x: np.ndarray) -> tuple[float, float]:
        w, p, _ = part.swilk(x, np.zeros(x.size // 2), 0)
        return float(w), float(p)

    return test
