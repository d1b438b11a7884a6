"""Locks between the test processes and test sessions of this machine, for what it has once or what is made once."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.in_parallel import is_one_of_several


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


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that all processes of this session read, made by the first of them that asks for it."""
    folder = factory.getbasetemp()
    made = (folder.parent if is_one_of_several() else folder) / name
    with made.with_suffix(".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not made.exists():
            part = made.with_suffix(f".{os.getpid()}")
            make(part)
            part.rename(made)
    return made
