"""Files that a process leaves in its working directory and that are kept beside its record, such as a flight recording."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regatta.runner.scratch import remove_tree

_CHUNK_BYTES = 1 << 20


def keep_files(work: Path, names: Sequence[str], target: Path) -> list[dict[str, Any]]:
    """Move the plain files among `names` from `work` to `target`, durably, before the record that names them.

    Args:
        work: the working directory, in which the process may have done anything.
        names: of files in it; one that is not there, or that is no plain file, is left out.
        target: folder of this invocation and attempt; what a killed runner left in it is replaced.

    Returns:
        For each file that is kept its `name`, `bytes` and `sha256`.

    Raises:
        OSError: no room, or the like.
    """
    if target.exists():
        remove_tree(target)
    kept: list[dict[str, Any]] = []
    for name in names:
        source = work / name
        try:
            if not stat.S_ISREG(os.lstat(source).st_mode):
                continue
        except OSError:
            continue
        target.mkdir(parents=True, exist_ok=True)
        shutil.move(str(source), str(target / name))
        kept.append({"name": name, **_made_durable(target / name)})
    for directory in (target, target.parent) if kept else ():
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    return kept


def _made_durable(path: Path) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        for chunk in iter(lambda: file.read(_CHUNK_BYTES), b""):
            digest.update(chunk)
            size += len(chunk)
        os.fdatasync(file.fileno())
    return {"bytes": size, "sha256": digest.hexdigest()}
