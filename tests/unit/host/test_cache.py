"""The cache: made whole or not at all, and remembered under what was asked."""

from __future__ import annotations

import grp
import os
import pwd
import stat
import tempfile
from pathlib import Path

import pytest

from regatta.host import cache
from regatta.host.cache import cache_folder, file_sha256, made_directory, remembered
from regatta.host.errors import HostError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can give files away")
OTHER_USER = 1234


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))


def test_a_directory_is_made_once(tmp_path: Path) -> None:
    made = []

    def make(directory: Path) -> None:
        made.append(directory)
        (directory / "x").write_text("1")

    path = tmp_path / "a" / "b"
    assert (made_directory(path, make) / "x").read_text() == "1"
    made_directory(path, make)
    assert len(made) == 1


def test_a_directory_that_could_not_be_made_is_made_again_from_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def half(directory: Path) -> None:
        (directory / "rest").write_text("")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        made_directory(path, half)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.lock"], (
        "what was made of it is left on the disk"
    )
    made_directory(path, lambda directory: None)
    assert list(path.iterdir()) == []


def test_an_answer_is_remembered_for_its_question_alone() -> None:
    assert remembered("q", [1], lambda: "one") == "one"
    assert remembered("q", [1], lambda: "another") == "one"
    assert remembered("q", [2], lambda: "two") == "two"
    assert remembered("r", [1], lambda: "three") == "three"


def test_a_spoiled_answer_is_asked_again(tmp_path: Path) -> None:
    remembered("q", 1, lambda: "one")
    (answer,) = (tmp_path / "cache" / "answers").iterdir()
    answer.write_text("{")
    assert remembered("q", 1, lambda: "two") == "two"


def test_a_file_that_changed_has_another_digest(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("a")
    first = file_sha256(file)
    assert file_sha256(file) == first
    file.write_text("b")
    assert file_sha256(file) != first


def test_a_file_that_has_just_changed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "SETTLED_NS", 10**18)
    file = tmp_path / "f"
    file.write_text("a")
    first = file_sha256(file)
    assert not (tmp_path / "cache" / "answers").exists()
    # With a clock of whole seconds, two changes have the same times.
    monkeypatch.setattr(cache, "SETTLED_NS", -(10**18))
    assert file_sha256(file) == first
    assert len(list((tmp_path / "cache" / "answers").iterdir())) == 1


@pytest.mark.parametrize("special", ["/dev/zero", "pipe"])
def test_what_is_no_regular_file_has_no_digest(special: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(special)
    with pytest.raises(OSError, match="not a regular file"):
        file_sha256(tmp_path / "link")


@needs_root
@pytest.mark.parametrize("planted", ["", "builds", "builds/x"])
def test_what_another_user_planted_in_the_cache_is_refused(planted: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / planted
    (tmp_path / "cache/builds/x").mkdir(parents=True)
    os.chown(folder, OTHER_USER, OTHER_USER)
    with pytest.raises(HostError) as caught:
        made_directory(cache_folder("builds") / "x", lambda directory: None)
    (problem,) = caught.value.problems
    assert problem.where == str(folder)
    assert str(OTHER_USER) in problem.got
    assert "REGATTA_CACHE" in problem.fix


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777])
@pytest.mark.parametrize("open_to_others", ["", "builds", "builds/x"])
def test_a_cache_that_others_can_write_is_refused(open_to_others: str, mode: int, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / open_to_others
    (tmp_path / "cache/builds/x").mkdir(parents=True)
    folder.chmod(mode)
    if mode == 0o775:
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder to another group")
        os.chown(folder, -1, OTHER_USER)
    with pytest.raises(HostError) as caught:
        made_directory(cache_folder("builds") / "x", lambda directory: None)
    (problem,) = caught.value.problems
    assert problem.where == str(folder)
    assert str(folder) in problem.fix
    folder.chmod(0o755)
    assert made_directory(cache_folder("builds") / "x", lambda directory: None).name == "x"


def test_what_an_older_version_made_for_a_group_of_the_user_alone_is_closed_to_it(tmp_path: Path) -> None:
    group = grp.getgrgid(os.getegid())
    if group.gr_name != pwd.getpwuid(os.geteuid()).pw_name or set(group.gr_mem) - {group.gr_name}:
        pytest.skip("this user has no group of its own")
    folder = tmp_path / "cache" / "builds"
    folder.mkdir(parents=True)
    for each in (folder, folder.parent):
        each.chmod(0o775)
    assert made_directory(cache_folder("builds") / "x", lambda directory: None).name == "x"
    assert {stat.S_IMODE(each.stat().st_mode) for each in (folder, folder.parent)} == {0o755}


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_a_cache_made_under_any_umask_is_accepted_again(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        for _ in range(2):
            made_directory(cache_folder("builds") / "x", lambda directory: directory.chmod(0o777))
            assert remembered("q", 1, lambda: "one") == "one"
    finally:
        os.umask(before)
    modes = [
        path.stat().st_mode for path in (tmp_path / "cache").rglob("*") if not path.name.endswith(".lock")
    ]
    assert not any(mode & (stat.S_IWGRP | stat.S_IWOTH) for mode in modes)


@needs_root
def test_a_cache_of_whoever_called_sudo_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir()
    os.chown(tmp_path / "cache", OTHER_USER, OTHER_USER)
    monkeypatch.setenv("SUDO_UID", str(OTHER_USER))
    assert cache_folder("builds").is_dir()


@needs_root
def test_a_cache_that_root_has_filled_serves_other_users(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not below pytest's own folder, which root alone may enter.
    with tempfile.TemporaryDirectory(prefix="regatta-cache-") as folder:
        os.chmod(folder, 0o755)
        monkeypatch.setenv("REGATTA_CACHE", f"{folder}/cache")
        file = Path(folder) / "file"
        file.write_text("a")
        known = file_sha256(file)
        made_directory(cache_folder("builds") / "x", lambda directory: None)
        os.setegid(OTHER_USER)
        os.seteuid(OTHER_USER)
        try:
            assert made_directory(cache_folder("builds") / "x", lambda directory: None).is_dir()
            assert file_sha256(file) == known
        finally:
            os.seteuid(0)
            os.setegid(0)


def test_a_planted_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("whole")
    folder = cache_folder("builds")
    (folder / "x.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match=r"x\.lock"):
        made_directory(folder / "x", lambda directory: None)
    remembered("q", 1, lambda: "one")
    (answer,) = cache_folder("answers").iterdir()
    answer.unlink()
    answer.with_name(f"{answer.name}.{os.getpid()}.tmp").symlink_to(tmp_path / "victim")
    remembered("q", 1, lambda: "one")
    assert (tmp_path / "victim").read_text() == "whole"
