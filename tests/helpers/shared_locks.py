"""Locks between the test processes and test sessions of this machine, for what it has once."""

import contextlib
import fcntl
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path


def shared_file(name: str) -> Path:
    """A file that all sessions of this machine know."""
    return Path(tempfile.gettempdir()) / f"regatta-tests-{name}"


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold a lock that one process at a time has."""
    with shared_file(f"{name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def shared_with_others(name: str) -> Iterator[Callable[[], bool]]:
    """Hold a shared lock; yields a function that says, once, whether this was the last holder."""
    with shared_file(f"{name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)

        def last() -> bool:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        yield last
