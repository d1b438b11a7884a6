"""The tables of the embedded database: one schema a table, and how records and plans become rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from regatta.host.journal.record_shape import Kind
from regatta.host.values.experiment import SUMMARIES
from regatta.host.values.record import Record
from regatta.store.columns import INVOCATION_COLUMNS, canonical_json

#: part of the database's fingerprint: raise it when a column changes, and old databases are made again
TABLES_VERSION = 6

_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()
_TYPES: dict[Kind, pa.DataType] = {
    "text": _TEXT,
    "int32": pa.int32(),
    "int64": _INT,
    "float": _FLOAT,
    "int32s": pa.list_(pa.int32()),
}

#: one row a record; `record` counts them in the order of the journal and ties the iterations to them
INVOCATIONS = pa.schema(
    [("record", _INT), *((name, _TYPES[kind]) for name, (kind, _) in INVOCATION_COLUMNS.items())]
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

#: one row a cell that the journal describes (`cells.jsonl`) and that the plan has no longer
UNPLANNED_CELLS = pa.schema(
    [
        column
        for column in CELLS
        if column.name not in ("plan_id", "place", "summary", "adapter", "planned", "discarded_rounds")
    ]
)

#: one row a host in whose journal whole lines are no records: how many, and the first of them
DAMAGE = pa.schema([("host", _TEXT), ("lines", _INT), ("first", _TEXT)])


def invocation_rows(first_record: int, records: Sequence[Record]) -> pa.Table:
    """Rows of `INVOCATIONS` for records, as `decode_record` gives them, whose numbers count from `first_record`."""
    columns = [pa.array(range(first_record, first_record + len(records)), _INT)]
    for kind, read in INVOCATION_COLUMNS.values():
        columns.append(pa.array([read(record) for record in records], _TYPES[kind]))
    return pa.Table.from_arrays(columns, schema=INVOCATIONS)


def iteration_rows(first_record: int, records: Sequence[Record]) -> pa.Table:
    """Rows of `ITERATIONS` for the same records."""
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
            "plan_id": plan["plan_id"],
            "place": place,
            **_described(cell, plan.get("platform", "")),
            "summary": _summary(cell.get("summary", "mean")),
            "adapter": _adapter_name(cell.get("adapter")),
            "planned": count,
            "discarded_rounds": int(plan.get("discarded_rounds") or 0),
        }
        for place, (cell, count) in enumerate(zip(plan["cells"], planned, strict=True))
    ]
    return pa.Table.from_pylist(rows, schema=CELLS)


def unplanned_cell_rows(cells: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows of `UNPLANNED_CELLS` for descriptions of cells (`regatta.store.cells.unplanned_cells`)."""
    rows = [{"host": cell["host"], **_described(cell, "")} for cell in cells]
    return pa.Table.from_pylist(rows, schema=UNPLANNED_CELLS)


def _described(cell: Mapping[str, Any], platform: str) -> dict[str, Any]:
    """What a cell is, of its plan or its description; older ones lack some of it."""
    return {
        "platform": cell.get("platform") or platform,
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
    }


def _summary(name: Any) -> str:
    """Taken for another, it would make other numbers."""
    if name not in SUMMARIES:
        raise ValueError(f"summary: expected one of {', '.join(SUMMARIES)} · got {name}")
    return str(name)


def _adapter_name(adapter: Any) -> str:
    """The plan holds an adapter as its name, or as its name and options."""
    name = adapter.get("name") if isinstance(adapter, Mapping) else adapter
    return str(name or "process")
