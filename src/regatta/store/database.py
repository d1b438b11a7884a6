"""The embedded database of an experiment, made from its journal: Parquet files, and DuckDB with the same tables.

The journal is the only truth: `store/` may be deleted at any time and is made again. Every file is written beside its
place and renamed into it, so a kill leaves the old one or the new one whole. Analyses read the one DuckDB file, whose
tables are of one generation whatever else happens; the Parquet files are for other tools. The seal comes last: it says that
all files are of this journal and plan, and that this user made them (`regatta.store.seal`).
"""

from __future__ import annotations

import atexit
import errno
import functools
import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regatta.host.errors import StoreError
from regatta.host.files import locked, parse_object, sync
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
from regatta.store.folder import Folder
from regatta.store.seal import seal, sealed_marks
from regatta.store.tables import (
    CELLS,
    DAMAGE,
    INVOCATIONS,
    ITERATIONS,
    TABLES_VERSION,
    UNPLANNED_CELLS,
    cell_rows,
    invocation_rows,
    iteration_rows,
    unplanned_cell_rows,
)
from regatta.store.vector_table import VECTORS, vector_rows, vectors_fingerprint

DATABASE = "regatta.duckdb"
TABLES = ("invocations", "iterations", "cells", "unplanned_cells", "damage")
#: of the vectors beside the journal; it is made again alone where they alone change
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
_NEW = ".new"
_LOCK = ".lock"
#: DuckDB replays these into the database, whoever wrote them. A finished database has none of them.
_LOGS = tuple(f"{DATABASE}.wal{end}" for end in ("", ".checkpoint", ".recovery"))
#: what a rebuild that was killed leaves, and what somebody else may have put there
_LEFTOVERS = (
    *_LOGS,
    *(f"{name}{_NEW}" for name in _FILES),
    *(log.replace(DATABASE, f"{DATABASE}{_NEW}") for log in _LOGS),
)

#: Threads add up in the order in which they come: the last digits would differ from one answer to the next. 10^7 values are
#: averaged in less than a second by one alone.
_ONE_ORDER = 1
#: The file may be somebody else's: nothing in it may read other files or load code.
_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "threads": _ONE_ORDER,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
}
#: A batch is written at the first of these: what a rebuild holds in memory at a time, some 100 MB.
_BATCH_RECORDS = 2_000
_BATCH_MEASUREMENTS = 200_000

#: Retries leave several records of one invocation; this is the one that counts.
_LAST_ATTEMPTS = """
create temp view last_attempts as
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
    """The marks of a database that is as this user made it; empty where it is not, or where a log would change it."""
    if any(os.path.lexists(directory / name) for name in _LOGS):
        return {}
    return sealed_marks(directory, _FILES)


@contextmanager
def open_database(
    experiment_dir: Path, progress: Progress | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to an up-to-date database, read only; what is read is of one generation, though others rebuild meanwhile.

    Its tables are `TABLES`, that of the vectors, and `last_attempts`. No statement reads another file.

    Raises:
        StoreError: see `rebuild`; also when the database cannot be read.
    """
    path = ensure_database(experiment_dir, progress) / DATABASE
    connection = _connect(path)
    if connection is None:
        # Damaged, or written by a newer DuckDB.
        path = rebuild(experiment_dir, progress).directory / DATABASE
        connection = _connect(path)
    try:
        if connection is None:
            raise duckdb.IOException("it cannot be opened, or lacks tables")
        with connection:
            connection.execute(_LAST_ATTEMPTS)
            yield connection
    except duckdb.Error as error:
        raise StoreError(
            str(path), "a database that can be read", " ".join(str(error).split()),
            f"`regatta store rebuild {experiment_dir.name}`",
        ) from error  # fmt: skip


def _connect(path: Path) -> duckdb.DuckDBPyConnection | None:
    """Open a database of our tables and nothing else; None where it is none."""
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
    """Make `store/*.parquet` and `store/regatta.duckdb` from the journal and the plan, in batches.

    Where this user cannot write the folder, or another owns it, they are made in a temporary one that goes with the process.

    Args:
        experiment_dir: `results/<experiment>`.
        progress: called with bytes of the journal read and in all.

    Returns:
        How many rows each table has. Torn and damaged lines are counted, not used; `regatta verify` names them.

    Raises:
        StoreError: there is no room, or the plan cannot be read.
    """
    with _making(experiment_dir) as new:
        return _write_all(experiment_dir, new, progress)


