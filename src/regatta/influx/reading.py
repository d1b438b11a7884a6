"""Read the points of an experiment back into a folder for the analysis: the tables are identical to the last digit.

Rows arrive from the database in chunks and go into Parquet. DuckDB sorts them into the order of the journal, out of core
if necessary.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from regatta.host.errors import StoreError
from regatta.host.files import scratch_folder
from regatta.influx.client import Client
from regatta.influx.journal import tagged
from regatta.influx.lines import NONE, identifier, tag_value
from regatta.influx.plan_documents import Ask, PlanDocuments, read_plan
from regatta.influx.points import FIELDS, INVOCATION, ITERATION, UNHELD
from regatta.influx.records import STEP_NS
from regatta.store.database import Progress, make_database
from regatta.store.folder import Folder, write_json
from regatta.store.tables import INVOCATIONS, ITERATIONS, cell_rows, unplanned_cell_rows

Say = Callable[[str], None]

#: rows per batch on their way to the analysis
_BATCH = 50_000
#: location of a row: host, segment of the journal file, and start of its record
_PLACE = [("place_host", pa.string()), ("place_segment", pa.int64()), ("place_ns", pa.int64())]
_RECORDS = pa.schema([*_PLACE, *(column for column in INVOCATIONS if column.name != "record")])
_LINES = pa.schema(
    [*_PLACE, ("line", pa.int64()), *(column for column in ITERATIONS if column.name != "record")]
)
_OF_INVOCATION = ("experiment", "host", "platform", "status")
_OF_ITERATION = ("metric", "unit", "parameters")


#: Order of the journal: files by host and segment, with increasing times in each.
_NUMBERED = """
create table numbered as
select row_number() over (order by place_host, place_segment, place_ns) - 1 as record, *
from read_parquet($1)
"""
_TOGETHER = """
create table together as
select numbered.record, line, {columns}
from read_parquet($1) as lines join numbered using (place_host, place_segment, place_ns)
"""
#: Both are unique in one journal.
_TWICE = """
select host, any_value(invocation_id), any_value(attempt), count(*) from numbered
group by host, {unique} having count(*) > 1 order by min(record) limit 1
"""
_LACKING = """
select invocation_id, host, iteration_rows, coalesce(found, 0)
from numbered left join (select record, count(*) as found from together group by record) using (record)
where iteration_rows <> coalesce(found, 0) order by record limit 1
"""


@contextmanager
def experiment_from_influx(
    client: Client, experiment: str, say: Say, progress: Progress | None = None
) -> Iterator[Path]:
    """Lay out an experiment from the database for the duration of the block.

    Args:
        client: client of an account that may read.
        experiment: its name.
        say: called if the database has more records than the journal had when the plan was written.
        progress: called with rows read and rows in total.

    Yields:
        a folder with plan, decisions and `store/`, without a journal.

    Raises:
        StoreError: the database lacks the experiment or some of its records, mixes two runs, or cannot be queried.
    """
    with scratch_folder("regatta-influx-") as name:
        folder = Folder(name / "experiment")
        try:
            documents = read_plan(_asking(client), experiment)
            _write_plan(folder, documents)
            _Reading(client, experiment, documents, say, progress).write(folder.path, name)
        except (
            KeyError,
            IndexError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            RecursionError,
            pa.ArrowException,
        ) as error:
            # Any account with write access may have written unexpected values.
            got = f"other points ({type(error).__name__}: {error})"
            raise StoreError(
                f"experiment {experiment!r} in the database", "points that Regatta wrote", got
            ) from error
        yield folder.path


def _asking(client: Client) -> Ask:
    def ask(query: str) -> Iterator[dict[str, Any]]:
        for series in client.query(query, chunked=True):
            for row in series.values:
                yield dict(zip(series.columns, row, strict=True))

    return ask


def _write_plan(folder: Folder, documents: PlanDocuments) -> None:
    write_json(folder.experiment, documents.experiment)
    for host, document in documents.hosts.items():
        if document["plan"] is not None:
            write_json(folder.host_plan(host) / "plan.json", document["plan"], indent=None)
        if document["decisions"] is not None:
            write_json(folder.decisions(host), document["decisions"])


class _Reading:
    """One experiment on its way from the database to tables."""

    def __init__(
        self,
        client: Client,
        experiment: str,
        documents: PlanDocuments,
        say: Say,
        progress: Progress | None,
    ) -> None:
        self._client = client
        self._experiment = experiment
        self._documents = documents
        self._say = say
        self._progress = progress
        self._hosts = sorted({*documents.hosts, *documents.counts})
        self._expected = sum(one["records"] + one["lines"] for one in documents.counts.values())
        self._read = 0

    def write(self, experiment_dir: Path, scratch: Path) -> None:
        """Write the tables to `experiment_dir`; `scratch` is a folder for intermediate files."""
        records, lines = scratch / "records.parquet", scratch / "lines.parquet"
        self._fetch(records, _RECORDS, self._invocations)
        self._fetch(lines, _LINES, self._iterations)
        columns = ", ".join(f"lines.{column.name}" for column in ITERATIONS if column.name != "record")
        documents = [document for _, document in sorted(self._documents.hosts.items())]
        cells = [cell_rows(one["plan"], one["planned"]) for one in documents if one["plan"]]
        unplanned = [unplanned_cell_rows(one["unplanned"]) for one in documents if one["unplanned"]]
        try:
            with duckdb.connect(str(scratch / "order.duckdb")) as connection:
                connection.execute(_NUMBERED, [str(records)])
                connection.execute(_TOGETHER.format(columns=columns), [str(lines)])
                self._check(connection)
                make_database(
                    experiment_dir,
                    {
                        "invocations": _tables(
                            connection,
                            "numbered order by record",
                            INVOCATIONS,
                            scratch / "invocations.parquet",
                        ),
                        "iterations": _tables(
                            connection,
                            "together order by record, line",
                            ITERATIONS,
                            scratch / "iterations.parquet",
                        ),
                        "cells": cells,
                        "unplanned_cells": unplanned,
                    },
                )
        except duckdb.Error as error:
            raise StoreError(
                str(scratch),
                "disk space for the data of the database",
                str(error),
                "free disk space, or set TMPDIR",
            ) from error

    def _fetch(self, path: Path, schema: pa.Schema, rows: Callable[[str], Iterator[tuple[Any, ...]]]) -> None:
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for host in self._hosts:
                batch: list[tuple[Any, ...]] = []
                for row in rows(host):
                    batch.append(row)
                    if len(batch) >= _BATCH:
                        self._flush(writer, schema, batch)
                self._flush(writer, schema, batch)

    def _flush(self, writer: pq.ParquetWriter, schema: pa.Schema, batch: list[tuple[Any, ...]]) -> None:
        if not batch:
            return
        try:
            arrays = [
                pa.array(values, column.type)
                for values, column in zip(zip(*batch, strict=True), schema, strict=True)
            ]
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise StoreError(
                f"experiment {self._experiment!r} in the database", "values as in docs/protocol.md", str(error),
                "compare them with the journal",
            ) from error  # fmt: skip
        writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        self._read += len(batch)
        batch.clear()
        if self._progress is not None:
            self._progress(self._read, max(self._read, self._expected))

    def _invocations(self, host: str) -> Iterator[tuple[Any, ...]]:
        names = [column.name for column in INVOCATIONS if column.name != "record"]
        kinds = [column.type for column in INVOCATIONS if column.name != "record"]
        fields = [name for name in names if name in FIELDS[INVOCATION]]
        segment = 1 + fields.index("segment")
        places = [1 + [*fields, *_OF_INVOCATION].index(name) for name in names]
        for row in self._rows(INVOCATION, fields, _OF_INVOCATION, host):
            values = [_typed(row[place], kind) for place, kind in zip(places, kinds, strict=True)]
            # Either name may equal the tag text of an empty value.
            values[names.index("experiment")], values[names.index("host")] = self._experiment, host
            yield host, row[segment], row[0], *values

    def _iterations(self, host: str) -> Iterator[tuple[Any, ...]]:
        fields = ("value", "iteration", "operations", "segment", "line")
        for row in self._rows(ITERATION, fields, _OF_ITERATION, host):
            time_ns, value, iteration, operations, segment, line, metric, unit, parameters = row
            number = None if value is None else float(value)
            yield (
                host, segment, time_ns - line * STEP_NS, line,
                iteration, metric, number, unit, operations, parameters,
            )  # fmt: skip

    def _rows(
        self, measurement: str, fields: Sequence[str], tags: Sequence[str], host: str
    ) -> Iterator[list[Any]]:
        """Yield rows of a host: time, fields and decoded tags, with values from `unheld` in place."""
        names = (*fields, *tags)
        chosen = ", ".join(identifier(name) for name in (*names, UNHELD))
        told = tagged(experiment=self._experiment, host=host)
        texts: dict[str, str | None] = {NONE: None}
        first = 1 + len(fields)
        query = f"SELECT {chosen} FROM {identifier(measurement)} WHERE {told}"
        for series in self._client.query(query, chunked=True, width=len(names) + 2):
            for *row, unheld in series.values:
                for place in range(first, len(row)):
                    text = row[place]
                    if text not in texts:
                        texts[text] = tag_value(text)
                    row[place] = texts[text]
                if unheld is not None:
                    for name, value in json.loads(unheld).items():
                        if name in names:
                            row[1 + names.index(name)] = value
                yield row

    def _check(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Reject mixed runs and missing records or lines; report additional ones."""
        for unique in ("invocation_id, attempt", "segment, sequence"):
            twice = connection.execute(_TWICE.format(unique=unique)).fetchone()
            if twice is not None:
                host, invocation, attempt, found = twice
                raise StoreError(
                    f"experiment {self._experiment!r} in the database", "the records of one run",
                    f"{found} records for {invocation} (attempt {attempt}) of {host}: another run has the same name",
                    f"run `regatta ingest {self._experiment} --rebuild` on the machine with the wanted results, which deletes all"
                    " others of this name; rename the other runs",
                )  # fmt: skip
        lacking = connection.execute(_LACKING).fetchone()
        if lacking is not None:
            invocation, host, expected, found = lacking
            raise StoreError(
                f"{invocation} on {host} in the database", f"{expected} measurements", f"{found}",
                f"run `regatta ingest {self._experiment}`; add --verify to list all differences",
            )  # fmt: skip
        for host, counts in self._documents.counts.items():
            (found,) = connection.execute(
                "select count(*) from numbered where host = $1", [host]
            ).fetchone() or (0,)
            if found < counts["records"]:
                # The plan is written after the records that it counts.
                raise StoreError(
                    f"{host} of experiment {self._experiment!r} in the database", f"{counts['records']} records",
                    f"{found}: points were lost or have expired",
                    f"run `regatta ingest {self._experiment} --rebuild` on the machine with its results",
                )  # fmt: skip
            if found > counts["records"]:
                self._say(
                    f"the database holds {found} records of {host}, but its newest plan was written after {counts['records']}:"
                    f" `regatta ingest {self._experiment}` writes the current plan"
                )


def _tables(
    connection: duckdb.DuckDBPyConnection, of: str, schema: pa.Schema, path: Path
) -> Iterator[pa.Table]:
    """Yield sorted rows, through a file at `path`."""
    columns = ", ".join(f'"{name}"' for name in schema.names)
    target = str(path).replace("'", "''")
    connection.execute(f"copy (select {columns} from {of}) to '{target}' (format parquet)")
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH):
            yield pa.Table.from_batches([batch]).cast(schema)


def _typed(value: Any, kind: pa.DataType) -> Any:
    """Convert a field to the type of its column: JSON writes 1.0 as 1, and a list is text in the database."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return float(value)
    return json.loads(value) if pa.types.is_list(kind) and isinstance(value, str) else value
