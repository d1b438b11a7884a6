"""Stopping rules of block groups. Pure; standard library only, because the runner carries it.

All alternatives of a group stop together. The rules use the compared differences: d = log a - log b within blocks.

- `stein`: the standard deviation s of the pilot determines once how many rounds give an interval of the target width.
  Source: C. Stein, A two-sample test for a linear hypothesis whose power is independent of the variance, Annals of
  Mathematical Statistics 16 (1945).
- `javastats`: checks after each segment, and stops as soon as every interval is narrow enough.
  Source: Georges, Buytaert and Eeckhout, Statistically Rigorous Java Performance Evaluation (OOPSLA 2007), section 4.3.

Numbers of rounds in this module do not include discarded rounds.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regatta.host.journal.modes import modes_in

#: fewer common blocks do not estimate the spread well enough to stop
LEAST_BLOCKS = 3
#: a smaller range of logs is rounding, not spread: 8 units in the last place of logs as large as 64
_ROUNDING = 8 * 64 * sys.float_info.epsilon


@dataclass(frozen=True)
class Rule:
    """A stopping rule with its parameters."""

    name: str
    pilot: int
    maximum: int
    #: target half-width of each ratio's interval, in percent
    target_percent: float
    #: two-sided quantiles of Student's t for 1, 2, ... degrees of freedom
    t: Sequence[float]

    @classmethod
    def from_plan(cls, stopping: Mapping[str, Any]) -> Rule:
        """Create the rule from `stopping` in `plan.json`."""
        return cls(*(stopping[key] for key in ("rule", "pilot", "maximum", "target_percent", "t")))

    @property
    def width(self) -> float:
        """Return the target half-width on logs."""
        return math.log1p(self.target_percent / 100)

    def quantile(self, df: int) -> float:
        """Return t for `df` >= 1 degrees of freedom. Beyond the table, return its last value, which is larger (conservative)."""
        return self.t[min(df, len(self.t)) - 1]


@dataclass(frozen=True)
class Pair:
    """One comparison of a group. `b` is empty for a group with one alternative, which is judged by its own mean.

    `differences`: log a - log b of the blocks that both have, in order of rounds (for one alternative: its logs).
    `problem`: why no difference can ever exist; such a pair is ignored.
    """

    a: str
    b: str
    series: str
    differences: Sequence[float]
    problem: str = ""


@dataclass(frozen=True)
class PairDecision:
    """The result of one comparison. `needed` is None if it needs an unknown number of further rounds."""

    a: str
    b: str
    series: str
    #: number of blocks used
    n: int
    #: standard deviation of the differences of logs; None: unknown
    sd: float | None
    #: half-width of the ratio's interval in percent: after `needed` rounds (`stein`), or now (`javastats`)
    half_width_percent: float | None
    needed: int | None
    met: bool
    reason: str


@dataclass(frozen=True)
class GroupDecision:
    """The total number of rounds that a block group needs; None: undecided, check again after the next segment."""

    needed: int | None
    #: whether every comparison is expected to reach the target after these rounds
    met: bool
    #: alternatives with several modes in the pilot
    modes: tuple[str, ...]
    pairs: tuple[PairDecision, ...]
    reason: str


def decide(
    rule: Rule, pairs: Sequence[Pair], pilots: Mapping[str, Sequence[float]], seen: int
) -> GroupDecision:
    """Decide for one block group.

    Args:
        rule: with its parameters.
        pairs: every comparison of the group, over the first `seen` rounds (`stein`: over the pilot).
        pilots: alternative -> logs of its valid values in the pilot; each series has a separate name.
        seen: number of completed rounds, at least the pilot.

    Returns:
        The number of rounds, at most the rule's maximum, and the reason.
    """
    judged = tuple(_judge(rule, pair, seen) for pair in pairs)
    asking = [pair for pair, given in zip(judged, pairs) if not given.problem]
    modes = tuple(name for name, logs in pilots.items() if modes_in(logs, rule.width))
    met = bool(asking) and all(pair.met for pair in asking)
    if not asking:
        why = next((pair.problem for pair in pairs), "no comparison")
        return GroupDecision(rule.pilot, False, modes, judged, f"nothing can be compared: {why}")
    if modes:
        reason = f"several modes in the first {rule.pilot} rounds: all {rule.maximum} rounds are run"
        return GroupDecision(rule.maximum, met, modes, judged, reason)
    if any(pair.needed is None for pair in asking):
        return GroupDecision(
            None, False, modes, judged, f"target {_percent(rule)} not met after {seen} rounds"
        )
    worst = max(asking, key=lambda pair: (pair.needed or 0, not pair.met, pair.half_width_percent or 0.0))
    return GroupDecision(worst.needed, met, modes, judged, worst.reason)


def rounds_for(rule: Rule, sd: float, df: int) -> int:
    """Return the pairs that Stein's rule requires: (t s / w)^2, rounded up, at least 2, without pilot and maximum.

    Args:
        rule: gives t and the target half-width w.
        sd: standard deviation of the differences of logs.
        df: degrees of freedom of its estimate, at least 1.
    """
    return max(2, math.ceil((rule.quantile(df) * sd / rule.width) ** 2))


def percent_of(half_width: float) -> float:
    """Convert the half-width of an interval on logs to that of the ratio in percent."""
    return 100 * math.expm1(half_width)


def _judge(rule: Rule, pair: Pair, seen: int) -> PairDecision:
    n = len(pair.differences)

    def decided(
        needed: int | None, met: bool, reason: str, sd: float | None = None, half: float | None = None
    ) -> PairDecision:
        width = None if half is None else percent_of(half)
        return PairDecision(pair.a, pair.b, pair.series, n, sd, width, needed, met, reason)

    if pair.problem:
        return decided(None, False, f"left out: {pair.problem}")
    if n < LEAST_BLOCKS:
        what = "blocks hold both sides" if pair.b else "valid invocations"
        if rule.name == "javastats" and seen < rule.maximum:
            return decided(None, False, f"only {n} {what} after {seen} rounds, too few to stop by")
        reason = f"only {n} {what}, too few to stop by: all {rule.maximum} rounds are run"
        return decided(rule.maximum, False, reason)
    sd = statistics.stdev(pair.differences)
    if max(pair.differences) - min(pair.differences) <= _ROUNDING:
        return decided(max(seen, rule.pilot), True, f"all {n} blocks agree: no spread to stop by", 0.0)
    t = rule.quantile(n - 1)
    if rule.name == "javastats":
        half = t * sd / math.sqrt(n)
        if half <= rule.width:
            return decided(seen, True, f"target {_percent(rule)} met after {seen} rounds", sd, half)
        if seen < rule.maximum:
            return decided(None, False, f"target {_percent(rule)} not met after {seen} rounds", sd, half)
        return decided(rule.maximum, False, _not_met(rule, half), sd, half)
    lost = rule.pilot - n
    wanted = max(rule.pilot, rounds_for(rule, sd, n - 1) + lost)
    needed = min(wanted, rule.maximum)
    half = t * sd / math.sqrt(needed - lost)
    if needed < wanted:
        return decided(needed, False, f"{_not_met(rule, half)}; it would take {wanted}", sd, half)
    return decided(needed, True, f"target {_percent(rule)} met by {needed} rounds", sd, half)


def _not_met(rule: Rule, half: float) -> str:
    return f"target {_percent(rule)} not met: {rule.maximum} rounds give {percent_of(half):.2g} %"


def _percent(rule: Rule) -> str:
    return f"{rule.target_percent:g} %"
