"""The topic of scores: every program against the reference machine, and their geometric mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regatta.answers.page.ratio_rows import RatioFrame, RatioRow, ratio_figures, ratio_span, reading
from regatta.answers.page.view import View
from regatta.answers.topics.scores.result import SuiteScore
from regatta.figures.axes import Group
from regatta.figures.section import Section, Table
from regatta.figures.text import choose_scale

_COLUMNS = ("suite", "size", "run", "configuration", "benchmark", "reference", "elapsed", "n", "score")


def scores_section(found: Sequence[SuiteScore], view: View) -> Section | None:
    """A dot plot with intervals for each suite, size and host, and tables; None where no suite has a reference."""
    if not found:
        return None
    several = _several(found)
    groups: dict[str, list[SuiteScore]] = {}
    for score in found:
        groups.setdefault(_place(score, several), []).append(score)
    return Section(
        "scores",
        "Scores",
        "Scores against a reference machine",
        "A score is copies × the reference machine's time / the mean elapsed time: with one copy it is a speed, with several a rate. "
        "The dashed line is the reference machine with one copy. The geometric mean's interval is for these very benchmarks and comes "
        "from the invocations; reference times are taken as exact.",
        groups=[group for place, scores in groups.items() if (group := _group(place, scores)) is not None],
    )


def scores_tables(found: Sequence[SuiteScore], view: View) -> list[Table]:
    """Every benchmark with its score, and those without one."""
    several = _several(found)
    return [_table(found, several), *_left_out(found, several)] if found else []


def _several(found: Sequence[SuiteScore]) -> bool:
    return len({score.host for score in found}) > 1


def _place(score: SuiteScore, several: bool) -> str:
    return f"{score.suite} {score.size}" + (f" on {score.host}" if several else "")


def _run(score: SuiteScore) -> str:
    """`speed`, or `rate of 4 copies, placement compact`."""
    what = "speed" if score.kind == "speed" else f"rate of {score.copies} copies"
    return ", ".join([what, *(f"{key} {text}" for key, text in sorted(score.parameters.items()))])


def _group(place: str, scores: list[SuiteScore]) -> Group | None:
    estimates = [e for score in scores for e in (score.overall, *(m.score for m in score.members))]
    frame = RatioFrame(f"times as fast as {scores[0].machine}", ratio_span(estimates, 0.0), 0.0)
    rows = {f"{_run(score)} · {score.configuration}": _rows(score) for score in scores if score.members}
    figures = ratio_figures(rows, frame)
    return Group(place, figures) if figures else None


def _rows(score: SuiteScore) -> list[RatioRow]:
    rows = [
        RatioRow(member.name, member.score, math.nan, "@c0", "circle", (member.benchmark,))
        for member in score.members
    ]
    rows.append(RatioRow(_mean_of(score), score.overall, math.nan, "@ink", "diamond", ("geometric mean",)))
    return rows


def _mean_of(score: SuiteScore) -> str:
    of = f"all {score.of}" if score.complete else f"{len(score.members)} of {score.of}"
    return f"geometric mean of {of}"


def _table(found: Sequence[SuiteScore], several: bool) -> Table:
    rows = []
    for score in found:
        place = (score.suite, score.size, _run(score), score.configuration)
        host = (score.host,) if several else ()
        for member in score.members:
            scale = choose_scale([member.elapsed_s], "s")
            rows.append(
                (
                    *host, *place, member.name, f"{member.reference_s:.4g} s",
                    scale.with_unit(member.elapsed_s.point), str(member.score.n), reading(member.score),
                )
            )  # fmt: skip
        if score.members:
            rows.append((*host, *place, _mean_of(score), score.machine, "", "", reading(score.overall)))
    columns = ("host", *_COLUMNS) if several else _COLUMNS
    return Table("", columns, rows, frozenset({5 + several, 6 + several, 7 + several}))


def _left_out(found: Sequence[SuiteScore], several: bool) -> list[Table]:
    """What is in no mean, and why; nothing where every suite is complete."""
    rows = [
        (
            *((score.host,) if several else ()),
            score.suite,
            score.size,
            _run(score),
            score.configuration,
            name,
            reason,
        )
        for score in found
        for name, reason in score.left_out
    ]
    columns = ("suite", "size", "run", "configuration", "benchmark", "why it has no score")
    return (
        [Table("Without a score", ("host", *columns) if several else columns, rows, detail=True)]
        if rows
        else []
    )
