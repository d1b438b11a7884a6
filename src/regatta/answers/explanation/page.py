"""The page of an explanation: its parts as bars, flame graphs of both sides, and the counters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regatta.answers.explanation.division import WAITING
from regatta.answers.explanation.result import Explanation
from regatta.answers.explanation.words import counters_table, headline, notes, parts_table, share_words
from regatta.answers.explanation.work import short_name, split_frame
from regatta.figures.axes import Figure, Group, Trace, axis, layout
from regatta.figures.curves import error_bars
from regatta.figures.section import Section
from regatta.figures.sections_page import write_sections_page
from regatta.figures.text import hover, plot_text, shorten

_ROW_PX, _FRAME_PX = 22, 70
_NAME = 34
#: frames of a flame graph with a smaller share are left out, and those that are deeper
_LEAST_SHARE, _DEEPEST = 0.002, 48
_FRAME_HEIGHT_PX, _ROOM_PX = 18, 40
#: Change, as a share of the whole time, from which a frame has the full color.
_FULL = 0.02


@dataclass
class _Frame:
    """A frame with all that it calls: its share of the whole time of side A, on each side."""

    before: float = 0.0
    after: float = 0.0
    calls: dict[str, _Frame] = field(default_factory=dict)

    def add(self, shares: tuple[float, float]) -> None:
        self.before += shares[0]
        self.after += shares[1]


def write_explanations(found: Sequence[Explanation], path: Path) -> None:
    """Write explanations, one per host, as one self-contained HTML file.

    Raises:
        StoreError: the file cannot be written.
    """
    sections = [section for one in found for section in _sections(one, len(found) > 1)]
    sides = f"{found[0].b} differ from {found[0].a}"
    write_sections_page("difference", f"Why does {sides}?", [headline(one) for one in found], sections, path)


def _sections(one: Explanation, several: bool) -> list[Section]:
    where = f" on {one.host}" if several else ""
    anchor = f"-{one.host}" if several else ""
    return [
        Section(
            f"parts{anchor}",
            f"Parts of the difference{where}",
            sentences=tuple(notes(one)),
            tables=[parts_table(one)],
            groups=[Group("Contributions", [_bars(one)])],
        ),
        Section(
            f"flames{anchor}",
            f"Flame graphs{where}",
            "A frame is as wide as its time with all that it calls. A frame calls those above it. Orange frames take more time than on "
            "the other side, blue ones less. A click enlarges a frame. The first graph has the widths of "
            f"{one.b}, the second those of {one.a}, with what {one.b} no longer does.",
            groups=[_flames(one, after=True), _flames(one, after=False)],
        ),
        Section(f"counters{anchor}", f"Counters{where}", tables=[counters_table(one)]),
    ]


def _bars(one: Explanation) -> Figure:
    rows = list(range(len(one.parts)))
    points = [100.0 * part.contribution.point for part in one.parts]
    ends = [
        [
            100.0 * abs(end - part.contribution.point) if math.isfinite(end) else 0.0
            for end in (part.contribution.low, part.contribution.high)
        ]
        for part in one.parts
    ]
    above, below = [high for _, high in ends], [low for low, _ in ends]
    trace: Trace = {
        "type": "bar",
        "orientation": "h",
        "x": [round(point, 4) for point in points],
        "y": rows,
        "marker": {
            "color": [_colour(part.contribution.point) if part.is_cause else "@grid" for part in one.parts]
        },
        "error_x": error_bars(above, below, "@ink", thickness=1, width=3),
        "hoverinfo": "text",
        "hovertext": [hover(part.name, share_words(part.contribution)) for part in one.parts],
    }
    y = axis(
        range=[len(rows) - 0.5, -0.5],
        tickvals=rows,
        ticktext=[plot_text(shorten(part.name, _NAME)) for part in one.parts],
        showgrid=False,
    )
    x = axis(f"contribution (% of the {one.quantity} of {one.a})", zeroline=True, zerolinecolor="@ink")
    return Figure("", _FRAME_PX + _ROW_PX * len(rows), [trace], layout(x, y, bargap=0.3))


def _colour(difference: float) -> str:
    return "@c1" if difference > 0 else "@c0"


def _flames(one: Explanation, after: bool) -> Group:
    root = _tree(one)
    ids: list[str] = []
    labels, parents, values, colours, texts = [], [], [], [], []
    deepest = 0
    waiting: list[tuple[str, str, str, _Frame, int]] = [
        ("0", "", f"all, {one.b if after else one.a}", root, 0)
    ]
    while waiting:
        identity, parent, name, frame, depth = waiting.pop()
        called = [
            (call, sub)
            for call, sub in sorted(frame.calls.items())
            if _share(sub, after) >= _LEAST_SHARE and depth < _DEEPEST
        ]
        deepest = max(deepest, depth)
        ids.append(identity)
        labels.append(plot_text(short_name(split_frame(name)[0] or name)))
        parents.append(parent)
        # Its own share: rounded sums of calls could exceed that of their caller.
        own = _share(frame, after) - math.fsum(_share(sub, after) for _, sub in called)
        values.append(round(max(0.0, own), 7))
        colours.append(_shade(frame.after - frame.before))
        shares = f"{one.a}: {100 * frame.before:.2f} %, {one.b}: {100 * frame.after:.2f} %"
        texts.append(hover(name, shares, f"{100 * (frame.after - frame.before):+.2f} %"))
        waiting += [
            (f"{identity}.{at}", identity, call, sub, depth + 1) for at, (call, sub) in enumerate(called)
        ]
    trace: Trace = {
        "type": "icicle",
        "ids": ids,
        "labels": labels,
        "parents": parents,
        "values": values,
        "branchvalues": "remainder",
        "sort": False,
        "tiling": {"orientation": "v", "flip": "y", "pad": 1},
        "marker": {"colors": colours, "line": {"width": 0}},
        "pathbar": {"visible": False},
        "textfont": {"size": 11, "color": "@ink"},
        "hoverinfo": "text",
        "hovertext": texts,
    }
    hidden: dict[str, Any] = {"visible": False}
    height = _ROOM_PX + _FRAME_HEIGHT_PX * (deepest + 1)
    title = f"Widths of {one.b if after else one.a}"
    return Group(title, [Figure("", height, [trace], layout(hidden, hidden))])


def _share(frame: _Frame, after: bool) -> float:
    return frame.after if after else frame.before


def _tree(one: Explanation) -> _Frame:
    root = _Frame()
    for stack, shares in one.stacks.items():
        if stack == WAITING and min(shares) <= 0.0:
            # Samples have an error, so that the rest can be below 0.
            continue
        root.add(shares)
        frame = root
        for name in [stack] if stack == WAITING else stack.split(";"):
            frame = frame.calls.setdefault(name, _Frame())
            frame.add(shares)
    return root


def _shade(difference: float) -> str:
    strength = min(1.0, abs(difference) / _FULL)
    if strength < 0.05:
        return "@grid"
    return f"{_colour(difference)}/{0.15 + 0.75 * strength:.2f}"
