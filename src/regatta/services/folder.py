"""The folder of a user's services in the cache, which no other user can read: settings, passwords, data, logs, states."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import string
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.cache import cache_dir, make_folder
from regatta.host.errors import HostError, StoreError
from regatta.host.files import locked, read_object, write_whole

#: nothing that a quoted string, InfluxQL, a URL, a shell or a variable of Grafana's files would take for something else
_ALPHABET = string.ascii_letters + string.digits
_LENGTH = 32
_OURS = re.compile(r"[A-Za-z0-9]{16,256}")


@dataclass(frozen=True)
class ServiceFolder:
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

    def secret(self, account: str) -> str:
        """The password of an account: letters and digits. One is made where there is no file yet (190 bits).

        Raises:
            StoreError: something else is in the file.
        """
        file = self.password(account)
        try:
            text = file.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            text = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
            write_whole(file, text + "\n", 0o600, durable=True)
            return text
        except UnicodeDecodeError:
            text = ""
        if not _OURS.fullmatch(text):
            raise StoreError(
                str(file), "a password of 16 to 256 letters and digits", "something else",
                "`regatta down --delete`, then `regatta up` (the journals stay; ingest them again)",
            )  # fmt: skip
        file.chmod(0o600)
        return text

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


def service_folder() -> ServiceFolder:
    """The folder of this user."""
    return ServiceFolder(cache_dir() / "services")
