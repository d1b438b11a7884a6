"""Tables of recordings (Parquet): columns, ranges and order are checked while they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regatta.host.errors import RegattaError
from regatta.host.files import written
from regatta.host.foreign import foreign
from regatta.models.recordings.facts import Ranges, write_facts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ROWS = 1 << 18


def write_recording(facts_path: Path, facts: DataclassInstance, tables: Mapping[str, pa.Table]) -> None:
    """Write a recording: its tables by the names of their files, then the facts beside them.

    A folder with facts is complete.

    Raises:
        RegattaError: a file cannot be written.
    """
    for name, table in tables.items():
        with written(facts_path.with_name(name)) as file:
            pq.write_table(table, file, compression="zstd")
    write_facts(facts_path, facts, tuple(tables))


def read_table(
    path: Path, schema: pa.Schema, fix: str, ranges: Ranges | None = None, order: str = ""
) -> pa.Table:
    """Read a table into memory; see `checked_batches`."""
    return pa.Table.from_batches(checked_batches(path, schema, fix, ranges, order), schema)


def check_table(
    path: Path, schema: pa.Schema, fix: str, ranges: Ranges | None = None, order: str = ""
) -> None:
    """Read a table once, with a few rows in memory; see `checked_batches`."""
    for _ in checked_batches(path, schema, fix, ranges, order):
        pass


def escaped(text: str) -> str:
    """Return a name as text of a table: bytes that are not UTF-8 become `\\xff`."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def checked_batches(
    path: Path, schema: pa.Schema, fix: str, ranges: Ranges | None = None, order: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table.

    Args:
        path: of the Parquet file.
        schema: of its columns.
        fix: how to get a valid recording.
        ranges: column -> least and largest value.
        order: column that never decreases; "": none.

    Raises:
        RegattaError: it has other columns, a row without a value, a value out of its range, or rows in
            another order.
    """
    with foreign(path, "a Parquet file", fix), pq.ParquetFile(path) as file:
        found = file.schema_arrow
        if [(one.name, one.type) for one in found] != [(one.name, one.type) for one in schema]:
            raise RegattaError(str(path), f"columns {schema.names}", str(found.names)[:500], fix)
        row, last = 0, None
        for batch in file.iter_batches(_ROWS):
            # Texts of a damaged file need not be UTF-8; the digest is absent in folders of older versions.
            batch.validate(full=True)
            _check_values(path, batch, row, ranges or {}, fix)
            if order and len(batch):
                last = _check_order(path, batch, row, order, last, fix)
            row += len(batch)
            yield batch.cast(schema)


def _check_values(path: Path, batch: pa.RecordBatch, first: int, ranges: Ranges, fix: str) -> None:
    for name in batch.schema.names:
        if batch[name].null_count:
            got = f"{batch[name].null_count} nulls from row {first} on"
            raise RegattaError(str(path), f"a value of {name} in every row", got, fix)
    for name, (least, most) in ranges.items():
        values = batch[name].to_numpy()
        wrong = (values < least) | (values > most)
        if wrong.any():
            at = int(wrong.argmax())
            raise RegattaError(
                str(path), f"{name} from {least} to {most}", f"{values[at]} in row {first + at}", fix
            )


def _check_order(path: Path, batch: pa.RecordBatch, first: int, name: str, last: int | None, fix: str) -> int:
    """Return the last value of the column."""
    values = batch[name].to_numpy()
    before = values[:1] if last is None else np.array([last], values.dtype)
    back = np.diff(values, prepend=before) < 0
    if back.any():
        at = first + int(back.argmax())
        raise RegattaError(str(path), f"rows in the order of {name}", f"a smaller one in row {at}", fix)
    return int(values[-1])
