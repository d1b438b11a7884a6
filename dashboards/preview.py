"""Draw the rows of the queries at the positions of their panels, for a review without Grafana."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import plotly.graph_objects as go

from dashboards.asking import Answer, Board, Range
from dashboards.frames import Frame, frame_of, series_of
from dashboards.pieces import RED

_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "s": ((86400, "days"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")),
    "bytes": ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    "short": ((1e9, "Bil"), (1e6, "Mil"), (1e3, "K"), (1, "")),
    "ops": ((1e6, "Mops/s"), (1e3, "Kops/s"), (1, "ops/s")),
    "percent": ((1, "%"),),
    "percentunit": ((0.01, "%"),),
    "MBs": ((1e3, "GB/s"), (1, "MB/s")),
    "celsius": ((1, "°C"),),
}
_CELL, _MOST_ROWS = 34, 60
#: A band is filled down to the series that was drawn before it.
_BAND = {"low": 0, "high": 1, "point": 2}


def page(boards: Sequence[Board], when: Range) -> str:
    """Return the page."""
    since, until = (
        datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M")
        for ms in (when.since_ms, when.until_ms)
    )
    parts = [
        _HEAD,
        f"<main><p>Not Grafana: the rows of each panel's queries, drawn by plotly. {since} to {until} UTC.</p>",
    ]
    script: str | bool = True
    for board in boards:
        chosen = "; ".join(
            f"{board.labels[name]} = {'All' if value == ('$__all',) else ', '.join(value)}"
            for name, value in board.values.items()
            if name not in board.hidden and any(value)
        )
        title = html.escape(board.document["title"])
        parts += [f'<h1 id="{board.name}">{title}</h1><p>{html.escape(board.document["description"])}</p>']
        parts.append(f"<p class=chosen>{html.escape(chosen)}</p><div class=grid>")
        shifts = [row[0] for one in board.annotations() for row in one["values"]]
        for at, drawn in _placed(board):
            style = f"grid-column:{at['x'] + 1}/span {at['w']};grid-row:{at['y'] + 1}/span {at['h']}"
            if isinstance(drawn, str):
                parts.append(f'<h2 class=heading style="{style}">{html.escape(drawn)}</h2>')
                continue
            body, script_used = _body(drawn, at["h"] * (_CELL + 6) - 50, script, shifts)
            script = script and not script_used
            tip = html.escape(drawn.panel.get("description", ""), quote=True)
            parts.append(
                f'<div class=panel style="{style}" title="{tip}"><h3>{html.escape(board.title(drawn))}</h3>{body}</div>'
            )
        parts.append("</div>")
    return "\n".join([*parts, "</main>"])


def _placed(board: Board) -> Iterator[tuple[dict[str, int], Answer | str]]:
    """Yield headings of rows and panels with their positions: collapsed rows are expanded, repeated panels take further rows."""
    answers: dict[int, list[Answer]] = {}
    for answer in board.panels():
        answers.setdefault(answer.panel["id"], []).append(answer)
    shift = 0
    for top in board.document["panels"]:
        if top["type"] == "row":
            yield {**top["gridPos"], "y": top["gridPos"]["y"] + shift}, top["title"]
        nested = top.get("panels", []) if top["type"] == "row" else [top]
        for panel in nested:
            same = answers.get(panel["id"], [])
            beside = min(len(same), panel.get("maxPerRow", 1)) or 1
            for place, answer in enumerate(same):
                at = dict(panel["gridPos"])
                if panel.get("repeat"):
                    at.update(w=24 // beside, x=place % beside * (24 // beside))
                    shift += at["h"] if place and place % beside == 0 else 0
                yield {**at, "y": at["y"] + shift}, answer
        if top["type"] == "row":
            shift += max((p["gridPos"]["y"] + p["gridPos"]["h"] for p in nested), default=0) - (
                top["gridPos"]["y"] + 1 if nested else 0
            )


def _body(answer: Answer, height: int, script: str | bool, shifts: Sequence[float]) -> tuple[str, bool]:
    panel = answer.panel
    kind = panel["type"]
    if kind == "alertlist":
        return "<div class=empty>Alerts are evaluated by Grafana</div>", False
    _, _, empty = panel["description"].rpartition("\n\nEmpty? ")
    nothing = f"<div class=empty>{html.escape(empty)}</div>"
    if not answer.rows:
        return nothing, False
    if kind == "stat":
        columns, rows = frame_of(answer)
        value = (
            rows[-1][-1]
            if rows and columns
            else next((points[-1][1] for _, _, points in series_of(answer)), None)
        )
        if value is None:
            return nothing, False
        return f"<div class=stat>{_text(value, panel, 'value')}</div>", False
    if kind == "timeseries":
        figure = _lines(answer, shifts)
    elif kind == "xychart":
        figure = _curve(frame_of(answer), panel)
    elif kind == "status-history":
        figure = _states(answer)
    else:
        frame = frame_of(answer)
        if kind == "table":
            return _table(frame, panel), False
        figure = _bars(frame, panel)
    figure.update_layout(
        height=height,
        margin={"l": 60, "r": 10, "t": 5, "b": 30},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        # Legible on a light and on a dark page.
        font={"size": 11, "color": "#888888"},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
    )
    lines = {"gridcolor": "rgba(128,128,128,.3)", "zerolinecolor": "rgba(128,128,128,.8)"}
    figure.update_xaxes(**lines, automargin=True).update_yaxes(**lines, automargin=True)
    if kind in ("timeseries", "status-history"):
        figure.update_xaxes(**_time_axis([time for trace in figure.data for time in trace.x]))
    # Labels below the axis do not touch the lowest label of the other axis.
    figure.update_xaxes(ticks="outside", ticklen=8, tickcolor="rgba(0,0,0,0)")
    return figure.to_html(full_html=False, include_plotlyjs=script, config={"displayModeBar": False}), True


def _time_axis(times: Sequence[datetime]) -> dict[str, Any]:
    """Return a range with room for one point, and three labels, which fit into a narrow panel."""
    least, most = min(times), max(times)
    room = max((most - least) / 20, timedelta(seconds=30))
    whole = most - least + 2 * room
    ticks = [least - room + share * whole for share in (0.1, 0.5, 0.9)]
    shape = "%b %d %H:%M" if whole > timedelta(hours=1) else "%H:%M:%S"
    return {
        "range": [least - room, most + room],
        "tickvals": ticks,
        "ticktext": [tick.strftime(shape) for tick in ticks],
    }


def _settings(panel: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the settings of a column or series."""
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
    if name == "Time" or str(settings.get("unit")).startswith("dateTime"):
        return datetime.fromtimestamp(value / 1000, UTC).strftime("%m-%d %H:%M:%S")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return html.escape(_mapped(str(value), settings))
    for mapping in settings.get("mappings") or ():
        if mapping["type"] == "range" and mapping["options"]["from"] <= value < mapping["options"]["to"]:
            return html.escape(mapping["options"]["result"]["text"])
    factor, unit = _scale(abs(value), settings.get("unit", ""))
    decimals = settings.get("decimals")
    shown = f"{value / factor:,.{int(decimals)}f}" if decimals is not None else f"{value / factor:,.4g}"
    return f"{shown} {unit}".strip()


