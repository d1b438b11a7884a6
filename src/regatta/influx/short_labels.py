"""Short names, labels and the order of estimates and vectors, for axes, legends and tables of dashboards.

A short name has only the parts that differ. A dashboard cannot compute it, because InfluxQL has no functions on text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from regatta.figures.text import parameter_text, show_brief, show_quantity
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.experiment import Scalar
from regatta.influx.points import ESTIMATE, MEAN, TAGS, VECTOR, Field, Point
from regatta.stats.estimate import DISTURBED, is_disturbed

_Key = TypeVar("_Key", bound=Hashable)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
#: The size that an operation is about needs no name.
_SIZES = ("bytes", "size_bytes", "array_bytes")
#: Fewer could make different parameters look equal.
_DIGITS = 6
#: ending of the name of a parameter -> its unit, if `parameter_text` does not show it
_UNITS = {"_kib": " KiB", "_us": " µs"}
#: the field `setting` of an estimate without parameters
NO_SETTING = "none"
#: tags of a configuration and its heap, in the order in which they are shown
_CONFIGURATION = ("runtime", "collector", "modifiers", "heap")

#: One part of a sort key: numbers come before texts.
Natural = tuple[tuple[int, float, str], ...]


def setting_text(parameters: Mapping[str, Scalar], shown: frozenset[str] | None = None) -> str:
    """Format parameters without JSON: `add double`, `64 MiB, stride 64 bytes`, `99th percentile`; "" for none.

    `shown`: names of the parameters to show; None: all.
    """
    texts: list[str] = []
    numbers: list[str] = []
    for name, value in sorted(parameters.items()):
        if shown is not None and name not in shown:
            continue
        if isinstance(value, str):
            texts.append(value)
        elif name == "percentile" and not isinstance(value, bool):
            numbers.append(_percentile(value))
        elif name in _SIZES:
            numbers.insert(0, _number_text(name, value))
        else:
            ending = next((end for end in (*_UNITS, "_bytes") if name.endswith(end)), "")
            spoken = name.removesuffix(ending).replace("_", " ")
            numbers.append(f"{spoken} {_number_text(name, value)}{_UNITS.get(ending, '')}")
    return ", ".join(part for part in (" ".join(texts), *numbers) if part)


def _number_text(name: str, value: Scalar) -> str:
    """Format a number; a mean of several arguments with six significant digits."""
    if not isinstance(value, float):
        return parameter_text(name, value)
    if name.endswith("bytes"):
        return show_quantity(value, "bytes", _DIGITS)
    return f"{value:.{_DIGITS}g}" if abs(value) < 10**_DIGITS else f"{value:.0f}"


def _percentile(value: float) -> str:
    if value in (50, 100):
        return "median" if value == 50 else "maximum"
    number = show_brief(value, 6)
    ordinal = {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th")
    return f"{number}{'th' if number in ('11', '12', '13') else ordinal} percentile"


def configuration_text(parts: Mapping[str, str], shown: frozenset[str]) -> str:
    """Join the parts of a cell that differ within an experiment: `temurin-21 g1 1.5x`; all parts if none differs.

    Args:
        parts: runtime, collector, modifiers and heap by name, in this order; "" is omitted.
        shown: names of the parts that differ.
    """
    kept = {name: text for name, text in parts.items() if text}
    return " ".join(text for name, text in kept.items() if name in shown) or " ".join(kept.values())


def differing(rows: Sequence[Mapping[str, Scalar]]) -> frozenset[str]:
    """Return the names that do not have the same value in all rows. A row without a name differs in it."""
    names = {name for row in rows for name in row}
    return frozenset(name for name in names if len({repr(row.get(name)) for row in rows}) > 1)


def places(keys: Iterable[tuple[_Key, tuple[str, ...]]]) -> dict[_Key, int]:
    """Return the place of each key, from 0, in natural order: `2x` before `10x`.

    `keys`: each with the texts to sort by.
    """
    ordered = sorted(dict(keys).items(), key=lambda one: tuple(map(natural, one[1])))
    return {key: place for place, (key, _) in enumerate(ordered)}


def natural(text: str) -> Natural:
    """Return a key that sorts the numbers in a text by their size."""
    parts = (part for part in _NUMBER.split(text) if part)
    return tuple((0, float(part), "") if _NUMBER.fullmatch(part) else (1, 0.0, part) for part in parts)


@dataclass(frozen=True)
class _Tagged:
    """A point with its tags and parameters by name."""

    point: Point
    tags: dict[str, str]
    parameters: dict[str, Scalar]

    def of(self, *names: str) -> tuple[str, ...]:
        """Return some of its tags."""
        return tuple(self.tags[name] for name in names)

    def with_fields(self, fields: Mapping[str, Field]) -> Point:
        """Return the point with more fields."""
        return replace(self.point, fields={**self.point.fields, **fields})


def _tagged(measurement: str, points: Iterable[Point]) -> list[_Tagged]:
    found = []
    for point in points:
        tags = dict(zip(TAGS[measurement], point.tags, strict=True))
        parameters = tags["parameters"]
        found.append(_Tagged(point, tags, json.loads(parameters) if parameters else {}))
    return found


def _parameters_by(points: Iterable[_Tagged], *names: str) -> dict[tuple[str, ...], list[dict[str, Scalar]]]:
    """Return the parameters of the points with the same values of some tags."""
    found: dict[tuple[str, ...], list[dict[str, Scalar]]] = {}
    for point in points:
        found.setdefault(point.of(*names), []).append(point.parameters)
    return found


def labelled_estimates(points: Iterable[Point]) -> list[Point]:
    """Add short names and places to estimates. They depend on the differences between all estimates of the answer."""
    every = _tagged(ESTIMATE, points)
    means = [{name: one.tags[name] for name in _CONFIGURATION} for one in every if one.tags["kind"] == MEAN]
    shown = differing(means)
    of_series = _parameters_by(every, "benchmark", "metric")
    place = places(
        (one.point.tags, one.of("benchmark", "metric", "heap", *_CONFIGURATION, "parameters"))
        for one in every
    )
    found = []
    for one in every:
        parts = {name: one.tags[name] for name in _CONFIGURATION if one.tags[name] != NO_MODIFIERS}
        short = configuration_text(parts, shown)
        if is_disturbed(str(one.point.fields["method"])):
            # The bars of dashboards have this name.
            short = f"{short} ({DISTURBED})".strip()
        differ = differing(of_series[one.of("benchmark", "metric")])
        setting = setting_text(one.parameters, differ or None) or NO_SETTING
        # The first number among the choices in the label of the benchmark.
        chosen = parts_of_label(one.tags["benchmark"]).chosen.values()
        numbers = [{"number": float(text)} for text in chosen if _NUMBER.fullmatch(text)]
        fields: dict[str, Field] = {"short": short, "setting": setting, "place": place[one.point.tags]}
        found.append(one.with_fields(fields | (numbers[0] if numbers else {})))
    return found


def labelled_vectors(points: Iterable[Point]) -> list[Point]:
    """Add a label, a place and a number to vectors: the parameters in which the points of a primitive differ.

    A point has a number only if its primitive has one such parameter, and that is numeric in all points.
    """
    every = _tagged(VECTOR, points)
    of_primitive = _parameters_by(every, "primitive")
    shown = {primitive: differing(rows) for primitive, rows in of_primitive.items()}
    # Times come before bandwidths, which have no latency.
    place = places(
        (one.point.tags, ("1" if one.tags["unit"] == "MB/s" else "0", *one.of("primitive", "parameters")))
        for one in every
    )
    found = []
    for one in every:
        primitive = one.of("primitive")
        names = shown[primitive]
        fields: dict[str, Field] = {
            "label": setting_text(one.parameters, names or None),
            "place": place[one.point.tags],
        }
        if len(names) == 1:
            (name,) = names
            if all(_is_number(row.get(name)) for row in of_primitive[primitive]):
                fields["number"] = float(one.parameters[name])
        found.append(one.with_fields(fields))
    return found


def _is_number(value: Scalar | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
