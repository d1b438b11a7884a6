"""Files that a process leaves are kept beside its record when the plan names them, and only plain ones."""

from __future__ import annotations

import hashlib

from runner_plans import HOST, Runner, cell, sh, write_plan


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
    assert runner.records()[0]["kept"] == []
    assert not (runner.folder.journal / HOST / "kept").exists()


def test_a_file_that_is_too_large_is_told_and_the_record_is_made(
    runner: Runner,
) -> None:
    write_plan(runner.folder, [sh("huge", "truncate -s 2G huge; echo fine > small", keep=["huge", "small"])])
    assert runner.run().returncode == 0
    (record,) = runner.records()
    huge, small = record["kept"]
    assert huge == {"name": "huge", "error": "expected at most 1024 MiB, got 2048 MiB"}
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
