"""Read a file that Regatta did not write, or that changed since: every failure is an error about this file."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from regatta.host.errors import RegattaError

#: these concern the disk that Regatta writes to, not the file that it reads
_OF_THIS_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EPIPE, errno.EMFILE, errno.ENFILE)
_LONGEST = 200


@contextlib.contextmanager
def foreign(path: Path, expected: str, fix: str = "") -> Iterator[None]:
    """Read a foreign file within the block.

    A parser fails in ways that no list of exception types covers: its libraries add types, and damage finds paths that no test
    has. Errors of Regatta pass unchanged, because they say more.

    Args:
        path: the file or folder that is read.
        expected: its kind, such as "a heap vector".
        fix: what to do about it.

    Raises:
        RegattaError: the block failed for any reason that the file can cause.
        OSError: the disk is full, or this machine lacks another resource.
    """
    try:
        yield
    except RegattaError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OF_THIS_MACHINE:
            raise
        raise RegattaError(str(path), expected, reason(error), fix) from error


def reason(error: Exception) -> str:
    """Return one short line about an exception of a parser."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, MemoryError):
        return "more than fits into memory"
    if isinstance(error, RecursionError):
        return "values nested too deeply"
    first = next(iter(str(error).splitlines()), "")[:_LONGEST]
    return first if isinstance(error, ValueError) and first else f"{type(error).__name__}: {first}"