def _rebuild_vectors(experiment_dir: Path, progress: Progress | None) -> None:
    """Make the table of the vectors again, and the database of it and the tables that are there: no record is read.

    Where another rebuild was killed since the tables were looked at, all are made again.

    Raises:
        StoreError: a vector is none, or the folder cannot be written.
    """
    with _making(experiment_dir) as new:
        if tables := _sealed(new.directory).get("tables"):
            new.marks["tables"] = tables
            _write_vectors(experiment_dir, new)
        else:
            _write_all(experiment_dir, new, progress)


def make_database(experiment_dir: Path, tables: Mapping[str, Iterable[pa.Table]]) -> None:
    """Make the database of what comes from elsewhere than the journal; it counts as that of the plans in the folder.

    Args:
        experiment_dir: a folder with the plans and decisions that belong to it, and no journal.
        tables: of `TABLES` their rows, with the schema of `regatta.store.tables`, in any pieces; others are empty.

    Raises:
        StoreError: the folder cannot be written.
    """
    with _making(experiment_dir) as new:
        new.marks["tables"] = fingerprint(experiment_dir)
        for name in TABLES:
            with new.table(name) as writer:
                for table in tables.get(name, ()):
                    writer.write_table(table)
        _write_vectors(experiment_dir, new)


@dataclass
class _New:
    """Files on their way into a folder."""

    directory: Path
    #: what they are made from
    marks: dict[str, str] = field(default_factory=dict)
    #: table -> its new file
    parquet: dict[str, Path] = field(default_factory=dict)

    @contextmanager
    def table(self, name: str) -> Iterator[pq.ParquetWriter]:
        """Write a table."""
        path = self.parquet[name] = self.directory / f"{name}.parquet{_NEW}"
        with pq.ParquetWriter(path, _SCHEMAS[name], compression="zstd") as writer:
            yield writer


