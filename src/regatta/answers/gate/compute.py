"""Judge a gate: has an alternative become worse than the baseline, beyond chance?

All comparisons of a host share the error, as in the rule `decide` that measured them. Each is judged by its interval alone:

- `equivalent`: it excludes every relevant change;
- `better`, `worse`: it excludes "no change", whatever the size of the change;
- `undecided`: neither; or the A/A test in the same blocks failed; or the sides were not measured in the same blocks.
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
from regatta.answers.spine.words import counted
from regatta.answers.topics.aa.compute import Gate, TwinPair, judge_gates
from regatta.host.errors import StoreError
from regatta.host.files import read_object
from regatta.stats.all_pairs import simultaneous
from regatta.stats.estimate import DISTURBED, Contrast, undefined
from regatta.stats.looks import smallest_found
from regatta.stats.multiplicity import sidak_p
from regatta.stats.proportion import proportion_interval, too_often_p
from regatta.stats.ratios import PAIRED
from regatta.store.database import Progress, open_database
from regatta.store.folder import Folder
from regatta.store.receipts import hosts_left_out

#: document of a gate in the folder of its experiment; other gates count their false alarms in it
DOCUMENT = "gate.json"
#: chance with which a change is found, in `finds_percent`
FOUND = 0.9
#: fewer blocks do not show how much they vary
_LEAST_BLOCKS = 10
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
    verified = read_object(folder.verdict).get("problems")
    problems = (
        *_without_counterpart(context),
        *(f"{cell}: {reason}" for cell, reason in context.impossible),
        *(f"host {host}: {why}" for host, why in hosts_left_out(folder).items()),
        *(str(problem) for problem in (verified if isinstance(verified, list) else ())),
    )
    # The level of each host has nine decimals.
    budget = round(100.0 * (1.0 - level ** len(hosts)), 6)
    return GateAnswer(
        experiment=context.facts.name,
        verdict=_overall(rows, problems),
        candidates=tuple(dict.fromkeys(row.candidate for row in rows)),
        baseline=", ".join(dict.fromkeys(row.baseline for row in rows)),
        hosts=context.facts.hosts,
        relevance_percent=float(rule["target_percent"]),
        false_alarms_percent=budget,
        level=level,
        rows=rows,
        problems=problems,
        false_alarms=_false_alarms(folder, context.facts.hosts, copies, together, level),
        warnings=(*damaged_lines(context.connection), *context.warnings),
    )


def _without_counterpart(context: Context) -> list[str]:
    """Return the cells that are measured and compared with nothing."""
    used = {cell.number for pair in context.pairs for cell in (pair.cell, pair.base)}
    return [
        f"{cell.label}, {cell.place.host}: it has no baseline, or is the baseline of nothing"
        for cell in context.samples.cells
        if cell.number not in used
    ]


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
            if not _is_alarm(gate, pair, together[gate.host], context.facts.level):
                continue
            why = "the baseline differed from its own copy"
            if gate.holds is False:
                why = "the A/A test of this host failed: intervals are too narrow"
            for group in context.stops.groups:
                blocks = [(cell.place.host, cell.cell_id) for cell in group.cells]
                if (gate.host, cell_id) in blocks:
                    found.update(dict.fromkeys(blocks, why))
    return found


def _is_alarm(gate: Gate, pair: TwinPair, together: int, level: float) -> bool:
    """Return whether a copy differs from the baseline, or its host finds too many differences in a few blocks."""
    return gate.holds is False or sidak_p(pair.p, together) < 1.0 - level


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
    contrast, spoils = one.contrast, spoiled.get((host, cell.cell_id), "")
    failures = {
        name: failed.get((host, side.cell_id)) for name, side in ((candidate, cell), (baseline, base))
    }
    # Nothing is said about sides that were not measured in the same blocks: a machine differs from day to day.
    why = next((_failure_words(name, of) for name, of in failures.items() if of), "") or one.why_apart
    if why:
        contrast = Contrast(undefined(contrast.interval.n, context.facts.level, PAIRED, why), math.nan)
    elif not contrast.interval.is_disturbed:
        contrast = simultaneous(contrast, together)
    verdict, reason = verdict_of(contrast, cell.better, float(rule["target_percent"]))
    if any(failures.values()):
        verdict = "failed"
    elif spoils:
        verdict, reason = "undecided", spoils
    elif verdict == "undecided" and not reason and one.left_out:
        reason = f"{counted(one.left_out, 'invocation')} without a partner in the block"
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


def _failure_words(name: str, failure: Failure | None) -> str:
    if failure is None:
        return ""
    return f"{name}: {counted(failure.count, 'invocation')} {failure.status} ({failure.reason})"


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
    """Return the smallest change that `maximum` rounds find with the chance `FOUND`, in percent; NaN with too few blocks.

    A spread of few blocks, after which measuring stopped, is too small as often as not.
    """
    if pair.a is None or pair.b is None or len(pair.common) < _LEAST_BLOCKS:
        return math.nan
    values = [pair.a.by_block[key] / pair.b.by_block[key] for key in pair.common]
    if min(values) <= 0.0:
        return math.nan
    deviation = float(np.log(values).std(ddof=1))
    return 100.0 * math.expm1(smallest_found(deviation, maximum, level ** (1.0 / together), FOUND))


def _overall(rows: tuple[GateRow, ...], problems: tuple[str, ...]) -> Outcome:
    """Return the verdict on all comparisons: the worst of theirs; with a problem, no change is undecided."""
    found = {row.verdict for row in rows}
    for verdict in ("failed", "worse"):
        if verdict in found:
            return verdict
    if "undecided" in found or problems or not rows:
        return "undecided"
    return "better" if "better" in found else "equivalent"


def _false_alarms(
    folder: Folder,
    hosts: Mapping[str, Mapping[str, str]],
    copies: tuple[Gate, ...],
    together: Mapping[str, int],
    level: float,
) -> FalseAlarms:
    """Count the copies of this gate, and the gates with false alarms of the same hosts and level next to its folder."""
    judged = [(gate, pair) for gate in copies for pair in gate.pairs if not math.isnan(pair.p)]
    alarms = sum(_is_alarm(gate, pair, together[gate.host], level) for gate, pair in judged)
    gates = Counter([alarms > 0] if judged else [])
    for path in folder.path.parent.glob(f"*/{DOCUMENT}"):
        if path.parent.name != folder.name:
            gates.update(_of_other(path, hosts, level))
    number, with_alarm = gates.total(), gates[True]
    # The error that the copies have of that of all comparisons.
    accepted = 1.0 - math.prod(level ** (1.0 / together[gate.host]) for gate, _ in judged)
    return FalseAlarms(
        copies=len(judged),
        alarms=alarms,
        gates=number,
        gates_with_alarm=with_alarm,
        rate=proportion_interval(with_alarm, number),
        p=too_often_p(with_alarm, number, accepted) if judged else math.nan,
    )


def _of_other(path: Path, hosts: Mapping[str, Mapping[str, str]], level: float) -> list[bool]:
    """Return whether another gate of the same hosts and level had a false alarm; nothing if it is not known."""
    document = read_object(path)
    own, alarms = document.get("hosts"), document.get("false_alarms")
    if not isinstance(own, dict) or not isinstance(alarms, dict) or document.get("level") != level:
        return []
    if _processors(own) != _processors(hosts):
        return []
    copies, count = alarms.get("copies"), alarms.get("alarms")
    return [count > 0] if isinstance(copies, int) and isinstance(count, int) and copies > 0 else []


def _processors(hosts: Mapping[str, Any]) -> dict[str, Any]:
    """Return host -> its processor: another machine can have the name of an earlier one, such as `local`."""
    return {host: facts.get("cpu") if isinstance(facts, dict) else None for host, facts in hosts.items()}


def is_too_often(alarms: FalseAlarms) -> bool:
    """Return whether the gates so far had more false alarms than the budget explains."""
    return alarms.p < _SIGNIFICANT
