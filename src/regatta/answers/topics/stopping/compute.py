"""Report the decisions of stopping rules on the hosts, and whether the precision is sufficient."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regatta.answers.comparisons import contrasts_of
from regatta.answers.context import Context
from regatta.answers.names import short_names
from regatta.answers.pairs import Pair
from regatta.answers.samples import PlannedCell
from regatta.answers.stops import StopGroup
from regatta.answers.words import counted
from regatta.stats.estimate import Interval
from regatta.stats.intervals import geometric_mean


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


@dataclass(frozen=True)
class StoppedGroup:
    """One block group. Only rounds that count are included."""

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


#: tolerance of the target for rounding errors
_TOLERANCE = 1e-6


def judge_stops(context: Context) -> tuple[StoppedGroup, ...]:
    """Return for each block group the rounds needed, the rounds run, and the widths of the intervals."""
    return tuple(_judge(group, context) for group in context.stops.groups)


def stop_words(groups: Sequence[StoppedGroup]) -> tuple[str, ...]:
    """Describe the savings, the missed targets and the open decisions."""
    if not groups:
        return ()
    first = groups[0]
    rule = {"stein": "Stein's rule", "javastats": "the rule of JavaStats"}[first.rule]
    decided = [group for group in groups if group.needed is not None]
    target = f"{rule}, ratios within {first.target_percent:g} % wanted"
    words = []
    if decided:
        early = sum((group.needed or 0) < group.maximum for group in decided)
        words.append(
            f"{target}: {early} of {counted(len(decided), 'block group')} needed fewer than {first.maximum} rounds"
            f"{_saved_words(decided)}"
        )
    if len(decided) < len(groups):
        words.append(
            f"{target}: not decided yet for {counted(len(groups) - len(decided), 'block group')};"
            f" at most {first.maximum} rounds will be run"
        )
    words += [group.words for group in decided if group.words]
    if first.rule == "javastats":
        words.append(
            "intervals at which measuring stopped because they were narrow cover less than they say: 0.90 to 0.94 instead of 0.95"
            " with a pilot of 3 rounds, 0.94 to 0.95 with one of 10; Stein's rule keeps what it says for each comparison"
        )
    return tuple(words)


def _saved_words(decided: Iterable[StoppedGroup]) -> str:
    saved = sum(group.saved for group in decided)
    return f"; {counted(saved, 'invocation')} saved against all at the maximum" if saved else ""


def _judge(group: StopGroup, context: Context) -> StoppedGroup:
    rule, decision = group.rule, group.decision
    samples, names = context.samples, context.names
    told = {(p["a"], p["b"], p["series"]): p for p in (decision or {}).get("pairs", ())}
    pairs = [
        _pair(interval, a, b, parameters, told)
        for a, b in group.pairs
        for interval, parameters in _intervals(a, b, context)
    ]
    widths = [pair.reached_percent for pair in pairs if not math.isnan(pair.reached_percent)]
    reached = max(widths, default=math.nan)
    needed = group.needed
    met = None if needed is None or not widths else reached <= rule["target_percent"] * (1 + _TOLERANCE)
    run = max(sum(samples.statuses.get(cell.number, {}).values()) for cell in group.cells) - group.discarded
    modes = tuple((decision or {}).get("modes", ()))
    place = names.place(group.cells[0], {})
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
        saved=0 if needed is None else (rule["maximum"] - needed) * len(group.cells),
        reached_percent=reached,
        met=met,
        modes=modes,
        pairs=tuple(pairs),
        reason=(decision or {}).get("reason", "not decided yet"),
        words=_group_words(where, needed, reached, met, modes, rule),
    )


def _group_words(
    where: str,
    needed: int | None,
    reached: float,
    met: bool | None,
    modes: Sequence[str],
    rule: Mapping[str, Any],
) -> str:
    if needed is None:
        return ""
    words = []
    if modes:
        words.append(
            f"several modes in the first {rule['pilot']} rounds of {', '.join(modes)}: see how its values are spread"
        )
    if met is False:
        words.append(
            f"target not met: {counted(needed, 'round')} give {reached:.2g} % instead of {rule['target_percent']:g} %"
        )
    return f"{where}: {'; '.join(words)}" if words else ""


def _intervals(a: PlannedCell, b: PlannedCell | None, context: Context) -> list[tuple[Interval | None, str]]:
    """Return the interval of each series of a comparison, with the series' parameters."""
    samples, level = context.samples, context.facts.level
    if b is None:
        return [(geometric_mean(s.values, level), s.parameters_text) for s in samples.own(a)] or [(None, "")]
    others = {(s.unit, s.parameters_text): s for s in samples.own(b)}
    pairs = [Pair(a, b, s, others.get((s.unit, s.parameters_text))) for s in samples.own(a)]
    if not pairs:
        return [(None, "")]
    found = contrasts_of(pairs, level, context.stops.pilot_pairs)
    return [
        (one.contrast.interval, pair.a.parameters_text)
        for pair, one in zip(pairs, found, strict=True)
        if pair.a
    ]


def _pair(
    interval: Interval | None,
    a: PlannedCell,
    b: PlannedCell | None,
    parameters: str,
    told: Mapping[tuple[str, str, str], Mapping[str, Any]],
) -> StoppedPair:
    entry = told.get((a.cell_id, b.cell_id if b else "", parameters), {})
    sd = entry.get("sd")
    a_name, b_name, _ = short_names(a, b) if b else (a.place.configuration, "", set())
    return StoppedPair(
        a_name=f"{a_name} again" if a.twin_of else a_name,
        b_name=b_name,
        parameters=parameters,
        decided_by=int(entry.get("n", 0)),
        sd=math.nan if sd is None else float(sd),
        needed=entry.get("needed"),
        reached_percent=_half_width_percent(interval),
        reason=str(entry.get("reason", "")),
    )


def _half_width_percent(interval: Interval | None) -> float:
    """Return half of the interval on the log scale, as the percentage by which a ratio can be larger."""
    if interval is None or math.isnan(interval.low) or interval.low <= 0.0 or math.isinf(interval.high):
        return math.nan
    return 100.0 * (math.sqrt(interval.high / interval.low) - 1.0)
