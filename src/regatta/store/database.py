"""The embedded database of an experiment, derived from its journal: Parquet files, and DuckDB with the same tables.

The journal is the source of truth: `store/` can be deleted at any time and is then rebuilt. Every file is written under a
temporary name and renamed, so after a kill either the old or the new file is complete. Analyses read the DuckDB file, whose
tables are always of one generation; the Parquet files are for other tools. The seal is written last. It certifies that all
files derive from this journal and plan, and that this user wrote them (`regatta.store.seal`).
"""

from __future__ import annotations

import atexit
import errno
import functools
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regatta.host.errors import StoreError
from regatta.host.files import locked, read_object, sync
from regatta.host.journal.attempts import status_under
from regatta.host.journal.decisions import DECISIONS, groups_of, planned_rounds, read_decisions
from regatta.host.journal.journal import (
    Damage,
    cell_files,
    damaged_descriptions,
    journal_files,
    read_file,
)
from regatta.host.values.record import Record
from regatta.store.cells import unplanned_cells
from regatta.store.derived import EVENT_MEASURES
from regatta.store.folder import Folder
from regatta.store.seal import seal, sealed_marks
from regatta.store.sources import fingerprint, plan_files
from regatta.store.tables import (
    CELLS,
    DAMAGE,
    INVOCATIONS,
    ITERATIONS,
    UNPLANNED_CELLS,
    cell_rows,
    invocation_rows,
    iteration_rows,
    unplanned_cell_rows,
)
from regatta.store.vector_table import VECTORS, vector_rows, vectors_fingerprint

DATABASE = "regatta.duckdb"
TABLES = ("invocations", "iterations", "cells", "unplanned_cells", "damage")
#: Table of the vectors next to the journal. It is rebuilt alone if only vectors change.
VECTOR_TABLE = "vectors"
_SCHEMAS = {
    "invocations": INVOCATIONS,
    "iterations": ITERATIONS,
    "cells": CELLS,
    "unplanned_cells": UNPLANNED_CELLS,
    "damage": DAMAGE,
    VECTOR_TABLE: VECTORS,
}
_FILES = (DATABASE, *(f"{name}.parquet" for name in (*TABLES, VECTOR_TABLE)))
#: Folder of the measures of traces, which take seconds each.
EVENTS = "event_measures"
_NEW = ".new"
_LOCK = ".lock"
#: DuckDB replays these files into the database, regardless of their author. A finished database has none of them.
_LOGS = tuple(f"{DATABASE}.wal{end}" for end in ("", ".checkpoint", ".recovery"))
#: Files from a killed rebuild, or planted by another user.
_LEFTOVERS = (
    *_LOGS,
    *(f"{name}{_NEW}" for name in _FILES),
    *(log.replace(DATABASE, f"{DATABASE}{_NEW}") for log in _LOGS),
)

#: Threads sum in varying order, so the last digits would vary between answers. One thread averages 10^7 values in less than a
#: second.
_ONE_ORDER = 1
#: The file can come from another user: nothing in it may read other files or load code.
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "threads": _ONE_ORDER,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
}
#: A batch is written when it reaches one of these limits, which keeps a rebuild below about 100 MB of memory.
_BATCH_RECORDS = 2_000
_BATCH_MEASUREMENTS = 200_000

#: Retries give several records of one invocation; this selects the last attempt.
_LAST_ATTEMPTS = """
create temp view last_attempts as
select * from invocations
qualify row_number() over (partition by host, invocation_id order by attempt desc, record desc) = 1
"""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Rebuilt:
    """The tables of a rebuild, and the number of damaged lines in the journal."""

    directory: Path
    invocations: int
    iterations: int
    cells: int
    damaged: int
    #: Rows of the vectors in the folder.
    vectors: int = 0


def ensure_database(experiment_dir: Path, progress: Progress | None = None) -> Path:
    """Return the folder of a database that matches the journal and the plan. Rebuild it if needed.

    Raises:
        StoreError: see `rebuild`.
    """
    directory = _directory(experiment_dir)
    current = {"tables": fingerprint(experiment_dir), "vectors": vectors_fingerprint(experiment_dir)}
    held = _sealed(directory)
    if held != current and not _is_ours_to_write(experiment_dir):
        directory = _elsewhere(str(experiment_dir.resolve()))
        held = _sealed(directory)
    if held.get("tables") != current["tables"]:
        rebuild(experiment_dir, progress)
    elif held != current:
        _rebuild_vectors(experiment_dir, progress)
    return directory


