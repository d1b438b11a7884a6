"""What a plan asks for around a run, in the real runner: exit codes that are no failure, commands after it, its streams."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import NO_RLIMITS, Runner, printed, sh, write_plan


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path / "around")


def test_an_expected_exit_code_is_ok_and_others_fail(runner: Runner) -> None:
    records = runner.measure(
        sh("expected", "exit 3", expect={"exit_codes": [0, 3]}),
        sh("other", "exit 4", expect={"exit_codes": [0, 3]}),
        sh("any", "exit 4", expect={"exit_codes": []}),
        sh("killed", "kill -9 $$", expect={"exit_codes": []}),
    )
    assert [record["status"] for record in records] == ["ok", "failed", "ok", "crashed"]
    assert records[0]["exit_code"] == 3


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def test_a_command_after_a_run_sees_its_files_even_if_it_failed(runner: Runner, tmp_path: Path) -> None:
    log = tmp_path / "log"
    conclude = shell(f"cat left >> {log}; rm left; echo done > kept")
    good, bad = runner.measure(
        sh("good", "echo good > left", conclude=conclude, check=shell("test -e left"), keep=["left", "kept"]),
        sh("bad", "echo bad > left; exit 3", conclude=conclude),
    )
    assert log.read_text().split() == ["good", "bad"]
    assert (good["status"], [file["name"] for file in good["kept"]]) == ("ok", ["kept"])
    assert (bad["status"], bad["reason"]) == ("failed", "exit code 3")


@pytest.mark.parametrize(
    ("planned", "status", "reasons"),
    [
        ({"conclude": shell("exit 2")}, "failed", ["conclude"]),
        ({"conclude": shell("exit 2"), "argv": shell("kill -9 $$")}, "crashed", ["signal 9", "conclude"]),
        ({"conclude": ["/no/program"]}, "failed", ["/no/program"]),
        ({"conclude": ["/bin/sleep", "60"], "timeout_s": 1.0}, "failed", ["conclude"]),
        ({"prepare": shell("echo why >&2; exit 2"), "conclude": shell("exit 3")}, "failed", ["2: why"]),
    ],
)
def test_a_command_that_fails_after_a_run_makes_it_a_failure(
    runner: Runner, planned: dict[str, Any], status: str, reasons: list[str]
) -> None:
    record = runner.one({**sh("x", "exit 0"), **planned})
    assert record["status"] == status
    assert [reason for reason in reasons if reason not in str(record["reason"])] == []
    assert "code 3" not in str(record["reason"]), "nothing was concluded"


@pytest.mark.parametrize("key", ["prepare", "conclude"])
def test_a_runner_can_stop_at_the_first_failed_command(runner: Runner, tmp_path: Path, key: str) -> None:
    script = f"echo . >> {tmp_path / 'count'}; [ $(wc -l < {tmp_path / 'count'}) -lt 3 ] || exit 7"
    write_plan(runner.folder, [sh("x", "exit 0", **{key: shell(script)})], rounds=9)
    done = runner.run(0, "--stop-at-failed-command")
    assert done.returncode == 1
    assert f"error: {key}: /bin/sh -c" in done.stderr
    assert [record["status"] for record in runner.records()] == ["ok", "ok", "failed"]
    runner.assert_nothing_left()
    # Without the option, an experiment goes on.
    assert runner.run().returncode == 0
    assert len(runner.records()) == 9


def test_a_file_is_the_standard_input_and_another_one_has_the_output(runner: Runner, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("text")
    few = {**NO_RLIMITS, "open_files": 16}
    streams = {"input": str(source), "output": str(target)}
    # Each run starts at the beginning of both.
    records = runner.measure(sh("x", "cat; echo warning >&2", **streams), rounds=2, rlimits=few)
    assert [record["status"] for record in records] == ["ok"] * 2
    assert target.read_text() == "text"
    assert {printed(record, "stdout") for record in records} == {b""}
    assert {printed(record, "stderr") for record in records} == {b"warning\n"}


def test_names_of_streams_are_in_the_working_directory(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("text")
    planned = sh(
        "x", "cat", arrange={"in": str(tmp_path / "source")}, input="in", output="out", keep=["out"],
        check=shell("cmp in out"),
    )  # fmt: skip
    record = runner.one(planned)
    assert (record["status"], record["kept"][0]["bytes"]) == ("ok", 4)


def test_a_name_of_a_stream_is_in_the_directory_of_the_suite(runner: Runner, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("text")
    record = runner.one(sh("x", "cat", directory=str(tmp_path), input="source"))
    assert printed(record, "stdout") == b"text"


def test_a_directory_that_is_missing_is_a_failure(runner: Runner) -> None:
    record = runner.one(sh("x", "exit 0", directory="/no/such/folder"))
    assert record["status"] == "failed"
    assert "/no/such/folder" in str(record["reason"])


@pytest.mark.parametrize("stream", ["input", "output"])
@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
def test_a_file_that_cannot_be_a_stream_is_a_failure_with_its_path(
    runner: Runner, tmp_path: Path, stream: str, kind: str
) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    if kind == "missing":
        path = path / "missing" / "file"
    elif kind == "pipe":
        path = path / "pipe"
        os.mkfifo(path)
    record = runner.one(sh("x", "cat", **{stream: str(path)}))
    assert record["status"] == "failed"
    assert f"the {stream} {path}: " in str(record["reason"])
