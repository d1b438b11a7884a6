"""The Docker engine of the tests: the dockerd that runs, or one that the first process starts and the last one stops."""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from helpers.shared_locks import alone, shared_file, shared_with_others

START_S = 180.0
STOP_S = 120.0
#: longest wait for one answer
ANSWER_S = 120.0
#: holds the process id of the engine that these tests have started
STARTED = shared_file("dockerd.pid")


@dataclass(frozen=True)
class DockerEngine:
    """A dockerd that answers; `docker` is the command, and what it runs with is in the environment already."""

    docker: str

    def run(self, *arguments: str, timeout_s: float = 300.0) -> str:
        """Run `docker ARGUMENTS`, which must succeed; returns what it printed."""
        done = subprocess.run(
            [self.docker, *arguments], capture_output=True, text=True, timeout=timeout_s, check=False
        )
        assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr}"
        return done.stdout


def why_no_docker(docker: str | None) -> str:
    """Ask the engine for its version; returns why there is no answer, or nothing."""
    if docker is None:
        return "there is no `docker` command"
    try:
        done = subprocess.run(
            [docker, "version", "--format", "{{.Server.Version}}"],
            capture_output=True, text=True, timeout=ANSWER_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"the engine does not answer within {ANSWER_S:g} s"
    return "" if done.returncode == 0 and done.stdout.strip() else done.stderr.strip() or "no answer"


class Daemon:
    """A program that is no child of this process: the runner, which tests run here, ends whatever is one."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.process = os.pidfd_open(number)

    @classmethod
    def start(cls, command: str, log: Path) -> Self:
        """Start a command without arguments."""
        script = '"$0" >"$1" 2>&1 </dev/null & echo "$!"'
        started = subprocess.run(
            ["sh", "-c", script, command, log],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            start_new_session=True,
        )
        return cls(int(started.stdout))

    def has_ended(self, within_s: float = 0.0) -> bool:
        """Whether it ends within a time."""
        return bool(select.select([self.process], [], [], within_s)[0])

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, where it is still there."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.process, number)


def start_dockerd(log: Path) -> tuple[Daemon | None, str]:
    """Start the engine; returns it once it answers, or None and why it does not."""
    dockerd = shutil.which("dockerd") or shutil.which("dockerd", path="/usr/sbin:/sbin:/usr/local/sbin")
    if dockerd is None:
        return None, "there is no `dockerd` command"
    if os.geteuid() != 0:
        return None, "dockerd is started by root only, and these tests run as another user"
    engine = Daemon.start(dockerd, log)
    docker = shutil.which("docker")
    deadline = time.monotonic() + START_S
    why = ""
    while time.monotonic() < deadline and not engine.has_ended():
        why = why_no_docker(docker)
        if not why:
            return engine, ""
        time.sleep(0.2)
    stop_dockerd(engine)
    last = log.read_text(errors="replace").strip().splitlines()[-3:]
    return None, f"dockerd does not start: {' | '.join(last) or why}"


def stop_dockerd(engine: Daemon) -> None:
    """Stop an engine of ours and wait for its end: it stops its containers and its containerd itself."""
    engine.signal(signal.SIGTERM)
    if not engine.has_ended(STOP_S):
        engine.signal(signal.SIGKILL)
        engine.has_ended(STOP_S)
    os.close(engine.process)


def take_over() -> Daemon | None:
    """The engine that a process of these tests has started; None where it is somebody else's."""
    try:
        number = int(STARTED.read_text())
        if Path(f"/proc/{number}/comm").read_text().strip() == "dockerd":
            return Daemon(number)
    except (OSError, ValueError):
        pass
    return None


@pytest.fixture(scope="session")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerEngine]:
    """The engine that runs, or one of the tests; without either the tests are skipped, and say why."""
    docker = shutil.which("docker")
    with shared_with_others("dockerd") as last:
        with alone("dockerd-start"):
            why = why_no_docker(docker)
            if why and docker is not None:
                engine, why = start_dockerd(tmp_path_factory.mktemp("dockerd") / "dockerd.log")
                if engine is not None:
                    STARTED.write_text(str(engine.number))
        if docker is None or why:
            line = f"DOCKER CANNOT RUN HERE: {why}; everything that needs it is NOT tested"
            print(f"\n{line}", file=sys.__stderr__, flush=True)
            pytest.skip(line)
        try:
            yield DockerEngine(docker)
        finally:
            if last() and (engine := take_over()) is not None:
                stop_dockerd(engine)
                STARTED.unlink()
