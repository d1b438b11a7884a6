"""The embedded database of an experiment, made from its journal: Parquet files, and DuckDB with the same tables.

The journal is the only truth: `store/` may be deleted at any time and is made again. Every file is written beside its
place and renamed into it, so a kill leaves the old one or the new one whole. Analyses read the one DuckDB file, whose
tables are of one generation whatever else happens; the Parquet files are for other tools, and being renamed after it,
their fingerprint of the journal and plan tells that all of the database is up to date.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regatta.errors import StoreError
from regatta.store.decisions import DECISIONS, groups_of, planned_rounds, read_decisions
from regatta.store.journal import Damage, journal_files, read_file
from regatta.store.tables import (
    CELLS,
    INVOCATIONS,
    ITERATIONS,
    TABLES_VERSION,
    cell_rows,
    invocation_rows,
    iteration_rows,
)
from regatta.store.vector_table import VECTORS, vector_files, vector_rows, vectors_fingerprint

DATABASE = "regatta.duckdb"
TABLES = ("invocations", "iterations", "cells")
#: of the vectors beside the journal; it is made again alone where they alone change
VECTOR_TABLE = "vectors"
_SCHEMAS = {"invocations": INVOCATIONS, "iterations": ITERATIONS, "cells": CELLS}

#: Threads add up in the order in which they come: the last digits would differ from one answer to the next. 10^7 values are
#: averaged in less than a second by one alone.
_ONE_ORDER = "set threads = 1"
_FINGERPRINT = b"regatta.fingerprint"
_NEW = ".new"
#: A batch is written at the first of these: what a rebuild holds in memory at a time, some 100 MB.
_BATCH_RECORDS = 2_000
_BATCH_MEASUREMENTS = 200_000

#: Retries leave several records of one invocation; this is the one that counts.
_LAST_ATTEMPTS = """
create view last_attempts as
select * from invocations
qualify row_number() over (partition by host, invocation_id order by attempt desc, record desc) = 1
"""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild wrote, and how many lines of the journal were no records."""

    directory: Path
    invocations: int
    iterations: int
    cells: int
    damaged: int
    #: rows of the vectors that the folder holds
    vectors: int = 0


def ensure_database(experiment_dir: Path, progress: Progress | None = None) -> Path:
    """Give the folder of a database that is up to date with the journal and the plan, making it again where it is not.

    Raises:
        StoreError: see `rebuild`.
    """
    directory = experiment_dir / "store"
    if not _is_current(directory, fingerprint(experiment_dir)):
        rebuild(experiment_dir, progress)
    elif not _has_vectors(experiment_dir):
        _rebuild_vectors(experiment_dir)
    return directory


