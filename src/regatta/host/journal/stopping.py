"""Stopping rules of block groups. Pure; standard library only, because the runner carries it.

All alternatives of a group stop together, except with `decide`. The first rules use the compared differences: d = log a - log b within blocks.

- `stein`: the standard deviation s of the pilot determines once how many rounds give an interval of the target width.
  Source: C. Stein, A two-sample test for a linear hypothesis whose power is independent of the variance, Annals of
  Mathematical Statistics 16 (1945).
- `javastats`: checks after each segment, and stops as soon as every interval is narrow enough.
- `javastats-cell`: the same for a single cell, by the interval of its mean relative to the mean. This is the rule of the paper.
  Source of both: Georges, Buytaert and Eeckhout, Statistically Rigorous Java Performance Evaluation (OOPSLA 2007), section 4.3.

- `decide`: looks again and again, and stops as soon as a comparison has an answer (`early_decisions.py`). An alternative leaves as
  soon as all of its comparisons have one; the others go on.

Two more depend on no difference and no spread, and decide once after the pilot. `counters`: a processor counts one group of its
counters in a round, and the pilot shows how many groups this host has. `seconds`: the pilot shows how long a round takes.

Numbers of rounds in this module do not include discarded rounds.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from regatta.host.journal.halves import without_halves
from regatta.host.journal.looks import Outcome, looks_until
from regatta.host.journal.modes import modes_in

#: the rule that stops each cell by the interval of its mean
PER_CELL = "javastats-cell"
#: the rule that runs enough rounds for each group of counters
BY_COUNTERS = "counters"
#: the rule that runs as many rounds as a measuring time allows
BY_TIME = "seconds"
#: the rule that runs each comparison until it has an answer
UNTIL_DECIDED: Final = "decide"
#: the rules without a target width
WITHOUT_TARGET = (BY_COUNTERS, BY_TIME)
#: `decide` with a measuring time: rounds that fit into it from which on they all run, and their values decide nothing
AMPLE_ROUNDS = 30
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
    #: target half-width of each interval, in percent: of the ratio, or with `javastats-cell` of the mean
    target_percent: float
    #: two-sided quantiles of Student's t for 1, 2, ... degrees of freedom; with `decide`, of each look
    t: Sequence[float]
    #: with `decide`: whether somebody waits for the end, because the spec names a measuring time
    is_awaited: bool = False
    #: with `decide`: the rounds after which the hosts decide together; empty: each host decides for itself
    looks_together: Sequence[int] = ()

    @classmethod
    def from_plan(cls, stopping: Mapping[str, Any]) -> Rule:
        """Create the rule from `stopping` in `plan.json`. `counters` and `seconds` have no target and need no quantiles."""
        target, t = stopping.get("target_percent", math.nan), stopping.get("t", ())
        awaited = stopping["rule"] == UNTIL_DECIDED and "seconds" in stopping
        together = stopping.get("looks", ())
        return cls(stopping["rule"], stopping["pilot"], stopping["maximum"], target, t, awaited, together)

    @property
    def looks(self) -> Sequence[int]:
        """Return the rounds after which `decide` looks at the values, ascending."""
        return self.looks_together or looks_until(self.maximum, self.pilot)

    @property
    def width(self) -> float:
        """Return the target half-width on logs; with `javastats-cell` as a share of the mean."""
        return self.target_percent / 100 if self.per_cell else math.log1p(self.target_percent / 100)

    @property
    def per_cell(self) -> bool:
        """Return whether each cell stops by its own mean."""
        return self.name == PER_CELL

    def percent(self, half_width: float) -> float:
        """Convert a half-width to percent of the ratio, or of the mean."""
        return 100 * half_width if self.per_cell else percent_of(half_width)

    def quantile(self, df: int) -> float:
        """Return t for `df` >= 1 degrees of freedom. Beyond the table, return its last value, which is larger (conservative)."""
        return self.t[min(df, len(self.t)) - 1]


@dataclass(frozen=True)
class Pair:
    """One comparison of a group. `b` is empty for a group with one alternative, which is judged by its own mean.

    `differences`: log a - log b of the blocks that both have, in order of rounds (for one alternative: its logs, or with
    `javastats-cell` its values).
    `rounds`: the round of each difference, ascending.
    `problem`: why no difference can ever exist; such a pair is ignored.
    `counted`: whether the values are counts, which are exact.
    `sides`: of alternatives that ran at once, 1 where `a` had half 0 of the host, else -1; empty for others.
    """

    a: str
    b: str
    series: str
    differences: Sequence[float]
    problem: str = ""
    rounds: Sequence[int] = ()
    counted: bool = False
    sides: Sequence[int] = ()

    def until(self, end: float = math.inf) -> list[float]:
        """Return the differences of the rounds before `end`, without the difference between the halves of the host in these rounds."""
        count = sum(round_ < end for round_ in self.rounds) if self.rounds else len(self.differences)
        found = list(self.differences[:count])
        return without_halves(found, self.sides[:count]) if self.sides else found


@dataclass(frozen=True)
class PairDecision:
    """The result of one comparison. `needed` is None if it needs an unknown number of further rounds."""

    a: str
    b: str
    series: str
    #: number of blocks used
    n: int
    #: standard deviation of the differences of logs (`javastats-cell`: relative to the mean); None: unknown
    sd: float | None
    #: half-width of the interval in percent: after `needed` rounds (`stein`), or now
    half_width_percent: float | None
    needed: int | None
    met: bool
    reason: str
    #: with `decide`, once it has one
    outcome: Outcome | None = None
    #: with `decide`, without an answer: about how many rounds would give one; None: unknown
    expected: int | None = None


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
    #: with `decide`: the rounds of each alternative whose comparisons all have an answer, by cell id
    cells: Mapping[str, int] = field(default_factory=dict)


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
    # The rule of the paper looks at the width alone.
    modes = () if rule.per_cell else tuple(n for n, logs in pilots.items() if modes_in(logs, rule.width))
    met = bool(asking) and all(pair.met for pair in asking)
    if not asking:
        why = next((pair.problem for pair in pairs), "no comparison")
        return GroupDecision(rule.pilot, False, modes, judged, f"no comparison possible: {why}")
    if modes:
        found = f"gap or several modes in the first {rule.pilot} rounds of {', '.join(modes)}"
        reason = f"{found}: all {rule.maximum} rounds are needed"
        return GroupDecision(rule.maximum, met, modes, judged, reason)
    if any(pair.needed is None for pair in asking):
        return GroupDecision(
            None, False, modes, judged, f"target {_percent(rule)} not met after {seen} rounds"
        )
    worst = max(asking, key=lambda pair: (pair.needed or 0, not pair.met, pair.half_width_percent or 0.0))
    return GroupDecision(worst.needed, met, modes, judged, worst.reason)


def decide_by_counters(pilot: int, maximum: int, each: int, groups: int) -> GroupDecision:
    """Decide for one block group from the groups of counters that the pilot's invocations had.

    Args:
        pilot, maximum: least and largest number of rounds.
        each: rounds in which each group of counters is counted, at least.
        groups: 0: nothing was counted in groups.
    """
    needed = min(max(pilot, each * groups), maximum)
    if groups == 0:
        return GroupDecision(needed, True, (), (), "nothing is counted in groups here")
    found = f"{groups} groups of counters" if groups > 1 else "1 group of counters"
    return GroupDecision(needed, needed >= each * groups, (), (), f"{found}, each in {each} rounds or more")


def decide_by_time(
    pilot: int, maximum: int, seconds: float, walls_ns: Sequence[Sequence[int]]
) -> GroupDecision:
    """Decide for one block group from how long its invocations took in the pilot.

    The decision depends on nothing else: neither on their spread nor on differences between alternatives. It therefore does not
    select narrow or significant results. Fewer rounds follow a slow pilot, so its values have a larger share of the mean. This
    increases the mean of n rounds by at most about CV^2 / n, while the half-width of its interval is about 2 CV / sqrt(n).

    Args:
        pilot, maximum: least and largest number of rounds.
        seconds: measuring time for each alternative; the group has that of all.
        walls_ns: wall times of the invocations of each alternative, in ns; empty: it was given up.
    """
    if not all(walls_ns):
        return GroupDecision(pilot, False, (), (), "an alternative was given up after failures")
    round_s = sum(statistics.median(walls) for walls in walls_ns) / 1e9
    allowed = math.floor(seconds * len(walls_ns) / max(round_s, 1e-9))
    found = f"a round takes {round_s:.3g} s: {allowed} rounds in {seconds * len(walls_ns):g} s"
    needed = min(max(pilot, allowed), maximum)
    return GroupDecision(needed, needed <= allowed, (), (), found)


def rounds_for(rule: Rule, sd: float, df: int) -> int:
    """Return the pairs that Stein's rule requires: (t s / w)^2, rounded up, at least 2, without pilot and maximum.

    Args:
        rule: gives t and the target half-width w.
        sd: standard deviation of the differences of logs.
        df: degrees of freedom of its estimate, at least 1.
    """
    return max(2, math.ceil((rule.quantile(df) * sd / rule.width) ** 2))


def has_no_spread(differences: Sequence[float]) -> bool:
    """Return whether differences of logs differ by no more than rounding."""
    return max(differences) - min(differences) <= _ROUNDING


def percent_of(half_width: float) -> float:
    """Convert the half-width of an interval on logs to that of the ratio in percent."""
    return 100 * math.expm1(half_width)


def _judge(rule: Rule, pair: Pair, seen: int) -> PairDecision:
    n = len(pair.until())

    def decided(
        needed: int | None, met: bool, reason: str, sd: float | None = None, half: float | None = None
    ) -> PairDecision:
        width = None if half is None else rule.percent(half)
        return PairDecision(pair.a, pair.b, pair.series, n, sd, width, needed, met, reason)

    if pair.problem:
        return decided(None, False, f"excluded: {pair.problem}")
    if n < LEAST_BLOCKS:
        what = "complete blocks" if pair.b else "valid invocations"
        if rule.name != "stein" and seen < rule.maximum:
            return decided(None, False, f"too few {what} to decide: {n} after {seen} rounds")
        reason = f"too few {what} to decide: {n}; all {rule.maximum} rounds are needed"
        return decided(rule.maximum, False, reason)
    differences = pair.until()
    if rule.per_cell:
        mean = math.fsum(differences) / n
        differences = [value / mean for value in differences]
    sd = statistics.stdev(differences)
    if has_no_spread(differences):
        return decided(max(seen, rule.pilot), True, f"no variation in {n} blocks", 0.0)
    t = rule.quantile(n - 1)
    if rule.name != "stein":
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
        return decided(needed, False, f"{_not_met(rule, half)}; {wanted} rounds are needed", sd, half)
    return decided(needed, True, f"target {_percent(rule)} met with {needed} rounds", sd, half)


def _not_met(rule: Rule, half: float) -> str:
    return f"target {_percent(rule)} not met: {rule.maximum} rounds give {rule.percent(half):.2g} %"


def _percent(rule: Rule) -> str:
    return f"{rule.target_percent:g} %"
