"""The columns of a record: names, kinds and accessors, for both tables and points.

Kinds are fixed (`regatta.host.journal.record_shape`), so an all-null column keeps its kind when values appear. Missing keys
become null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from regatta.host.journal.record import without_surrogates
from regatta.host.journal.record_shape import GROUPS, KEYS, Kind

Column = tuple[Kind, Callable[[Mapping[str, Any]], Any]]


def _own(*keys: str) -> dict[str, Column]:
    """Return columns of top-level keys of a record."""

    def column(key: str) -> Column:
        return KEYS[key], lambda record: record.get(key)

    return {key: column(key) for key in keys}


def _inside(group: str, prefix: str = "", keys: tuple[str, ...] = ()) -> dict[str, Column]:
    """Return columns of keys in an object of a record; of all its keys by default."""

    def column(key: str) -> Column:
        kind = GROUPS[group][key]
        if kind == "float":
            return kind, lambda record: _number((record.get(group) or {}).get(key))
        return kind, lambda record: (record.get(group) or {}).get(key)

    return {f"{prefix}{key}": column(key) for key in keys or GROUPS[group]}


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _as_json(key: str) -> dict[str, Column]:
    return {key: ("text", lambda record: canonical_json(record.get(key)))}


def canonical_json(value: Any) -> str | None:
    """Return JSON with sorted keys and without lone surrogates, so that equal values give equal texts. None and {} give None."""
    if value is None or value == {}:
        return None
    text = _json(value)
    # Records have no surrogates, but vectors come from YAML.
    return text if text.isascii() else _json(without_surrogates(value))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


#: Name -> (kind, accessor).
INVOCATION_COLUMNS: dict[str, Column] = {
    **_own(
        "invocation_id", "attempt", "cell_id", "experiment", "host", "platform", "plan_id", "seed", "order"
    ),
    **_own("segment", "round", "block", "position", "planned_index", "sequence"),
    **_own("started_utc_ns", "started_monotonic_ns", "elapsed_ns", "status", "reason", "exit_code", "signal"),
    **_inside("rusage"),
    **_inside("cgroup", "cgroup_"),
    **_own("left_behind"),
    "iteration_rows": ("int64", lambda record: len(record.get("iterations") or ())),
    **_own("digest"),
    **_as_json("info"),
    **_inside("host_before", "before_"),
    **_inside("host_after", "after_"),
    **_as_json("perturbation"),
    **_own("cores", "padding_bytes"),
    **_inside("stdout", "stdout_", ("bytes",)),
    **_inside("stderr", "stderr_", ("bytes",)),
    **_inside("runner", "runner_"),
}


def invocation_values(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a record in the columns of an invocation; None for missing values.

    Raises:
        AttributeError, TypeError, ValueError: a part of it does not conform to docs/protocol.md.
    """
    return {name: read(record) for name, (_, read) in INVOCATION_COLUMNS.items()}