@contextmanager
def _making(experiment_dir: Path) -> Iterator[_New]:
    """Have new tables written, make the DuckDB file of them and of those that stay, and put all in place, the seal last.

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
            # Also for who planted a link under such a name.
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
                # A full disk needs the room.
                _remove_leftovers(directory)
    except (OSError, pa.ArrowException, duckdb.Error) as error:
        raise StoreError(
            str(directory), "a folder in which the database can be written", " ".join(str(error).split()),
            "make room, or mend its permissions",
        ) from error  # fmt: skip


def _remove_leftovers(directory: Path) -> None:
    for name in _LEFTOVERS:
        (directory / name).unlink(missing_ok=True)


def _directory(experiment_dir: Path) -> Path:
    """The folder where the database belongs.

    Raises:
        StoreError: it is a link. In results of somebody else it may lead to any folder, whose files we would replace.
    """
    directory = experiment_dir / "store"
    if directory.is_symlink():
        raise StoreError(str(directory), "a folder", f"a link to {os.readlink(directory)}", "remove the link")
    return directory


def _is_ours_to_write(experiment_dir: Path) -> bool:
    """Whether this user keeps the database where it belongs.

    An archive cannot be written. In the folder of another user, two users would undo each other's seal in turn.
    """
    directory = _directory(experiment_dir)
    folder = directory if directory.exists() else experiment_dir
    lock = directory / _LOCK
    ours = folder.stat().st_uid == os.geteuid() and os.access(folder, os.W_OK)
    return ours and (not lock.exists() or os.access(lock, os.W_OK))


@functools.cache
def _elsewhere(experiment_dir: str) -> Path:
    """A folder for the database of an experiment that cannot be written; it goes with the process."""
    folder = tempfile.mkdtemp(prefix="regatta-store-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _write_all(experiment_dir: Path, new: _New, progress: Progress | None) -> Rebuilt:
    # Taken first: what is appended while we read makes the next reader rebuild.
    new.marks["tables"] = fingerprint(experiment_dir)
    invocations, iterations, damaged = _write_records(experiment_dir, new, progress)
    cells = _write_cells(experiment_dir, new)
    vectors = _write_vectors(experiment_dir, new)
    return Rebuilt(new.directory, invocations, iterations, cells, damaged, vectors)


def _write_vectors(experiment_dir: Path, new: _New) -> int:
    """Write the table of the vectors; returns how many rows it has."""
    new.marks["vectors"] = vectors_fingerprint(experiment_dir)
    rows = vector_rows(experiment_dir)
    with new.table(VECTOR_TABLE) as writer:
        writer.write_table(rows)
    return int(rows.num_rows)


def fingerprint(experiment_dir: Path) -> str:
    """What the journal (names, sizes, times), the plans and the decisions (contents) are, with the version of the tables."""
    digest = hashlib.sha256(f"tables {TABLES_VERSION}\n".encode())
    for path in [*journal_files(experiment_dir), *cell_files(experiment_dir)]:
        stat = path.stat()
        digest.update(f"{path.relative_to(experiment_dir)} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    decisions = sorted((experiment_dir / "journal").glob(f"*/{DECISIONS}"))
    for path in [*_plan_files(experiment_dir), *decisions]:
        # By content: every `regatta run` writes its plan again, and mostly it is the same.
        digest.update(
            f"{path.relative_to(experiment_dir)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
        )
    return digest.hexdigest()[:16]


def _write_records(experiment_dir: Path, new: _New, progress: Progress | None) -> tuple[int, int, int]:
    written = measured = damaged = 0
    batch: list[Record] = []
    pending = 0
    lines_of: Counter[str] = Counter()
    first: dict[str, str] = {}
    with new.table("invocations") as invocations, new.table("iterations") as iterations:

        def flush() -> None:
            nonlocal written, measured, pending
            if batch:
                # What is no record in this form does not come here: see `regatta.host.journal.record_shape`.
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
                if not item.torn:
                    lines_of[item.host] += 1
                    first.setdefault(item.host, f"{item.path.name}:{item.line}: {item.reason}")
                continue
            batch.append(item)
            pending += len(item.get("iterations") or ())
            if len(batch) >= _BATCH_RECORDS or pending >= _BATCH_MEASUREMENTS:
                flush()
        flush()
    with new.table("damage") as writer:
        rows = [{"host": host, "lines": count, "first": first[host]} for host, count in lines_of.items()]
        writer.write_table(pa.Table.from_pylist(rows, schema=DAMAGE))
    return written, measured, damaged


def _journal(experiment_dir: Path, progress: Progress | None) -> Iterator[Record | Damage]:
    files = journal_files(experiment_dir)
    sizes = [path.stat().st_size for path in files]
    done, total = 0, sum(sizes)
    yield from damaged_descriptions(experiment_dir)
    for path, size in zip(files, sizes, strict=True):
        yield from read_file(path)
        done += size
        if progress is not None:
            progress(done, total)


def _plan_files(experiment_dir: Path) -> list[Path]:
    return sorted((experiment_dir / "plan").glob("*/plan.json"))


def _write_cells(experiment_dir: Path, new: _New) -> int:
    count = 0
    with new.table("cells") as writer:
        for plan_path in _plan_files(experiment_dir):
            try:
                plan = parse_object(plan_path)
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
    folder = Folder(experiment_dir)
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


def _write_duckdb(path: Path, parquet: Mapping[str, Path]) -> None:
    """Make the DuckDB file of Parquet files, and see that it holds all of them.

    Raises:
        OSError, duckdb.Error: it does not, such as on a full disk.
    """
    log = path.with_name(f"{path.name}.wal")
    with duckdb.connect(str(path)) as connection:
        for name, table in parquet.items():
            connection.execute(f"create table {name} as from read_parquet($1)", [str(table)])
        # Closing alone passes over what cannot be written.
        connection.execute("checkpoint")
    if log.exists():
        raise OSError(errno.ENOSPC, f"{log.name} is left: not all is in the database")
    with duckdb.connect(str(path), read_only=True) as connection:
        for name, table in parquet.items():
            expected = pq.read_metadata(table).num_rows
            (rows,) = connection.execute(f"select count(*) from {name}").fetchone() or (0,)
            if rows != expected:
                raise OSError(errno.EIO, f"table {name} has {rows} of {expected} rows")


def _put_in_place(path: Path) -> None:
    """Rename a finished file into its place, durable before it can be seen."""
    sync(path)
    path.replace(path.with_name(path.name.removesuffix(_NEW)))


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """One rebuild at a time; the lock goes with the process that holds it."""
    with locked(directory / _LOCK):
        yield
