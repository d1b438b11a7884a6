"""Labels and places of vectors: those of system vectors, of counts and of predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from regatta.host.values.experiment import Scalar
from regatta.influx.points import TAGS, VECTOR, Point
from regatta.influx.short_labels import differing, parameters_of, places, setting_text


def labelled_vectors(points: Iterable[Point]) -> list[Point]:
    """Add a label, a place and a number to vectors: the parameters in which the points of a primitive differ.

    A point has a number only if its primitive has one such parameter, and that is numeric in all points.
    """
    points = list(points)
    tags = [dict(zip(TAGS[VECTOR], point.tags, strict=True)) for point in points]
    parameters = [parameters_of(one["parameters"]) for one in tags]
    of_primitive: dict[str, list[Mapping[str, Scalar]]] = {}
    for one, own in zip(tags, parameters, strict=True):
        of_primitive.setdefault(one["primitive"], []).append(own)
    shown = {primitive: differing(rows) for primitive, rows in of_primitive.items()}
    # Times come before bandwidths, which have no latency.
    place = places(
        (point.tags, ("1" if one["unit"] == "MB/s" else "0", one["primitive"], one["parameters"]))
        for point, one in zip(points, tags, strict=True)
    )
    numbers = {
        primitive: name
        for primitive, (name, *more) in ((key, tuple(names)) for key, names in shown.items() if names)
        if not more and all(_is_number(row.get(name)) for row in of_primitive[primitive])
    }
    return [
        replace(
            point,
            fields={
                **point.fields,
                "label": setting_text(own, shown[one["primitive"]] or None),
                "place": place[point.tags],
                **({"number": float(own[numbers[one["primitive"]]])} if one["primitive"] in numbers else {}),
            },
        )
        for point, one, own in zip(points, tags, parameters, strict=True)
    ]


def _is_number(value: Scalar | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
