"""The rule `decide`: each comparison is measured until it has an answer. Pure; standard library only, because the runner carries it.

A decision depends on the recorded values of the rounds before it, and on earlier answers. All looks are made again each time, in
their order, so that whoever continues after a kill decides the same.

Early answers are for values that vary as normal ones do. If an alternative shows several modes, as rare slow runs do, or if the
differences depend on their predecessors, the comparison runs all rounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from regatta.host.journal.looks import (
    LEAST_SEEN,
    Limits,
    Look,
    is_dependent,
    look,
    rounds_expected,
)
from regatta.host.journal.modes import modes_in
from regatta.host.journal.stopping import LEAST_BLOCKS, GroupDecision, Pair, PairDecision, Rule, has_no_spread

#: rounds of a group in which nothing is compared
NOTHING_COMPARED = 10
#: several modes and dependence are looked for after this many rounds, and whenever there are twice as many as the last time
DOUBTED_FROM = 10
#: a wider interval on logarithms has no half-width in percent
_WIDEST = 700.0


@dataclass(frozen=True)
class Spent:
    """Measuring time on the host: `budget_s` for all rounds, and `by_round_s` what each round took, with all block groups."""

    budget_s: float = math.inf
    by_round_s: Mapping[int, float] = field(default_factory=dict)

    def rounds_left(self, round_: int) -> float:
        """Return how many rounds of median length fit into the time that is left before a round."""
        past = [spent for at, spent in self.by_round_s.items() if at < round_]
        if math.isinf(self.budget_s) or not past:
            return math.inf
        return (self.budget_s - math.fsum(past)) / max(statistics.median(past), 1e-9)


#: cell id -> series -> of each host that measures it, round -> log of the value
Logs = Mapping[str, Mapping[str, Sequence[Mapping[int, float]]]]


def decide_early(
    rule: Rule,
    pairs: Sequence[Pair],
    logs: Logs,
    cell_ids: Sequence[str],
    first: int,
    seen: int,
    kept: Sequence[Mapping[str, Any]] = (),
    spent: Spent = Spent(),
    gone: Mapping[str, int] | None = None,
) -> GroupDecision:
    """Decide for one block group.

    Args:
        rule: `decide`, with its quantiles.
        pairs: every comparison of the group, over the recorded rounds.
        logs: of the values of its alternatives.
        cell_ids: its alternatives.
        first: the first round that counts.
        seen: number of complete rounds from there; values of later ones are ignored.
        kept: fields of earlier answers. They stay, also if invocations were repeated since.
        spent: measuring time.
        gone: the alternatives that have left before, and their rounds. They never return.

    Returns:
        The number of rounds of the group, or None while a comparison has no answer, and those of alternatives that have all
        of theirs.
    """
    known = {(one["a"], one["b"], one["series"]): one for one in kept if one["needed"] is not None}
    gone = gone or {}
    judged = tuple(_answer(rule, pair, logs, first, seen, known, spent, gone) for pair in pairs)
    answers = [one for one, pair in zip(judged, pairs) if one.needed is not None or not _why_excluded(pair)]
    rounds = dict(gone)
    if not answers:
        why = next((pair.problem for pair in pairs if pair.problem), "one alternative")
        needed = min(max(NOTHING_COMPARED, rule.pilot), rule.maximum)
        return GroupDecision(needed, False, (), judged, f"no comparison possible: {why}", rounds)
    for cell_id in cell_ids:
        own = [one.needed for one in answers if cell_id in (one.a, one.b)]
        made = [needed for needed in own if needed is not None]
        if made and len(made) == len(own) and cell_id not in gone:
            rounds[cell_id] = max(made)
    left = sum(one.needed is None for one in answers)
    if left:
        counted = f"{left} of {len(answers)} comparisons have" if len(answers) > 1 else "the comparison has"
        return GroupDecision(None, False, (), judged, f"{counted} no answer after {seen} rounds", rounds)
    last = max(answers, key=lambda one: one.needed or 0)
    return GroupDecision(last.needed, all(one.met for one in answers), (), judged, last.reason, rounds)


def _answer(
    rule: Rule,
    pair: Pair,
    logs: Logs,
    first: int,
    seen: int,
    known: Mapping[tuple[str, str, str], Mapping[str, Any]],
    spent: Spent,
    gone: Mapping[str, int],
) -> PairDecision:
    earlier = known.get((pair.a, pair.b, pair.series))
    if earlier is not None:
        return PairDecision(**earlier)
    if why := _why_excluded(pair):
        return PairDecision(pair.a, pair.b, pair.series, 0, None, None, None, False, f"excluded: {why}")
    if pair.a in gone or pair.b in gone:
        # Values that appeared only after all other comparisons of an alternative had an answer.
        n = len(pair.differences)
        return _undecided(pair, n, seen, f"too few complete blocks to decide: {n}")
    return _judge(rule, pair, logs, first, seen, spent)


def _why_excluded(pair: Pair) -> str:
    """Return why a comparison can never have an answer; "" if it can."""
    return pair.problem or ("" if pair.b else "one alternative")


def _undecided(pair: Pair, n: int, needed: int, reason: str) -> PairDecision:
    return PairDecision(pair.a, pair.b, pair.series, n, None, None, needed, False, reason, "undecided")


def _judge(rule: Rule, pair: Pair, logs: Logs, first: int, seen: int, spent: Spent) -> PairDecision:
    """Make all looks at a comparison until one has an answer."""
    limits = Limits(rule.t, rule.width)
    doubt, doubted_at = "", 0
    last, why, seen_last = None, "", 0
    looks = [looked_at for looked_at in rule.looks if looked_at <= seen]
    for looked_at in looks:
        differences = pair.until(first + looked_at)
        # The budget ended no earlier look, or there would be an answer; rounds that were repeated since may have spent it.
        left = _rounds_left(rule, first, looked_at, spent if looked_at == looks[-1] else Spent())
        if len(differences) < LEAST_BLOCKS:
            busy = rule.is_awaited and looked_at >= LEAST_SEEN
            if left > 0 and not busy:
                continue
            within = f" after {looked_at} rounds" if left > 0 else _within(rule, looked_at)
            reason = f"too few complete blocks to decide: {len(differences)}{within}"
            return _undecided(pair, len(differences), looked_at, reason)
        if not doubt and looked_at >= max(DOUBTED_FROM, 2 * doubted_at):
            doubt, doubted_at = _doubt(rule, pair, differences, logs, first, looked_at), looked_at
        last, why, seen_last = look(differences, limits, left), doubt, looked_at
        if has_no_spread(differences):
            last = _without_spread(rule, pair, differences, logs, first + looked_at, left)
            why = "" if last.half_width == 0 else "the differences do not vary"
        if last.outcome is not None and (left <= 0 or not why):
            expected = _expected(last, why, limits, looked_at)
            return _decided(rule, pair, last, looked_at, why, left, expected)
    expected = None if last is None else _expected(last, why, limits, seen_last)
    return PairDecision(
        pair.a, pair.b, pair.series, 0 if last is None else last.n, *_widths(rule, last), None, False,
        f"{doubt}: all {rule.maximum} rounds are needed" if doubt else f"no answer after {seen} rounds{_about(expected)}",
        expected=expected,
    )  # fmt: skip


def _expected(found: Look, why: str, limits: Limits, rounds: int) -> int | None:
    """Return about how many rounds would give an answer; None if it has one, or if no number of rounds is known to. `why`: a doubt."""
    has_one = found.outcome in ("less", "greater", "equivalent")
    return None if has_one or why else rounds_expected(found, limits, rounds)


def _rounds_left(rule: Rule, first: int, looked_at: int, spent: Spent) -> int:
    """Return how many rounds can follow a look; 0 if there is no time until the next one."""
    left = math.floor(min(rule.maximum - looked_at, spent.rounds_left(first + looked_at)))
    following = next((one for one in rule.looks if one > looked_at), looked_at)
    return left if left >= following - looked_at else 0


def _without_spread(
    rule: Rule, pair: Pair, differences: Sequence[float], logs: Logs, end: int, left: int
) -> Look:
    """Return the answer of differences that are all equal: of counts that do not vary an exact one, else none."""
    n, mean = len(differences), math.fsum(differences) / len(differences)
    counts = (
        [log for round_, log in values.items() if round_ < end]
        for side in (pair.a, pair.b)
        for values in logs.get(side, {}).get(pair.series, ())
    )
    # The values of alternatives that run at once are not looked at.
    if pair.sides or not (pair.counted and all(map(has_no_spread, filter(None, counts)))):
        return Look(None if left else "undecided", n, mean, 0.0, math.nan)
    if abs(mean) < rule.width:
        return Look("equivalent", n, mean, 0.0, 0.0)
    return Look("less" if mean < 0 else "greater", n, mean, 0.0, 0.0)


def _decided(
    rule: Rule, pair: Pair, found: Look, needed: int, doubt: str, left: int, expected: int | None
) -> PairDecision:
    met = found.outcome != "undecided"
    if met:
        reason = f"answer after {needed} rounds"
    elif left <= 0:
        reason = f"no answer{_within(rule, needed)}"
    else:
        reason = f"no answer to be expected: a chance of {100 * found.chance:.1f} % in the {left} rounds that are left"
    reason = f"{reason}; {doubt}" if doubt else f"{reason}{_about(expected)}"
    widths = _widths(rule, found)
    return PairDecision(
        pair.a, pair.b, pair.series, found.n, *widths, needed, met, reason, found.outcome, expected
    )


def _about(expected: int | None) -> str:
    return "" if expected is None else f"; about {expected} rounds would give one"


def _within(rule: Rule, rounds: int) -> str:
    if rounds < rule.maximum:
        return f" within the budget, which was enough for {rounds} rounds"
    return f" within {rounds} rounds"


def _widths(rule: Rule, found: Look | None) -> tuple[float | None, float | None]:
    if found is None:
        return None, None
    # Many comparisons and few values give intervals beyond the largest number.
    known = found.half_width < _WIDEST
    return found.sd, rule.percent(found.half_width) if known else None


def _doubt(
    rule: Rule, pair: Pair, differences: Sequence[float], logs: Logs, first: int, looked_at: int
) -> str:
    """Return why the values do not vary as normal ones do, or ""."""
    values_of = [
        [log for round_, log in values.items() if 0 <= round_ - first < looked_at]
        for cell_id in (pair.a, pair.b)
        for values in chain.from_iterable(logs.get(cell_id, {}).values())
    ]
    # What slows both alternatives that run at once is not in their ratio.
    if any(modes_in(values, rule.width) for values in values_of or [list(differences)]):
        return f"gap or several modes in the first {looked_at} rounds"
    if is_dependent(differences):
        return f"differences depend on their predecessors in the first {looked_at} rounds"
    return ""
