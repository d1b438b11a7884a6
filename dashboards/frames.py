"""Convert results of InfluxDB to rows as Grafana does, including the transformations of the dashboards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.asking import Answer

_AS_IT_IS: dict[str, dict[str, Any]] = {"excludeByName": {}, "indexByName": {}, "renameByName": {}}

#: names of columns, and rows
Frame = tuple[list[str], list[list[Any]]]


def series_of(answer: Answer) -> list[tuple[str, Mapping[str, str], list[list[Any]]]]:
    """Return the name, the tags and the (time, value) pairs of each time series."""
    found: list[tuple[str, Mapping[str, str], list[list[Any]]]] = []
    for target, series in answer.found:
        for one in series if target["resultFormat"] == "time_series" else ():
            tags = dict(one["tags"] or {})
            for place, column in enumerate(one["columns"][1:], start=1):
                alias = _alias(target.get("alias", column), column, tags)
                alias = _renamed(alias, answer.panel["transformations"])
                found.append((alias, tags, [[row[0], row[place]] for row in one["values"]]))
    return found


def _alias(text: str, column: str, tags: Mapping[str, str]) -> str:
    names = {"col": column, **{f"tag_{name}": value for name, value in tags.items()}}
    return re.sub(r"\$(\w+)", lambda part: names.get(part[1], part[0]), text)


def _renamed(name: str, steps: Sequence[Mapping[str, Any]]) -> str:
    for step in steps:
        if step["id"] == "renameByRegex":
            shown = re.sub(r"\$(\d)", r"\\\1", step["options"]["renamePattern"])
            name = re.sub(step["options"]["regex"], shown, name)
    return name


def frame_of(answer: Answer) -> Frame:
    """Return the rows of a table or of bars after the transformations of the panel."""
    frames: list[Frame] = []
    for target, series in answer.found:
        if target["resultFormat"] == "table" and series:
            names = list(series[0]["tags"] or {})
            columns = ["Time", *names, *series[0]["columns"][1:]]
            frames.append((columns, [[row[0], *(one["tags"][name] for name in names), *row[1:]] for one in series for row in one["values"]]))  # fmt: skip
    for step in answer.panel["transformations"]:
        options = step["options"]
        if step["id"] == "labelsToFields":
            label = options["valueLabel"]
            for _, tags, points in series_of(answer):
                others = [name for name in tags if name != label]
                rows = [[time, *(tags[name] for name in others), value] for time, value in points]
                frames.append((["Time", *others, tags[label]], rows))
        elif step["id"] == "merge":
            frames = _merged(frames)
        elif step["id"] == "organize":
            frames = [_organized(frame, options) for frame in frames]
        elif step["id"] == "sortBy":
            frames = [_sorted(frame, options["sort"][0]["field"]) for frame in frames]
        elif step["id"] == "filterFieldsByName":
            excluded = {
                name: name not in options["include"]["names"] for names, _ in frames for name in names
            }
            frames = [_organized(frame, {**_AS_IT_IS, "excludeByName": excluded}) for frame in frames]
        elif step["id"] == "calculateField":
            frames = [_calculated(frame, options) for frame in frames]
    return frames[0] if frames else ([], [])


def _merged(frames: list[Frame]) -> list[Frame]:
    """Join rows with equal values in the columns that all frames have. As in Grafana, frames without such a column stay apart."""
    columns = list(dict.fromkeys(name for names, _ in frames for name in names))
    common = [name for name in columns if all(name in names for names, _ in frames)]
    if not common:
        return frames
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for place, (names, values) in enumerate(frames):
        for number, row in enumerate(values):
            named = dict(zip(names, row, strict=True))
            key = tuple(named[name] for name in common)
            if any(
                named[name] is not None and rows.get(key, {}).get(name) not in (None, named[name])
                for name in names
            ):
                key = (*key, place, number)
            rows.setdefault(key, {}).update(named)
    return [(columns, [[row.get(name) for name in columns] for row in rows.values()])]


def _organized(frame: Frame, options: Mapping[str, Any]) -> Frame:
    names, rows = frame
    order = options["indexByName"]
    kept = sorted(
        (name for name in names if not options["excludeByName"].get(name)),
        key=lambda name: order.get(name, len(order)),
    )
    places = [names.index(name) for name in kept]
    return [options["renameByName"].get(name, name) for name in kept], [
        [row[place] for place in places] for row in rows
    ]


def _sorted(frame: Frame, column: str) -> Frame:
    names, rows = frame
    if column not in names:
        return frame
    at = names.index(column)
    return names, sorted(rows, key=lambda row: (row[at] is None, row[at]))


def _calculated(frame: Frame, options: Mapping[str, Any]) -> Frame:
    if options["mode"] == "binary":
        return _divided(frame, options["binary"], options["alias"])
    names, rows = frame
    places = [names.index(name) for name in options["reduce"]["include"] if name in names]
    return [*names, options["alias"]], [[*row, sum(row[place] or 0 for place in places)] for row in rows]


def _divided(frame: Frame, of: Mapping[str, str], name: str) -> Frame:
    """Add the quotient of two columns. As in Grafana, an empty numerator counts as 0."""
    names, rows = frame
    if of["left"] not in names or of["right"] not in names:
        return frame
    above, below = names.index(of["left"]), names.index(of["right"])
    return [*names, name], [[*row, (row[above] or 0) / row[below] if row[below] else None] for row in rows]
