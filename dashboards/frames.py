"""Rows as Grafana makes them of InfluxDB's answers, after the transformations that the boards use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.asking import Answer

#: names of columns, and rows
Frame = tuple[list[str], list[list[Any]]]


def series_of(answer: Answer) -> list[tuple[str, Mapping[str, str], list[list[Any]]]]:
    """Time series: their names, tags and (time, value)."""
    found: list[tuple[str, Mapping[str, str], list[list[Any]]]] = []
    for target, series in answer.found:
        for one in series:
            tags = dict(one["tags"] or {})
            for place, column in enumerate(one["columns"][1:], start=1):
                alias = _alias(target.get("alias", column), column, tags)
                found.append((alias, tags, [[row[0], row[place]] for row in one["values"]]))
    return found


def _alias(text: str, column: str, tags: Mapping[str, str]) -> str:
    names = {"col": column, **{f"tag_{name}": value for name, value in tags.items()}}
    return re.sub(r"\$(\w+)", lambda part: names.get(part[1], part[0]), text)


def frame_of(answer: Answer) -> Frame:
    """The rows of a table or of bars, after the panel's transformations."""
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
            frames = [_merged(frames)]
        elif step["id"] == "organize":
            frames = [_organized(frame, options) for frame in frames]
    return frames[0] if frames else ([], [])


def _merged(frames: Sequence[Frame]) -> Frame:
    """One row for equal values of the columns that all frames have."""
    columns = list(dict.fromkeys(name for names, _ in frames for name in names))
    common = [name for name in columns if all(name in names for names, _ in frames)]
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
    return columns, [[row.get(name) for name in columns] for row in rows.values()]


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
