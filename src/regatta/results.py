"""The results of an experiment as Arrow tables, for Python programs and notebooks. docs/python.md describes the columns.

The numbers are those of `regatta analyze --json`, from the same code. Reading takes no lock of a runner and never changes the
journal, so an experiment can be read while it is measured.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from regatta.answers.kit.plain import text_of
from regatta.answers.report.documents import cell_document, comparison_document
from regatta.answers.spine.context import Options, make_context
from regatta.answers.spine.facts import read_facts
from regatta.answers.spine.parts import Sample
from regatta.answers.spine.result import CellAnswer, Comparison
from regatta.answers.spine.verdicts import VERDICT
from regatta.store.database import open_database
from regatta.store.folder import DEFAULT_RESULTS, find_folder
from regatta.store.tables import CELLS, INVOCATIONS

_TEXT, _INT, _FLOAT, _TRUTH = pa.string(), pa.int64(), pa.float64(), pa.bool_()

#: columns of a record that name its cell
_NAMES = ("label", "benchmark", "runtime", "collector", "modifiers", "heap_factor", "heap_mib")

_RECORDS = pa.schema([*INVOCATIONS, *(CELLS.field(name) for name in _NAMES), ("planned", _TRUTH)])

_ESTIMATES = pa.schema(
    [
        *((name, _TEXT) for name in ("cell_id", "platform", "host", "benchmark", "runtime", "modifiers")),
        ("heap_factor", _FLOAT),
        ("heap_mib", _INT),
        *((name, _TEXT) for name in ("metric", "collector", "parameters", "summary")),
        ("n", _INT),
        *((name, _FLOAT) for name in ("mean", "low", "high", "cv_percent", "minimum", "maximum")),
        *((name, _TEXT) for name in ("unit", "better")),
        ("level", _FLOAT),
        *((name, _TEXT) for name in ("method", "reason", "statuses")),
        *((name, _INT) for name in ("perturbed", "discarded", "planned")),
    ]
)

#: columns of a sample that its series has: those of the estimate up to `parameters`, and its unit
_SERIES = pa.schema(
    [*list(_ESTIMATES)[: _ESTIMATES.get_field_index("parameters") + 1], _ESTIMATES.field("unit")]
)

#: columns of a sample itself
_SAMPLE = pa.schema(
    [
        ("value", _FLOAT),
        ("invocation_id", _TEXT),
        *((name, _INT) for name in ("round", "block", "position", "started_utc_ns")),
        ("perturbed", _TRUTH),
    ]
)
_SAMPLES = pa.schema([*_SERIES, *_SAMPLE, ("discarded", _TRUTH)])

#: columns of a ratio with its interval
_RATIO = (
    ("n", _INT),
    *((name, _FLOAT) for name in ("ratio", "low", "high", "level")),
    *((name, _TEXT) for name in ("method", "reason")),
)

_COMPARISONS = pa.schema(
    [
        *((name, _TEXT) for name in ("a", "b", "a_name", "b_name", "host", "benchmark")),
        ("heap_factor", _FLOAT),
        ("heap_mib", _INT),
        *((name, _TEXT) for name in ("metric", "parameters")),
        *_RATIO,
        ("p", _FLOAT),
        ("p_holm", _FLOAT),
        *((f"simultaneous_{name}", kind) for name, kind in _RATIO),
        ("p_simultaneous", _FLOAT),
        *((name, _TEXT) for name in VERDICT),
        ("factors", pa.list_(_TEXT)),
        ("words", _TEXT),
    ]
)

_NAMED_RECORDS = """
with known as (
    select host, cell_id, {names}, true as planned from cells
    union all
    select host, cell_id, {names}, false as planned from unplanned_cells
)
select i.*, {names}, coalesce(planned, false) as planned
from invocations i left join known using (host, cell_id)
order by record
"""


def open_results(experiment: str | os.PathLike[str]) -> Results:
    """Open the results of an experiment. Reads no records yet.

    Args:
        experiment: the folder of the experiment, such as `results/demo`, or the name of a folder in `results/`.

    Returns:
        The results. For an experiment that is being measured, open it again to see newer records.

    Raises:
        StoreError: the folder does not exist or is no experiment; the message lists the existing ones.
    """
    return Results(find_folder(os.fspath(experiment), DEFAULT_RESULTS).path)


class Results:
    """The results of one experiment as four `pyarrow.Table`s. Made by `regatta.open`.

    Each table is read or computed at first use and kept, so `samples`, `estimates` and `comparisons` always agree. The first
    use brings the database of the experiment up to date, as `regatta analyze` does. An undefined number is null, and `reason`
    says why; it is never 0. `parameters` and `statuses` are JSON text; "" without any.

    Every table raises:
        StoreError: the experiment has no plan, or a file cannot be read or written.
        OSError: a file is not readable for this user.
    """

    def __init__(self, path: Path) -> None:
        #: folder of the experiment
        self.path = path

    def __repr__(self) -> str:
        return f"regatta.open({str(self.path)!r})"

    @cached_property
    def records(self) -> pa.Table:
        """One row per record in the order of the journal: every attempt of every invocation, failed ones included.

        Names of columns end in their units (`elapsed_ns`, `max_rss_kib`, `user_s`). The last columns name the cell; `planned`
        says whether the plan still has it. Docs: `docs/protocol.md` section 3.
        """
        query = _NAMED_RECORDS.format(names=", ".join(_NAMES))
        with open_database(self.path) as connection:
            return pa.table(connection.sql(query)).cast(_RECORDS)

    @cached_property
    def samples(self) -> pa.Table:
        """One row per invocation, metric and parameters, by series in the order of the plan, then by time.

        `value` is in `unit`. The estimate of the series is from the samples that are neither `perturbed` nor `discarded`.
        `started_utc_ns` is in ns since 1970.
        """
        cells = self._answers[0]
        found = [_in_time_order(cell) for cell in cells]
        samples = [sample for many in found for sample, _ in many]
        series = pa.Table.from_pylist([_row(cell) for cell in cells], schema=_SERIES)
        counts = np.array([len(many) for many in found], dtype=np.int64)
        return pa.Table.from_arrays(
            [
                *series.take(pa.array(np.repeat(np.arange(len(cells)), counts))).columns,
                *(
                    pa.array([getattr(sample, field.name) for sample in samples], field.type)
                    for field in _SAMPLE
                ),
                pa.array([discarded for many in found for _, discarded in many], _TRUTH),
            ],
            schema=_SAMPLES,
        )

    @cached_property
    def estimates(self) -> pa.Table:
        """One row per cell, metric and parameters, in the order of the plan: `cells` of `regatta analyze --json`.

        `mean` in [`low`, `high`] is in `unit`, from `n` invocations, at confidence `level` (0 to 1). A cell without values has
        one row with its `reason`.
        """
        return pa.Table.from_pylist([_row(cell) for cell in self._answers[0]], schema=_ESTIMATES)

    @cached_property
    def comparisons(self) -> pa.Table:
        """One row per comparison with the baseline: `comparisons` of `regatta analyze --json`.

        `ratio` in [`low`, `high`] is a/b of the metric, without unit. `p_holm` is adjusted over all comparisons.
        `simultaneous_*` is the interval over all alternatives of a baseline (Šidák); null with one alternative.
        `practical` is `yes`, `no`, `open`, or "" if undefined.
        """
        rows = [_comparison_row(comparison) for comparison in self._answers[1]]
        return pa.Table.from_pylist(rows, schema=_COMPARISONS)

    @cached_property
    def _answers(self) -> tuple[Sequence[CellAnswer], Sequence[Comparison]]:
        facts = read_facts(self.path)
        with open_database(self.path) as connection:
            context = make_context(self.path, connection, facts, Options())
        return context.cells, context.comparisons


def _row(cell: CellAnswer) -> dict[str, Any]:
    return {
        **cell_document(cell),
        "parameters": text_of(cell.parameters),
        "statuses": text_of(cell.statuses),
    }


def _comparison_row(comparison: Comparison) -> dict[str, Any]:
    document = comparison_document(comparison)
    simultaneous = document.pop("simultaneous") or {}
    return {
        **document,
        "parameters": text_of(comparison.parameters),
        **{f"simultaneous_{name}": value for name, value in simultaneous.items()},
    }


def _in_time_order(cell: CellAnswer) -> list[tuple[Sample, bool]]:
    """Return all samples of a series, each with whether it is discarded."""
    found = [(sample, False) for sample in (*cell.samples, *cell.perturbed)]
    found += [(sample, True) for sample in cell.discarded]
    return sorted(found, key=lambda one: one[0].started_utc_ns)
