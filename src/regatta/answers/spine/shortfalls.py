"""Report shortfalls of the data: missing, failed, perturbed or unsteady invocations."""

from __future__ import annotations

import json
from collections import Counter

import duckdb

from regatta.answers.spine.groups import grouped
from regatta.answers.spine.samples import PlannedCell, Samples
from regatta.answers.spine.words import counted
from regatta.figures.text import show_percent
from regatta.host.printable import printable
from regatta.host.values.experiment import SteadyState

#: of the mark on an estimate
MEANING = (
    "disturbed: fewer than 2 undisturbed invocations, so the value includes perturbed ones. It describes a busy machine, and "
    "supports no conclusion"
)
#: maximum number of unplanned cells to name
_NAMED = 5


def shortfalls(samples: Samples, steady: SteadyState, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return one sentence per kind of shortfall."""
    warnings = []
    missing = sum(
        max(0, c.planned - sum(samples.statuses.get(c.number, {}).values())) for c in samples.measured_cells
    )
    if missing:
        warnings.append(f"{counted(missing, 'planned invocation')} not recorded yet")
    failed = sum(failure.count for failure in samples.failures if failure.status != "skipped")
    if failed:
        warnings.append(f"{counted(failed, 'invocation')} failed; excluded from estimates (see Failures)")
    skipped = [failure for failure in samples.failures if failure.status == "skipped"]
    if skipped:
        cells = len({(failure.host, failure.cell_id) for failure in skipped})
        warnings.append(
            f"{counted(cells, 'cell')} given up: "
            f"{counted(sum(failure.count for failure in skipped), 'invocation')} skipped"
        )
    perturbed = sum(statuses.get("perturbed", 0) for statuses in samples.statuses.values())
    if perturbed:
        warnings.append(_perturbed(connection, perturbed, samples))
    warnings += [*_discarded(samples, steady), *_unsteady(samples, steady)]
    silent = sum(_without_number(cell, samples) for cell in samples.cells)
    if silent:
        warmup = f" after {counted(steady.warmup, 'warm-up iteration')}" if steady.method == "fixed" else ""
        warnings.append(f"{counted(silent, 'valid invocation')} without a value of the cell's metric{warmup}")
    return [*warnings, *_unplanned(samples)]


def _perturbed(connection: duckdb.DuckDBPyConnection, count: int, samples: Samples) -> str:
    """Report perturbed invocations: the exceeded limits, the process to end, and what estimates from them mean."""
    limits: Counter[str] = Counter()
    processes: Counter[str] = Counter()
    for (text,) in connection.execute(
        "select perturbation from last_attempts where status = 'perturbed'"
    ).fetchall():
        for one in json.loads(text or "[]"):
            limits[str(one["limit"])] += 1
            if one.get("process"):
                processes[printable(str(one["process"]))] += 1
    why = ", ".join(f"{name} in {n}" for name, n in limits.most_common())
    sentence = f"{counted(count, 'invocation')} perturbed{f' ({why})' if why else ''}"
    if processes:
        ((name, n),) = processes.most_common(1)
        sentence += f"; busiest other process: {name} (in {n})"
    disturbed = any(series.disturbed for many in samples.series.values() for series in many)
    return f"{sentence}; excluded from estimates{f', except those marked {MEANING}' if disturbed else ''}"


def damaged_lines(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return one sentence per host with complete journal lines that are not records."""
    return [
        f"{host}: {counted(lines, 'damaged journal line')} excluded, the first is {first} (list all: `regatta verify`)"
        for host, lines, first in connection.execute("from damage order by host").fetchall()
    ]


def _unplanned(samples: Samples) -> list[str]:
    """Report records of cells that are no longer planned: their number, and the cells that the journal names."""
    cells = samples.unplanned
    if not cells:
        return []
    by_label = grouped((cell for cell in cells if cell.label), lambda cell: cell.label)
    named = []
    for label, own in by_label.items():
        hosts = {cell.host for cell in own}
        where = own[0].host if len(hosts) == 1 else counted(len(hosts), "host")
        named.append(f"{label} ({counted(sum(cell.invocations for cell in own), 'invocation')} on {where})")
    if len(named) > _NAMED:
        named[_NAMED:] = [f"and {len(named) - _NAMED} more (see `regatta records`)"]
    invocations = counted(sum(cell.invocations for cell in cells), "invocation")
    sentence = f"{counted(len(cells), 'cell')} ({invocations}) no longer planned; excluded"
    return [": ".join([sentence, *([", ".join(named)] if named else [])])]


def _discarded(samples: Samples, steady: SteadyState) -> list[str]:
    """Report the discarded rounds, or that nothing was discarded."""
    if not samples.recorded:
        return []
    rounds = max((cell.discarded_rounds for cell in samples.measured_cells), default=0)
    if not rounds:
        return (
            []
            if steady.method not in ("startup", "replay")
            else [
                "the plan discards no rounds: estimates include the first invocation of each series, "
                "which Georges et al. discard because disk caches are cold"
            ]
        )
    count = sum(
        len({sample.invocation_id for series in many for sample in series.discarded})
        for many in samples.series.values()
    )
    first = "first invocation" if rounds == 1 else f"first {rounds} invocations"
    return [f"{first} of each series discarded: {counted(count, 'invocation')}"] if count else []


def _unsteady(samples: Samples, steady: SteadyState) -> list[str]:
    """Report the number of invocations excluded for lack of a steady state, and the cells where most are excluded."""
    missing = sum(missing for missing, _ in samples.unsteady.values())
    if not missing:
        return []
    total = sum(count for _, count in samples.unsteady.values())
    worst = max(samples.unsteady, key=lambda number: samples.unsteady[number][0])
    label = next((cell.label for cell in samples.measured_cells if cell.number == worst), "")
    how = (
        f"no {steady.window} successive iterations vary by less than {show_percent(steady.threshold)}"
        if steady.method == "cov"
        else "no stable level at the end"
    )
    most, of = samples.unsteady[worst]
    return [
        f"no steady state in {missing} of {counted(total, 'invocation')} ({how}); excluded, most of them in {label} "
        f"({most} of {of}). Estimates from the others may be biased"
    ]


def _without_number(cell: PlannedCell, samples: Samples) -> int:
    """Count valid invocations of a cell without a value of its metric that no other message explains."""
    in_pairs = max((series.with_value for series in samples.own(cell) if series.at_once), default=0)
    with_number = {
        sample.invocation_id
        for series in samples.own(cell)
        for sample in (*series.samples, *series.discarded)
        if not sample.perturbed
    }
    unsteady, _ = samples.unsteady.get(cell.number, (0, 0))
    return max(0, samples.statuses.get(cell.number, {}).get("ok", 0) - len(with_number) - in_pairs - unsteady)