def _sealed(directory: Path) -> dict[str, str]:
    """Return the marks of a database unchanged since this user made it; empty otherwise, or if a log would change it."""
    if any(os.path.lexists(directory / name) for name in _LOGS):
        return {}
    return sealed_marks(directory, _FILES)


@contextmanager
def open_database(
    experiment_dir: Path, progress: Progress | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to an up-to-date database, read only. All reads are of one generation, even during a concurrent rebuild.

    Its tables are `TABLES`, `VECTOR_TABLE`, and `last_attempts`. Statements cannot read other files.

    Raises:
        StoreError: see `rebuild`; also if the database cannot be read.
    """
    path = ensure_database(experiment_dir, progress) / DATABASE
    connection = _connect(path)
    if connection is None:
        # The file is damaged, or written by a newer DuckDB.
        path = rebuild(experiment_dir, progress).directory / DATABASE
        connection = _connect(path)
    try:
        if connection is None:
            raise duckdb.IOException("not readable, or tables are missing")
        with connection:
            connection.execute(_LAST_ATTEMPTS)
            yield connection
    except duckdb.Error as error:
        raise StoreError(
            str(path),
            "a readable database",
            " ".join(str(error).split()),
            f"run `regatta store rebuild {experiment_dir.name}`",
        ) from error


def newest_record_ns(folder: Folder) -> int | None:
    """Return when the newest record of an experiment began, UTC; None without records.

    Raises:
        StoreError: the database cannot be created.
    """
    with open_database(folder.path) as connection:
        (newest,) = connection.execute("select max(started_utc_ns) from invocations").fetchone() or (None,)
    return None if newest is None else int(newest)


def _connect(path: Path) -> duckdb.DuckDBPyConnection | None:
    """Open a database that has exactly our tables; None for any other file."""
    try:
        connection = duckdb.connect(str(path), read_only=True, config=_CLOSED)
    except duckdb.Error:
        return None
    try:
        tables = connection.execute("select table_name from duckdb_tables()").fetchall()
        others = connection.execute(
            "select view_name from duckdb_views() where not internal "
            "union all select function_name from duckdb_functions() where not internal"
        ).fetchall()
    except duckdb.Error:
        connection.close()
        return None
    if others or sorted(tables) != sorted((name,) for name in (*TABLES, VECTOR_TABLE)):
        connection.close()
        return None
    return connection


def rebuild(experiment_dir: Path, progress: Progress | None = None) -> Rebuilt:
    """Build `store/*.parquet` and `store/regatta.duckdb` from the journal and the plan, in batches.

    If this user cannot write the folder or does not own it, build in a temporary folder, deleted when the process exits.

    Args:
        experiment_dir: `results/<experiment>`.
        progress: called with bytes of the journal read and in total.

    Returns:
        Number of rows per table. Torn and damaged lines are counted, not used; `regatta verify` lists them.

    Raises:
        StoreError: the disk is full, or the plan cannot be read.
    """
    with _making(experiment_dir) as new:
        return _write_all(experiment_dir, new, progress)


def _rebuild_vectors(experiment_dir: Path, progress: Progress | None) -> None:
    """Rebuild the table of the vectors, and the database from it and the existing tables, without reading records.

    If another rebuild was killed since the check of the tables, rebuild all.

    Raises:
        StoreError: a vector is invalid, or the folder cannot be written.
    """
    with _making(experiment_dir) as new:
        if tables := _sealed(new.directory).get("tables"):
            new.marks["tables"] = tables
            _write_vectors(experiment_dir, new)
        else:
            _write_all(experiment_dir, new, progress)


@dataclass
class _New:
    """New files that are not yet in place."""

    directory: Path
    #: The state of their sources.
    marks: dict[str, str] = field(default_factory=dict)
    #: Table -> its new file.
    parquet: dict[str, Path] = field(default_factory=dict)

    @contextmanager
    def table(self, name: str) -> Iterator[pq.ParquetWriter]:
        """Yield the writer of a table."""
        path = self.parquet[name] = self.directory / f"{name}.parquet{_NEW}"
        with pq.ParquetWriter(path, _SCHEMAS[name], compression="zstd") as writer:
            yield writer


@contextmanager
def _making(experiment_dir: Path) -> Iterator[_New]:
    """Let the block write new tables, build the DuckDB file from new and old tables, and install all, the seal last.

    Raises:
        StoreError: the folder cannot be written.
    """
    directory = _directory(experiment_dir)
    if not _is_ours_to_write(experiment_dir):
        directory = _elsewhere(str(experiment_dir.resolve()))
    new = _New(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _alone(directory):
            # Also needed before writing, because another user can have planted a link under such a name.
            _remove_leftovers(directory)
            try:
                yield new
                stay = {name: directory / f"{name}.parquet" for name in TABLES}
                _write_duckdb(directory / f"{DATABASE}{_NEW}", stay | new.parquet)
                for path in (directory / f"{DATABASE}{_NEW}", *new.parquet.values()):
                    _put_in_place(path)
                _remove_leftovers(directory)
                seal(directory, _FILES, new.marks)
            finally:
                # Free the space on a full disk.
                _remove_leftovers(directory)
    except (OSError, pa.ArrowException, duckdb.Error) as error:
        raise StoreError(
            str(directory),
            "a writable folder for the database",
            " ".join(str(error).split()),
            "free disk space, or correct the permissions",
        ) from error


def _remove_leftovers(directory: Path) -> None:
    for name in _LEFTOVERS:
        (directory / name).unlink(missing_ok=True)


def _directory(experiment_dir: Path) -> Path:
    """Return the folder of the database.

    Raises:
        StoreError: it is a link. In the results of another user, it can point to any folder, whose files would be replaced.
    """
    directory = experiment_dir / "store"
    if directory.is_symlink():
        raise StoreError(
            str(directory), "a folder", f"a symbolic link to {os.readlink(directory)}", "remove the link"
        )
    return directory


def _is_ours_to_write(experiment_dir: Path) -> bool:
    """Return whether this user keeps the database inside the folder of the experiment.

    An archive is not writable. In the folder of another user, two users would invalidate each other's seals.
    """
    directory = _directory(experiment_dir)
    folder = directory if directory.exists() else experiment_dir
    lock = directory / _LOCK
    ours = folder.stat().st_uid == os.geteuid() and os.access(folder, os.W_OK)
    return ours and (not lock.exists() or os.access(lock, os.W_OK))


@functools.cache
def _elsewhere(experiment_dir: str) -> Path:
    """Return a folder for the database of a read-only experiment, deleted when the process exits."""
    folder = tempfile.mkdtemp(prefix="regatta-store-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _write_all(experiment_dir: Path, new: _New, progress: Progress | None) -> Rebuilt:
    # Taken first, so that lines appended during the read cause the next reader to rebuild.
    new.marks["tables"] = fingerprint(experiment_dir)
    invocations, iterations, damaged = _write_records(experiment_dir, new, progress)
    cells = _write_cells(experiment_dir, new)
    vectors = _write_vectors(experiment_dir, new)
    return Rebuilt(new.directory, invocations, iterations, cells, damaged, vectors)


def _write_vectors(experiment_dir: Path, new: _New) -> int:
    """Write the table of the vectors. Return its number of rows."""
    new.marks["vectors"] = vectors_fingerprint(experiment_dir)
    rows = vector_rows(experiment_dir)
    with new.table(VECTOR_TABLE) as writer:
        writer.write_table(rows)
    return int(rows.num_rows)


def _write_records(experiment_dir: Path, new: _New, progress: Progress | None) -> tuple[int, int, int]:
    written = measured = damaged = 0
    batch: list[Record] = []
    pending = 0
    lines_of: Counter[str] = Counter()
    first: dict[str, str] = {}
    limits = _limits(experiment_dir)
    with new.table("invocations") as invocations, new.table("iterations") as iterations:

        def flush() -> None:
            nonlocal written, measured, pending
            if batch:
                # Invalid records do not reach this point; see `regatta.host.journal.record_shape`.
                rows, lines = invocation_rows(written, batch), iteration_rows(written, batch)
                invocations.write_table(rows)
                iterations.write_table(lines)
                written += len(batch)
                measured += lines.num_rows
            batch.clear()
            pending = 0

        for item in _journal(experiment_dir, new.directory, progress):
            if isinstance(item, Damage):
                damaged += 1
                if not item.torn:
                    lines_of[item.host] += 1
                    first.setdefault(item.host, f"{item.path.name}:{item.line}: {item.reason}")
                continue
            status = status_under(item["status"], item.get("perturbation"), limits.get(item["host"]))
            batch.append({**item, "status": status})
            pending += len(item.get("iterations") or ())
            if len(batch) >= _BATCH_RECORDS or pending >= _BATCH_MEASUREMENTS:
                flush()
        flush()
    with new.table("damage") as writer:
        rows = [{"host": host, "lines": count, "first": first[host]} for host, count in lines_of.items()]
        writer.write_table(pa.Table.from_pylist(rows, schema=DAMAGE))
    return written, measured, damaged


def _journal(experiment_dir: Path, directory: Path, progress: Progress | None) -> Iterator[Record | Damage]:
    files = journal_files(experiment_dir)
    sizes = [path.stat().st_size for path in files]
    measures = EVENT_MEASURES(directory / EVENTS)
    missing = measures.missing(experiment_dir)
    done, total = 0, sum(sizes) + sum(kept.bytes for kept in missing)

    def passed(size: int) -> None:
        nonlocal done
        done += size
        if progress is not None:
            progress(done, total)

    measures.compute(missing, passed)
    yield from damaged_descriptions(experiment_dir)
    for path, size in zip(files, sizes, strict=True):
        for item in read_file(path):
            yield item if isinstance(item, Damage) else measures.added_to(item, path.parent)
        passed(size)


def _limits(experiment_dir: Path) -> dict[str, Any]:
    """Return the limits of perturbation in the plan of each host. `_write_cells` reports unreadable plans."""
    return {path.parent.name: read_object(path).get("limits") for path in plan_files(experiment_dir)}


def _write_cells(experiment_dir: Path, new: _New) -> int:
    count = 0
    folder = Folder(experiment_dir)
    with new.table("cells") as writer:
        for plan_path in plan_files(experiment_dir):
            try:
                plan = folder.host_header(plan_path.parent.name)
                rows = cell_rows(plan, _planned_invocations(experiment_dir, plan_path, plan))
            except (OSError, ValueError, KeyError, TypeError, IndexError, pa.ArrowException) as error:
                raise StoreError(
                    str(plan_path),
                    "the plan of a host",
                    f"{type(error).__name__}: {error}",
                    "run `regatta plan SPEC --write`",
                ) from error
            writer.write_table(rows)
            count += rows.num_rows
    with new.table("unplanned_cells") as writer:
        for path in cell_files(experiment_dir):
            try:
                rows = unplanned_cell_rows(unplanned_cells(folder, path.parent.name))
            except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
                raise StoreError(
                    str(path), "descriptions of cells", f"{type(error).__name__}: {error}"
                ) from error
            writer.write_table(rows)
    return count


def _planned_invocations(experiment_dir: Path, plan_path: Path, plan: dict[str, Any]) -> list[int]:
    """Return the number of planned invocations per cell: its rows, except those of rounds that it does not need."""
    cells = len(plan["cells"])
    if groups_of(plan):
        host = plan_path.parent.name
        rounds = planned_rounds(plan, read_decisions(experiment_dir / "journal" / host / DECISIONS))
    else:
        rounds = [np.iinfo(np.int32).max] * cells
    last = np.array(rounds, dtype=np.int64)
    counts = np.zeros(cells, dtype=np.int64)
    with plan_path.with_name("rows.i32").open("rb") as file:
        while data := file.read(1 << 22):  # chunks of 4 MB
            rows = np.frombuffer(data, dtype="<i4").reshape(-1, 4)
            cell = rows[:, 3]
            counts += np.bincount(cell[rows[:, 0] < last[cell]], minlength=cells)
    planned: list[int] = counts.tolist()
    return planned


def _write_duckdb(path: Path, parquet: Mapping[str, Path]) -> None:
    """Build the DuckDB file from Parquet files, and verify that it is complete.

    Raises:
        OSError, duckdb.Error: it is incomplete, for example on a full disk.
    """
    log = path.with_name(f"{path.name}.wal")
    with duckdb.connect(str(path)) as connection:
        for name, table in parquet.items():
            connection.execute(f"create table {name} as from read_parquet($1)", [str(table)])
        # Closing alone ignores write errors.
        connection.execute("checkpoint")
    if log.exists():
        raise OSError(errno.ENOSPC, f"{log.name} was not merged into the database")
    with duckdb.connect(str(path), read_only=True) as connection:
        for name, table in parquet.items():
            expected = pq.read_metadata(table).num_rows
            (rows,) = connection.execute(f"select count(*) from {name}").fetchone() or (0,)
            if rows != expected:
                raise OSError(errno.EIO, f"table {name} has {rows} of {expected} rows")


def _put_in_place(path: Path) -> None:
    """Sync a finished file to disk and rename it into place."""
    sync(path)
    path.replace(path.with_name(path.name.removesuffix(_NEW)))


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Serialize rebuilds. The lock is released with the process that holds it."""
    with locked(directory / _LOCK):
        yield
