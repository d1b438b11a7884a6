"""Receipts: what tells the workflow that a segment is done. Derived from the journal, and taken back when it says otherwise."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from regatta.store.folder import Folder


def _segment_receipts(folder: Folder) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.receipts.glob("*/*.json")):
        yield path.parent.name, path


def withdraw_all_receipts(folder: Folder) -> None:
    """Have every segment walked again."""
    for _, path in _segment_receipts(folder):
        path.unlink(missing_ok=True)


def withdraw_receipts_of_touched_journals(folder: Folder) -> None:
    """Have segments walked again whose journal file is gone or was written after its receipt: somebody edited or restored it."""
    for host, path in _segment_receipts(folder):
        journal = folder.journal / host / f"{path.stem}.jsonl"
        try:
            touched = journal.stat().st_mtime_ns > path.stat().st_mtime_ns
        except FileNotFoundError:
            touched = True
        if touched:
            path.unlink(missing_ok=True)


def withdraw_receipts(folder: Folder, segments: Mapping[str, Sequence[int]], before_ns: int) -> None:
    """Have these segments (host -> numbers) walked again, unless their receipts are newer than `before_ns`.

    Where the folder may not be written, nothing is: reading an experiment of somebody else is no error.
    """
    for host, numbers in segments.items():
        for number in numbers:
            path = folder.receipts / host / f"{number:05d}.json"
            with contextlib.suppress(OSError):
                if path.stat().st_mtime_ns < before_ns:
                    path.unlink()
