"""Many paired comparisons at once give what each gives alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from helpers.golden import Golden
from regatta.stats.ratios import paired_log_ratio, paired_log_ratios


def test_a_batch_gives_what_each_comparison_gives_alone(golden: Golden) -> None:
    rng = np.random.default_rng(11)
    a, b = np.exp(rng.normal(0, 0.1, (6, 9))), np.exp(rng.normal(0, 0.1, (6, 9)))
    a[1, 3] = math.nan
    b[2, 0] = -1.0
    a[3] = 2.0 * b[3]
    a[4] = b[4] * 1e300
    batch = paired_log_ratios(a, b, 0.9)
    golden("reasons of a batch", "\n".join(c.interval.reason for c in batch[1:4]))
    for row, found in enumerate(batch):
        alone = paired_log_ratio(a[row], b[row], 0.9)
        assert (found.interval.reason, found.interval.n) == (alone.interval.reason, alone.interval.n)
        np.testing.assert_allclose(
            [found.interval.point, found.interval.low, found.interval.high, found.p],
            [alone.interval.point, alone.interval.low, alone.interval.high, alone.p],
            rtol=1e-12,
        )


def test_batches_without_rows_or_pairs_are_empty_or_undefined(golden: Golden) -> None:
    assert paired_log_ratios(np.empty((0, 5)), np.empty((0, 5))) == []
    assert [c.interval.reason for c in paired_log_ratios(np.empty((2, 0)), np.empty((2, 0)))] == [
        "no pairs"
    ] * 2
    one = paired_log_ratios([[2.0], [0.0]], [[1.0], [1.0]])
    assert one[0].interval.point == pytest.approx(2.0)
    golden("one pair", one[0].interval.reason)
    assert "logarithm" in one[1].interval.reason
    with pytest.raises(ValueError, match="as many values"):
        paired_log_ratios([[1.0, 2.0]], [[1.0]])
