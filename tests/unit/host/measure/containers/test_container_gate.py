"""The gate of a container, with a shell of this machine in the container's place."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from regatta.host.measure.capture import REST_BYTES, Capture
from regatta.host.measure.containers.gate import Gate


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    gate = Gate(tmp_path / "gate")
    yield gate
    gate.close()
    assert not (tmp_path / "gate").exists()


def start(gate: Gate, *command: str, limit: int | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        gate.argv(list(command), limit),
        env={"PATH": "/usr/bin:/bin", "A": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_program_waits_until_it_is_let_go_and_the_shell_until_the_runner_lets_go(
    gate: Gate, tmp_path: Path
) -> None:
    shell = start(gate, "/bin/sh", "-c", f"touch {tmp_path}/done; /usr/bin/env; exit 7")
    assert gate.wait(time.monotonic() + 300)
    assert not (tmp_path / "done").exists()
    assert gate.exit_word(0.05) is None
    gate.release()
    assert gate.exit_word() == 7
    printed = Capture(gate.stdout, 1 << 16, False)
    while printed.drain(REST_BYTES) and printed.total < 20:
        time.sleep(0.001)
    told = printed.kept.decode().splitlines()
    assert {"PATH=/usr/bin:/bin", "A=1"} <= set(told)
    # The program here is a shell, too, and adds these two to what it was given.
    assert {line.partition("=")[0] for line in told} <= {"PATH", "A", "PWD", "OLDPWD", "SHLVL", "_"}
    assert shell.poll() is None
    gate.let_go()
    assert shell.communicate(timeout=300) == ("", "")


def test_arguments_reach_the_program_as_they_are(gate: Gate) -> None:
    odd = ["", " ", "$HOME", "`id`", "'", '"', "\\n", "*", "-c", "é"]
    shell = start(gate, sys.executable, "-I", "-c", "import sys; print(sys.argv[1:])", *odd)
    assert gate.wait(time.monotonic() + 300)
    gate.release()
    assert gate.exit_word() == 0
    printed = Capture(gate.stdout, 1 << 16, False)
    printed.drain(REST_BYTES)
    assert printed.kept.decode().strip() == str(odd)
    gate.let_go()
    shell.communicate(timeout=300)


def test_a_runner_that_goes_lets_the_container_end_before_and_after_the_program(tmp_path: Path) -> None:
    for released in (False, True):
        gate = Gate(tmp_path / "gate")
        shell = start(gate, "/usr/bin/true")
        assert gate.wait(time.monotonic() + 300)
        if released:
            gate.release()
            assert gate.exit_word() == 0
        gate.close()
        shell.communicate(timeout=300)


def test_the_address_space_is_limited(gate: Gate) -> None:
    shell = start(gate, "/bin/sh", "-c", "ulimit -S -v; ulimit -H -v", limit=3 << 30)
    assert gate.wait(time.monotonic() + 300)
    gate.release()
    assert gate.exit_word() == 0
    printed = Capture(gate.stdout, 1 << 16, False)
    printed.drain(REST_BYTES)
    assert printed.kept.decode().split() == [str(3 << 20), "unlimited"]
    gate.let_go()
    shell.communicate(timeout=300)


@pytest.mark.parametrize("word", [b"", b"abc\n", b"-1\n", b"12345\n", b"\xff\n"])
def test_a_word_that_is_no_exit_code_is_none(gate: Gate, word: bytes) -> None:
    fd = os.open(gate.directory / "end", os.O_WRONLY)
    os.write(fd, word)
    os.close(fd)
    assert gate.exit_word(0.5) is None
