"""The columns of the embedded database: one schema a table, and how records and plans become rows.

Types are fixed here, so a column that is null everywhere today has the same type tomorrow. Absent keys become null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from regatta.model.experiment import SUMMARIES

#: part of the database's fingerprint: raise it when a column changes, and old databases are made again
TABLES_VERSION = 4

Record = Mapping[str, Any]

_STATE = (
    "load1", "psi_cpu_some_us", "psi_memory_some_us", "psi_memory_full_us", "psi_io_some_us", "psi_io_full_us",
    "busy_s", "steal_s", "swap_pages", "frequency_khz", "temperature_mc", "throttle_events",
)  # fmt: skip

_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()


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


#: name -> (type, how it is read from a record)
_INVOCATION_COLUMNS: dict[str, tuple[pa.DataType, Callable[[Record], Any]]] = {
    **{name: (_TEXT, _plain(name)) for name in ("invocation_id",)},
    "attempt": (pa.int32(), _plain("attempt")),
    **{name: (_TEXT, _plain(name)) for name in ("cell_id", "experiment", "host", "platform", "plan_id")},
    "seed": (_INT, _plain("seed")),
    "order": (_TEXT, _plain("order")),
    **{name: (pa.int32(), _plain(name)) for name in ("segment", "round", "block", "position")},
    **{name: (_INT, _plain(name)) for name in ("planned_index", "sequence")},
    **{name: (_INT, _plain(name)) for name in ("started_utc_ns", "started_monotonic_ns", "elapsed_ns")},
    **{name: (_TEXT, _plain(name)) for name in ("status", "reason")},
    **{name: (pa.int32(), _plain(name)) for name in ("exit_code", "signal")},
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
    "left_behind": (pa.int32(), _plain("left_behind")),
    "iteration_rows": (_INT, lambda record: len(record.get("iterations") or ())),
    "digest": (_TEXT, _plain("digest")),
    "info": (_TEXT, _as_json("info")),
    **{f"before_{name}": (_FLOAT, _number_inside("host_before", name)) for name in _STATE},
    **{f"after_{name}": (_FLOAT, _number_inside("host_after", name)) for name in _STATE},
    "perturbation": (_TEXT, _as_json("perturbation")),
    "cores": (pa.list_(pa.int32()), _plain("cores")),
    "padding_bytes": (_INT, _plain("padding_bytes")),
    **{f"{name}_bytes": (_INT, _inside(name, "bytes")) for name in ("stdout", "stderr")},
    "runner_version": (_TEXT, _inside("runner", "version")),
    **{f"runner_{name}": (_INT, _inside("runner", name)) for name in ("before_ns", "after_ns")},
}

#: one row a record; `record` counts them in the order of the journal and ties the iterations to them
INVOCATIONS = pa.schema(
    [("record", _INT), *((name, kind) for name, (kind, _) in _INVOCATION_COLUMNS.items())]
)

#: one row a measurement; `parameters` is canonical JSON, null when there are none
ITERATIONS = pa.schema(
    [
        ("record", _INT),
        ("iteration", _INT),
        ("metric", _TEXT),
        ("value", _FLOAT),
        ("unit", _TEXT),
        ("operations", _INT),
        ("parameters", _TEXT),
    ]
)

#: one row a planned cell of a host; `place` is its place in the plan, `planned` its number of invocations, of which those of the
#: first `discarded_rounds` rounds are in no estimate
CELLS = pa.schema(
    [
        ("host", _TEXT),
        ("platform", _TEXT),
        ("plan_id", _TEXT),
        ("place", pa.int32()),
        ("cell_id", _TEXT),
        ("twin_of", _TEXT),
        ("label", _TEXT),
        ("benchmark", _TEXT),
        ("runtime", _TEXT),
        ("collector", _TEXT),
        ("modifiers", _TEXT),
        ("heap_factor", _FLOAT),
        ("heap_mib", _INT),
        ("metric", _TEXT),
        ("better", _TEXT),
        ("summary", _TEXT),
        ("adapter", _TEXT),
        ("planned", _INT),
        ("discarded_rounds", _INT),
    ]
)


def invocation_values(record: Record) -> dict[str, Any]:
    """What one record says in the columns of `INVOCATIONS` but `record`; None where it says nothing.

    Raises:
        AttributeError, TypeError, ValueError: a part of it is not what docs/protocol.md says.
    """
    return {name: read(record) for name, (_, read) in _INVOCATION_COLUMNS.items()}


def invocation_rows(first_record: int, records: list[dict[str, Any]]) -> pa.Table:
    """Rows of `INVOCATIONS` for records whose numbers count from `first_record`.

    Raises:
        pyarrow.ArrowException, TypeError, ValueError, OverflowError: a value has not the type of its column.
    """
    columns = [pa.array(range(first_record, first_record + len(records)), _INT)]
    for kind, read in _INVOCATION_COLUMNS.values():
        columns.append(pa.array([read(record) for record in records], kind))
    return pa.Table.from_arrays(columns, schema=INVOCATIONS)


def iteration_rows(first_record: int, records: list[dict[str, Any]]) -> pa.Table:
    """Rows of `ITERATIONS` for the same records.

    Raises:
        pyarrow.ArrowException, TypeError, ValueError, OverflowError: a value has not the type of its column.
    """
    numbers: list[int] = []
    measured: list[list[Any]] = []
    for number, record in enumerate(records, first_record):
        lines = record.get("iterations") or ()
        measured.extend(lines)
        numbers.extend([number] * len(lines))
    iteration, metric, value, unit, operations, parameters = (
        zip(*measured, strict=True) if measured else ((),) * 6
    )
    return pa.Table.from_arrays(
        [
            pa.array(numbers, _INT),
            pa.array(iteration, _INT),
            pa.array(metric, _TEXT),
            pa.array([float(number) for number in value], _FLOAT),
            pa.array(unit, _TEXT),
            pa.array(operations, _INT),
            pa.array([canonical_json(given) if given else None for given in parameters], _TEXT),
        ],
        schema=ITERATIONS,
    )


def cell_rows(plan: Mapping[str, Any], planned: Iterable[int]) -> pa.Table:
    """Rows of `CELLS` for one host's `plan.json`.

    Args:
        plan: docs/protocol.md section 4.
        planned: how many rows of the plan each cell has, in the order of its `cells`.

    Raises:
        pyarrow.ArrowException, KeyError, TypeError, ValueError: the plan is not one.
    """
    rows = [
        {
            "host": plan["host"],
            "platform": cell.get("platform") or plan.get("platform", ""),
            "plan_id": plan["plan_id"],
            "place": place,
            "cell_id": cell["cell_id"],
            "twin_of": cell.get("twin_of") or "",
            "label": cell.get("label", cell["cell_id"]),
            "benchmark": cell["benchmark"],
            "runtime": cell.get("runtime", ""),
            "collector": cell.get("collector") or "",
            "modifiers": cell.get("modifiers") or "none",
            "heap_factor": cell.get("heap_factor"),
            "heap_mib": cell.get("heap_mib"),
            "metric": cell.get("metric", "elapsed"),
            "better": cell.get("better", "lower"),
            "summary": _summary(cell.get("summary", "mean")),
            "adapter": _adapter_name(cell.get("adapter")),
            "planned": count,
            "discarded_rounds": int(plan.get("discarded_rounds") or 0),
        }
        for place, (cell, count) in enumerate(zip(plan["cells"], planned, strict=True))
    ]
    return pa.Table.from_pylist(rows, schema=CELLS)


def _summary(name: Any) -> str:
    """Taken for another, it would make other numbers."""
    if name not in SUMMARIES:
        raise ValueError(f"summary: expected one of {', '.join(SUMMARIES)} · got {name}")
    return str(name)


def _adapter_name(adapter: Any) -> str:
    """The plan holds an adapter as its name, or as its name and options."""
    name = adapter.get("name") if isinstance(adapter, Mapping) else adapter
    return str(name or "process")
