"""Decide whether a difference is significant, and practically significant. Nothing else in the package decides it.

Terminal, report, JSON, CSV, InfluxDB and Grafana show these verdicts. A pair can be part of several sets of comparisons, such
as those with the baseline and all pairs of collectors. It then has one verdict: the most cautious one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

from regatta.stats.estimate import DISTURBED, Interval

#: names of the parts of a verdict in documents
VERDICT = ("significant", "practical")


@dataclass(frozen=True)
class Verdict:
    """The verdict on a ratio a/b; it is the same for b/a."""

    #: `yes`: significant after adjustment for all comparisons that it is reported with; `no`; "" if undefined
    significant: str = ""
    #: `yes`: significant, and the whole interval is beyond ±theta; `no`: the whole interval is within; `disturbed`: no conclusion, because a
    #: disturbance affected the values; else `open`; "" if undefined
    practical: str = ""

    @property
    def matters(self) -> bool:
        """Return whether the difference is significant, and possibly beyond ±theta."""
        return self.significant == "yes" and self.practical != "no"


def shows_difference(ratio: Interval) -> bool:
    """Return whether the interval of a ratio excludes 1, without adjustment for other comparisons."""
    return ratio.low > 1.0 or ratio.high < 1.0


def judge(ratio: Interval, theta_percent: float, p_adjusted: float = math.nan) -> Verdict:
    """Return the verdict on a ratio.

    Args:
        ratio: with its interval; simultaneous if it is reported with others.
        theta_percent: smaller differences are not practically significant, >= 0.
        p_adjusted: p of "the ratio is 1", adjusted for all comparisons of the answer; NaN: the interval alone decides.
    """
    if math.isnan(ratio.low) or math.isnan(ratio.high):
        return Verdict()
    if ratio.is_disturbed:
        # A load that comes and goes affects alternatives unequally, and no interval accounts for it.
        return Verdict("no", DISTURBED)
    significant = shows_difference(ratio) and not p_adjusted > 1.0 - ratio.level
    theta = theta_percent / 100.0
    practical = "open"
    if significant and (ratio.low > 1.0 + theta or ratio.high < 1.0 - theta):
        practical = "yes"
    elif ratio.low >= 1.0 - theta and ratio.high <= 1.0 + theta:
        practical = "no"
    return Verdict("yes" if significant else "no", practical)


def agreed(a: Verdict, b: Verdict) -> Verdict:
    """Return the more cautious of two verdicts on the same pair; one that is undefined does not count."""
    if not a.significant or not b.significant:
        return a if a.significant else b
    significant = "yes" if a.significant == b.significant == "yes" else "no"
    return Verdict(significant, a.practical if a.practical == b.practical else "open")


class Verdicts:
    """The verdict on each pair, from all sets of comparisons that the pair belongs to."""

    def __init__(self) -> None:
        self._of: dict[Hashable, Verdict] = {}

    def add(self, a: Hashable, b: Hashable, verdict: Verdict) -> None:
        """Add the verdict of one set of comparisons on the pair of `a` and `b`, in either order."""
        key = frozenset((a, b))
        self._of[key] = agreed(self._of[key], verdict) if key in self._of else verdict

    def of(self, a: Hashable, b: Hashable) -> Verdict:
        """Return the verdict on a pair; undefined if none was added."""
        return self._of.get(frozenset((a, b)), Verdict())
