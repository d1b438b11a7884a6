"""Open the files that replace the standard input and output of a process."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import Any

#: A pipe without a peer must not block the runner, and no terminal may become its own.
_SAFE = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OUTPUT = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


@contextlib.contextmanager
def redirections(source: str, target: str) -> Iterator[list[tuple[Any, ...]]]:
    """Open both files, and yield the actions of `posix_spawn` that make them the standard input and output.

    Args:
        source: path of the input; "": none.
        target: path of the output, which is emptied; "": none.

    Raises:
        OSError: a file cannot be opened, or is neither a regular file nor a device. `filename` is its path.
    """
    wanted = [(0, source, os.O_RDONLY), (1, target, _OUTPUT)]
    with contextlib.ExitStack() as opened:
        actions: list[tuple[Any, ...]] = []
        for stream, path, flags in wanted:
            if path:
                actions.append((os.POSIX_SPAWN_DUP2, _open(path, flags, opened), stream))
        yield actions


def _open(path: str, flags: int, opened: contextlib.ExitStack) -> int:
    fd = os.open(path, flags | _SAFE, 0o666)
    opened.callback(os.close, fd)
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
        raise OSError(errno.EINVAL, "expected a regular file or a device", path)
    os.set_blocking(fd, True)
    return fd
