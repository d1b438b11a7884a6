"""An end of a ratio that differs from 1 is never shown as 1, and other ends have three decimals."""

from __future__ import annotations

import pytest

from regatta.figures.text import show_ci
from regatta.stats.estimate import Interval


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.951, 1.02, "[0.951, 1.020]"),
        (0.982, 0.9998, "[0.982, 0.9998]"),
        (1.00004, 1.02, "[1.00004, 1.020]"),
        (1.0, 1.02, "[1.000, 1.020]"),
        # Rounding of computers: as good as 1.
        (1.0 - 1e-12, 1.0 + 1e-12, "[1.000, 1.000]"),
        (0.0004, 4000.0, "[0.0004000, 4,000]"),
    ],
)
def test_ends_of_a_ratio(low: float, high: float, shown: str) -> None:
    assert show_ci(Interval(9, 1.0, low, high, 0.95, "t")) == shown
