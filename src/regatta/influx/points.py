"""Points for InfluxDB, with the fixed tags and typed fields of each measurement. The reference is `docs/influx.md`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from regatta.host.journal.record_shape import Kind
from regatta.host.values.cell import heap_text
from regatta.store.columns import INVOCATION_COLUMNS, canonical_json
from regatta.store.events import Event

if TYPE_CHECKING:
    from regatta.answers.spine.parts import Place
    from regatta.stats.estimate import Interval

Field = bool | int | float | str

ITERATION, INVOCATION, HOST_STATE = "iteration", "invocation", "host_state"
ESTIMATE, VECTOR, EVENT = "estimate", "vector", "event"
#: of earlier versions, which also wrote plans; a rebuild deletes them
NO_LONGER_WRITTEN = ("plan", "cell")
#: kinds of estimates; a shift in a history of experiments belongs to no journal
MEAN, RATIO, RUNTIME, OVERHEAD, DRIFT, SHIFT = "mean", "ratio", "runtime", "overhead", "drift", "shift"
#: of histories: a shift that the host caused, and, without a number, what differs from the environment of the experiment before
HOST_SHIFT, ENVIRONMENT = "host-shift", "environment"
#: of histories: the mean of the canary, and that of another series as if its host had not changed
CANARY, AT_ONE_SPEED = "canary", "one-speed"
OF_HISTORIES = (SHIFT, HOST_SHIFT, ENVIRONMENT, CANARY, AT_ONE_SPEED)
#: kinds of ratios of platforms: for exactly these hosts and benchmarks, for similar hosts, and for similar benchmarks
PLATFORM, SIMILAR_HOSTS, SIMILAR_BENCHMARKS = "platform", "platform-hosts", "platform-benchmarks"
#: kind: change of a platform's values during its measurement
PLATFORM_DRIFT = "platform-drift"
#: ends of kinds: all pairs (`platform-pair`), and each alternative relative to the best (`platform-rank`)
PAIR, RANK = "pair", "rank"
#: kinds that depend on the set of alternatives: later answers can have others
OF_SETS = [f"{kind}-{end}" for kind in ("platform", "suite") for end in (PAIR, RANK)]
#: kinds of vectors: the cost of each primitive on a system, an application, and a prediction
SYSTEM, APPLICATION, PREDICTION = "system", "application", "prediction"

_HOST = ("experiment", "host", "platform")
_CELL = (*_HOST, "benchmark", "runtime", "collector", "modifiers", "heap")

#: measurement -> tags of all its points, in this order
TAGS: dict[str, tuple[str, ...]] = {
    ITERATION: (*_CELL, "metric", "unit", "parameters", "status"),
    INVOCATION: (*_CELL, "status"),
    HOST_STATE: _HOST,
    ESTIMATE: (*_CELL, "metric", "unit", "parameters", "kind", "baseline"),
    VECTOR: (*_HOST, "runtime", "kind", "primitive", "parameters", "unit", "system", "application"),
    EVENT: ("experiment", "host", "kind"),
}

#: The key of a series has at most 65,535 bytes in InfluxDB. A longer tag is cut, ends in a digest, and is complete in `unheld`.
LONGEST_TAG_BYTES = 1_000
#: JSON by name of values that a field cannot hold: an integer beyond 64 bits, NaN, infinity, -0.0, another type.
UNHELD = "unheld"


def _type_of(kind: Kind) -> type:
    if kind in ("int32", "int64"):
        return int
    return float if kind == "float" else str


_INVOCATION_FIELDS: dict[str, type] = {
    **{
        name: _type_of(kind) for name, (kind, _) in INVOCATION_COLUMNS.items() if name not in TAGS[INVOCATION]
    },
    "heap_factor": float,
    "heap_mib": float,
    "label": str,
    UNHELD: str,
}

#: measurement -> its fields and their types
FIELDS: dict[str, dict[str, type]] = {
    ITERATION: {
        "value": float, "iteration": int, "operations": int, "segment": int, "sequence": int, "line": int, UNHELD: str,
    },
    INVOCATION: _INVOCATION_FIELDS,
    HOST_STATE: {
        "load1": float, "steal_percent": float, "busy_percent": float, "psi_cpu_percent": float,
        "psi_memory_percent": float, "psi_io_percent": float, "frequency_mhz": float, "temperature_c": float,
        "swap_pages": float, "throttle_events": float, "perturbed": bool, UNHELD: str,
    },
    ESTIMATE: {
        "n": int, "point": float, "low": float, "high": float, "level": float, "method": str, "reason": str,
        "better": str, "significant": str, "practical": str, "label": str, "p": float, "p_holm": float, "theta_percent": float,
        "heap_factor": float, "heap_mib": float, "short": str, "setting": str, "place": int, "alternative": str, "rank": int, "leader": str,
        "first_utc_ns": int, "last_utc_ns": int, "number": float,
        "false_rate": float, UNHELD: str,
    },
    VECTOR: {
        "value": float, "low": float, "high": float, "n": int, "level": float, "method": str, "reason": str, "cost": float,
        "count": float, "share": float, "rule": str, "rank": int, "measured": float, "measured_low": float,
        "measured_high": float, "error": float, "label": str, "place": int, "number": float, UNHELD: str,
    },
    EVENT: {
        "text": str, "segment": int, "planned": int, "recorded": int,
        "failed": int, "perturbed": int, "remaining_s": float, "cell": str, "log": str, UNHELD: str,
    },
}  # fmt: skip

#: measurement -> a field of all its points: counted to compare both sides
COUNTED: dict[str, str] = {
    ITERATION: "line",
    INVOCATION: "iteration_rows",
    HOST_STATE: "perturbed",
    ESTIMATE: "n",
    VECTOR: "n",
    EVENT: "text",
}

_INT64 = range(-(2**63), 2**63)
#: NaN marks an undefined estimate
_ESTIMATED = (ESTIMATE, VECTOR)


@dataclass(frozen=True)
class Point:
    """One point; `tags` are in the order of `TAGS[measurement]`."""

    measurement: str
    tags: tuple[str, ...]
    fields: Mapping[str, Field]
    #: UTC, in ns since 1970
    time_ns: int


def make_point(measurement: str, tags: Iterable[object], fields: Mapping[str, Any], time_ns: int) -> Point:
    """Make a point of arbitrary values. Each field is converted to its type, or goes into `unheld`.

    None is skipped, and so is NaN of an estimate.

    Args:
        measurement: a key of `TAGS`.
        tags: in the order of `TAGS[measurement]`; None is an empty one.
        fields: by name; fields that the measurement lacks are skipped.
        time_ns: UTC, in ns since 1970.
    """
    held: dict[str, Field] = {}
    unheld: dict[str, Any] = {}
    for name, kind in FIELDS[measurement].items():
        value = fields.get(name)
        if value is None or (value != value and measurement in _ESTIMATED):
            continue
        if (fitting := _fitting(value, kind)) is None:
            unheld[name] = value
        else:
            held[name] = fitting
            if fitting == 0 and kind is float and math.copysign(1.0, float(value)) < 0:
                # Databases keep the sign of -0.0, but it is lost when answers are read.
                unheld[name] = value
    texts = tuple("" if tag is None else str(tag) for tag in tags)
    for name, text in zip(TAGS[measurement], texts, strict=False):
        if len(text) * 4 > LONGEST_TAG_BYTES < len(text.encode("utf-8", "backslashreplace")):
            unheld[name] = text
    if unheld:
        held[UNHELD] = json.dumps(unheld, sort_keys=True, ensure_ascii=False)
    return Point(measurement, texts, held, time_ns)


def estimate_point(
    experiment: str,
    place: Place,
    series: tuple[str, str, Mapping[str, Any]],
    kind: tuple[str, str],
    estimate: Interval,
    time_ns: int,
    **more: Any,
) -> Point:
    """Return the point of an estimate.

    Args:
        series: metric, unit and parameters.
        kind: the tags `kind` and `baseline`.
    """
    metric, unit, parameters = series
    factor, mib = place.heap.factor, place.heap.mib
    tags = (
        experiment, place.host, place.platform, place.benchmark, place.runtime, place.collector, place.modifiers,
        heap_text(factor, mib), metric, unit, canonical_json(dict(parameters)), *kind,
    )  # fmt: skip
    fields = {"heap_factor": factor, "heap_mib": mib, **interval_fields(estimate), **more}
    return make_point(ESTIMATE, tags, fields, time_ns)


def interval_fields(estimate: Interval) -> dict[str, Any]:
    """Return the fields of a point and its interval."""
    return {
        name: getattr(estimate, name) for name in ("n", "point", "low", "high", "level", "method", "reason")
    }


def event_point(experiment: str, event: Event) -> Point:
    """Return the point of an event. `text` is always present, because it is counted."""
    return make_point(EVENT, (experiment, event.host, event.kind), {"text": "", **event.fields}, event.utc_ns)


def _fitting(value: object, kind: type) -> Field | None:
    """Convert the value to the type of its field; None if the field cannot hold it."""
    if kind is bool:
        return value if isinstance(value, bool) else None
    if kind is int:
        return int(value) if isinstance(value, int) and value in _INT64 else None
    if kind is float:
        if not isinstance(value, int | float):
            return None
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else None


def apart(points: Iterable[Point]) -> Iterator[Point]:
    """Yield the points; delay a point by some ns if it has the series and the time of an earlier one."""
    seen: set[tuple[str, tuple[str, ...], int]] = set()
    for point in points:
        time_ns = point.time_ns
        while (point.measurement, point.tags, time_ns) in seen:
            time_ns += 1
        seen.add((point.measurement, point.tags, time_ns))
        yield point if time_ns == point.time_ns else replace(point, time_ns=time_ns)
