"""The topic of scores of suites against reference machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from regatta.answers.kit.plain import plain, row_of, text_of
from regatta.answers.kit.ratio_rows import RatioRow, ratio_group
from regatta.answers.kit.topic import Document, Lead, Rows, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.groups import grouped
from regatta.answers.topics.scores.compute import SuiteScore, find_references, judge_scores
from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.text import choose_scale, joined, show_interval

_COLUMNS = (
    "host",
    "suite",
    "size",
    "run",
    "configuration",
    "benchmark",
    "reference",
    "elapsed",
    "n",
    "score",
)


def scores_section(found: Sequence[SuiteScore], view: View) -> Section | None:
    """Return a dot plot with intervals per suite, size and host, and tables; None if no suite has a reference."""
    if not found:
        return None
    groups = grouped(found, lambda score: joined(f"{score.suite} {score.size}", view.on_host(score.host)))
    return Section(
        "scores",
        words="Score = copies × reference time / mean elapsed time: a speed with one copy, a rate with several. The dashed line is the "
        "reference machine with one copy. The interval of the geometric mean is for exactly these benchmarks, from the variance of "
        "invocations. Reference times are treated as exact.",
        groups=[group for place, scores in groups.items() if (group := _group(place, scores)) is not None],
    )


def scores_tables(found: Sequence[SuiteScore], view: View) -> list[Table]:
    """Return every benchmark with its score, and those without one."""
    return [_table(found, view), _left_out(found, view)]


def _run(score: SuiteScore) -> str:
    """Return `speed`, or `rate of 4 copies, placement compact`."""
    what = "speed" if score.kind == "speed" else f"rate of {score.copies} copies"
    return ", ".join([what, *(f"{key} {text}" for key, text in sorted(score.parameters.items()))])


def _group(place: str, scores: list[SuiteScore]) -> Group | None:
    rows = {f"{_run(score)} · {score.configuration}": _ratio_rows(score) for score in scores if score.members}
    return ratio_group(place, rows, f"times as fast as {scores[0].machine}", 0.0)


def _ratio_rows(score: SuiteScore) -> list[RatioRow]:
    rows = [
        RatioRow(member.name, member.score, math.nan, "@c0", "circle", (member.benchmark,))
        for member in score.members
    ]
    rows.append(RatioRow(_mean_of(score), score.overall, math.nan, "@ink", "diamond", ("geometric mean",)))
    return rows


def _mean_of(score: SuiteScore) -> str:
    of = f"all {score.of}" if score.complete else f"{len(score.members)} of {score.of}"
    return f"geometric mean of {of}"


def _table(found: Sequence[SuiteScore], view: View) -> Table:
    rows = []
    for score in found:
        place = _where(score, view)
        for member in score.members:
            elapsed = choose_scale([member.elapsed_s], "s").with_unit(member.elapsed_s.point)
            reference, n = f"{member.reference_s:.4g} s", str(member.score.n)
            rows.append((*place, member.name, reference, elapsed, n, show_interval(member.score)))
        if score.members:
            rows.append((*place, _mean_of(score), score.machine, "", "", show_interval(score.overall)))
    return Table("", _COLUMNS, rows, frozenset({6, 7, 8}))


def _left_out(found: Sequence[SuiteScore], view: View) -> Table:
    """Return the benchmarks excluded from means, with reasons; no rows if every suite is complete."""
    rows = [(*_where(score, view), name, reason) for score in found for name, reason in score.left_out]
    return Table("Excluded benchmarks", (*_COLUMNS[:6], "reason"), rows, detail=True)


def _where(score: SuiteScore, view: View) -> tuple[str, ...]:
    return view.host(score.host), score.suite, score.size, _run(score), score.configuration


def _compute(context: Context) -> tuple[SuiteScore, ...]:
    cells = context.cells
    several_hosts = len({cell.place.host for cell in cells}) > 1
    return judge_scores(cells, find_references(cells), context.facts.level, several_hosts)


def _words(scores: Sequence[SuiteScore], _: Context) -> tuple[str, ...]:
    return tuple(score.words for score in scores)


def _document(scores: Sequence[SuiteScore]) -> list[dict[str, Any]]:
    return [{**plain(score), "of": score.of, "complete": score.complete} for score in scores]


def _rows(scores: Sequence[SuiteScore]) -> Iterator[dict[str, Any]]:
    """Yield the scores of benchmarks and suites; `value` is the speed relative to machine `b`."""
    for score in scores:
        common = {"host": score.host, "metric": score.kind, "a": score.configuration, "b": score.machine}
        for member in score.members:
            yield {**common, "kind": "score", "benchmark": member.benchmark, **row_of(member.score)}
        parameters = text_of({**score.parameters, "copies": score.copies, "size": score.size})
        overall = {**row_of(score.overall), "parameters": parameters}
        yield {**common, "kind": "suite-score", "benchmark": score.suite, **overall}


SCORES: Topic[tuple[SuiteScore, ...]] = Topic(
    "scores",
    title="Scores",
    empty=(),
    compute=_compute,
    words=Words(50, "Scores", _words),
    document=Document(30, "scores", _document),
    rows=Rows(10, _rows),
    section=scores_section,
    tables=scores_tables,
    terminal=True,
    lead=lambda scores, context: Lead(_words(scores, context)),
)
