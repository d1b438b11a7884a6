"""A file that is replaced whole or not at all. Its mode follows the umask, as that of the folders around it does."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give a temporary file beside `path`, renamed to it when the block ends well, and removed when it does not.

    Raises:
        OSError: the disk is full or the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    # Of the modes that a file can be created with, only the kernel's own way heeds the umask; `tempfile` makes all 0600.
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666))
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
