"""What the rules of stopping decided on the hosts, and whether it was enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.answers.comparisons import contrasts_of
from regatta.answers.names import Names, configuration, short_names
from regatta.answers.pairs import Pair
from regatta.answers.samples import PlannedCell, Samples, Series
from regatta.answers.topics.stopping.result import StoppedGroup, StoppedPair
from regatta.answers.words import counted
from regatta.host.journal.decisions import groups_of, read_decisions
from regatta.host.journal.stopping import LEAST_BLOCKS
from regatta.stats.estimate import Interval
from regatta.stats.intervals import geometric_mean
from regatta.store.folder import Folder

#: what is within the target but for rounding
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class _Group:
    """A block group as the plan has it, with what was decided."""

    cells: tuple[PlannedCell, ...]
    #: what is compared; the second is None where a cell is alone
    pairs: tuple[tuple[PlannedCell, PlannedCell | None], ...]
    discarded: int
    rule: Mapping[str, Any]
    #: None: nothing yet
    decision: Mapping[str, Any] | None

    @property
    def needed(self) -> int | None:
        return None if self.decision is None else self.decision["needed"]


class Stops:
    """All block groups of an experiment whose number of rounds was not fixed; none where it was."""

    def __init__(self, groups: Sequence[_Group] = ()) -> None:
        self.groups = groups
        self._of = {(cell.host, cell.cell_id): group for group in groups for cell in group.cells}

    def pilot_pairs(self, pair: Pair) -> int | None:
        """How many common blocks of a comparison chose the number of rounds, by Stein's rule.

        Returns:
            None where another rule or none was at work, or where the number was not chosen by the spread (several modes, too few
            common blocks, nothing decided yet): then the ordinary interval is right.
        """
        group = self._of.get((pair.cell.host, pair.cell.cell_id))
        if group is None or group is not self._of.get((pair.base.host, pair.base.cell_id)):
            return None
        if group.rule["rule"] != "stein" or group.decision is None or group.decision["modes"]:
            return None
        last = group.discarded + group.rule["pilot"]
        count = sum(group.discarded <= round_ < last for _, round_, _ in pair.common)
        return count if count >= LEAST_BLOCKS else None


def read_stops(experiment_dir: Path, samples: Samples) -> Stops:
    """Read the plans' block groups and the decisions about them.

    Raises:
        StoreError: a plan cannot be read.
    """
    folder = Folder(experiment_dir)
    planned = {(cell.host, cell.cell_id): cell for cell in samples.cells}
    planned |= {(twin.host, twin.cell_id): twin for _, twin in samples.twins}
    groups = []
    for host in folder.planned_hosts():
        header = folder.host_header(host)
        decisions = read_decisions(folder.decisions(host)) if groups_of(header) else {}
        for group in groups_of(header):
            cells = {i: planned[host, header["cells"][i]["cell_id"]] for i in group["cells"]}
            groups.append(
                _Group(
                    tuple(cells.values()),
                    tuple((cells[a], None if b is None else cells[b]) for a, b in group["pairs"]),
                    int(header["discarded_rounds"]),
                    header["stopping"],
                    decisions.get(group["key"]),
                )
            )
    return Stops(groups)


def judge_stops(stops: Stops, samples: Samples, level: float, names: Names) -> tuple[StoppedGroup, ...]:
    """For each block group: what was needed, what was run, and how narrow the intervals are.

    Args:
        stops: from `read_stops`.
        samples: of the experiment.
        level: confidence of the intervals, between 0 and 1.
        names: for the sentences.
    """
    return tuple(_judge(group, stops, samples, level, names) for group in stops.groups)


def stop_words(groups: Sequence[StoppedGroup]) -> tuple[str, ...]:
    """Sentences: how much was saved, where the target was not met, what is still open."""
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


def _judge(group: _Group, stops: Stops, samples: Samples, level: float, names: Names) -> StoppedGroup:
    rule, decision = group.rule, group.decision
    told = {(p["a"], p["b"], p["series"]): p for p in (decision or {}).get("pairs", ())}
    pairs = [
        _pair(interval, a, b, parameters, told)
        for a, b in group.pairs
        for interval, parameters in _intervals(a, b, stops, samples, level)
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
        host=group.cells[0].host,
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


def _intervals(
    a: PlannedCell, b: PlannedCell | None, stops: Stops, samples: Samples, level: float
) -> list[tuple[Interval | None, str]]:
    """The interval of each series of a comparison, with the series' parameters."""
    if b is None:
        return [(geometric_mean(s.values, level), s.parameters_text) for s in _own(samples, a)] or [
            (None, "")
        ]
    others = {(s.unit, s.parameters_text): s for s in _own(samples, b)}
    pairs = [Pair(a, b, s, others.get((s.unit, s.parameters_text))) for s in _own(samples, a)]
    if not pairs:
        return [(None, "")]
    found = contrasts_of(pairs, level, stops.pilot_pairs)
    return [
        (one.contrast.interval, pair.a.parameters_text)
        for pair, one in zip(pairs, found, strict=True)
        if pair.a
    ]


def _own(samples: Samples, cell: PlannedCell) -> list[Series]:
    return [s for s in samples.series.get(cell.number, ()) if s.metric == cell.metric]


def _pair(
    interval: Interval | None,
    a: PlannedCell,
    b: PlannedCell | None,
    parameters: str,
    told: Mapping[tuple[str, str, str], Mapping[str, Any]],
) -> StoppedPair:
    entry = told.get((a.cell_id, b.cell_id if b else "", parameters), {})
    sd = entry.get("sd")
    a_name, b_name, _ = short_names(a, b) if b else (configuration(a), "", set())
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
    """Half of the interval on logs, as the per cent by which a ratio may be larger."""
    if interval is None or math.isnan(interval.low) or interval.low <= 0.0 or math.isinf(interval.high):
        return math.nan
    return 100.0 * (math.sqrt(interval.high / interval.low) - 1.0)
