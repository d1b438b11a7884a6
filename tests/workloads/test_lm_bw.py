"""Bandwidth between processes, disk and lmdd."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from lm_runs import assert_conforms, command_of, run

CONNECTIONS = ["bw_pipe", "bw_tcp", "bw_unix"]


@pytest.mark.parametrize("name", CONNECTIONS)
def test_bandwidth_between_processes_is_one_series(lm_sources: Path, tmp_path: Path, name: str) -> None:
    outcome = run(command_of(name, "quick", lm_sources), tmp_path / "work")
    assert_conforms(outcome, repetitions=5, metric="bandwidth", unit="MB/s")
    assert list(outcome.of("bandwidth")) == [(("message_bytes", 65536), ("parallel", 1))]
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("name", CONNECTIONS)
def test_each_of_several_readers_has_a_writer_of_its_own(lm_sources: Path, tmp_path: Path, name: str) -> None:
    command = command_of(name, "quick", lm_sources, parallel=2, repetitions=1)
    outcome = run([*command, "--interval-us", "100000"], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    (middle,) = outcome.of("bandwidth").values()
    (system,) = outcome.of("bandwidth_system").values()
    assert middle[0]["parameters"]["parallel"] == 2
    assert system[0]["value"] == pytest.approx(2 * middle[0]["value"], rel=1e-6)


@pytest.mark.parametrize("name", CONNECTIONS)
def test_every_byte_counted_was_received(lm_sources: Path, tmp_path: Path, name: str) -> None:
    """strace sees what the reader read: whole operations, as many as the writer wrote, and as many as are reported."""
    if shutil.which("strace") is None:
        pytest.skip("NOT TESTED: strace is not on PATH")
    command = [lm_sources / "build" / name, "--message-kib=12", "--total-kib=100", "--repetitions=3"]
    (tmp_path / "traces").mkdir()
    outcome = run(
        ["strace", "-ff", "-qq", "-e", "trace=read,write", "-o", tmp_path / "traces/t", *command],
        tmp_path / "work",
    )
    assert outcome.exit_code == 0, outcome.stderr
    moved = {"read": 0, "write": 0}
    for trace in (tmp_path / "traces").iterdir():
        for call, got in re.findall(
            r"^(read|write)\(\d+, \"x+\"\.{3}, \d+\) += (\d+)$", trace.read_text(), re.MULTILINE
        ):
            moved[call] += int(got)
    operation_bytes = 9 * 12 * 1024
    (lines,) = outcome.of("bandwidth").values()
    assert moved["read"] == moved["write"]
    assert moved["read"] % operation_bytes == 0
    assert moved["read"] >= 3 * lines[0]["operations"] * operation_bytes


def test_a_reader_whose_writer_dies_fails_and_does_not_hang(lm_sources: Path, tmp_path: Path) -> None:
    command = [lm_sources / "build/bw_pipe", "--interval-us=30000000", "--repetitions=1"]
    started = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        writer = _grandchild(started.pid)
        subprocess.run(["kill", "-KILL", str(writer)], check=True)
        _, stderr = started.communicate(timeout=20)
    finally:
        started.kill()
    assert started.returncode == 1
    assert "benchmark: Broken pipe" in stderr


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _grandchild(pid: int) -> int:
    """The writer, once it is there: the child of the measured child."""
    while True:
        found = [grandchild for child in _children(pid) for grandchild in _children(child)]
        if found:
            return found[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--message-kib", "0"], "--message-kib: expected an integer from 1 to"),
        (["--total-kib", "0"], "--total-kib: expected an integer from 1 to"),
        (["--parallel", "0"], "--parallel: expected an integer from 1 to"),
    ],
)
@pytest.mark.parametrize("name", CONNECTIONS)
def test_a_size_of_nothing_is_refused(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str], message: str
) -> None:
    outcome = run([lm_sources / "build" / name, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert (outcome.stdout, outcome.lines) == ("", [])


@pytest.mark.parametrize("name", CONNECTIONS)
def test_too_few_descriptors_are_an_error_with_its_cause(lm_sources: Path, tmp_path: Path, name: str) -> None:
    outcome = run(
        ["sh", "-c", f"ulimit -n 9; exec {lm_sources}/build/{name} --repetitions 1"], tmp_path / "work"
    )
    assert outcome.exit_code == 1
    assert "Too many open files" in outcome.stderr
