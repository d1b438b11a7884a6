"""Read a journal for the database: new lines, and the conditions that select its points."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from regatta.host.journal.journal import MAXIMUM_LINE_BYTES, journal_files, open_journal, segment_files
from regatta.host.journal.record import DamagedLine, decode_record
from regatta.influx.lines import identifier, quoted, tag_text
from regatta.store.folder import Folder


def new_lines(path: Path, offset: int) -> Iterator[bytes]:
    """Yield the whole lines of a file from an offset. An unfinished line is skipped, unless it is too long for a record."""
    with open_journal(path) as file:
        file.seek(offset)
        while line := file.readline(MAXIMUM_LINE_BYTES):
            if not line.endswith(b"\n") and len(line) < MAXIMUM_LINE_BYTES:
                return
            yield line


def segment_of(path: Path) -> int:
    """Return the segment number in the name of a journal file."""
    return int(path.stem) if path.stem.isdecimal() else zlib.crc32(path.stem.encode())


def journal_hosts(folder: Folder) -> list[str]:
    """Return hosts with a journal."""
    return sorted({path.parent.name for path in journal_files(folder.path)})


def experiment_names(folder: Folder, host: str = "*") -> list[str]:
    """Return the experiment names in the records of a host, or of all: the name of the folder, unless it was renamed."""
    names = {folder.name}
    for path in journal_files(folder.path) if host == "*" else segment_files(folder.journal / host):
        for line in new_lines(path, 0):
            with suppress(DamagedLine):
                names.add(str(decode_record(line).get("experiment")))
                break
    return sorted(names)


def tagged(**wanted: str | Iterable[str] | None) -> str:
    """Return an InfluxQL condition: each tag has one of its values; None allows any value."""
    parts = []
    for tag, values in wanted.items():
        if values is not None:
            some = [values] if isinstance(values, str) else values
            parts.append(" OR ".join(f"{identifier(tag)} = {quoted(tag_text(value))}" for value in some))
    return " AND ".join(f"({part})" for part in parts)
