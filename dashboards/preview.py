"""A page that shows what the boards' queries return, at the panels' places. It is no Grafana: only close enough to judge boards by."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go

from dashboards.asking import Answer, Board, Range
from dashboards.frames import Frame, frame_of, series_of

_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "s": ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")),
    "bytes": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    "kbytes": ((2**20, "GiB"), (2**10, "MiB"), (1, "KiB")),
    "short": ((1e9, "Bil"), (1e6, "Mil"), (1e3, "K"), (1, "")),
    "ops/s": ((1e6, "M ops/s"), (1e3, "K ops/s"), (1, "ops/s")),
    "percent": ((1, "%"),),
    "percentunit": ((0.01, "%"),),
    "MBs": ((1e3, "GB/s"), (1, "MB/s")),
    "celsius": ((1, "°C"),),
    "rotmhz": ((1, "MHz"),),
}
_CELL, _MOST_ROWS = 34, 60


def page(boards: Sequence[Board], when: Range) -> str:
    """The whole page."""
    since, until = (
        datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
        for ms in (when.since_ms, when.until_ms)
    )
    parts = [
        _HEAD,
        f"<p>Not Grafana: the rows of each panel's queries, drawn by plotly. {since} to {until} UTC.</p>",
    ]
    script: str | bool = True
    for board in boards:
        chosen = "; ".join(
            f"{name} = {'All' if value == ('$__all',) else ', '.join(value)}"
            for name, value in board.values.items()
        )
        title = html.escape(board.document["title"])
        parts += [f'<h1 id="{board.name}">{title}</h1><p>{html.escape(board.document["description"])}</p>']
        parts.append(f"<p class=chosen>{html.escape(chosen)}</p><div class=grid>")
        shift, repeats = 0, 0
        answers = list(board.panels())
        shifts = [row[0] for one in board.annotations() for row in one["values"]]
        for place, answer in enumerate(answers):
            at = dict(answer.panel["gridPos"])
            if answer.repeated:
                same = [other for other in answers if other.panel is answer.panel]
                beside = min(len(same), answer.panel["maxPerRow"])
                repeats = repeats + 1 if place and answers[place - 1].panel is answer.panel else 0
                at.update(w=24 // beside, x=(repeats % beside) * (24 // beside))
                shift += at["h"] if repeats and repeats % beside == 0 else 0
            at["y"] += shift
            body, script_used = _body(answer, at["h"] * (_CELL + 6) - 50, script, shifts)
            script = script and not script_used
            style = f"grid-column:{at['x'] + 1}/span {at['w']};grid-row:{at['y'] + 1}/span {at['h']}"
            tip = html.escape(answer.panel.get("description", ""), quote=True)
            parts.append(
                f'<div class=panel style="{style}" title="{tip}"><h2>{html.escape(board.title(answer))}</h2>{body}</div>'
            )
        parts.append("</div>")
    return "\n".join(parts)


def _body(answer: Answer, height: int, script: str | bool, shifts: Sequence[float]) -> tuple[str, bool]:
    panel = answer.panel
    kind = panel["type"]
    if kind == "text":
        return f"<div class=text>{html.escape(panel['options']['content'])}</div>", False
    defaults = panel["fieldConfig"]["defaults"]
    if not answer.rows:
        return f"<div class=empty>{html.escape(defaults.get('noValue', 'No data'))}</div>", False
    if kind == "stat":
        value = answer.found[0][1][0]["values"][-1][1]
        return f"<div class=stat>{_text(value, panel, 'value')}</div>", False
    if kind == "bargauge":
        lines = [(name, points[-1][1]) for name, _, points in series_of(answer)]
        return _table((["", ""], [[name, value] for name, value in lines]), panel), False
    if kind == "timeseries":
        figure = _lines(answer, shifts)
    else:
        frame = frame_of(answer)
        if kind == "table":
            return _table(frame, panel), False
        figure = _bars(frame, panel)
    figure.update_layout(
        height=height,
        margin={"l": 60, "r": 10, "t": 5, "b": 30},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        font_size=11,
    )
    return figure.to_html(full_html=False, include_plotlyjs=script, config={"displayModeBar": False}), True


# Drawing


def _settings(panel: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a panel says of one of its columns or series."""
    found = {
        **panel["fieldConfig"]["defaults"],
        "custom": {**panel["fieldConfig"]["defaults"].get("custom", {})},
    }
    for override in panel["fieldConfig"]["overrides"]:
        matcher, given = override["matcher"]["id"], override["matcher"].get("options")
        fits = (
            given == name
            if matcher == "byName"
            else matcher == "byRegexp" and re.search(given.strip("/"), name)
        )
        for one in override["properties"] if fits else ():
            found[one["id"]] = one.get("value")
    return found


def _text(value: Any, panel: Mapping[str, Any], name: str) -> str:
    settings = _settings(panel, name)
    if value is None:
        return "–"
    if name in ("Time", "reported") or settings.get("unit") == "dateTimeAsIso":
        return datetime.fromtimestamp(value / 1000, UTC).strftime("%m-%d %H:%M:%S")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return html.escape(_mapped(str(value), settings))
    factor, unit = _scale(abs(value), settings.get("unit", ""))
    decimals = settings.get("decimals")
    shown = f"{value / factor:,.{int(decimals)}f}" if decimals is not None else f"{value / factor:,.4g}"
    return f"{shown} {unit}".strip()


