"""The format of a trace of file operations: tables of operations, files and memory, and `trace.json`.

The trace is the input of a cache simulator in the hybrid method of HBench:FS (Zhang, Application-Specific
Benchmarking, Harvard University 2001, section 3.1.3). It names files by identity: a rename keeps it, and a
file that is created under the name of a removed file has a new one.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from regatta.host.errors import RegattaError
from regatta.models.recordings.facts import Ranges, read_facts
from regatta.models.recordings.tables import escaped, read_table, write_recording

VERSION = 2
OPERATIONS_FILE = "operations.parquet"
FILES_FILE = "files.parquet"
MEMORY_FILE = "memory.parquet"
FACTS_FILE = "trace.json"
#: in a column of identifiers: none; in a column of sizes, offsets and durations: unknown
NONE = -1
#: no file is larger: ext4 with pages of 4 KiB has a limit of 16 TiB, XFS of 8 EiB
MAX_OFFSET = 1 << 62


class Kind(IntEnum):
    """Kinds of file operations."""

    #: a file that exists is opened
    OPEN = 1
    #: a file is created and opened
    CREATE = 2
    #: `bytes` bytes are read at `offset`; 0: the end of the file was met
    READ = 3
    WRITE = 4
    #: attributes are read, by name or by descriptor, or the access rights are tested
    STAT = 5
    #: a name is removed; `bytes` is the number of names that the trace knows of the file afterwards
    UNLINK = 6
    #: a file gets another name; `peer` is the file that lost its last name by that, if any
    RENAME = 7
    #: the size of the file becomes `offset`
    TRUNCATE = 8
    #: a range is mapped into memory. It counts as a read of the range: strace does not show which pages are
    #: used
    MAP = 9
    #: dirty pages are written to the disk; without a file: those of all files
    FSYNC = 10
    #: the last descriptor of an open file is closed
    CLOSE = 11


OPERATIONS = pa.schema(
    [
        # begin of the call, in ns since 1970
        ("time_ns", pa.int64()),
        # duration of the call under the tracer; -1: unknown
        ("duration_ns", pa.int64()),
        # one of `Kind`
        ("kind", pa.uint8()),
        # the thread that called
        ("process", pa.int32()),
        # row of `files.parquet`; -1: none, as in an open that failed
        ("file", pa.int32()),
        # open file description, which owns the position and the state of read-ahead; -1: none
        ("handle", pa.int32()),
        ("offset", pa.int64()),
        ("bytes", pa.int64()),
        ("peer", pa.int32()),
        # the call returned an error
        ("failed", pa.bool_()),
    ]
)

FILES = pa.schema(
    [
        ("id", pa.int32()),
        # last known name; bytes that are not UTF-8 are escaped as \xff
        ("path", pa.string()),
        # size when the trace met the file; -1: unknown
        ("size_bytes", pa.int64()),
    ]
)

MEMORY = pa.schema(
    [
        # time of the sample, in ns since 1970, in the order of time
        ("time_ns", pa.int64()),
        # memory of all processes that no file backs
        ("bytes", pa.int64()),
    ]
)

_FIX = "record the trace again"
_OPERATIONS: Ranges = {
    "time_ns": (0, MAX_OFFSET),
    "duration_ns": (NONE, MAX_OFFSET),
    "kind": (min(Kind), max(Kind)),
    "handle": (NONE, (1 << 31) - 1),
    "offset": (0, MAX_OFFSET),
    "bytes": (0, MAX_OFFSET),
}
_MEMORY: Ranges = {"time_ns": (0, MAX_OFFSET), "bytes": (0, MAX_OFFSET)}
_FACTS: Ranges = {"not_understood": (0, MAX_OFFSET), "read_ahead_kib": (NONE, 1 << 30)}

#: column -> its code in `array`, which has no booleans
_CODES = {one.name: np.dtype(one.type.to_pandas_dtype()).char.replace("?", "B") for one in OPERATIONS}


@dataclass(frozen=True)
class Facts:
    """What `trace.json` says of a whole trace."""

    #: program and format that the trace was read from
    source: str = ""
    host: str = ""
    kernel: str = ""
    #: what could not be followed -> number; see `strace_reader.NOT_UNDERSTOOD`
    not_understood: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    version: int = VERSION
    #: KiB of the largest window of read-ahead on the disk of the files; -1: unknown
    read_ahead_kib: int = NONE


@dataclass(frozen=True)
class Operations:
    """A trace in memory: one array per column of `OPERATIONS`, in the order of time.

    Args:
        columns: name -> values, all of the same length.
        paths: name of each file; the index is its identity.
        sizes_bytes: size of each file when the trace met it; -1: unknown.
        memory: samples of the memory that the processes had for themselves: (ns since 1970, bytes); empty:
            unknown.
    """

    columns: Mapping[str, NDArray[Any]]
    paths: tuple[str, ...]
    sizes_bytes: NDArray[np.int64]
    facts: Facts = Facts()
    memory: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return len(self.columns["kind"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]


class Recorder:
    """Collects operations in memory; they may arrive out of order."""

    def __init__(self) -> None:
        self._columns = {name: array(code) for name, code in _CODES.items()}
        self.paths: list[str] = []
        self.sizes_bytes: list[int] = []

    def file(self, path: str, size_bytes: int = NONE) -> int:
        """Add a file, and return its identity."""
        self.paths.append(path)
        self.sizes_bytes.append(size_bytes)
        return len(self.paths) - 1

    def add(
        self, time_ns: int, kind: Kind, file: int = NONE, *, duration_ns: int = NONE, process: int = 0,
        handle: int = NONE, offset: int = 0, bytes: int = 0, peer: int = NONE, failed: bool = False,
    ) -> None:  # fmt: skip
        """Add one operation."""
        row = (time_ns, duration_ns, kind, process, file, handle, offset, bytes, peer, failed)
        for column, value in zip(self._columns.values(), row, strict=True):
            column.append(value)

    def operations(self, facts: Facts = Facts()) -> Operations:
        """Return the operations in the order of time. Equal times keep their order."""
        order = np.argsort(np.array(self._columns["time_ns"], np.int64), kind="stable")
        columns = {name: np.array(column)[order] for name, column in self._columns.items()}
        columns["failed"] = columns["failed"].astype(bool)
        return Operations(columns, tuple(self.paths), np.array(self.sizes_bytes, np.int64), facts)


def write_operations(folder: Path, operations: Operations) -> None:
    """Write a trace; a folder with `trace.json` is complete. Raise RegattaError if it cannot be written."""
    files = {
        "id": pa.array(range(len(operations.paths)), pa.int32()),
        "path": pa.array(map(escaped, operations.paths), pa.string()),
        "size_bytes": pa.array(operations.sizes_bytes, pa.int64()),
    }
    columns = {one.name: pa.array(operations[one.name], one.type) for one in OPERATIONS}
    memory = {name: [row[at] for row in operations.memory] for at, name in enumerate(MEMORY.names)}
    tables = {
        OPERATIONS_FILE: pa.table(columns, schema=OPERATIONS),
        FILES_FILE: pa.table(files, schema=FILES),
        MEMORY_FILE: pa.table(memory, schema=MEMORY),
    }
    write_recording(folder / FACTS_FILE, operations.facts, tables)


def read_operations(folder: Path) -> Operations:
    """Read a trace and validate it.

    Raises:
        RegattaError: it is incomplete, of another version, or its values contradict the format.
    """
    facts = read_facts(Facts, folder / FACTS_FILE, "a trace of file operations", _FACTS, _FIX)
    files = read_table(folder / FILES_FILE, FILES, _FIX, {"size_bytes": (NONE, MAX_OFFSET)})
    if files["id"].to_pylist() != list(range(len(files))):
        raise _wrong(folder / FILES_FILE, "ids that count from 0", "others")
    named = dict.fromkeys(("file", "peer"), (NONE, len(files) - 1))
    path = folder / OPERATIONS_FILE
    operations = read_table(path, OPERATIONS, _FIX, {**_OPERATIONS, **named}, order="time_ns")
    columns = {name: operations[name].to_numpy() for name in OPERATIONS.names}
    needs = np.isin(columns["kind"], (Kind.READ, Kind.WRITE, Kind.TRUNCATE, Kind.MAP)) & ~columns["failed"]
    if (needs & (columns["file"] == NONE)).any():
        raise _wrong(path, "a file in every read, write, truncate and map", "none")
    memory = read_table(folder / MEMORY_FILE, MEMORY, _FIX, _MEMORY, order="time_ns")
    rows = tuple(zip(*(memory[name].to_pylist() for name in MEMORY.names), strict=True))
    sizes = files["size_bytes"].to_numpy()
    return Operations(columns, tuple(files["path"].to_pylist()), sizes, facts, rows)


def _wrong(path: Path, expected: str, got: str) -> RegattaError:
    return RegattaError(str(path), expected, got, _FIX)
