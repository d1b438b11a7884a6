"""Judge a gate: has an alternative become worse than the baseline, beyond what is irrelevant and beyond chance?

All comparisons of a host share the error, as in the rule `decide` that measured them. Each is judged by its interval alone:

- `equivalent`: it excludes every relevant change;
- `better`, `worse`: it excludes "no change";
- `undecided`: neither; or the A/A test beside the comparison found a difference of the baseline to itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from regatta.answers.gate.result import FalseAlarms, GateAnswer, GateRow, Outcome
from regatta.answers.spine.comparisons import PairContrast, with_disturbed
from regatta.answers.spine.context import Context, Options, make_context
from regatta.answers.spine.facts import read_facts
from regatta.answers.spine.names import full_names
from regatta.answers.spine.pairs import Pair, differing
from regatta.answers.spine.result import Failure
from regatta.answers.spine.shortfalls import damaged_lines
from regatta.answers.topics.aa.compute import Gate, judge_gates
from regatta.host.errors import StoreError
from regatta.host.files import read_object
from regatta.stats.all_pairs import simultaneous
from regatta.stats.estimate import DISTURBED, Contrast
from regatta.stats.looks import smallest_found
from regatta.stats.multiplicity import sidak_p
from regatta.stats.proportion import proportion_interval, too_often_p
from regatta.store.database import Progress, open_database
from regatta.store.folder import Folder
from regatta.store.receipts import hosts_left_out

#: document of a gate in the folder of its experiment; other gates count their false alarms in it
DOCUMENT = "gate.json"
#: chance with which a change is found, in `finds_percent`
FOUND = 0.9
#: A rate of false alarms above the budget is reported if it is that improbable.
_SIGNIFICANT = 0.01


def judge_gate(folder: Folder, progress: Progress | None = None) -> GateAnswer:
    """Judge the experiment of a gate, which `regatta gate` planned and measured.

    Args:
        folder: of the experiment, measured to its end.
        progress: as in `answer_experiment`.

    Raises:
        StoreError: the folder has no plan, was not planned by `regatta gate`, or cannot be read.
    """
    facts = read_facts(folder.path)
    with open_database(folder.path, progress) as connection:
        context = make_context(folder.path, connection, facts, Options())
        return _judged(context, folder)


def _judged(context: Context, folder: Folder) -> GateAnswer:
    level, samples = context.facts.level, context.samples
    rule = _rule_of(context)
    copies = judge_gates(context)
    hosts = list(dict.fromkeys(cell.place.host for cell in samples.cells))
    together = {host: _comparisons_of(context, host) for host in hosts}
    spoiled = _spoiled(context, copies, together)
    failed = {(one.host, one.cell_id): one for one in reversed(samples.failures)}
    shown = with_disturbed(context.pairs, context.ratios, level)
    several = len({full_names(pair.cell, pair.base)[0] for pair in context.pairs}) > 1
    rows = tuple(
        _row(context, pair, one, together[pair.cell.place.host], rule, spoiled, failed, several)
        for pair, one in zip(context.pairs, shown, strict=True)
    )
    missing = (
        *(f"{cell}: {reason}" for cell, reason in context.impossible),
        *(f"host {host}: {why}" for host, why in hosts_left_out(folder).items()),
    )
    # The level of each host has nine decimals.
    budget = round(100.0 * (1.0 - level ** len(hosts)), 6)
    return GateAnswer(
        experiment=context.facts.name,
        verdict=_overall(rows, missing),
        candidates=tuple(dict.fromkeys(row.candidate for row in rows)),
        baseline=", ".join(dict.fromkeys(row.baseline for row in rows)),
        hosts=context.facts.hosts,
        relevance_percent=float(rule["target_percent"]),
        false_alarms_percent=budget,
        level=level,
        rows=rows,
        missing=missing,
        false_alarms=_false_alarms(folder, hosts, copies, together, level, budget / 100.0),
        warnings=(*damaged_lines(context.connection), *context.warnings),
    )


def _rule_of(context: Context) -> Mapping[str, Any]:
    """Return the rule `decide` of the experiment. Raises StoreError: it has another one."""
    if not context.stops.looks:
        raise StoreError(
            str(context.folder.path),
            "an experiment of `regatta gate`",
            "another one",
            "run `regatta gate SPEC`",
        )
    return context.stops.groups[0].rule


def _comparisons_of(context: Context, host: str) -> int:
    """Return how many comparisons of a host share the error: as the runner counted them, or more with several percentiles."""
    groups = [group for group in context.stops.groups if group.cells[0].place.host == host]
    compared = sum(pair.cell.place.host == host for pair in context.pairs)
    copied = sum(cell.place.host == host for cell, _ in context.samples.twins)
    return max(1, compared + copied, *(int(group.rule["compared"]) for group in groups))


def _spoiled(
    context: Context, copies: tuple[Gate, ...], together: Mapping[str, int]
) -> dict[tuple[str, str], str]:
    """Return (host, cell id) -> why nothing is concluded: a copy of the baseline in its blocks differed from the baseline."""
    found: dict[tuple[str, str], str] = {}
    for gate in copies:
        originals = [cell.cell_id for cell, _ in context.samples.twins if cell.place.host == gate.host]
        for cell_id, pair in zip(originals, gate.pairs, strict=True):
            if gate.holds is False:
                why = "the A/A test of this host failed: intervals are too narrow"
            elif _differs(pair.p, together[gate.host], context.facts.level):
                why = "the baseline differed from its own copy"
            else:
                continue
            for group in context.stops.groups:
                blocks = [(cell.place.host, cell.cell_id) for cell in group.cells]
                if (gate.host, cell_id) in blocks:
                    found.update(dict.fromkeys(blocks, why))
    return found


def _differs(p: float, together: int, level: float) -> bool:
    return sidak_p(p, together) < 1.0 - level


def _row(
    context: Context,
    pair: Pair,
    one: PairContrast,
    together: int,
    rule: Mapping[str, Any],
    spoiled: Mapping[tuple[str, str], str],
    failed: Mapping[tuple[str, str], Failure],
    several: bool,
) -> GateRow:
    cell, base, series = pair.cell, pair.base, pair.series
    host = cell.place.host
    candidate, baseline = full_names(cell, base)
    parameters = series.parameters if series else {}
    contrast = one.contrast if one.contrast.interval.is_disturbed else simultaneous(one.contrast, together)
    failures = [failed[host, side.cell_id] for side in (cell, base) if (host, side.cell_id) in failed]
    verdict, reason = verdict_of(contrast, cell.better, float(rule["target_percent"]))
    if failures:
        verdict, reason = (
            "failed",
            f"{failures[0].count} invocations {failures[0].status}: {failures[0].reason}",
        )
    elif verdict in ("better", "worse") and (host, cell.cell_id) in spoiled:
        verdict, reason = "undecided", spoiled[host, cell.cell_id]
    title = context.names.where(cell, parameters, set(differing(cell, base)))
    return GateRow(
        title=f"{title} ({candidate})" if several else title,
        candidate=candidate,
        baseline=baseline,
        place=cell.place,
        metric=cell.metric,
        unit=series.unit if series else "",
        better=cell.better,
        parameters=parameters,
        verdict=verdict,
        reason=reason,
        ratio=contrast.interval,
        finds_percent=_finds(pair, together, int(rule["maximum"]), context.facts.level),
    )


def verdict_of(contrast: Contrast, better: str, relevance_percent: float) -> tuple[Outcome, str]:
    """Return the verdict of a ratio candidate / baseline, and why there is none."""
    ratio, relevant = contrast.interval, 1.0 + relevance_percent / 100.0
    if math.isnan(ratio.low) or math.isnan(ratio.high):
        return "undecided", ratio.reason or "no interval"
    if ratio.is_disturbed:
        return "undecided", DISTURBED
    if 1.0 / relevant < ratio.low and ratio.high < relevant:
        return "equivalent", ""
    if ratio.low <= 1.0 <= ratio.high:
        return "undecided", ""
    return ("better" if (ratio.high < 1.0) == (better == "lower") else "worse"), ""


def _finds(pair: Pair, together: int, maximum: int, level: float) -> float:
    """Return the smallest change that `maximum` rounds find with the chance `FOUND`, in percent; NaN with too few blocks."""
    if pair.a is None or pair.b is None or len(pair.common) < 3:
        return math.nan
    values = [pair.a.by_block[key] / pair.b.by_block[key] for key in pair.common]
    if min(values) <= 0.0:
        return math.nan
    deviation = float(np.log(values).std(ddof=1))
    return 100.0 * math.expm1(smallest_found(deviation, maximum, level ** (1.0 / together), FOUND))


def _overall(rows: tuple[GateRow, ...], missing: tuple[str, ...]) -> Outcome:
    """Return the verdict on all comparisons: the worst of theirs; what is missing is undecided."""
    found = {row.verdict for row in rows}
    for verdict in ("failed", "worse"):
        if verdict in found:
            return verdict
    if "undecided" in found or missing or not rows:
        return "undecided"
    return "better" if "better" in found else "equivalent"


def _false_alarms(
    folder: Folder,
    hosts: list[str],
    copies: tuple[Gate, ...],
    together: Mapping[str, int],
    level: float,
    budget: float,
) -> FalseAlarms:
    """Count the copies of this gate, and the gates with false alarms of the same hosts beside its folder."""
    judged = [(pair.p, gate.host) for gate in copies for pair in gate.pairs if not math.isnan(pair.p)]
    alarms = sum(_differs(p, together[host], level) for p, host in judged)
    gates = Counter([alarms > 0] if judged else [])
    for path in folder.path.parent.glob(f"*/{DOCUMENT}"):
        if path.parent.name != folder.name:
            gates.update(_of_other(path, hosts))
    number, with_alarm = gates.total(), gates[True]
    return FalseAlarms(
        copies=len(judged),
        alarms=alarms,
        gates=number,
        gates_with_alarm=with_alarm,
        rate=proportion_interval(with_alarm, number),
        p=too_often_p(with_alarm, number, budget) if number else math.nan,
    )


def _of_other(path: Path, hosts: list[str]) -> list[bool]:
    """Return whether another gate of the same hosts had a false alarm; nothing if it is not known."""
    document = read_object(path)
    own, alarms = document.get("hosts"), document.get("false_alarms")
    if not isinstance(own, dict) or sorted(own) != sorted(hosts) or not isinstance(alarms, dict):
        return []
    copies, count = alarms.get("copies"), alarms.get("alarms")
    return [count > 0] if isinstance(copies, int) and isinstance(count, int) and copies > 0 else []


def is_too_often(alarms: FalseAlarms) -> bool:
    """Return whether the gates so far had more false alarms than the budget explains."""
    return alarms.p < _SIGNIFICANT
