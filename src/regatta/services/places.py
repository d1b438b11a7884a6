"""Where the services of a user lie: one folder in the cache that nobody else can look into."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.cache import make_folder
from regatta.host.errors import HostError
from regatta.host.files import locked, read_object, write_whole
from regatta.influx.settings import services_settings


@dataclass(frozen=True)
class Places:
    """The folder, and what is in it."""

    root: Path

    @property
    def settings(self) -> Path:
        """What the other commands read; there while the services are up."""
        return self.root / "influx.yml"

    @property
    def passwords(self) -> Path:
        """A file for each account; readable for the owner only."""
        return self.root / "passwords"

    def password(self, account: str) -> Path:
        """The file that holds the password of an account."""
        return self.passwords / account

    def folder(self, service: str) -> Path:
        """Data and configuration of a service."""
        return self.root / service

    def log(self, service: str) -> Path:
        """What a service says."""
        return self.root / "logs" / f"{service}.log"

    def state(self, service: str) -> Path:
        """How a service that was started is found again."""
        return self.root / f"{service}.json"

    def prepare(self) -> None:
        """Make the folders, for their owner's eyes only.

        Raises:
            HostError: the folder is somebody else's.
        """
        make_folder(self.root.parent)
        for folder in (self.root, self.passwords, self.root / "logs"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                raise HostError(
                    str(folder), "a folder of one's own", "a link, or a folder of another user",
                    "remove it, or set REGATTA_CACHE",
                )  # fmt: skip
            folder.chmod(0o700)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other command change the services at the same time."""
        with locked(self.root / "lock", mode=0o600):
            yield

    def read_state(self, service: str) -> dict[str, Any]:
        """What was noted of a service; nothing where it was not started, or where the note is damaged."""
        return read_object(self.state(service))

    def write_state(self, service: str, noted: Mapping[str, Any]) -> None:
        """Note how a service is found again."""
        self.write(self.state(service), json.dumps(noted, indent=1) + "\n")

    def write(self, path: Path, text: str) -> None:
        """Write a file whole or not at all, for its owner's eyes only."""
        write_whole(path, text, 0o600)


def places() -> Places:
    """The places of this user."""
    return Places(services_settings().parent)
