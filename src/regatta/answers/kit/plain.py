"""Convert values of the answers to JSON values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any

from regatta.answers.spine.parts import HEAP, INLINED, Place
from regatta.answers.spine.verdicts import Verdict
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import Interval


def plain(value: Any) -> Any:
    """Convert frozen values to JSON values: dataclasses by their fields, NaN and infinity to null."""
    if is_dataclass(value) and not isinstance(value, type):
        found: dict[str, Any] = {}
        for field in fields(value):
            parts = _inlined(value, field)
            found |= {field.name: plain(getattr(value, field.name))} if parts is None else parts
        return found
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return finite(value) if isinstance(value, float) else value


def parts_of(place: Place, names: Iterable[str]) -> dict[str, Any]:
    """Return the named parts of a place; its heap gives `heap_factor` and `heap_mib`."""
    heap = _heap(place.heap)
    return {name: heap[name] if name in heap else getattr(place, name) for name in names}


def _inlined(value: Any, field: Field[Any]) -> dict[str, Any] | None:
    """Return the inlined parts that replace a field in a document; None for other fields."""
    item = getattr(value, field.name)
    if isinstance(item, Heap):
        return _heap(item)
    if INLINED not in field.metadata:
        return None
    names = field.metadata[INLINED]
    if isinstance(item, Place):
        return parts_of(item, names)
    return {name: plain(getattr(item, name)) for name in names}


def _heap(heap: Heap) -> dict[str, Any]:
    return dict(zip(HEAP, (heap.factor, heap.mib), strict=True))


def finite(value: float) -> float | None:
    """Return the number, or None if it is not finite."""
    return value if math.isfinite(value) else None


def place_of(of: Any) -> dict[str, Any]:
    """Return the known parts of a result's place: platform, host, benchmark, runtime, modifiers, heap and metric."""
    found = {name: part for field in fields(of) for name, part in (_inlined(of, field) or {}).items()}
    names = ("platform", "host", "benchmark", "runtime", "modifiers", *HEAP, "metric")
    return {
        name: found[name] if name in found else getattr(of, name)
        for name in names
        if name in found or hasattr(of, name)
    }


def ratio_of(ratio: Interval) -> dict[str, Any]:
    """Return a ratio with its interval, with the member names of the document."""
    return {
        "n": ratio.n,
        "ratio": finite(ratio.point),
        "low": finite(ratio.low),
        "high": finite(ratio.high),
        "level": ratio.level,
        "method": ratio.method,
        "reason": ratio.reason,
    }


def row_of(estimate: Interval) -> dict[str, Any]:
    """Return the CSV columns of an estimate."""
    row = ratio_of(estimate)
    row["value"] = row.pop("ratio")
    return row


def pair_row(
    of: Any,
    kind: str,
    a: str,
    b: str,
    ratio: Interval,
    p: float,
    /,
    *,
    verdict: Verdict | None = None,
    **further: Any,
) -> dict[str, Any]:
    """Return the CSV columns of the ratio a/b at the place of a result.

    Args:
        p: of "the ratio is 1"; NaN without a test.
        verdict: its parts are columns.
        further: more columns, or others for the place.
    """
    row = {**place_of(of), "kind": kind, "a": a, "b": b, **row_of(ratio)}
    if not math.isnan(p):
        row["p"] = p
    return {**row, **({} if verdict is None else plain(verdict)), **further}


def text_of(parameters: Mapping[str, Any]) -> str:
    """Return parameters as the text of a CSV column; "" without any."""
    return json.dumps(dict(parameters), sort_keys=True) if parameters else ""
