"""The first screen of an answer, kept until anything that it depends on changes, so that it is shown at once.

It is sealed as the database is: a screen that another user has made, or that was edited, is not shown.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

import regatta
from regatta.cli.first_screen import Screen, screen_of
from regatta.host.errors import RegattaError
from regatta.host.files import read_object
from regatta.store.folder import Folder, write_json
from regatta.store.receipts import hosts_left_out
from regatta.store.seal import seal, sealed_marks
from regatta.store.sources import fingerprint

if TYPE_CHECKING:
    from regatta.answers.spine.result import Answer

_FILE = "screen.json"


class KeptScreen:
    """The kept screen of an experiment. Create it before the analysis: its state is that of the analyzed records."""

    def __init__(self, folder: Folder, width: int, report: bool) -> None:
        """`width`: columns of the screen; `report`: it names the report.

        Raises:
            StoreError: a plan or the decisions cannot be read.
        """
        self._directory = folder.path / "store" / "screen"
        self._report = str(folder.report) if report else ""
        self._width = width
        self._marks = {
            "records": fingerprint(folder.path),
            "plan": _digest_of(folder.experiment),
            "left out": str(hosts_left_out(folder)),
            "program": _program(),
            "screen": f"{width} {self._report}",
        }

    def find(self) -> Screen | None:
        """Return the screen of this state; None if none was kept."""
        if self._directory.is_symlink() or sealed_marks(self._directory, (_FILE,)) != self._marks:
            return None
        kept = read_object(self._directory / _FILE)
        return Screen(kept["lines"], kept["notes"]) if kept.get("marks") == self._marks else None

    def keep(self, answer: Answer) -> Screen:
        """Return the screen of an answer, and keep it if the folder is this user's."""
        screen = screen_of(answer, self._report, self._width)
        # An archive is not writable. The screen is then computed each time.
        with suppress(OSError, RegattaError):
            if self._directory.parent.stat().st_uid == os.geteuid() and not self._directory.is_symlink():
                # The marks are in both files: one process can write the screen, and another one the seal.
                write_json(self._directory / _FILE, {**vars(screen), "marks": self._marks})
                seal(self._directory, (_FILE,), self._marks)
        return screen


def _digest_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _program() -> str:
    """Return a hash that changes with any file of this package, and with any installed library."""
    package = Path(regatta.__file__).parent
    digest = hashlib.sha256(regatta.__version__.encode())
    folders = [str(package)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        folders.append(entry.path)
                else:
                    status = entry.stat()
                    digest.update(f"{entry.path} {status.st_size} {status.st_mtime_ns}\n".encode())
    digest.update(str(Path(click.__file__).parents[1].stat().st_mtime_ns).encode())
    return digest.hexdigest()
