"""Reading the journal: the only truth about what was measured. Standard library only, for the runner resumes from it.

A journal is `journal/<host>/<segment>.jsonl` in an experiment's folder; beside these files, `cells.jsonl` says what each cell is
(`regatta.host.journal.cells`). A last line without its end is torn and is no record; a whole line with a wrong checksum, or with
values of other types, is damaged and is no record either, but is told.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from regatta.host.journal.record import DamagedLine, decode_cell, decode_record, id_in_line
from regatta.host.values.plan_cell import CellDescription
from regatta.host.values.record import Record

_Line = TypeVar("_Line")

#: what each cell of a host is, beside the host's records
CELLS = "cells.jsonl"
#: A record holds two capped outputs and its iterations; a line beyond this is not one of ours.
MAXIMUM_LINE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Damage:
    """A line that is no record: where it is and why."""

    path: Path
    #: counted from 1
    line: int
    #: offset of its first byte
    offset: int
    reason: str
    torn: bool = False

    @property
    def host(self) -> str:
        """Whose journal it is in."""
        return self.path.parent.name


def segment_files(host_journal: Path) -> list[Path]:
    """The files of records in the journal of one host, by segment."""
    return sorted(path for path in host_journal.glob("*.jsonl") if path.name != CELLS)


def journal_files(experiment_dir: Path) -> list[Path]:
    """The files of records of an experiment, by host and segment."""
    return sorted(path for path in (experiment_dir / "journal").glob("*/*.jsonl") if path.name != CELLS)


def cell_files(experiment_dir: Path) -> list[Path]:
    """The files of an experiment that say what its cells are, by host."""
    return sorted((experiment_dir / "journal").glob(f"*/{CELLS}"))


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Number from 1, offset and bytes of each line. A torn line is the last, although the rest of it may arrive by now."""
    offset = 0
    number = 0
    while line := file.readline(MAXIMUM_LINE_BYTES):
        number += 1
        yield number, offset, line
        if not line.endswith(b"\n") and len(line) < MAXIMUM_LINE_BYTES:
            return
        offset += len(line)


def read_file(path: Path) -> Iterator[Record | Damage]:
    """Read one file of records in order: records, and a `Damage` for each line that is none.

    Raises:
        OSError: the file cannot be read.
    """
    return _decoded(path, decode_record)


def read_cells(path: Path, first: int = 0) -> Iterator[CellDescription | Damage]:
    """Read a `cells.jsonl` in order: descriptions of cells, and a `Damage` for each line that is none.

    Args:
        path: of the file.
        first: offset of the line to begin with; lines are counted from there.

    Raises:
        OSError: the file cannot be read.
    """
    return _decoded(path, decode_cell, first)


def described_cells(host_journal: Path) -> dict[str, CellDescription]:
    """Cell id -> its first description; nothing where an older version wrote the journal.

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
    with path.open("rb") as file:
        file.seek(first)
        for number, offset, line in _lines(file):
            if not line.endswith(b"\n"):
                yield Damage(path, number, first + offset, "the line has no end", torn=True)
                continue
            try:
                yield decode(line)
            except DamagedLine as error:
                yield Damage(path, number, first + offset, str(error))


def read_records_of(path: Path, invocation_ids: Container[str]) -> Iterator[Record]:
    """The whole records of some invocations in one journal file; the lines of others are passed over undecoded.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        for _, _, line in _lines(file):
            if line.endswith(b"\n") and id_in_line(line) in invocation_ids:
                with suppress(DamagedLine):
                    yield decode_record(line)


def damaged_descriptions(experiment_dir: Path) -> Iterator[Damage]:
    """Lines of the `cells.jsonl` of all hosts that describe no cell."""
    for path in cell_files(experiment_dir):
        yield from (item for item in read_cells(path) if isinstance(item, Damage))


def read_journal(experiment_dir: Path) -> Iterator[Record | Damage]:
    """Read all journal files of an experiment: damaged descriptions of cells, then records by host, segment and sequence."""
    yield from damaged_descriptions(experiment_dir)
    for path in journal_files(experiment_dir):
        yield from read_file(path)


def read_records(experiment_dir: Path) -> Iterator[Record]:
    """All whole records of an experiment. Damaged lines are passed over here; `regatta verify` names them."""
    for item in read_journal(experiment_dir):
        if not isinstance(item, Damage):
            yield item
