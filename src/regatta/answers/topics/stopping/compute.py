"""Report the decisions of stopping rules on the hosts, and whether the precision is sufficient."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from regatta.answers.spine.comparisons import contrasts_of
from regatta.answers.spine.context import Context
from regatta.answers.spine.methods import REGATTA
from regatta.answers.spine.names import short_names
from regatta.answers.spine.pairs import Pair, differing, series_key
from regatta.answers.spine.samples import PlannedCell
from regatta.answers.spine.stops import StopGroup
from regatta.answers.spine.words import counted
from regatta.figures.text import show_percent
from regatta.host.journal.looks import Outcome
from regatta.host.journal.stopping import PER_CELL, UNTIL_DECIDED
from regatta.stats.estimate import Floats, Interval
from regatta.stats.intervals import geometric_mean, mean_interval, t_quantile


@dataclass(frozen=True)
class StoppedPair:
    """One comparison of a group (`b_name` is empty for a single alternative)."""

    a_name: str
    b_name: str
    #: canonical JSON of the metric's parameters, "" if none
    parameters: str
    #: number of blocks behind the decision, and the standard deviation of their differences of logarithms; NaN: unknown
    decided_by: int
    sd: float
    #: number of rounds needed; None: not considered, or an unknown larger number
    needed: int | None
    #: current half-width of its interval, in percent; NaN: undefined
    reached_percent: float
    reason: str
    #: with `decide`: of a relative to b; "" before there is one
    outcome: Outcome | Literal[""] = ""
    #: with `decide`, without an answer: about how many rounds would give one; None: unknown
    expected: int | None = None


@dataclass(frozen=True)
class StoppedGroup:
    """One block group, or one cell if each stops alone. Only rounds that count are included."""

    host: str
    #: `h2 at 2 x minheap`
    place: str
    rule: str
    target_percent: float
    pilot: int
    maximum: int
    #: None: not decided yet
    needed: int | None
    #: number of recorded rounds, the maximum over its cells
    run: int
    #: invocations saved, over all its cells, relative to the maximum number of rounds
    saved: int
    #: half-width of the widest interval, in percent; NaN: undefined
    reached_percent: float
    #: whether every defined comparison meets the target width; None: not decided yet, or no comparison is defined
    met: bool | None
    #: alternatives with several modes in the pilot
    modes: tuple[str, ...]
    pairs: tuple[StoppedPair, ...]
    reason: str
    words: str
    #: the platform whose hosts decide together, by their mean difference; "": each host decides for itself
    together: str = ""


#: rule -> its name, and the unit that it stops
RULES = {
    "stein": ("Stein's rule", "block group"),
    "javastats": ("the rule of JavaStats for comparisons", "block group"),
    PER_CELL: ("the rule of JavaStats for each cell", "cell"),
    UNTIL_DECIDED: ("the rule `decide`", "block group"),
}
#: tolerance of the target for rounding errors
_TOLERANCE = 1e-6


def judge_stops(context: Context) -> tuple[StoppedGroup, ...]:
    """Return for each block group the rounds needed, the rounds run, and the widths of the intervals.

    Rounds that follow the groups of counters or a measuring time have no target width. The topic of counters tells about the former.
    """
    return tuple(_judge(group, context) for group in context.stops.groups if group.is_by_values)


def stop_words(groups: Sequence[StoppedGroup], method: str = REGATTA) -> tuple[str, ...]:
    """Describe the savings, the missed targets and the open decisions; `method` of the intervals."""
    if not groups:
        return ()
    first = groups[0]
    if first.rule == UNTIL_DECIDED:
        return _decided_words(groups, method)
    rule, groups_called = RULES[first.rule]
    decided = [group for group in groups if group.needed is not None]
    target = f"{rule}, target half-width {first.target_percent:g} %"
    words = []
    if decided:
        early = sum((group.needed or 0) < group.maximum for group in decided)
        words.append(
            f"{target}: fewer than {first.maximum} rounds needed in {early} of {counted(len(decided), groups_called)}"
            f"{_saved_words(decided)}"
        )
    if len(decided) < len(groups):
        words.append(
            f"{target}: undecided for {counted(len(groups) - len(decided), groups_called)};"
            f" maximum {first.maximum} rounds"
        )
    words += [group.words for group in decided if group.words]
    if first.rule == PER_CELL:
        words.append("each cell stops alone, so comparisons use only the blocks that both cells have")
    if first.rule != "stein":
        words.append(
            "stopping at narrow intervals reduces their coverage: 0.90 to 0.94 instead of 0.95 with a pilot of 3 rounds, 0.94 to"
            " 0.95 with a pilot of 10; Stein's rule keeps the coverage of each comparison"
        )
    return tuple(words)


def _decided_words(groups: Sequence[StoppedGroup], method: str) -> tuple[str, ...]:
    """Describe the answers of comparisons, what they saved, and those without one."""
    pairs = [(group, pair) for group in groups for pair in group.pairs if pair.b_name]
    if not pairs:
        return ()
    if groups[0].together:
        # Hosts that decided together have one answer.
        own: dict[tuple[str, ...], tuple[StoppedGroup, StoppedPair]] = {}
        for group, pair in sorted(pairs, key=lambda one: not one[1].outcome):
            key = (group.together, group.place, pair.a_name, pair.b_name, pair.parameters)
            own.setdefault(key, (group, pair))
        pairs = list(own.values())
    found = Counter(
        pair.outcome or ("open" if group.needed is None else "not compared") for group, pair in pairs
    )
    parts = {
        "different": found["less"] + found["greater"],
        "equivalent": found["equivalent"],
        "undecided": found["undecided"],
        "not decided yet": found["open"],
        "not compared": found["not compared"],
    }
    counts = ", ".join(f"{count} {name}" for name, count in parts.items() if count)
    relevant = show_percent(groups[0].target_percent / 100)
    words = [f"{counted(len(pairs), 'comparison')}, relevant from {relevant}: {counts}{_saved_words(groups)}"]
    words += [
        f"{group.place}, {pair.a_name} / {pair.b_name}: undecided: {pair.reason}"
        for group, pair in pairs
        if pair.outcome == "undecided"
    ]
    words.append(
        "intervals and p of comparisons are adjusted for all looks at the values; no such adjustment exists for analyses of"
        " variance, so there are none"
        if method == REGATTA
        else f"intervals and p of {method} are not adjusted for the looks at the values: they are too narrow and too small"
    )
    return tuple(words)


def _saved_words(decided: Iterable[StoppedGroup]) -> str:
    saved = sum(group.saved for group in decided)
    return f"; {counted(saved, 'invocation')} saved" if saved else ""


def _judge(group: StopGroup, context: Context) -> StoppedGroup:
    rule, decision = group.rule, group.decision
    samples, names = context.samples, context.names
    alone, together = rule["rule"] == PER_CELL, "looks" in rule
    told = {(p["a"], p["b"], p["series"]): p for p in (decision or {}).get("pairs", ())}
    pairs = [
        _pair(interval, a, b, parameters, told, alone, together)
        for a, b in group.pairs
        for interval, parameters in _intervals(a, b, context, alone)
    ]
    widths = [pair.reached_percent for pair in pairs if not math.isnan(pair.reached_percent)]
    reached = max(widths, default=math.nan)
    needed = group.needed
    met = None if needed is None or not widths else reached <= rule["target_percent"] * (1 + _TOLERANCE)
    if rule["rule"] == UNTIL_DECIDED:
        met = None if needed is None else bool(decision and decision["met"])
    run = max(sum(samples.statuses.get(cell.number, {}).values()) for cell in group.cells) - group.discarded
    modes = tuple((decision or {}).get("modes", ()))
    place = names.place(group.cells[0], {})
    if alone:
        place += f" ({pairs[0].a_name})"
    where = f"{place}, {names.host(group.cells[0])}"
    return StoppedGroup(
        host=group.cells[0].place.host,
        place=place,
        rule=rule["rule"],
        target_percent=rule["target_percent"],
        pilot=rule["pilot"],
        maximum=rule["maximum"],
        needed=needed,
        run=max(0, run),
        saved=sum(rule["maximum"] - group.needed_of(cell) for cell in group.cells),
        reached_percent=reached,
        met=met,
        modes=modes,
        pairs=tuple(pairs),
        reason=(decision or {}).get("reason", "not decided yet"),
        words=_group_words(where, needed, reached, met, modes, rule),
        together=group.cells[0].place.platform if together else "",
    )


def _group_words(
    where: str,
    needed: int | None,
    reached: float,
    met: bool | None,
    modes: Sequence[str],
    rule: Mapping[str, Any],
) -> str:
    if needed is None or rule["rule"] == UNTIL_DECIDED:
        return ""
    words = []
    if modes:
        words.append(f"gap or several modes in the first {rule['pilot']} rounds of {', '.join(modes)}")
    if met is False:
        words.append(
            f"target not met: half-width {reached:.2g} % after {counted(needed, 'round')} (target {rule['target_percent']:g} %)"
        )
    return f"{where}: {'; '.join(words)}" if words else ""


def _intervals(
    a: PlannedCell, b: PlannedCell | None, context: Context, alone: bool
) -> list[tuple[Interval | None, str]]:
    """Return the interval of each series of a comparison, with the series' parameters."""
    samples, level = context.samples, context.facts.level
    if b is None:
        mean = _ordinary_mean if alone else geometric_mean
        return [(mean(s.values, level), s.parameters_text) for s in samples.own(a)] or [(None, "")]
    differ = differing(a, b)
    others = {series_key(s, differ): s for s in samples.own(b)}
    pairs = [Pair(a, b, s, others.get(series_key(s, differ))) for s in samples.own(a)]
    if not pairs:
        return [(None, "")]
    found = contrasts_of(pairs, level, context.stops)
    return [
        (one.contrast.interval, pair.a.parameters_text)
        for pair, one in zip(pairs, found, strict=True)
        if pair.a
    ]


