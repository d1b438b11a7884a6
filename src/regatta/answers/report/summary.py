"""Summarize for the first screen and the closing sections: counts, failures, impossible cells, methods."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from regatta.answers.report import registry
from regatta.answers.spine.methods import method_name
from regatta.answers.spine.parts import Sample
from regatta.answers.spine.result import Answer, CellAnswer
from regatta.figures.section import Table
from regatta.figures.text import show_heap


@dataclass(frozen=True)
class Counts:
    """Invocations of the experiment. `missing`: planned, but not yet recorded."""

    planned: int
    recorded: int
    failed: int
    perturbed: int
    #: not run because their cells were given up
    skipped: int = 0
    given_up_cells: int = 0

    @property
    def missing(self) -> int:
        """Return the number of planned invocations without a record."""
        return max(0, self.planned - self.recorded)


@dataclass(frozen=True)
class PerturbedCell:
    """The perturbed invocations of one cell; `kept` of them are in its estimate because no better retry exists."""

    name: str
    host: str
    cell_id: str
    excluded: int
    kept: int
    where: str


def count(answer: Answer) -> Counts:
    """Count invocations, each once regardless of its number of metrics."""
    skipped = [failure for failure in answer.failures if failure.status == "skipped"]
    failed = sum(failure.count for failure in answer.failures if failure.status != "skipped")
    return Counts(
        answer.planned,
        answer.recorded,
        failed,
        answer.statuses.get("perturbed", 0),
        sum(failure.count for failure in skipped),
        len({(failure.host, failure.cell_id) for failure in skipped}),
    )


def measured_when(answer: Answer) -> str:
    """Return the first and last start of a measured invocation in UTC; "" without any."""
    starts = [s.started_utc_ns for cell in answer.cells for s in (*cell.samples, *cell.perturbed)]
    if not starts:
        return ""
    first, last = (datetime.fromtimestamp(ns // 10**9, UTC) for ns in (min(starts), max(starts)))
    end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M}"
    return f"{first:%Y-%m-%d %H:%M} to {end} UTC"


def perturbed_cells(answer: Answer) -> list[PerturbedCell]:
    """Return cells with perturbed invocations, each cell once."""
    found: dict[tuple[str, str], tuple[CellAnswer, dict[tuple[str, int], str], set[tuple[str, int]]]] = {}
    for cell, sample in _perturbed_samples(answer):
        _, places, kept = found.setdefault((cell.place.host, cell.cell_id), (cell, {}, set()))
        key = (sample.invocation_id, sample.started_utc_ns)
        places[key] = f"round {sample.round}, block {sample.block}, position {sample.position}"
        if sample in cell.samples:
            kept.add(key)
    return [
        PerturbedCell(
            cell_name(cell),
            cell.place.host,
            cell.cell_id,
            len(places) - len(kept),
            len(kept),
            "; ".join(places.values()),
        )
        for cell, places, kept in found.values()
    ]


def cell_name(cell: CellAnswer) -> str:
    """Return benchmark, configuration and heap in one line."""
    return ", ".join(
        part
        for part in (cell.place.benchmark, cell.place.configuration, show_heap(cell.place.heap, "heap "))
        if part
    )


def failures_table(answer: Answer) -> Table | None:
    """Return invocations without a value, one row per cell, status and reason; None without any."""
    several = len({cell.place.host for cell in answer.cells}) > 1
    rows = [
        (
            one.cell,
            one.host if several else "",
            one.status,
            str(one.count),
            one.reason,
            f"regatta explain {one.cell_id}",
            ", ".join(one.invocation_ids),
        )
        for one in answer.failures
    ]
    columns = ("cell", "host", "status", "count", "reason", "command", "invocations")
    table = Table("", columns, rows, numeric=frozenset({3}), folded=frozenset({6}))
    return table.without_empty() if rows else None


def impossible_table(answer: Answer) -> Table | None:
    """Return impossible cells, one row per cell; None without any."""
    return Table("", ("cell", "reason"), answer.impossible) if answer.impossible else None


def impossible_by_reason(answer: Answer) -> list[tuple[str, list[str]]]:
    """Return reasons with their impossible cells."""
    groups: dict[str, list[str]] = {}
    for cell, reason in answer.impossible:
        groups.setdefault(reason, []).append(cell)
    return list(groups.items())


def methods(answer: Answer) -> dict[str, list[str]]:
    """Return computed quantity -> the names of its methods."""
    found = {
        "Mean and CI": {cell.estimate.method for cell in answer.cells},
        "Ratio to the baseline": {row.ratio.method for row in answer.comparisons},
        **{
            what: names
            for topic in registry.TOPICS
            if topic.methods is not None
            for what, names in topic.methods(topic.of(answer)).items()
        },
        "Differences among alternatives": {family.method for family in answer.families},
        "Pairs": {pair.ratio.method for family in answer.families for pair in family.pairs},
    }
    return {what: sorted(map(method_name, names - {""})) for what, names in found.items() if names - {""}}


def _perturbed_samples(answer: Answer) -> list[tuple[CellAnswer, Sample]]:
    return [
        (cell, sample)
        for cell in answer.cells
        for sample in (*cell.perturbed, *(s for s in cell.samples if s.perturbed))
    ]
