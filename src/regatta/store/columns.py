"""What a record says in columns: their names, kinds and how each is read. Tables and points are both made of this.

Kinds are fixed here, so a column that is null everywhere today has the same kind tomorrow. Absent keys become null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

Record = Mapping[str, Any]

_STATE = (
    "load1", "psi_cpu_some_us", "psi_memory_some_us", "psi_memory_full_us", "psi_io_some_us", "psi_io_full_us",
    "busy_s", "steal_s", "swap_pages", "frequency_khz", "temperature_mc", "throttle_events",
)  # fmt: skip

#: of a column; `int32s` is a list
Kind = Literal["text", "int32", "int64", "float", "int32s"]
_TEXT: Kind = "text"
_SHORT: Kind = "int32"
_INT: Kind = "int64"
_FLOAT: Kind = "float"


def _clean(value: Any) -> Any:
    """Text that a program printed may hold what is no Unicode (lone surrogates); Parquet takes UTF-8 alone."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def _plain(key: str) -> Callable[[Record], Any]:
    return lambda record: _clean(record.get(key))


def _inside(group: str, key: str) -> Callable[[Record], Any]:
    return lambda record: _clean((record.get(group) or {}).get(key))


def _number_inside(group: str, key: str) -> Callable[[Record], Any]:
    def read(record: Record) -> float | None:
        value = (record.get(group) or {}).get(key)
        return None if value is None else float(value)

    return read


def _as_json(key: str) -> Callable[[Record], Any]:
    return lambda record: canonical_json(record.get(key))


def canonical_json(value: Any) -> str | None:
    """JSON with sorted keys, so that equal values are equal texts; None and {} give None."""
    if value is None or value == {}:
        return None
    text: str = _clean(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
    return text


#: name -> (kind, how it is read from a record)
INVOCATION_COLUMNS: dict[str, tuple[Kind, Callable[[Record], Any]]] = {
    **{name: (_TEXT, _plain(name)) for name in ("invocation_id",)},
    "attempt": (_SHORT, _plain("attempt")),
    **{name: (_TEXT, _plain(name)) for name in ("cell_id", "experiment", "host", "platform", "plan_id")},
    "seed": (_INT, _plain("seed")),
    "order": (_TEXT, _plain("order")),
    **{name: (_SHORT, _plain(name)) for name in ("segment", "round", "block", "position")},
    **{name: (_INT, _plain(name)) for name in ("planned_index", "sequence")},
    **{name: (_INT, _plain(name)) for name in ("started_utc_ns", "started_monotonic_ns", "elapsed_ns")},
    **{name: (_TEXT, _plain(name)) for name in ("status", "reason")},
    **{name: (_SHORT, _plain(name)) for name in ("exit_code", "signal")},
    **{name: (_FLOAT, _number_inside("rusage", name)) for name in ("user_s", "system_s")},
    **{
        name: (_INT, _inside("rusage", name))
        for name in (
            "max_rss_kib",
            "minor_faults",
            "major_faults",
            "voluntary_switches",
            "involuntary_switches",
        )
    },
    **{
        f"cgroup_{name}": (_INT, _inside("cgroup", name))
        for name in ("version", "cpu_ns", "memory_peak_bytes", "oom_kills")
    },
    "left_behind": (_SHORT, _plain("left_behind")),
    "iteration_rows": (_INT, lambda record: len(record.get("iterations") or ())),
    "digest": (_TEXT, _plain("digest")),
    "info": (_TEXT, _as_json("info")),
    **{f"before_{name}": (_FLOAT, _number_inside("host_before", name)) for name in _STATE},
    **{f"after_{name}": (_FLOAT, _number_inside("host_after", name)) for name in _STATE},
    "perturbation": (_TEXT, _as_json("perturbation")),
    "cores": ("int32s", _plain("cores")),
    "padding_bytes": (_INT, _plain("padding_bytes")),
    **{f"{name}_bytes": (_INT, _inside(name, "bytes")) for name in ("stdout", "stderr")},
    "runner_version": (_TEXT, _inside("runner", "version")),
    **{f"runner_{name}": (_INT, _inside("runner", name)) for name in ("before_ns", "after_ns")},
}


def invocation_values(record: Record) -> dict[str, Any]:
    """What one record says in the columns of an invocation; None where it says nothing.

    Raises:
        AttributeError, TypeError, ValueError: a part of it is not what docs/protocol.md says.
    """
    return {name: read(record) for name, (_, read) in INVOCATION_COLUMNS.items()}
