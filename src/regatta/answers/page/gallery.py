"""The gallery: every figure of a report under a name of its own, and as a figure that stands alone."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regatta.answers.page.view import View
from regatta.answers.result import Answer
from regatta.answers.topics.registry import sections_of
from regatta.figures.axes import Figure, Group, Trace
from regatta.figures.looks import MARKS, LegendEntry, in_light
from regatta.figures.section import Section
from regatta.figures.text import joined, plot_text, shorten

#: names become files; this leaves room for a suffix below the 255 bytes of a file's name
_NAME_CHARACTERS = 120
_TITLE_PX = 26
_LEGEND_ROW_PX = 20
#: What a legend's entry takes beside its text, and what a character of it takes at most, both with room to spare.
_ENTRY_PX = 55
_CHARACTER_PX = 6.5
#: Fonts that renderers of SVG have; a page's `system-ui` means nothing to them.
_FONT = "Arial, Helvetica, 'Liberation Sans', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Picture:
    """One figure of a report. `name` tells it from all others and is fit for a file."""

    name: str
    section: Section
    group: Group
    figure: Figure

    @property
    def title(self) -> str:
        """What it shows, as plain text."""
        where = joined(self.group.title, self.figure.title)
        return f"{self.section.title}: {where}" if where else self.section.title


def gallery(answer: Answer) -> list[Picture]:
    """Every figure of the answer's report, in its order, each under its own name."""
    return pictures_of(sections_of(View(answer)))


def pictures_of(sections: Sequence[Section], prefix: str = "") -> list[Picture]:
    """Every figure of a page, in its order, each under its own name: prefix, section, group, figure."""
    pictures: list[Picture] = []
    taken: set[str] = set()
    for section in sections:
        for group in section.groups:
            for figure in group.figures:
                name = _unique(_slug(prefix, section.anchor, group.title, figure.title), taken)
                pictures.append(Picture(name, section, group, figure))
    return pictures


def standalone(picture: Picture, width: int) -> dict[str, Any]:
    """The figure with its title and legend inside, in the light scheme, as `data` and `layout` of plotly's schema.

    Args:
        picture: of the gallery; it is not changed.
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
    """The entries of a group's legend that this figure needs: a page shows them once above all figures of the group."""
    drawn = json.dumps(traces)
    hues = [e for e in legend if e.look.colour != "@ink" and re.search(rf'"{e.look.colour}[/"]', drawn)]
    marks = [mark for mark in MARKS if f'"{mark}"' in drawn or f'"{mark}-open"' in drawn]
    # A mark needs a name where there are two, though one of them is that of cells without any modifiers.
    others = [e for e in legend if e.look.colour == "@ink" and e.look.mark in marks and len(marks) > 1]
    return [*hues, *others] if len(hues) + len(others) > 1 else []


def _legend_rows(legend: Sequence[LegendEntry], width: int) -> int:
    """How many rows the legend takes: one if all fit beside each other, else in columns as wide as the longest name."""
    widths = [_ENTRY_PX + _CHARACTER_PX * len(shorten(entry.name, 48)) for entry in legend]
    room = width - 20
    if sum(widths) <= room:
        return 1 if widths else 0
    return -(-len(widths) // max(1, int(room / max(widths))))


def _slug(*texts: str) -> str:
    """Words of texts joined by hyphens: letters, digits and dots stay, as in `heap-1.5x`; what is in brackets goes."""
    text = re.sub(r"\([^()]*\)", "", "-".join(text for text in texts if text)).replace("×", "x").lower()
    return re.sub(r"[^a-z0-9.]+", "-", text).strip("-.")[:_NAME_CHARACTERS].strip("-.") or "figure"


def _unique(name: str, taken: set[str]) -> str:
    """The name, with a number where another figure has it already."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found)
    return found
