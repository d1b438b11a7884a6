"""Describe each cell once in `journal/<host>/cells.jsonl`, before its first record. The journal is thus self-contained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regatta.host.journal.journal import CELLS, Damage, read_cells
from regatta.host.journal.line_file import LineFile
from regatta.host.journal.record import RECORD_VERSION, DamagedLine, decode_cell, encode_record


def description_line(cell: Mapping[str, Any], experiment: str, host: str) -> bytes:
    """Return the line of `cells.jsonl` that describes a cell; empty if readers would reject it.

    For example, an option can be a number of more than 64 bits. Such a cell is only in the plan.
    """
    names = {"experiment": experiment, "host": host}
    line = encode_record({"v": RECORD_VERSION, "cell_id": cell["cell_id"], **names, **cell})
    try:
        decode_cell(line.rstrip(b"\n"))
    except DamagedLine:
        return b""
    return line


class CellsFile:
    """The descriptions of one host's cells, in an append-only file."""

    def __init__(self, host_journal: Path, experiment: str, host: str) -> None:
        """Defer reading and creating the file until the first cell.

        Args:
            host_journal: folder of the host's records.
            experiment: its name.
            host: its name.
        """
        self._path = host_journal / CELLS
        self._experiment = experiment
        self._host = host
        self._file: LineFile | None = None
        self._known: set[str] = set()
        #: offset of the part of the file that is not read yet
        self._offset = 0

    def describe(self, cell: Mapping[str, Any]) -> None:
        """Append the description of a cell durably, unless the file already has it.

        Args:
            cell: as in the plan.

        Raises:
            StoreError: the file cannot be opened, or the disk is full.
        """
        cell_id = cell["cell_id"]
        if cell_id in self._known:
            return
        if self._file is None:
            self._file = LineFile(self._path)
        # Hold the lock only for one cell: records of two segments can arrive from a host at the same time.
        with self._file.locked():
            self._read_on()
            if cell_id in self._known:
                return
            line = description_line(cell, self._experiment, self._host)
            if line:
                self._file.append(
                    line, "free disk space and run the same command again; previous records are intact"
                )
            self._known.add(cell_id)
            self._offset += len(line)

    def _read_on(self) -> None:
        """Read the lines appended since the last call. Cut off a torn last line."""
        assert self._file is not None
        for item in read_cells(self._path, self._offset):
            if not isinstance(item, Damage):
                self._known.add(item["cell_id"])
            elif item.torn:
                self._file.cut(item.offset)
        self._offset = self._path.stat().st_size

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
