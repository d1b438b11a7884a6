"""The tables of the embedded database: a schema per table, and the conversion of records and plans to rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from regatta.host.journal.record_shape import Kind
from regatta.host.values.experiment import SUMMARIES
from regatta.host.values.record import Record
from regatta.store.columns import INVOCATION_COLUMNS, canonical_json

_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()
_TYPES: dict[Kind, pa.DataType] = {
    "text": _TEXT,
    "int32": pa.int32(),
    "int64": _INT,
    "float": _FLOAT,
    "int32s": pa.list_(pa.int32()),
}

#: One row per record. `record` numbers them in the order of the journal and links iterations to them.
INVOCATIONS = pa.schema(
    [("record", _INT), *((name, _TYPES[kind]) for name, (kind, _) in INVOCATION_COLUMNS.items())]
)

#: One row per measurement. `parameters` is canonical JSON, or null.
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

#: One row per planned cell of a host. `place` is its index in the plan, `planned` its number of invocations. Those of the first
#: `discarded_rounds` rounds are not in any estimate.
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

#: One row per cell in the journal (`cells.jsonl`) that is no longer in the plan.
UNPLANNED_CELLS = pa.schema(
    [
        column
        for column in CELLS
        if column.name not in ("plan_id", "place", "summary", "adapter", "planned", "discarded_rounds")
    ]
)

#: One row per host with damaged lines in its journal: their number, and the first one.
DAMAGE = pa.schema([("host", _TEXT), ("lines", _INT), ("first", _TEXT)])


def invocation_rows(first_record: int, records: Sequence[Record]) -> pa.Table:
    """Return rows of `INVOCATIONS` for records from `decode_record`, numbered from `first_record`."""
    columns = [pa.array(range(first_record, first_record + len(records)), _INT)]
    for kind, read in INVOCATION_COLUMNS.values():
        columns.append(pa.array([read(record) for record in records], _TYPES[kind]))
    return pa.Table.from_arrays(columns, schema=INVOCATIONS)


def iteration_rows(first_record: int, records: Sequence[Record]) -> pa.Table:
    """Return rows of `ITERATIONS` for the same records."""
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
    """Return rows of `CELLS` for the `plan.json` of a host.

    Args:
        plan: docs/protocol.md section 4.
        planned: number of rows of each cell in the plan, in the order of its `cells`.

    Raises:
        pyarrow.ArrowException, KeyError, TypeError, ValueError: the plan is invalid.
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
    """Return rows of `UNPLANNED_CELLS` for descriptions of cells (`regatta.store.cells.unplanned_cells`)."""
    rows = [{"host": cell["host"], **_described(cell, "")} for cell in cells]
    return pa.Table.from_pylist(rows, schema=UNPLANNED_CELLS)


def _described(cell: Mapping[str, Any], platform: str) -> dict[str, Any]:
    """Return the properties of a cell from its plan or description; older ones lack some."""
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
    """Return the name of a summary, validated, because a different summary would give different values."""
    if name not in SUMMARIES:
        raise ValueError(f"summary: expected one of {', '.join(SUMMARIES)} · got {name}")
    return str(name)


def _adapter_name(adapter: Any) -> str:
    """Return the name of an adapter, which a plan stores alone or with options."""
    name = adapter.get("name") if isinstance(adapter, Mapping) else adapter
    return str(name or "process")
