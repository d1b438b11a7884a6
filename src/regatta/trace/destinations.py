"""Where a trace's files go, looked at before there is a trace."""

from __future__ import annotations

import tempfile
from pathlib import Path

from regatta.host.errors import RegattaError


def check_replaceable(path: Path) -> None:
    """That a file can be put there by renaming one that is made beside it, as vectors are written.

    Raises:
        RegattaError: it cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent):
            pass
    except OSError as error:
        raise _refused(path, error) from error


def check_writable(path: Path) -> None:
    """That a file can be written in its place, as tallies are; where there is none, one can be made there.

    Raises:
        RegattaError: it cannot.
    """
    try:
        if path.exists():
            with path.open("ab"):
                pass
        else:
            with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent):
                pass
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: OSError) -> RegattaError:
    got = error.strerror or str(error)
    return RegattaError(str(path), "a file to write", got, "make room, or choose another folder")