def _mapped(text: str, settings: Mapping[str, Any]) -> str:
    for mapping in settings.get("mappings") or ():
        if mapping["type"] == "regex":
            shown = re.sub(r"\$(\d)", r"\\\1", mapping["options"]["result"]["text"])
            text = re.sub(mapping["options"]["pattern"], shown, text, count=1)
        elif mapping["type"] == "value":
            text = mapping["options"].get(text, {}).get("text", text)
    return text


def _table(frame: Frame, panel: Mapping[str, Any]) -> str:
    names, rows = frame
    for one in (panel["options"] or {}).get("sortBy", ()):
        if one["displayName"] in names:
            at = names.index(one["displayName"])
            known, rest = [r for r in rows if r[at] is not None], [r for r in rows if r[at] is None]
            rows = [*sorted(known, key=lambda row: row[at], reverse=bool(one.get("desc"))), *rest]
    settings = {name: _settings(panel, name) for name in names}
    head = "".join(
        f'<th style="min-width:{settings[name].get("custom.width", 40)}px">{html.escape(name)}</th>'
        for name in names
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_shade(value, settings[name])}>{_text(value, panel, name)}</td>"
            for name, value in zip(names, row, strict=True)
        )
        + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    more = f"<p>… {len(rows) - _MOST_ROWS} more</p>" if len(rows) > _MOST_ROWS else ""
    return f"<div class=rows tabindex=0><table><tr>{head}</tr>{body}</table>{more}</div>"


