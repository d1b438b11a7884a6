"""Reading a journal for the database: from where it was left, and what its points are found by."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from regatta.host.journal.journal import MAXIMUM_LINE_BYTES, journal_files, segment_files
from regatta.host.journal.record import DamagedLine, decode_record
from regatta.influx.lines import identifier, quoted, tag_text
from regatta.store.folder import Folder


def new_lines(path: Path, offset: int) -> Iterator[bytes]:
    """The whole lines of a file from a place on; one that has no end is not there yet, unless it is too long for a record."""
    with path.open("rb") as file:
        file.seek(offset)
        while line := file.readline(MAXIMUM_LINE_BYTES):
            if not line.endswith(b"\n") and len(line) < MAXIMUM_LINE_BYTES:
                return
            yield line


def segment_of(path: Path) -> int:
    """The number that a journal file is named by."""
    return int(path.stem) if path.stem.isdecimal() else zlib.crc32(path.stem.encode())


def journal_hosts(folder: Folder) -> list[str]:
    """Hosts that have a journal."""
    return sorted({path.parent.name for path in journal_files(folder.path)})


def experiment_names(folder: Folder, host: str = "*") -> list[str]:
    """What the records of a host, or of all, call their experiment: the folder's name, unless somebody renamed it."""
    names = {folder.name}
    for path in journal_files(folder.path) if host == "*" else segment_files(folder.journal / host):
        for line in new_lines(path, 0):
            with suppress(DamagedLine):
                names.add(str(decode_record(line).get("experiment")))
                break
    return sorted(names)


def tagged(**wanted: str | Iterable[str] | None) -> str:
    """The condition in InfluxQL that each of some tags has a value, or one of several; a tag with None may have any."""
    parts = []
    for tag, values in wanted.items():
        if values is not None:
            some = [values] if isinstance(values, str) else values
            parts.append(" OR ".join(f"{identifier(tag)} = {quoted(tag_text(value))}" for value in some))
    return " AND ".join(f"({part})" for part in parts)
