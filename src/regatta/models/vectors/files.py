"""Read and write the files of vectors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from regatta.host.errors import Problem, RegattaError, SpecError
from regatta.host.files import write_output
from regatta.models.vectors.schema import (
    AmountSpec,
    ApplicationFile,
    CostSpec,
    IntervalSpec,
    NumberSpec,
    SystemFile,
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
    elif kind == "system":
        system = check(SystemFile, document, problems)
        found = None if system is None else _system(system)
    elif kind == "application":
        application = check(ApplicationFile, document, problems)
        found = None if application is None else _application(application)
    elif "kind" in document.value:
        problems.append(unknown_choice(document.where(("kind",)), kind, ("system", "application")))
    else:
        expected = "the key `kind` (system or application)"
        problems.append(Problem(document.where(("kind",)), expected, "missing", "add `kind: system`"))
    if problems or found is None:
        raise SpecError(problems)
    return found


def _interval(spec: IntervalSpec) -> Value:
    low, high = (math.nan if end is None else float(end) for end in (spec.low, spec.high))
    value = math.nan if spec.value is None else float(spec.value)
    return Value(value, low, high, int(spec.n), str(spec.reason))


def _cost(spec: CostSpec) -> Cost:
    if spec.linear is not None:
        return LinearCost(str(spec.linear.argument), _interval(spec.linear.fixed), _interval(spec.linear.per))
    if spec.table is not None:
        points = tuple(
            TablePoint(tuple(map(float, point.at)), _interval(point.cost)) for point in spec.table.points
        )
        return TableCost(tuple(map(str, spec.table.arguments)), points, spec.table.outside)
    if spec.piecewise is not None:
        pieces = tuple((_interval(piece.fixed), _interval(piece.per)) for piece in spec.piecewise.pieces)
        return PiecewiseCost(str(spec.piecewise.argument), tuple(map(float, spec.piecewise.breaks)), pieces)
    return ConstantCost(_interval(spec))


def _system(spec: SystemFile) -> SystemVector:
    primitives = {
        str(name): PrimitiveCost(
            entry.unit,
            _cost(entry.cost),
            _interval(entry.user_share),
            {str(argument): (float(low), float(high)) for argument, (low, high) in entry.measured.items()},
        )
        for name, entry in spec.primitives.items()
    }
    return SystemVector(
        str(spec.name), spec.time_unit, primitives, float(spec.level), _texts(spec.provenance)
    )


def _application(spec: ApplicationFile) -> ApplicationVector:
    counts = tuple(
        Count(
            str(entry.primitive),
            _interval(entry.count),
            _numbers(entry.arguments),
            tuple(Share(_numbers(part.arguments), float(part.share)) for part in entry.distribution),
            tuple(map(str, entry.stands_for)),
            str(entry.rule),
        )
        for entry in spec.counts
    )
    return ApplicationVector(
        str(spec.name),
        str(spec.per),
        counts,
        float(spec.level),
        None if spec.user_time is None else _interval(spec.user_time),
        spec.time_unit,
        str(spec.benchmark),
        _texts(spec.provenance),
        pause_time=None if spec.pause_time is None else _interval(spec.pause_time),
        parallelism=float(spec.parallelism),
    )


def _texts(given: Mapping[str, str]) -> dict[str, str]:
    return {str(key): str(value) for key, value in given.items()}


def _numbers(given: Mapping[str, float]) -> dict[str, float]:
    return {str(key): float(value) for key, value in given.items()}


def vector_text(vector: SystemVector | ApplicationVector) -> str:
    """Return a vector as YAML: one entry per line, keys in the order of the reference. Equal vectors give equal text.

    Raises:
        RegattaError: a value is not a finite number, which files cannot hold.
    """
    lines = _system_lines(vector) if isinstance(vector, SystemVector) else _application_lines(vector)
    if vector.provenance:
        lines.append("provenance:")
        lines += [f"  {_flow(key)}: {_flow(value)}" for key, value in vector.provenance.items()]
    return "\n".join(lines) + "\n"


def write_vector(vector: SystemVector | ApplicationVector, path: Path) -> None:
    """Write the file of a vector atomically. `read_vector` returns an equal vector, with ends of intervals within the possible values.

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
    if application.user_time is not None:
        where = f"{application.name}: user_time"
        lines.append(f"user_time: {_flow(_number_data(application.user_time, where))}")
    if application.pause_time is not None:
        where = f"{application.name}: pause_time"
        lines.append(f"pause_time: {_flow(_number_data(application.pause_time, where))}")
    if application.parallelism != 1.0:
        lines.append(f"parallelism: {_flow(application.parallelism)}")
    if application.benchmark:
        lines.append(f"benchmark: {_flow(application.benchmark)}")
    lines.append("counts:")
    for count in application.counts:
        where = f"{application.name}: {count.primitive}"
        entry: dict[str, Any] = {
            "primitive": count.primitive,
            "count": _number_data(count.count, where),
            "arguments": dict(count.arguments),
            "distribution": [
                {"arguments": dict(part.arguments), "share": part.share} for part in count.distribution
            ],
            "stands_for": list(count.stands_for),
            "rule": count.rule,
        }
        lines.append(
            f"  - {_flow({key: value for key, value in entry.items() if value not in ({}, [], '')})}"
        )
    return lines


def _cost_data(cost: Cost, where: str) -> Any:
    if isinstance(cost, ConstantCost):
        return _number_data(cost.cost, where)
    if isinstance(cost, LinearCost):
        line = {"fixed": _number_data(cost.fixed, where), "per": _number_data(cost.per, where)}
        return {"linear": {"argument": cost.argument, **line}}
    if isinstance(cost, TableCost):
        points = [
            {
                "at": list(point.at) if len(cost.arguments) > 1 else point.at[0],
                "cost": _number_data(point.cost, where),
            }
            for point in cost.points
        ]
        return {"table": {"arguments": list(cost.arguments), "points": points, "outside": cost.outside}}
    pieces = [
        {
            "fixed": _number_data(fixed, where, NumberSpec.possible),
            "per": _number_data(per, where, NumberSpec.possible),
        }
        for fixed, per in cost.pieces
    ]
    return {"piecewise": {"argument": cost.argument, "breaks": list(cost.breaks), "pieces": pieces}}


def _share_data(share: Value, where: str) -> Any:
    return (
        {"reason": share.reason}
        if math.isnan(share.value) and share.reason
        else _number_data(share, where, UserShareSpec.possible)
    )


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
