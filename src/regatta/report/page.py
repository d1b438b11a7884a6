"""The page: puts tables and figures into one HTML file that loads nothing from anywhere."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from regatta.errors import StoreError
from regatta.model.answer import Answer
from regatta.report.axes import Figure, Group
from regatta.report.cell_table import tables_of
from regatta.report.forest import forest_groups
from regatta.report.heap_curves import heap_groups
from regatta.report.looks import Looks
from regatta.report.order_plot import order_groups
from regatta.report.panels import Panel, panels_of
from regatta.report.quantities import show_percent
from regatta.report.series import series_groups
from regatta.report.summary import (
    count,
    families,
    impossible_by_reason,
    measured_when,
    methods,
    perturbed_cells,
)
from regatta.report.topics import Topic, topics_of
from regatta.report.violins import has_perturbed, violin_groups

_TEMPLATES = Path(__file__).parent / "templates"
#: With more figures than this in a section only its first group is open: a phone draws the others when asked.
_OPEN_FIGURES = 12


@dataclass(frozen=True)
class NumberedFigure:
    """A figure and the key under which the page's script finds it."""

    key: str
    figure: Figure


@dataclass(frozen=True)
class Part:
    """One foldable group of a section, with its figures numbered."""

    group: Group
    figures: tuple[NumberedFigure, ...]
    open: bool


@dataclass(frozen=True)
class Section:
    """A topic of the page with its figures numbered."""

    topic: Topic
    parts: tuple[Part, ...]


def write_report(answer: Answer, path: Path) -> None:
    """Write the report of an experiment as one self-contained HTML file.

    The file appears whole or not at all: it is written under a temporary name beside `path` and renamed.

    Args:
        answer: what the analysis found; may be empty.
        path: the file to write; its folder is made when it is missing.

    Raises:
        StoreError: the file cannot be written.
    """
    # A name decoded from bytes that are no UTF-8 holds surrogates, which no file can: they become question marks.
    page = render(answer).encode("utf-8", "replace")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(page)
        temporary.replace(path)
    except OSError as error:
        raise StoreError(
            str(path),
            "a place where the report can be written",
            str(error),
            "free space or choose another folder",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def render(answer: Answer) -> str:
    """The report as HTML text; see `write_report`."""
    panels = panels_of(answer)
    looks = Looks(answer.cells)
    sections = _sections(answer, panels, looks)
    scripts = {"plotly": _plotly(), "report": _text("report.js")}
    figures = {
        numbered.key: {"data": numbered.figure.traces, "layout": numbered.figure.layout}
        for section in sections
        for part in section.parts
        for numbered in part.figures
    }
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        answer=answer,
        valued=any(math.isfinite(cell.estimate.point) for cell in answer.cells),
        counts=count(answer),
        level=show_percent(answer.level),
        when=measured_when(answer),
        tables=tables_of(panels, answer.comparisons, looks),
        sections=sections,
        families=families(answer, panels),
        perturbed=perturbed_cells(answer),
        impossible=impossible_by_reason(answer),
        methods=methods(answer),
        style=Markup(_text("report.css")),
        scripts={name: Markup(text) for name, text in scripts.items()},
        policy=_policy(scripts if figures else {"report": scripts["report"]}),
        figures=Markup(json_in_html(figures)) if figures else "",
    )


def json_in_html(value: object) -> str:
    """JSON that may stand inside `<script type="application/json">`: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _sections(answer: Answer, panels: list[Panel], looks: Looks) -> list[Section]:
    level = show_percent(answer.level)
    hollow = " Hollow points are perturbed invocations." if has_perturbed(panels) else ""
    found = [
        Topic(
            "ratios",
            "Ratios",
            "Ratio to the baseline",
            f"Each point is an alternative's mean over that of the baseline, the bar its {level} interval. "
            "A bar that crosses the dashed line at 1 leaves open which is better.",
            groups=forest_groups(answer, panels, looks),
        ),
        Topic(
            "heap",
            "Heap",
            "Against heap size",
            f"Mean of each collector as the heap grows; bars or bands are {level} intervals. Axes do not start at 0.",
            groups=heap_groups(panels, looks),
        ),
        Topic(
            "series",
            "Curves",
            "Over a parameter",
            f"The metric over one numeric parameter; bars or bands are {level} intervals.",
            groups=series_groups(answer, panels, looks),
        ),
        Topic(
            "spread",
            "Spread",
            "Spread of the invocations",
            f"Each point is one invocation, the shape their density, the stroke their mean.{hollow}",
            groups=violin_groups(panels, looks),
        ),
        Topic(
            "order",
            "Order",
            "Order and drift",
            "Each invocation against the time at which it ran, divided by the mean of its cell. The line is the "
            f"running median: where it leaves 1, the machine drifted.{hollow}",
            groups=order_groups(panels, looks),
        ),
    ]
    shown = [topic for topic in found if topic.groups] + topics_of(answer, panels, looks)
    return [_number(topic) for topic in shown]


def _number(topic: Topic) -> Section:
    few = sum(len(group.figures) for group in topic.groups) <= _OPEN_FIGURES
    parts = tuple(
        Part(
            group,
            tuple(
                NumberedFigure(f"{topic.anchor}-{g}-{f}", figure) for f, figure in enumerate(group.figures)
            ),
            few or g == 0,
        )
        for g, group in enumerate(topic.groups)
    )
    return Section(topic, parts)


def _policy(scripts: dict[str, str]) -> str:
    """Content security policy: the page runs its own scripts, known by their digest, and loads nothing."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts.values())
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _plotly() -> str:
    """The plotting library, whole: plotly's package carries no smaller bundle."""
    return str(get_plotlyjs()).replace("</script", "<\\/script").replace("\r\n", "\n")
