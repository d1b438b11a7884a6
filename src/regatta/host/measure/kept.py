"""Keep files from a process's working directory next to its record, such as a flight recording."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regatta.host.measure.scratch import EmptyDirectory, NotPlain, remove_tree

_CHUNK_BYTES = 1 << 20
#: per file; larger ones are not kept, so that results still have room
_MAXIMUM_BYTES = 1 << 30


def keep_files(
    work: EmptyDirectory, names: Sequence[str], target: Path, own: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Move the plain files among `names` durably from `work` to `target`. Call this before writing the record that names them.

    Args:
        work: the working directory, in which the process may have done anything.
        names: files in it; missing ones are skipped.
        target: folder of this invocation and attempt; files that a killed runner left in it are replaced.
        own: name -> text of files of the runner.

    Returns:
        For each existing file its `name`, and `bytes` and `sha256`, or `error` with the reason why it is not kept. An error
        does not invalidate the invocation.
    """
    kept: list[dict[str, Any]] = []
    for name in names:
        if name in own:
            continue
        try:
            opened = work.open_file(name)
        except FileNotFoundError:
            continue
        except NotPlain as error:
            kept.append({"name": name, "error": f"expected a regular file, got {error}"})
            continue
        except OSError as error:
            kept.append({"name": name, "error": _why(error)})
            continue
        try:
            kept.append({"name": name, **_kept(work, name, opened, target, first=not kept)})
        finally:
            os.close(opened)
    for name, text in own.items():
        kept.append({"name": name, **_written(text, target / name, first=not kept)})
    return kept


def _why(error: OSError) -> str:
    return str(error.strerror or error)


def _kept(work: EmptyDirectory, name: str, opened: int, target: Path, first: bool) -> dict[str, Any]:
    size = os.fstat(opened).st_size
    if size > _MAXIMUM_BYTES:
        return {"error": f"expected at most {_MAXIMUM_BYTES >> 20} MiB, got {size >> 20} MiB"}
    try:
        _make(target, first)
        work.move_file(name, opened, target / name)
        os.chmod(target / name, 0o600)
        return _made_durable(target / name)
    except OSError as error:
        return {"error": _why(error)}


def _written(text: str, path: Path, first: bool) -> dict[str, Any]:
    if len(text) > _MAXIMUM_BYTES:
        return {"error": f"expected at most {_MAXIMUM_BYTES >> 20} MiB, got {len(text) >> 20} MiB"}
    try:
        _make(path.parent, first)
        path.write_text(text, encoding="utf-8")
        os.chmod(path, 0o600)
        return _made_durable(path)
    except OSError as error:
        return {"error": _why(error)}


def _make(target: Path, first: bool) -> None:
    if first and target.exists():
        remove_tree(target)
    target.mkdir(parents=True, exist_ok=True)


def _made_durable(path: Path) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK_BYTES), b""):
            digest.update(chunk)
            size += len(chunk)
        os.fdatasync(file.fileno())
    for directory in (path.parent, path.parent.parent):
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    return {"bytes": size, "sha256": digest.hexdigest()}
