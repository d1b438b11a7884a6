"""Read the journal, the source of truth about measurements. Standard library only, because the runner resumes from it.

A journal is `journal/<host>/<segment>.jsonl` in an experiment's folder. In the same folder, `cells.jsonl` describes each
cell (`regatta.host.journal.cells`). A last line without a newline is torn. A complete line with a wrong checksum or
wrong types is damaged. Neither is a record; damaged lines are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from regatta.host.cache import regular_status
from regatta.host.errors import NewerVersion
from regatta.host.journal.record import (
    DamagedLine,
    RecordHead,
    decode_cell,
    decode_head,
    decode_record,
    id_in_line,
    of_this_version,
)
from regatta.host.values.plan_cell import CellDescription
from regatta.host.values.record import Record

_Line = TypeVar("_Line")

#: descriptions of a host's cells, in the folder of its records
CELLS = "cells.jsonl"
#: A record holds two truncated outputs and its iterations; a longer line is not a record.
MAXIMUM_LINE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Damage:
    """A line that is not a record: its position and the reason."""

    path: Path
    #: counted from 1
    line: int
    #: offset of the first byte
    offset: int
    reason: str
    torn: bool = False

    @property
    def host(self) -> str:
        """Return the host of the journal."""
        return self.path.parent.name


def segment_files(host_journal: Path) -> list[Path]:
    """Return the record files in the journal of one host, sorted by segment."""
    return sorted(path for path in host_journal.glob("*.jsonl") if path.name != CELLS)


def journal_files(experiment_dir: Path) -> list[Path]:
    """Return the record files of an experiment, sorted by host and segment."""
    return sorted(path for path in (experiment_dir / "journal").glob("*/*.jsonl") if path.name != CELLS)


def cell_files(experiment_dir: Path) -> list[Path]:
    """Return the files of an experiment that describe its cells, sorted by host."""
    return sorted((experiment_dir / "journal").glob(f"*/{CELLS}"))


def open_journal(path: Path) -> BinaryIO:
    """Open a file of a journal.

    Raises:
        OSError: it cannot be read, or is a pipe or a device, which can block or never end.
    """
    regular_status(path)
    return path.open("rb")


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield number (from 1), offset and bytes of each line. Stop after a torn line, even if its rest has arrived since."""
    offset = 0
    number = 0
    while line := file.readline(MAXIMUM_LINE_BYTES):
        number += 1
        yield number, offset, line
        if not line.endswith(b"\n") and len(line) < MAXIMUM_LINE_BYTES:
            return
        offset += len(line)


def read_file(path: Path) -> Iterator[Record | Damage]:
    """Read one record file in order: records, and a `Damage` for each invalid line.

    Raises:
        OSError: the file cannot be read.
        NewerVersion: a newer version of Regatta wrote a line.
    """
    return _decoded(path, decode_record)


def read_heads(experiment_dir: Path) -> Iterator[RecordHead | Damage]:
    """Read the heads of all records as `read_journal` reads them whole, in a fraction of the time."""
    yield from damaged_descriptions(experiment_dir)
    for path in journal_files(experiment_dir):
        yield from _decoded(path, decode_head)


def read_cells(path: Path, first: int = 0) -> Iterator[CellDescription | Damage]:
    """Read a `cells.jsonl` in order: descriptions of cells, and a `Damage` for each invalid line.

    Args:
        path: of the file.
        first: offset of the first line to read; line numbers start there.

    Raises:
        OSError: the file cannot be read.
    """
    return _decoded(path, decode_cell, first)


def described_cells(host_journal: Path) -> dict[str, CellDescription]:
    """Return the first description of each cell by cell id; empty for journals of older versions.

    Raises:
        OSError: the file cannot be read.
    """
    found: dict[str, CellDescription] = {}
    path = host_journal / CELLS
    for item in read_cells(path) if path.exists() else ():
        if not isinstance(item, Damage):
            found.setdefault(item["cell_id"], item)
    return found


def _decoded(path: Path, decode: Callable[[bytes], _Line], first: int = 0) -> Iterator[_Line | Damage]:
    with open_journal(path) as file:
        file.seek(first)
        for number, offset, line in _lines(file):
            if not line.endswith(b"\n"):
                yield Damage(path, number, first + offset, "incomplete line", torn=True)
                continue
            try:
                yield _decode_at(path, number, line, decode)
            except DamagedLine as error:
                yield Damage(path, number, first + offset, str(error))


def _decode_at(path: Path, number: int, line: bytes, decode: Callable[[bytes], _Line]) -> _Line:
    try:
        return decode(line)
    except NewerVersion as error:
        raise error.at(f"{path}:{number}") from None


def read_records_of(path: Path, invocation_ids: Container[str]) -> Iterator[Record]:
    """Yield the complete records of some invocations in one journal file. Skip other lines without decoding.

    Raises:
        OSError: the file cannot be read.
        NewerVersion: a newer version of Regatta wrote a line.
    """
    with open_journal(path) as file:
        for number, _, line in _lines(file):
            if not line.endswith(b"\n") or (of_this_version(line) and id_in_line(line) not in invocation_ids):
                continue
            with suppress(DamagedLine):
                record = _decode_at(path, number, line, decode_record)
                if record["invocation_id"] in invocation_ids:
                    yield record


def damaged_descriptions(experiment_dir: Path) -> Iterator[Damage]:
    """Yield invalid lines of the `cells.jsonl` of all hosts."""
    for path in cell_files(experiment_dir):
        yield from (item for item in read_cells(path) if isinstance(item, Damage))


def read_journal(experiment_dir: Path) -> Iterator[Record | Damage]:
    """Read all journal files: damaged descriptions of cells, then records by host, segment and sequence."""
    yield from damaged_descriptions(experiment_dir)
    for path in journal_files(experiment_dir):
        yield from read_file(path)


def read_records(experiment_dir: Path) -> Iterator[Record]:
    """Yield all complete records of an experiment. Skip damaged lines; `regatta verify` reports them."""
    for item in read_journal(experiment_dir):
        if not isinstance(item, Damage):
            yield item