@contextmanager
def open_database(
    experiment_dir: Path, progress: Progress | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to an up-to-date database, read only; what is read is of one generation, though others rebuild meanwhile.

    Raises:
        StoreError: see `rebuild`.
    """
    path = ensure_database(experiment_dir, progress) / DATABASE
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error:
        # Damaged, or written by a newer DuckDB.
        rebuild(experiment_dir, progress)
        connection = duckdb.connect(str(path), read_only=True)
    with connection:
        connection.execute(_ONE_ORDER)
        yield connection


def rebuild(experiment_dir: Path, progress: Progress | None = None) -> Rebuilt:
    """Make `store/*.parquet` and `store/regatta.duckdb` from the journal and the plan, in batches.

    Args:
        experiment_dir: `results/<experiment>`.
        progress: called with bytes of the journal read and in all.

    Returns:
        How many rows each table has. Torn and damaged lines are counted, not used; `regatta verify` names them.

    Raises:
        StoreError: the folder cannot be written, or the plan cannot be read.
    """
    directory = experiment_dir / "store"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _alone(directory):
            # Taken first: what is appended while we read makes the next reader rebuild.
            mark = fingerprint(experiment_dir)
            new = {name: directory / f"{name}.parquet{_NEW}" for name in TABLES}
            invocations, iterations, damaged = _write_records(experiment_dir, new, mark, progress)
            cells = _write_cells(experiment_dir, new["cells"], mark)
            vectors = _write_vectors(experiment_dir, new)
            _write_duckdb(directory / f"{DATABASE}{_NEW}", new)
            # Parquet last: its fingerprints say that the DuckDB file is in place.
            for path in (directory / f"{DATABASE}{_NEW}", *new.values()):
                _put_in_place(path)
    except (OSError, pa.ArrowException, duckdb.Error) as error:
        raise _not_written(directory, error) from error
    return Rebuilt(directory, invocations, iterations, cells, damaged, vectors)


def _rebuild_vectors(experiment_dir: Path) -> None:
    """Make the table of the vectors again, and the database of it and the tables that are there: no record is read.

    Raises:
        StoreError: a vector is none, or the folder cannot be written.
    """
    directory = experiment_dir / "store"
    try:
        with _alone(directory):
            new: dict[str, Path] = {}
            _write_vectors(experiment_dir, new)
            _write_duckdb(
                directory / f"{DATABASE}{_NEW}",
                {name: directory / f"{name}.parquet" for name in TABLES} | new,
            )
            for path in (directory / f"{DATABASE}{_NEW}", *new.values()):
                _put_in_place(path)
    except (OSError, pa.ArrowException, duckdb.Error) as error:
        raise _not_written(directory, error) from error


def _write_vectors(experiment_dir: Path, new: dict[str, Path]) -> int:
    """Write the table of the vectors and enter it into `new`; returns how many rows it has."""
    path = experiment_dir / "store" / f"{VECTOR_TABLE}.parquet{_NEW}"
    mark = vectors_fingerprint(experiment_dir)
    rows = vector_rows(experiment_dir)
    with _parquet(path, VECTORS, mark) as writer:
        writer.write_table(rows)
    new[VECTOR_TABLE] = path
    return int(rows.num_rows)


def _has_vectors(experiment_dir: Path) -> bool:
    """Whether the table is of the vectors that are there; an older database without it is as good where there are none."""
    path = experiment_dir / "store" / f"{VECTOR_TABLE}.parquet"
    if not path.exists():
        return not vector_files(experiment_dir)
    return _mark_of(path) == vectors_fingerprint(experiment_dir)


def make_database(experiment_dir: Path, tables: Mapping[str, Iterable[pa.Table]]) -> None:
    """Make the database of what comes from elsewhere than the journal; it counts as that of the plans in the folder.

    Args:
        experiment_dir: a folder with the plans and decisions that belong to it, and no journal.
        tables: for each of `TABLES` its rows, with the schema of `regatta.store.tables`, in any pieces.

    Raises:
        StoreError: the folder cannot be written.
    """
    directory = experiment_dir / "store"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _alone(directory):
            mark = fingerprint(experiment_dir)
            new = {name: directory / f"{name}.parquet{_NEW}" for name in TABLES}
            for name, path in new.items():
                with _parquet(path, _SCHEMAS[name], mark) as writer:
                    for table in tables[name]:
                        writer.write_table(table)
            _write_vectors(experiment_dir, new)
            _write_duckdb(directory / f"{DATABASE}{_NEW}", new)
            for path in (directory / f"{DATABASE}{_NEW}", *new.values()):
                _put_in_place(path)
    except (OSError, pa.ArrowException, duckdb.Error) as error:
        raise _not_written(directory, error) from error


def fingerprint(experiment_dir: Path) -> str:
    """What the journal (names, sizes, times), the plans and the decisions (contents) are, with the version of the tables."""
    digest = hashlib.sha256(f"tables {TABLES_VERSION}\n".encode())
    for path in journal_files(experiment_dir):
        stat = path.stat()
        digest.update(f"{path.relative_to(experiment_dir)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    decisions = sorted((experiment_dir / "journal").glob(f"*/{DECISIONS}"))
    for path in [*_plan_files(experiment_dir), *decisions]:
        # By content: every `regatta run` writes its plan again, and mostly it is the same.
        digest.update(
            f"{path.relative_to(experiment_dir)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
        )
    return digest.hexdigest()[:16]


def _not_written(directory: Path, error: Exception) -> StoreError:
    return StoreError(
        str(directory),
        "a folder in which the database can be written",
        str(error),
        "make room, or mend its permissions",
    )


def _is_current(directory: Path, mark: str) -> bool:
    if any(_mark_of(directory / f"{name}.parquet") != mark for name in TABLES):
        return False
    return (directory / DATABASE).exists()


def _mark_of(path: Path) -> str:
    """The fingerprint that a table was written with; "" of what is no table."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException):
        return ""
    return str(metadata.get(_FINGERPRINT, b"").decode())


def _write_records(
    experiment_dir: Path, new: dict[str, Path], mark: str, progress: Progress | None
) -> tuple[int, int, int]:
    written = measured = damaged = 0
    batch: list[dict[str, Any]] = []
    pending = 0
    with (
        _parquet(new["invocations"], INVOCATIONS, mark) as invocations,
        _parquet(new["iterations"], ITERATIONS, mark) as iterations,
    ):

        def flush() -> None:
            nonlocal written, measured, pending
            if batch:
                # What is no record in this form does not come here: see `regatta.model.record_shape`.
                rows, lines = invocation_rows(written, batch), iteration_rows(written, batch)
                invocations.write_table(rows)
                iterations.write_table(lines)
                written += len(batch)
                measured += lines.num_rows
            batch.clear()
            pending = 0

        for item in _journal(experiment_dir, progress):
            if isinstance(item, Damage):
                damaged += 1
                continue
            batch.append(item)
            pending += len(item.get("iterations") or ())
            if len(batch) >= _BATCH_RECORDS or pending >= _BATCH_MEASUREMENTS:
                flush()
        flush()
    return written, measured, damaged


def _journal(experiment_dir: Path, progress: Progress | None) -> Iterator[dict[str, Any] | Damage]:
    files = journal_files(experiment_dir)
    sizes = [path.stat().st_size for path in files]
    done, total = 0, sum(sizes)
    for path, size in zip(files, sizes, strict=True):
        yield from read_file(path)
        done += size
        if progress is not None:
            progress(done, total)


def _plan_files(experiment_dir: Path) -> list[Path]:
    return sorted((experiment_dir / "plan").glob("*/plan.json"))


def _write_cells(experiment_dir: Path, path: Path, mark: str) -> int:
    count = 0
    with _parquet(path, CELLS, mark) as writer:
        for plan_path in _plan_files(experiment_dir):
            try:
                plan = json.loads(plan_path.read_bytes())
                rows = cell_rows(plan, _planned_invocations(experiment_dir, plan_path, plan))
            except (OSError, ValueError, KeyError, TypeError, IndexError, pa.ArrowException) as error:
                raise StoreError(
                    str(plan_path),
                    "the plan of a host",
                    f"{type(error).__name__}: {error}",
                    "run `regatta plan` again",
                ) from error
            writer.write_table(rows)
            count += rows.num_rows
    return count


def _planned_invocations(experiment_dir: Path, plan_path: Path, plan: dict[str, Any]) -> list[int]:
    """How many planned invocations each cell has: the rows that name it, without those of rounds that it does not need."""
    cells = len(plan["cells"])
    if groups_of(plan):
        host = plan_path.parent.name
        rounds = planned_rounds(plan, read_decisions(experiment_dir / "journal" / host / DECISIONS))
    else:
        rounds = [np.iinfo(np.int32).max] * cells
    last = np.array(rounds, dtype=np.int64)
    counts = np.zeros(cells, dtype=np.int64)
    with plan_path.with_name("rows.i32").open("rb") as file:
        while data := file.read(1 << 22):  # pieces of 4 MB
            rows = np.frombuffer(data, dtype="<i4").reshape(-1, 4)
            cell = rows[:, 3]
            counts += np.bincount(cell[rows[:, 0] < last[cell]], minlength=cells)
    planned: list[int] = counts.tolist()
    return planned


def _write_duckdb(path: Path, new: dict[str, Path]) -> None:
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        for name, parquet in new.items():
            connection.execute(f"create table {name} as from read_parquet($1)", [str(parquet)])
        connection.execute(_LAST_ATTEMPTS)


@contextmanager
def _parquet(path: Path, schema: pa.Schema, mark: str) -> Iterator[pq.ParquetWriter]:
    with pq.ParquetWriter(
        path, schema.with_metadata({_FINGERPRINT: mark.encode()}), compression="zstd"
    ) as writer:
        yield writer


def _put_in_place(path: Path) -> None:
    """Rename a finished file into its place, durable before it can be seen."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    path.replace(path.with_name(path.name.removesuffix(_NEW)))


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """One rebuild at a time; the lock goes with the process that holds it."""
    with (directory / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
