"""Making a directory empty again, whatever was done to it, and knowing cheaply that nothing was."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from regatta.host.measure import scratch
from regatta.host.measure.scratch import EmptyDirectory


def leave_a_file(path: Path) -> None:
    (path / "left").write_text("x")


def close_it(path: Path) -> None:
    path.chmod(0o500)


def replace_it_by_a_link(path: Path) -> None:
    path.rmdir()
    path.symlink_to(path.parent)


def replace_it_by_a_file(path: Path) -> None:
    path.rmdir()
    path.write_text("x")


def leave_a_tree_and_turn_the_clock_of_the_directory_back(path: Path) -> None:
    before = path.stat()
    (path / "a" / "b").mkdir(parents=True)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


DEEDS = [
    leave_a_file,
    close_it,
    Path.rmdir,
    replace_it_by_a_link,
    replace_it_by_a_file,
    leave_a_tree_and_turn_the_clock_of_the_directory_back,
]


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_whatever_was_done_to_the_directory_it_is_empty_and_open_again(
    deed: Callable[[Path], None], settled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = EmptyDirectory(tmp_path / "scratch" / "work")
    directory.make()
    if settled:
        monkeypatch.setattr(scratch, "SETTLED_NS", 20_000_000)
        time.sleep(0.05)
        directory.make()
    deed(directory.path)
    directory.make()
    assert not directory.path.is_symlink()
    assert list(directory.path.iterdir()) == []
    assert directory.path.stat().st_mode & 0o700 == 0o700


def test_a_directory_that_nothing_touched_is_not_looked_into_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = EmptyDirectory(tmp_path / "work")
    directory.make()
    monkeypatch.setattr(scratch, "SETTLED_NS", 20_000_000)
    time.sleep(0.05)
    directory.make()
    monkeypatch.setattr(scratch, "is_empty_directory", lambda path: pytest.fail("it was looked into"))
    directory.make()


def test_a_directory_is_looked_into_while_a_change_could_have_the_time_of_the_last(tmp_path: Path) -> None:
    directory = EmptyDirectory(tmp_path / "work")
    for _ in range(300):
        directory.make()
        leave_a_file(directory.path)
        directory.make()
        assert list(directory.path.iterdir()) == []
