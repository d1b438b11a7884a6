"""The private cache folder of a user's services: settings, passwords, data, logs, states."""

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

#: Characters without special meaning in quoted strings, InfluxQL, URLs, shells and Grafana's variables.
_ALPHABET = string.ascii_letters + string.digits
_LENGTH = 32
_OURS = re.compile(r"[A-Za-z0-9]{16,256}")
#: advice for services that do not have our passwords
START_AFRESH = "run `regatta down --delete`, then `regatta up`; the journals stay, and `regatta ingest` writes them again"


@dataclass(frozen=True)
class ServiceFolder:
    """The folder and its contents."""

    root: Path

    @property
    def settings(self) -> Path:
        """Return the settings for other commands; the file exists while the services are up."""
        return self.root / "influx.yml"

    @property
    def passwords(self) -> Path:
        """Return the folder with one file per account, readable only by the owner."""
        return self.root / "passwords"

    def password(self, account: str) -> Path:
        """Return the file with the password of an account."""
        return self.passwords / account

    def secret(self, account: str) -> str:
        """Return the password of an account: letters and digits. Create it (190 bits) if the file is missing.

        Raises:
            StoreError: the file contains something else.
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
            expected = "a password of 16 to 256 letters and digits"
            raise StoreError(str(file), expected, "other text", START_AFRESH)
        file.chmod(0o600)
        return text

    def folder(self, service: str) -> Path:
        """Return the folder with data and configuration of a service."""
        return self.root / service

    def log(self, service: str) -> Path:
        """Return the log file of a service."""
        return self.root / "logs" / f"{service}.log"

    def state(self, service: str) -> Path:
        """Return the file that identifies the running process of a service."""
        return self.root / f"{service}.json"

    def prepare(self) -> None:
        """Create the folders, accessible only to their owner.

        Raises:
            HostError: another user owns the folder.
        """
        make_folder(self.root.parent)
        for folder in (self.root, self.passwords, self.root / "logs"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                raise HostError(
                    str(folder),
                    "a folder that you own",
                    "a link, or a folder of another user",
                    "remove it, or set REGATTA_CACHE",
                )
            folder.chmod(0o700)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Prevent concurrent changes of the services by other commands."""
        with locked(self.root / "lock", mode=0o600):
            yield

    def read_state(self, service: str) -> dict[str, Any]:
        """Return the state of a service; empty if it was not started, or if the file is damaged."""
        return read_object(self.state(service))

    def write_state(self, service: str, noted: Mapping[str, Any]) -> None:
        """Write the state of a service."""
        self.write(self.state(service), json.dumps(noted, indent=1) + "\n")

    def write(self, path: Path, text: str) -> None:
        """Write a file atomically, readable only by its owner."""
        write_whole(path, text, 0o600)


def service_folder() -> ServiceFolder:
    """Return the folder of this user."""
    return ServiceFolder(cache_dir() / "services")
