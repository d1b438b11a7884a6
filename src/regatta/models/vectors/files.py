"""Read and write the files of vectors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from regatta.host.errors import Problem, RegattaError, SpecError
from regatta.host.files import write_output
from regatta.models.vectors.schema import (
    AmountSpec,
    ApplicationFile,
    CostSpec,
    CountSpec,
    IntervalSpec,
    LineSpec,
    NumberSpec,
    PieceSpec,
    PiecesSpec,
    PointSpec,
    PrimitiveSpec,
    ShareSpec,
    SystemFile,
    TableSpec,
    UserShareSpec,
)
from regatta.models.vectors.values import (
    ApplicationVector,
    ConstantCost,
    Cost,
    Count,
    LinearCost,
    PiecewiseCost,
    PrimitiveCost,
    Share,
    SystemVector,
    TableCost,
    TablePoint,
    Value,
)
from regatta.spec.flow import flow_yaml
from regatta.spec.problems import check, shown, shown_path, unknown_choice
from regatta.spec.yaml_lines import Document, parse_yaml, read_yaml

#: a value on one line
_flow = partial(flow_yaml, bare=re.compile(r"[A-Za-z][A-Za-z0-9_./+-]*"))


def read_vector(path: Path) -> SystemVector | ApplicationVector:
    """Read the file of a vector of the type in its `kind`.

    Raises:
        SpecError: it cannot be read or is wrong, with every problem of it.
    """
    return _vector(read_yaml(path, shown_path(path)))


def parse_vector(text: str, file: str) -> SystemVector | ApplicationVector:
    """Read a vector from text; `file` is its name in problems. Raises the errors of `read_vector`."""
    return _vector(parse_yaml(text.encode(), file))


def _vector(document: Document) -> SystemVector | ApplicationVector:
    problems: list[Problem] = []
    found: SystemVector | ApplicationVector | None = None
    kind = document.value.get("kind") if isinstance(document.value, dict) else None
    if not isinstance(document.value, dict):
        expected = "a vector (a mapping)"
        problems.append(Problem(document.where(()), expected, shown(document.value), "add `kind: system`"))
    elif kind in ("system", "application"):
        found = _value(check(SystemFile if kind == "system" else ApplicationFile, document, problems))
    elif "kind" in document.value:
        problems.append(unknown_choice(document.where(("kind",)), kind, ("system", "application")))
    else:
        expected = "the key `kind` (system or application)"
        problems.append(Problem(document.where(("kind",)), expected, "missing", "add `kind: system`"))
    if problems or found is None:
        raise SpecError(problems)
    return found


#: a part of a file -> its value, which has the same fields
_VALUES: Mapping[type, Callable[..., Any]] = {
    ApplicationFile: ApplicationVector,
    CountSpec: Count,
    LineSpec: LinearCost,
    PiecesSpec: PiecewiseCost,
    PointSpec: TablePoint,
    PrimitiveSpec: PrimitiveCost,
    ShareSpec: Share,
    SystemFile: SystemVector,
    TableSpec: TableCost,
}


def _value(given: Any) -> Any:
    """Return a part of a file as a value: lists as tuples, texts and numbers without their place."""
    if isinstance(given, CostSpec):
        other = next(filter(None, (given.linear, given.table, given.piecewise)), None)
        return ConstantCost(_interval(given)) if other is None else _value(other)
    if isinstance(given, IntervalSpec):
        return _interval(given)
    if isinstance(given, PieceSpec):
        return _interval(given.fixed), _interval(given.per)
    if (make := _VALUES.get(type(given))) is not None:
        names = type(given).model_fields
        return make(**{name: _value(getattr(given, name)) for name in names if name != "kind"})
    if isinstance(given, Mapping):
        return {str(key): _value(value) for key, value in given.items()}
    if isinstance(given, list):
        return tuple(map(_value, given))
    return str(given) if isinstance(given, str) else None if given is None else float(given)


def _interval(spec: IntervalSpec) -> Value:
    value, low, high = (math.nan if one is None else float(one) for one in (spec.value, spec.low, spec.high))
    return Value(value, low, high, int(spec.n), str(spec.reason))


def vector_text(vector: SystemVector | ApplicationVector) -> str:
    """Return a vector as YAML, one entry per line; equal vectors give equal text.

    Raises:
        RegattaError: a value is not a finite number, which files cannot hold.
    """
    lines = _system_lines(vector) if isinstance(vector, SystemVector) else _application_lines(vector)
    if vector.provenance:
        lines.append("provenance:")
        lines += [f"  {_flow(key)}: {_flow(value)}" for key, value in vector.provenance.items()]
    return "\n".join(lines) + "\n"


def write_vector(vector: SystemVector | ApplicationVector, path: Path) -> None:
    """Write a vector atomically. `read_vector` returns an equal one, with ends within the possible values.

    Raises:
        SpecError: the vector could not be read again, such as one with a cost below 0.
        RegattaError: a value is not a finite number, or the file cannot be written.
    """
    text = vector_text(vector)
    parse_vector(text, str(path))
    write_output(path, text)


def _system_lines(system: SystemVector) -> list[str]:
    lines = [
        "kind: system",
        f"name: {_flow(system.name)}",
        f"time_unit: {system.time_unit}",
        f"level: {_flow(system.level)}",
        "primitives:",
    ]
    for name, primitive in system.primitives.items():
        where = f"{system.name}: {name}"
        entry: dict[str, Any] = {"unit": primitive.unit, "cost": _cost_data(primitive.cost, where)}
        if primitive.user_share != Value.exact(0.0):
            entry["user_share"] = _share_data(primitive.user_share, where)
        if primitive.measured:
            entry["measured"] = {argument: list(ends) for argument, ends in primitive.measured.items()}
        lines.append(f"  {_flow(name)}: {_flow(entry)}")
    return lines


def _application_lines(application: ApplicationVector) -> list[str]:
    lines = [
        "kind: application",
        f"name: {_flow(application.name)}",
        f"per: {_flow(application.per)}",
        f"level: {_flow(application.level)}",
        f"time_unit: {application.time_unit}",
    ]
    for name, time in (("user_time", application.user_time), ("pause_time", application.pause_time)):
        if time is not None:
            lines.append(f"{name}: {_flow(_number_data(time, f'{application.name}: {name}'))}")
    if application.parallelism != 1.0:
        lines.append(f"parallelism: {_flow(application.parallelism)}")
    if application.benchmark:
        lines.append(f"benchmark: {_flow(application.benchmark)}")
    if application.metric:
        lines.append(f"metric: {_flow(application.metric)}")
    lines.append("counts:")
    for count in application.counts:
        where = f"{application.name}: {count.primitive}"
        entry: dict[str, Any] = {
            "primitive": count.primitive,
            "count": _number_data(count.count, where),
            "arguments": dict(count.arguments),
            "distribution": [{"arguments": dict(p.arguments), "share": p.share} for p in count.distribution],
            "stands_for": list(count.stands_for),
            "rule": count.rule,
        }
        given = {key: value for key, value in entry.items() if value not in ({}, [], "")}
        lines.append(f"  - {_flow(given)}")
    return lines


def _cost_data(cost: Cost, where: str) -> Any:
    if isinstance(cost, ConstantCost):
        return _number_data(cost.cost, where)
    if isinstance(cost, LinearCost):
        line = {"fixed": _number_data(cost.fixed, where), "per": _number_data(cost.per, where)}
        return {"linear": {"argument": cost.argument, **line}}
    if isinstance(cost, TableCost):
        several = len(cost.arguments) > 1
        points = [
            {"at": list(point.at) if several else point.at[0], "cost": _number_data(point.cost, where)}
            for point in cost.points
        ]
        return {"table": {"arguments": list(cost.arguments), "points": points, "outside": cost.outside}}
    any_number = partial(_number_data, where=where, possible=NumberSpec.possible)
    pieces = [{"fixed": any_number(fixed), "per": any_number(per)} for fixed, per in cost.pieces]
    return {"piecewise": {"argument": cost.argument, "breaks": list(cost.breaks), "pieces": pieces}}


def _share_data(share: Value, where: str) -> Any:
    if math.isnan(share.value) and share.reason:
        return {"reason": share.reason}
    return _number_data(share, where, UserShareSpec.possible)


def _number_data(number: Value, where: str, possible: tuple[float, float] = AmountSpec.possible) -> Any:
    """Return a number as in a file. An interval keeps its level without the values that are not possible."""
    if not math.isfinite(number.value):
        raise RegattaError(where, "a finite number", f"{number.value}", number.reason or "remove the entry")
    if number.is_exact and not number.n and not number.reason:
        return number.value
    found: dict[str, Any] = {"value": number.value}
    if math.isfinite(number.low) and math.isfinite(number.high):
        found |= {"low": max(number.low, possible[0]), "high": min(number.high, possible[1])}
    if number.n:
        found["n"] = number.n
    if number.reason:
        found["reason"] = number.reason
    return found
