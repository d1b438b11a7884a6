"""The seal of an embedded database: proof that this user made its files here, from this journal, and that they are unchanged.

A results folder can come from another user, with forged files in `store/`. The seal records each file with its name, size,
inode and times; the time of change cannot be forged. An HMAC with a key that only this user has protects it. A copied, unpacked
or restored folder has no valid seal, and its database is rebuilt.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from regatta.host.cache import cache_dir, make_folder
from regatta.host.errors import RegattaError
from regatta.host.files import parse_object, write_first
from regatta.store.folder import write_json

SEAL = ".seal.json"
_KEY_BYTES = 32
_LARGEST_SEAL_BYTES = 65_536


def seal(directory: Path, files: Iterable[str], marks: Mapping[str, str]) -> None:
    """Seal the files of a folder.

    Args:
        directory: their folder.
        files: their names.
        marks: the state of their sources.

    Raises:
        OSError: a file is missing.
        StoreError: the seal cannot be written.
    """
    sealed = {"marks": dict(marks), "files": {name: _identity(directory / name) for name in files}}
    write_json(directory / SEAL, {**sealed, "code": _code(sealed)}, indent=None)


def sealed_marks(directory: Path, files: Iterable[str]) -> dict[str, str]:
    """Return the marks of files that are unchanged since this user sealed them; empty otherwise."""
    try:
        told = parse_object(directory / SEAL, _LARGEST_SEAL_BYTES)
        sealed = {"marks": told["marks"], "files": told["files"]}
        same = told["files"] == {name: _identity(directory / name) for name in files}
        if same and hmac.compare_digest(str(told["code"]).encode(), _code(sealed).encode()):
            return dict(told["marks"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return {}


def _identity(path: Path) -> list[int]:
    status = path.lstat()
    return [status.st_mode, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns]


def _code(sealed: Mapping[str, Any]) -> str:
    text = json.dumps(sealed, sort_keys=True).encode()
    try:
        path = cache_dir() / f"store-{os.geteuid()}.key"
    except RegattaError:
        # Code that needs the cache reports this; the database does not need it.
        path = None
    return hmac.new(_key(path), text, hashlib.sha256).hexdigest()


@functools.cache
def _key(path: Path | None) -> bytes:
    """Return the key of this user, created at first use. If it cannot be stored, it lasts as long as the process."""
    if path is not None:
        with suppress(OSError):
            if path.exists() and not _read_key(path):
                # The file is empty after a power failure, or others can read it.
                path.unlink()
            if not path.exists():
                _make_key(path)
            if key := _read_key(path):
                return key
    return secrets.token_bytes(_KEY_BYTES)


def _read_key(path: Path) -> bytes:
    """Return the key in a file that only this user can read; empty if it has no key."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        private = status.st_uid == os.geteuid() and not status.st_mode & 0o077
        key = file.read(_KEY_BYTES + 1) if private and stat.S_ISREG(status.st_mode) else b""
    return key if len(key) == _KEY_BYTES else b""


def _make_key(path: Path) -> None:
    make_folder(path.parent)
    write_first(path, secrets.token_bytes(_KEY_BYTES), 0o600)
