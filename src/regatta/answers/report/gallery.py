"""Provide every figure of a report as a standalone figure with a unique name."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from regatta.answers.kit.view import View
from regatta.answers.report.registry import sections_of
from regatta.answers.spine.result import Answer
from regatta.figures.axes import Figure, Group, Trace
from regatta.figures.looks import MARKS, LegendEntry, Look, in_light
from regatta.figures.section import Section
from regatta.figures.text import joined, plot_text, shorten

#: Names become file names; this leaves room for a suffix below the limit of 255 bytes.
_NAME_CHARACTERS = 120
_TITLE_PX = 26
_LEGEND_ROW_PX = 20
#: Upper bounds of the widths of a legend entry without its text, and of one character.
_ENTRY_PX = 55
_CHARACTER_PX = 6.5
#: Fonts that SVG renderers have; they do not know the `system-ui` of a page.
_FONT = "Arial, Helvetica, 'Liberation Sans', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Picture:
    """One figure of a report. `name` is unique and a valid file name.

    `further`: it shows a metric that is not compared, in a section that also shows the compared one.
    """

    name: str
    section: Section
    group: Group
    figure: Figure
    further: bool = False

    @property
    def title(self) -> str:
        """Return the title as plain text."""
        where = joined(self.group.title, self.figure.title)
        return f"{self.section.title}: {where}" if where else self.section.title


def gallery(answer: Answer) -> list[Picture]:
    """Return every figure of the report in order, with unique names."""
    view = View(answer)
    compared = {panel.title for panel in view.compared}
    others = {panel.title for panel in view.panels} - compared
    return [
        replace(
            picture,
            further=picture.group.title in others
            and any(group.title in compared for group in picture.section.groups),
        )
        for picture in pictures_of(sections_of(view))
    ]


def pictures_of(sections: Sequence[Section], prefix: str = "") -> list[Picture]:
    """Return every figure of a page in order, with unique names: prefix, section, group, figure."""
    pictures: list[Picture] = []
    taken: set[str] = set()
    for section in sections:
        for group in section.groups:
            for figure in group.figures:
                name = _unique(_slug(prefix, section.anchor, group.title, figure.title), taken)
                pictures.append(Picture(name, section, group, figure))
    return pictures


def standalone(picture: Picture, width: int) -> dict[str, Any]:
    """Return the figure with title and legend inside, in the light scheme, as `data` and `layout` of plotly's schema.

    Args:
        picture: picture of the gallery; not modified.
        width: in CSS pixels, at least 200.
    """
    figure = picture.figure
    legend = _used(picture.group.legend, figure.traces)
    layout = copy.deepcopy(figure.layout)
    rows = _legend_rows(legend, width)
    head = _TITLE_PX + _LEGEND_ROW_PX * rows
    height = figure.height + head
    layout["margin"] = {**layout.get("margin", {}), "t": head + 12}
    layout["width"], layout["height"] = width, height
    layout["paper_bgcolor"] = layout["plot_bgcolor"] = "@paper"
    layout["font"] = {**layout.get("font", {}), "family": _FONT}
    layout["title"] = {
        "text": plot_text(shorten(picture.title, int(width / 8))),
        "font": {"size": 13},
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "pad": {"l": 12},
        "y": 1 - 17 / height,
        "yref": "container",
        "yanchor": "middle",
    }
    traces = [{**trace, "showlegend": False} for trace in figure.traces]
    if legend:
        lines = any("lines+markers" in str(trace.get("mode", "")) for trace in traces)
        traces += [_legend_trace(entry, lines) for entry in legend]
        layout["showlegend"] = True
        layout["legend"] = {
            "orientation": "h",
            "x": 8 / width,
            "xref": "container",
            "xanchor": "left",
            "y": 1 - _TITLE_PX / height,
            "yref": "container",
            "yanchor": "top",
            "font": {"size": 11},
            "bgcolor": "@none",
        }
    return {"data": in_light(traces), "layout": in_light(layout)}


def _legend_trace(entry: LegendEntry, lines: bool) -> Trace:
    look = entry.look
    return {
        "type": "scatter",
        "mode": "lines+markers" if lines else "markers",
        "x": [None],
        "y": [None],
        "name": plot_text(shorten(entry.name, 48)),
        "marker": {"symbol": look.mark, "color": look.colour, "size": 8},
        "line": {"color": look.colour, "dash": look.dash, "width": 2},
        "showlegend": True,
        "hoverinfo": "skip",
    }


def _used(legend: Sequence[LegendEntry], traces: Sequence[Trace]) -> list[LegendEntry]:
    """Return the legend entries that this figure needs: a page shows them once above all figures of the group."""
    texts = [json.dumps(trace) for trace in traces]
    drawn = "".join(texts)
    colours = Counter(entry.look.colour for entry in legend)

    def is_drawn(look: Look) -> bool:
        return any(
            re.search(rf'"{look.colour}[/"]', text)
            and (colours[look.colour] == 1 or re.search(rf'"{look.mark}(-open)?"', text))
            for text in texts
        )

    hues = [entry for entry in legend if entry.look.colour != "@ink" and is_drawn(entry.look)]
    marks = [mark for mark in MARKS if f'"{mark}"' in drawn or f'"{mark}-open"' in drawn]
    # With two marks both need an entry, even the mark of cells without modifiers.
    others = [e for e in legend if e.look.colour == "@ink" and e.look.mark in marks and len(marks) > 1]
    return [*hues, *others] if len(hues) + len(others) > 1 else []


def _legend_rows(legend: Sequence[LegendEntry], width: int) -> int:
    """Return the number of rows of the legend: one if all entries fit, else rows of columns as wide as the longest name."""
    widths = [_ENTRY_PX + _CHARACTER_PX * len(shorten(entry.name, 48)) for entry in legend]
    room = width - 20
    if sum(widths) <= room:
        return 1 if widths else 0
    return -(-len(widths) // max(1, int(room / max(widths))))


def _slug(*texts: str) -> str:
    """Join the words of texts by hyphens, as in `heap-1.5x`: keep letters, digits and dots; drop text in brackets."""
    text = re.sub(r"\([^()]*\)", "", "-".join(text for text in texts if text)).replace("×", "x").lower()
    return re.sub(r"[^a-z0-9.]+", "-", text).strip("-.")[:_NAME_CHARACTERS].strip("-.") or "figure"


def _unique(name: str, taken: set[str]) -> str:
    """Return the name, with a number if another figure has it."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found)
    return found