def _shade(value: Any, settings: Mapping[str, Any]) -> str:
    """Return the background of a cell: by text, by value, or a bar."""
    mode = settings.get("custom.displayMode", "auto")
    if mode not in ("color-background-solid", "basic") or value is None:
        return ""
    if isinstance(value, str):
        options = [
            one["options"].get(value) for one in settings.get("mappings") or () if one["type"] == "value"
        ]
        shade = next((str(one["color"]) for one in options if one), "transparent")
    else:
        shade = _step(value, (settings.get("thresholds") or {}).get("steps", ()))
    if mode == "basic":
        return f' style="background:linear-gradient(to right,{shade} {100 * value:.0f}%,transparent 0)"'
    return "" if shade == "transparent" else f' style="background:{shade};color:{_ink(shade)}"'


def _ink(shade: str) -> str:
    """Return the legible colour of text on a background. Like Grafana, decide by the luminance of the background."""
    linear = [(int(shade[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)]
    luminance = sum(share * value for share, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "#fff" if luminance < 0.2 else "#000"


def _step(value: float, steps: Sequence[Mapping[str, Any]]) -> str:
    return next(
        (str(one["color"]) for one in reversed(steps) if one["value"] is None or value >= one["value"]), ""
    )


def _colour(settings: Mapping[str, Any]) -> str | None:
    found: str | None = (settings.get("color") or {}).get("fixedColor")
    return found


def bar_texts(frame: Frame, panel: Mapping[str, Any]) -> list[str]:
    """Return the text of each group of bars."""
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
    figure.update_layout(bargap=1 - panel["options"]["groupWidth"])
    for name, values in columns.items():
        settings, (factor, unit) = _settings(panel, name), scales[name]
        hidden = settings.get("custom.hideFrom", {})
        if hidden.get("viz"):
            continue
        scaled = [None if value is None else value / factor for value in values]
        places = {"x": scaled, "y": texts, "orientation": "h"} if wide else {"x": texts, "y": scaled}
        figure.add_bar(
            **places, name=_named(name, unit), marker_color=_colour(settings), marker_line_width=0,
            opacity=settings.get("custom.fillOpacity", 80) / 100, showlegend=not hidden.get("legend"),
        )  # fmt: skip
    if panel["options"].get("stacking") == "normal":
        figure.update_layout(barmode="relative")
    custom = panel["fieldConfig"]["defaults"].get("custom", {})
    if "axisSoftMin" in custom and "axisSoftMax" in custom:
        # Invisible, but the axis includes them.
        ends = [custom["axisSoftMin"] / factor, custom["axisSoftMax"] / factor]
        first = texts[:1] * 2
        places = {"x": ends, "y": first} if wide else {"x": first, "y": ends}
        figure.add_scatter(**places, mode="markers", opacity=0, showlegend=False)
    if wide:
        figure.update_yaxes(autorange="reversed")
    (figure.update_xaxes if wide else figure.update_yaxes)(**_scale_of(panel))
    return figure


def _curve(frame: Frame, panel: Mapping[str, Any]) -> go.Figure:
    names, rows = frame
    figure, at = go.Figure(), names.index(panel["options"]["dims"]["x"])
    for place, name in enumerate(names):
        values = [row[place] for row in rows]
        if place == at or not any(isinstance(value, int | float) for value in values):
            continue
        settings = _settings(panel, name)
        figure.add_scatter(
            x=[row[at] for row in rows], y=values, name=settings.get("displayName", name), mode="lines+markers", marker_color=_colour(settings),
            line_width=settings.get("custom.lineWidth", 1), marker_size=settings.get("custom.pointSize.fixed", 6),
            showlegend=not settings.get("custom.hideFrom", {}).get("legend"),
        )  # fmt: skip
    label = panel["fieldConfig"]["defaults"]["custom"]["axisLabel"]
    x_label = _settings(panel, names[at])["custom.axisLabel"]
    least = panel["fieldConfig"]["defaults"]["custom"].get("axisSoftMin")
    return figure.update_xaxes(title=x_label).update_yaxes(
        title=label, rangemode="tozero" if least == 0 else None
    )


def _states(answer: Answer) -> go.Figure:
    figure, steps = go.Figure(), answer.panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    for name, _, points in series_of(answer):
        figure.add_scatter(
            x=[datetime.fromtimestamp(time / 1000, UTC) for time, _ in points],
            y=[name] * len(points),
            mode="markers",
            marker={
                "symbol": "square",
                "size": 12,
                "color": [_step(value or 0, steps) for _, value in points],
            },
            showlegend=False,
        )
    return figure


def _lines(answer: Answer, shifts: Sequence[float]) -> go.Figure:
    figure, panel = go.Figure(), answer.panel
    custom = panel["fieldConfig"]["defaults"].get("custom", {})
    style = custom.get("drawStyle", "line")
    series = {name: _broken(points, custom.get("insertNulls")) for name, _, points in series_of(answer)}
    scales = _scales(panel, {name: [value for _, value in points] for name, points in series.items()})
    for name, points in sorted(series.items(), key=lambda one: _BAND.get(one[0].split()[0], 3)):
        settings, (factor, unit) = _settings(panel, name), scales[name]
        drawn = {
            "x": [datetime.fromtimestamp(time / 1000, UTC) for time, _ in points],
            "y": [None if value is None else value / factor for _, value in points],
            "name": _named(str(settings.get("displayName", name)), unit),
        }
        band = settings.get("custom.fillBelowTo") in series
        mode = "markers" if style == "points" else "lines+markers"
        figure.add_scatter(
            **drawn, mode=mode, line_width=settings.get("custom.lineWidth", 1), marker_color=_colour(settings),
            marker_size=settings.get("custom.pointSize", 5), fill="tonexty" if band else None,
            showlegend=not settings.get("custom.hideFrom", {}).get("legend"),
        )  # fmt: skip
    for time in shifts:
        figure.add_vline(x=time, line_color=RED)
    scale = _scale_of(panel)
    return figure.update_yaxes(
        **scale, rangemode="tozero" if scale["type"] == "linear" and "axisSoftMin" in custom else None
    )


def _broken(points: Sequence[Any], longest_ms: Any) -> Sequence[Any]:
    """Interrupt a line where Grafana does: at gaps of more than `longest_ms`, if that is a number."""
    if isinstance(longest_ms, bool) or not longest_ms:
        return points
    drawn = []
    for at, point in enumerate(points):
        if at and point[0] - points[at - 1][0] > longest_ms:
            drawn.append((point[0], None))
        drawn.append(point)
    return drawn


def _scales(panel: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]) -> dict[str, tuple[float, str]]:
    """One scale for all columns of a unit."""
    units = {name: str(_settings(panel, name).get("unit", "")) for name in columns}
    largest: dict[str, float] = {}
    for name, values in columns.items():
        for value in values:
            largest[units[name]] = max(largest.get(units[name], 0.0), abs(value or 0.0))
    return {name: _scale(largest.get(unit, 0.0), unit) for name, unit in units.items()}


def _named(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _scale(largest: float, unit: str) -> tuple[float, str]:
    scales = _SCALES.get(unit, ((1.0, unit.removeprefix("suffix:") if unit.startswith("suffix:") else ""),))
    return next((one for one in scales if largest >= one[0]), scales[-1])


def _scale_of(panel: Mapping[str, Any]) -> dict[str, Any]:
    custom = panel["fieldConfig"]["defaults"].get("custom", {})
    kind = str(custom.get("scaleDistribution", {}).get("type", "linear"))
    # Ticks at 1, 2 and 5: labels of all digits overlap.
    return {"type": kind, "dtick": "D2" if kind == "log" else None}


_HEAD = f"""<!doctype html><html lang=en><meta charset=utf-8><title>Regatta dashboards</title><style>
:root{{color-scheme:light dark}}
body{{font:13px sans-serif;background:light-dark(#f4f5f5,#111217);color:light-dark(#222,#ccccdc);margin:12px}}
.chosen,.empty{{color:light-dark(#5f6368,#9fa3ad)}} .heading{{font-size:15px;margin:0;align-self:end}}
.grid{{display:grid;grid-template-columns:repeat(24,minmax(0,1fr));grid-auto-rows:{_CELL}px;gap:6px}}
.panel{{background:light-dark(#fff,#181b1f);border:1px solid light-dark(#ddd,#333);padding:6px;overflow:hidden;
display:flex;flex-direction:column}}
h3{{font-size:13px;margin:0 0 4px}} .rows{{overflow:auto}}
table{{border-collapse:collapse;font-size:11px;white-space:nowrap;table-layout:fixed}}
td,th{{box-sizing:border-box;border-bottom:1px solid #8884;padding:1px 8px;text-align:left}} .stat{{font-size:40px;text-align:center}}
.empty{{margin:auto;text-align:center}} .plotly-graph-div text{{fill:light-dark(#444,#c8c8d4)!important}}</style>"""
