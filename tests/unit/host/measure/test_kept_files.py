"""Files that a process leaves are kept beside its record when the plan names them, and only plain ones."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import pytest

from helpers.runner_plans import HOST, Runner, cell, sh, write_plan
from regatta.host.measure.kept import keep_files
from regatta.host.measure.scratch import EmptyDirectory


def test_named_files_are_moved_beside_the_record_which_names_them(runner: Runner) -> None:
    script = "printf recording > a.jfr; printf other > b"
    write_plan(runner.folder, [sh("jfr", script, keep=["a.jfr", "lacking"])], rounds=2)
    assert runner.run().returncode == 0
    records = runner.records()
    assert len(records) == 2
    for record in records:
        digest = hashlib.sha256(b"recording").hexdigest()
        assert record["kept"] == [{"name": "a.jfr", "bytes": 9, "sha256": digest}]
        folder = runner.folder.journal / HOST / "kept" / f"{record['invocation_id']}-a0"
        assert [path.name for path in folder.iterdir()] == ["a.jfr"]
        assert (folder / "a.jfr").read_bytes() == b"recording"


def test_a_record_of_a_plan_that_keeps_nothing_says_nothing_of_it(runner: Runner) -> None:
    write_plan(runner.folder, [cell("plain", ["/bin/true"])])
    assert runner.run().returncode == 0
    assert "kept" not in runner.records()[0]
    assert not (runner.folder.journal / HOST / "kept").exists()


def test_a_link_a_folder_and_a_pipe_are_not_kept(runner: Runner) -> None:
    script = "ln -s /etc/passwd link; mkdir folder; mkfifo pipe"
    write_plan(runner.folder, [sh("hostile", script, keep=["link", "folder", "pipe"])])
    assert runner.run().returncode == 0
    assert [set(told) for told in runner.records()[0]["kept"]] == [{"name", "error"}] * 3
    assert not (runner.folder.journal / HOST / "kept").exists()


@pytest.mark.parametrize("name", ["gc log.txt", ".jfr", "trace@1.log", "größe.txt", "a" * 201])
def test_a_file_of_any_name_that_a_spec_takes_is_kept_in_a_record_that_can_be_read(
    runner: Runner, name: str
) -> None:
    write_plan(runner.folder, [sh("logs", f"echo why > '{name}'", keep=[name])])
    assert runner.run().returncode == 0
    (record,) = runner.records()
    assert (record["status"], [told["name"] for told in record["kept"]]) == ("ok", [name])


REPLACEMENTS = {
    "its folder by a link": 'cd "$HOME/.."; rmdir work; ln -s {others} work',
    "its folder by another": 'cd "$HOME/.."; rmdir work; mv {others} work',
    "the file by a hard link": "ln {others}/precious precious",
    "the file by a link": "ln -s {others}/precious precious",
}


@pytest.mark.parametrize("script", REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_a_program_that_replaces_what_is_kept_moves_no_file_of_others(
    runner: Runner, tmp_path: Path, script: str
) -> None:
    others = tmp_path / "others"
    others.mkdir()
    (others / "precious").write_text("of others")
    write_plan(
        runner.folder, [sh("hostile", script.format(others=others), keep=["precious"]), sh("next", "ls -A")]
    )
    assert runner.run().returncode == 0
    hostile, after = runner.records()
    assert not any("sha256" in told for told in hostile["kept"])
    assert not (runner.folder.journal / HOST / "kept").exists()
    assert (after["status"], after["stdout"]["bytes"]) == ("ok", 0)
    if others.exists():
        assert (others / "precious").read_text() == "of others"


def test_a_file_of_another_file_system_is_copied(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("NOT TESTED: no second file system")
    with tempfile.TemporaryDirectory(dir=shared) as elsewhere:
        work = EmptyDirectory(Path(elsewhere) / "work")
        work.make()
        (work.path / "log").write_text("why")
        (kept,) = keep_files(work, ["log"], tmp_path / "kept", {})
        assert list(work.path.iterdir()) == []
        work.close()
    assert (kept["bytes"], (tmp_path / "kept" / "log").read_text()) == (3, "why")


def test_a_file_that_is_exchanged_while_it_is_kept_is_no_more_kept(tmp_path: Path) -> None:
    work = EmptyDirectory(tmp_path / "work")
    work.make()
    (work.path / "log").write_text("why")
    opened = work.open_file("log")
    (work.path / "log").rename(tmp_path / "seen")
    (work.path / "log").symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="log"):
        work.move_file("log", opened, tmp_path / "target")
    os.close(opened)
    work.close()
    assert not os.path.lexists(tmp_path / "target")


def test_a_file_that_is_too_large_is_told_and_the_record_is_made(
    runner: Runner,
) -> None:
    write_plan(runner.folder, [sh("huge", "truncate -s 2G huge; echo fine > small", keep=["huge", "small"])])
    assert runner.run().returncode == 0
    (record,) = runner.records()
    huge, small = record["kept"]
    assert huge.keys() == {"name", "error"}
    assert huge["name"] == "huge"
    assert "1024 MiB, got 2048 MiB" in huge["error"]
    assert small["bytes"] == 5


def test_a_closed_file_is_kept(runner: Runner) -> None:
    write_plan(runner.folder, [sh("closed", "echo why > log; chmod 000 log", keep=["log"])])
    assert runner.run().returncode == 0
    assert runner.records()[0]["kept"][0]["bytes"] == 4


def test_what_cannot_be_kept_is_told_and_the_record_is_made(runner: Runner) -> None:
    write_plan(runner.folder, [sh("jfr", "echo why > log", keep=["log"])])
    (runner.folder.journal / HOST).mkdir(parents=True)
    (runner.folder.journal / HOST / "kept").write_text("in the way")
    assert runner.run().returncode == 0
    assert runner.records()[0]["kept"] == [{"name": "log", "error": "Not a directory"}]


def test_files_of_a_failed_invocation_are_kept_too(runner: Runner) -> None:
    write_plan(runner.folder, [sh("failing", "echo why > log; exit 3", keep=["log"])])
    runner.run()
    (record,) = runner.records()
    assert record["status"] == "failed"
    assert [file["name"] for file in record["kept"]] == ["log"]


def test_what_a_killed_runner_left_of_the_same_attempt_is_replaced(runner: Runner) -> None:
    write_plan(runner.folder, [sh("jfr", "echo new > a", keep=["a"])])
    assert runner.run().returncode == 0
    (record,) = runner.records()
    folder = runner.folder.journal / HOST / "kept" / f"{record['invocation_id']}-a0"
    (folder / "stale").write_text("old")
    for path in (*(runner.folder.journal / HOST).glob("*.jsonl"), runner.receipt_path()):
        path.unlink()
    assert runner.run().returncode == 0
    assert [path.name for path in folder.iterdir()] == ["a"]
