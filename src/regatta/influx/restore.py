"""Restoring a backup: nothing is written before the file was read to its end; afterwards the database is asked what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from regatta.host.errors import StoreError, VerificationError
from regatta.influx.backup import Progress
from regatta.influx.backup_file import Backup, Contents, Reader
from regatta.influx.client import Client
from regatta.influx.contents import count_values, measurements

_NOTHING = Contents(0, {}, "0" * 32)


def restore(
    writer: Client, reader: Client, path: Path, progress: Progress = lambda done, total: None
) -> Backup:
    """Write a backup into the database, beside what is there: a point that is there already is written over.

    Args:
        writer: an account that may write.
        reader: one that may read.
        path: the file.
        progress: told now and then, in bytes.

    Returns:
        what the file says of itself.

    Raises:
        StoreError: the file is not whole, or the database cannot be reached; a second try does no harm.
        VerificationError: the database refused points, or does not hold afterwards what the backup has.
    """
    try:
        stream = path.open("rb")
    except OSError as error:
        raise StoreError(str(path), "a backup", error.strerror or str(error)) from error
    with stream:
        file = Reader(stream, path)
        backup = file.check()
        before = _held(reader, backup)
        total = path.stat().st_size
        for block in file.blocks():
            writer.write([block])
            progress(stream.tell(), total)
    _tell_refused(writer)
    _compare(path, backup, before, _held(reader, backup))
    return backup


def _held(reader: Client, backup: Backup) -> dict[str, Contents]:
    """What the database holds of the measurements of a backup."""
    return {
        one.name: count_values(reader, one) for one in measurements(reader) if one.name in backup.measurements
    }


def _tell_refused(writer: Client) -> None:
    refusals = writer.refusals
    if refusals.count:
        first = refusals.lines[0]
        raise VerificationError(
            writer.settings.url, "every point of the backup to be taken",
            f"{refusals.count} refused, the first for {first.reason}: {first.line[:200]!r}",
            "see what the database says; all others are written",
        )  # fmt: skip


def _compare(path: Path, backup: Backup, before: dict[str, Contents], after: dict[str, Contents]) -> None:
    for name, wanted in backup.measurements.items():
        got = after.get(name, _NOTHING)
        # Points that were there before the backup was written count, too.
        exactly = not before.get(name, _NOTHING).series
        for what, expected, found in _differences(wanted, got, exactly):
            least = "" if exactly else "at least "
            raise VerificationError(
                f"{path}: {what} of {name}",
                f"{least}{expected}",
                found,
                "see whether something else writes or deletes there",
            )


def _differences(wanted: Contents, got: Contents, exactly: bool) -> Iterator[tuple[str, str, str]]:
    def differs(expected: int, found: int) -> bool:
        return found != expected if exactly else found < expected

    if differs(wanted.series, got.series):
        yield "series", str(wanted.series), str(got.series)
    for field in wanted.fields.keys() | (got.fields.keys() if exactly else set()):
        expected, found = wanted.fields.get(field, 0), got.fields.get(field, 0)
        if differs(expected, found):
            yield f"values of {field}", str(expected), str(found)
    if exactly and wanted.digest != got.digest:
        yield "values in each series", "as many as in the backup", "others, the same in sum"