def _ordinary_mean(values: Floats, level: float) -> Interval:
    """Return Student's t interval of the mean as the stopping rule computes it: also where it reaches below 0."""
    usual = mean_interval(values, level)
    if math.isnan(usual.low):
        return usual
    n, mean = values.size, float(values.mean())
    half = t_quantile(n - 1, level) * float(values.std(ddof=1)) / math.sqrt(n)
    return Interval(n, mean, mean - half, mean + half, level, "t")


def _pair(
    interval: Interval | None,
    a: PlannedCell,
    b: PlannedCell | None,
    parameters: str,
    told: Mapping[tuple[str, str, str], Mapping[str, Any]],
    alone: bool,
    together: bool,
) -> StoppedPair:
    entry = told.get((a.cell_id, b.cell_id if b else "", parameters), {})
    sd, half_width = entry.get("sd"), entry.get("half_width_percent")
    reached = _half_width_percent(interval, alone)
    if together:
        # That of the mean over the hosts, which decided.
        reached = math.nan if half_width is None else float(half_width)
    a_name, b_name, _ = short_names(a, b) if b else (a.place.configuration, "", set())
    return StoppedPair(
        a_name=f"{a_name} again" if a.twin_of else a_name,
        b_name=b_name,
        parameters=parameters,
        decided_by=int(entry.get("n", 0)),
        sd=math.nan if sd is None else float(sd),
        needed=entry.get("needed"),
        reached_percent=reached,
        reason=str(entry.get("reason", "")),
        outcome=entry.get("outcome") or "",
        expected=entry.get("expected"),
    )


def _half_width_percent(interval: Interval | None, alone: bool) -> float:
    """Return half of the interval on the log scale, as the percentage by which a ratio can be larger.

    For a cell that stops alone, return half of the interval in percent of the mean.
    """
    if interval is None or math.isnan(interval.low) or math.isinf(interval.high):
        return math.nan
    if alone:
        return 50.0 * (interval.high - interval.low) / interval.point
    if interval.low <= 0.0:
        return math.nan
    return 100.0 * (math.sqrt(interval.high / interval.low) - 1.0)