def _mapped(text: str, settings: Mapping[str, Any]) -> str:
    for mapping in settings.get("mappings") or ():
        if mapping["type"] == "regex":
            shown = re.sub(r"\$(\d)", r"\\\1", mapping["options"]["result"]["text"])
            text = re.sub(mapping["options"]["pattern"], shown, text, count=1)
    return text


def _table(frame: Frame, panel: Mapping[str, Any]) -> str:
    names, rows = frame
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{_text(value, panel, name)}</td>" for name, value in zip(names, row, strict=True))
        + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    more = f"<p>… {len(rows) - _MOST_ROWS} more</p>" if len(rows) > _MOST_ROWS else ""
    return f"<div class=rows><table><tr>{head}</tr>{body}</table>{more}</div>"


def _colour(settings: Mapping[str, Any]) -> str | None:
    found: str | None = (settings.get("color") or {}).get("fixedColor")
    return found


def bar_texts(frame: Frame, panel: Mapping[str, Any]) -> list[str]:
    """What is written under each group of bars."""
    names, rows = frame
    x = panel["options"]["xField"]
    return [_mapped(str(row[names.index(x)]), _settings(panel, x)) for row in rows]


def _bars(frame: Frame, panel: Mapping[str, Any]) -> go.Figure:
    names, rows = frame
    x, texts = panel["options"]["xField"], bar_texts(frame, panel)
    columns = {
        name: [row[place] for row in rows]
        for place, name in enumerate(names)
        if name not in (x, "Time") and any(isinstance(row[place], int | float) for row in rows)
    }
    scales = _scales(panel, columns)
    figure, wide = go.Figure(), panel["options"].get("orientation") == "horizontal"
    for name, values in columns.items():
        factor, unit = scales[name]
        scaled = [None if value is None else value / factor for value in values]
        places = {"x": scaled, "y": texts, "orientation": "h"} if wide else {"x": texts, "y": scaled}
        figure.add_bar(**places, name=f"{name} ({unit})", marker_color=_colour(_settings(panel, name)))
    (figure.update_xaxes if wide else figure.update_yaxes)(type=_axis(panel))
    return figure


def _lines(answer: Answer, shifts: Sequence[float]) -> go.Figure:
    figure, panel = go.Figure(), answer.panel
    style = panel["fieldConfig"]["defaults"].get("custom", {}).get("drawStyle", "line")
    series = {name: points for name, _, points in series_of(answer)}
    scales = _scales(panel, {name: [value for _, value in points] for name, points in series.items()})
    for name, points in sorted(series.items(), key=lambda one: not one[0].startswith("low")):
        settings, (factor, unit) = _settings(panel, name), scales[name]
        drawn = {
            "x": [datetime.fromtimestamp(time / 1000, UTC) for time, _ in points],
            "y": [None if value is None else value / factor for _, value in points],
            "name": f"{name} ({unit})",
        }
        if style == "bars":
            figure.add_bar(**drawn)
            continue
        band = settings.get("custom.fillBelowTo") in series
        mode = "markers" if style == "points" else "lines+markers"
        figure.add_scatter(
            **drawn, mode=mode, line_width=1, marker_color=_colour(settings), fill="tonexty" if band else None
        )
    for time in shifts:
        figure.add_vline(x=time, line_color="#CC3311")
    return figure.update_yaxes(type=_axis(panel))


def _scales(panel: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]) -> dict[str, tuple[float, str]]:
    """One scale for all columns of a unit."""
    units = {name: str(_settings(panel, name).get("unit", "")) for name in columns}
    largest: dict[str, float] = {}
    for name, values in columns.items():
        for value in values:
            largest[units[name]] = max(largest.get(units[name], 0.0), abs(value or 0.0))
    return {name: _scale(largest.get(unit, 0.0), unit) for name, unit in units.items()}


def _scale(largest: float, unit: str) -> tuple[float, str]:
    scales = _SCALES.get(unit, ((1.0, ""),))
    return next((one for one in scales if largest >= one[0]), scales[-1])


def _axis(panel: Mapping[str, Any]) -> str:
    custom = panel["fieldConfig"]["defaults"].get("custom", {})
    return str(custom.get("scaleDistribution", {}).get("type", "linear"))


_HEAD = f"""<!doctype html><meta charset=utf-8><title>Regatta's boards</title><style>
body{{font:13px sans-serif;background:#f4f5f5;margin:12px}} .chosen{{color:#666}}
.grid{{display:grid;grid-template-columns:repeat(24,1fr);grid-auto-rows:{_CELL}px;gap:6px}}
.panel{{background:#fff;border:1px solid #ddd;padding:6px;overflow:hidden;display:flex;flex-direction:column}}
h2{{font-size:13px;margin:0 0 4px}} .rows{{overflow:auto}} table{{border-collapse:collapse;font-size:11px;white-space:nowrap}}
td,th{{border-bottom:1px solid #eee;padding:1px 8px;text-align:left}} .stat{{font-size:40px;text-align:center}}
.empty{{color:#999;margin:auto;text-align:center}} .text{{white-space:pre-wrap}}</style>"""
