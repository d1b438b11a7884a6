"""Values of the answers as values that JSON has."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from regatta.stats.estimate import Interval


def plain(value: Any) -> Any:
    """Frozen values as values that JSON has: dataclasses by their fields, NaN and infinity as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return finite(value) if isinstance(value, float) else value


def finite(value: float) -> float | None:
    """The number, or None where there is none."""
    return value if math.isfinite(value) else None


def place_of(of: Any) -> dict[str, Any]:
    """Where a result stands, as far as it says so: platform, host, benchmark, runtime, modifiers, heap and metric."""
    names = ("platform", "host", "benchmark", "runtime", "modifiers", "heap_factor", "heap_mib", "metric")
    return {name: getattr(of, name) for name in names if hasattr(of, name)}


def ratio_of(ratio: Interval) -> dict[str, Any]:
    """A ratio with its interval, as the document names its members."""
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
    """The columns of a CSV row that hold an estimate."""
    row = ratio_of(estimate)
    row["value"] = row.pop("ratio")
    return row


def text_of(parameters: Mapping[str, Any]) -> str:
    """Parameters as the text of a CSV column; "" without any."""
    return json.dumps(dict(parameters), sort_keys=True) if parameters else ""
