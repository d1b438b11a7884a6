"""The user's cache of what can be made again: runtimes, builds, inputs, answers of JVMs. Content-addressed, made whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

_CHUNK_BYTES = 1 << 20


def cache_dir() -> Path:
    """`$REGATTA_CACHE`, or `regatta` in `$XDG_CACHE_HOME` or `~/.cache`."""
    own = os.environ.get("REGATTA_CACHE")
    if own:
        return Path(own).resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "regatta"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_directory(path: Path, make: Callable[[Path], None]) -> Path:
    """Give the directory, made by `make(temporary)` and renamed when it is whole, unless it is there already."""
    if path.is_dir():
        return path
    with _locked(path):
        if path.is_dir():
            return path
        temporary = path.with_name(path.name + ".tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        make(temporary)
        os.replace(temporary, path)
    return path


def remembered(kind: str, key: object, ask: Callable[[], Any]) -> Any:
    """The answer to a question that was asked before, or `ask()`, kept as JSON under the hash of `key`."""
    text = json.dumps([kind, key], sort_keys=True)
    path = cache_dir() / "answers" / f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"
    try:
        kept = json.loads(path.read_bytes())
        if kept["key"] == json.loads(text):
            return kept["answer"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    answer = ask()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps({"key": json.loads(text), "answer": answer}))
    os.replace(temporary, path)
    return answer


def stream_sha256(stream: BinaryIO) -> str:
    """SHA-256 of what is left of an open file."""
    # Not hashlib.file_digest: hosts may have Python 3.9.
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def bytes_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        return stream_sha256(stream)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, remembered by its path, size, inode and time of change."""
    path = path.resolve()
    stat = path.stat()
    key = [str(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]

    return str(remembered("sha256", key, lambda: bytes_sha256(path)))
