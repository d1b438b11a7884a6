"""Render the report of an experiment."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from regatta.answers.kit.view import View
from regatta.answers.report.cell_table import tables_of
from regatta.answers.report.registry import TOPICS, sections_of
from regatta.answers.report.summary import (
    count,
    failures_table,
    impossible_by_reason,
    measured_when,
    methods,
    perturbed_cells,
)
from regatta.answers.spine.result import Answer
from regatta.answers.spine.short import judged_title, legend_of, short_comparisons
from regatta.figures.fitting import fit
from regatta.figures.html import encoded, fill, number_figures, write_page
from regatta.figures.section import Table
from regatta.figures.text import show_percent

#: Maximum rows of the table in the summary, so that the first screen has room for it.
_SUMMARY_ROWS = 8
#: UID of the data source in `dashboards/provisioning/`
_SOURCE = "regatta-influxdb"
#: UID of a Grafana dashboard -> title of its link; the dashboards are defined in `dashboards/`
_BOARDS = {
    "regatta-experiment": "experiment",
    "regatta-compare-runtimes": "runtimes",
    "regatta-compare-platforms": "platforms",
    "regatta-collectors": "collectors",
    "regatta-host-health": "host health",
    "regatta-history": "history",
    "regatta-vectors": "vectors",
}
_ROOM_MS = 60_000
#: where the values and figures are that a page has no room for
_REST = "`regatta analyze --json` prints all results, and `regatta plot` draws all figures."


@dataclass(frozen=True)
class BoardLink:
    """A dashboard with this experiment selected, in the time range of its measurements."""

    title: str
    url: str


def write_report(answer: Answer, path: Path, grafana_url: str | None = None) -> None:
    """Write the report of an experiment as one self-contained HTML file.

    Args:
        answer: the result of the analysis; may be empty.
        path: the file to write, atomically; missing folders are created.
        grafana_url: URL of the Grafana with the dashboards, to link to.

    Raises:
        StoreError: the file cannot be written.
    """
    write_page(path, encoded(render(answer, grafana_url)))


def render(answer: Answer, grafana_url: str | None = None) -> str:
    """Return the report as HTML text; see `write_report`."""
    view = View(answer)
    return fill(
        "report.html.j2",
        [number_figures(section) for section in fit(sections_of(view), rest=_REST)],
        title=answer.experiment,
        question=answer.question,
        answer=answer,
        compared=_summary_table(answer),
        legend=" ".join(legend_of(answer)),
        undefined=any(not math.isfinite(one.ratio.low) for one in answer.comparisons),
        platforms=answer.platforms if len(answer.platforms) > 1 else {},
        valued=any(math.isfinite(cell.estimate.point) for cell in answer.cells),
        counts=count(answer),
        level=show_percent(answer.level),
        theta=show_percent(answer.theta_percent / 100),
        when=measured_when(answer),
        tables=tables_of(view),
        failures=failures_table(answer),
        perturbed=perturbed_cells(answer),
        impossible=impossible_by_reason(answer),
        methods=methods(answer),
        boards=board_links(answer, grafana_url),
    )


def _summary_table(answer: Answer) -> Table | None:
    """Return the first comparisons, as a terminal shows them; None without any."""
    if not answer.comparisons:
        return None
    table = short_comparisons(answer.comparisons, answer.level, judged=True)
    return replace(table, title=judged_title(answer, table), rows=table.rows[:_SUMMARY_ROWS])


def board_links(answer: Answer, grafana_url: str | None) -> tuple[BoardLink, ...]:
    """Return the dashboards with data of this experiment; empty if the Grafana URL is unknown."""
    if not grafana_url:
        return ()
    query = {"var-datasource": _SOURCE, "var-experiment": answer.experiment}
    times = [
        sample.started_utc_ns // 10**6 for cell in answer.cells for sample in (*cell.samples, *cell.perturbed)
    ]
    if times:
        query |= {"from": str(min(times) - _ROOM_MS), "to": str(max(times) + _ROOM_MS)}
    base = grafana_url.rstrip("/")
    empty = {
        **{topic.board: topic.of(answer) == topic.empty for topic in TOPICS if topic.board},
        "regatta-compare-runtimes": len(answer.runtimes) < 2,
    }
    return tuple(
        BoardLink(title, f"{base}/d/{uid}?{urlencode(query)}")
        for uid, title in _BOARDS.items()
        if not empty.get(uid)
    )
