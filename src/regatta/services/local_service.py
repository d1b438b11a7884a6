"""Services as processes that outlive the command that started them, identified by pid and start time."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.interrupts import uninterrupted
from regatta.host.processes import START, process_start, stat_fields
from regatta.services.folder import ServiceFolder
from regatta.services.ports import ADDRESS, listeners, noted_port

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_POLL_S = 0.05


@dataclass(frozen=True)
class Process:
    """A started process. The pid alone can be reused by another process."""

    pid: int
    start_ticks: int
    boot_id: str

    @property
    def runs(self) -> bool:
        """Return whether it still runs; a zombie does not."""
        return self.boot_id == _boot_id() and process_start(self.pid) == self.start_ticks

    def listens_on(self, port: int) -> bool:
        """Return whether exactly this process listens on a TCP port."""
        return bool(listeners(port).keys() & _sockets_of(self.pid))

    def end(self, patience_s: float) -> bool:
        """Terminate it, and kill it after `patience_s`. Return whether it was running."""
        with _held(self) as pidfd:
            if pidfd is None:
                return False
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    signal.pidfd_send_signal(pidfd, number)
                except ProcessLookupError:
                    break
                if select.select([pidfd], [], [], patience_s)[0]:
                    break
        return True


@contextmanager
def _held(process: Process) -> Iterator[int | None]:
    """Yield a pidfd, which always refers to the same process; None if it does not run."""
    try:
        pidfd = os.pidfd_open(process.pid)
    except OSError:
        yield None
        return
    try:
        yield pidfd if process.runs else None
    finally:
        os.close(pidfd)


class LocalService:
    """A service of the user on the loopback interface."""

    name: str
    usual_port: int
    #: Maximum time to answer, and to stop.
    start_s: float
    end_s: float

    def __init__(self, services: ServiceFolder) -> None:
        self.services = services

    @property
    def folder(self) -> Path:
        """Return the folder with its data and configuration."""
        return self.services.folder(self.name)

    @property
    def url(self) -> str:
        """Return its current or last URL."""
        return f"http://{ADDRESS}:{self.port}"

    @property
    def port(self) -> int:
        """Return its current or last port."""
        return noted_port(self.services.read_state(self.name).get("port"), self.usual_port)

    @property
    def process(self) -> Process | None:
        """Return its process; None if it does not run."""
        process = self._noted()
        return process if process is not None and process.runs else None

    def _noted(self) -> Process | None:
        noted = self.services.read_state(self.name)
        pid, ticks, boot_id = noted.get("pid"), noted.get("start_ticks"), noted.get("boot_id")
        if not isinstance(pid, int) or not isinstance(ticks, int) or not isinstance(boot_id, str) or pid < 2:
            return None
        return Process(pid, ticks, boot_id)

    def note(self, process: Process, port: int) -> None:
        """Record the process and the port."""
        self.services.write_state(self.name, {**asdict(process), "port": port, "host": socket.gethostname()})

    def run(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        port: int,
        answers: Callable[[], bool],
        held: Sequence[int] = (),
    ) -> str:
        """Start its program, record it, and wait until it answers.

        Args:
            argv: the program and its arguments.
            environment: its entire environment.
            port: port to listen on.
            answers: checks for an answer; called once exactly this program listens there.
            held: open files that it inherits: the lock of its data.

        Returns:
            Why it does not answer, after it was stopped; "" if it answers.
        """
        process = None
        try:
            with uninterrupted():
                process, child = self._started(argv, environment, held)
                self.note(process, port)
            deadline = time.monotonic() + self.start_s
            while time.monotonic() < deadline and child.poll() is None:
                # Never send a password to another process.
                if process.listens_on(port) and answers():
                    return ""
                time.sleep(_POLL_S)
            why = "no answer" if child.poll() is None else self._last_words()
        except BaseException:
            if process is not None:
                process.end(self.end_s)
            raise
        process.end(self.end_s)
        return why

    def _started(
        self, argv: Sequence[str], environment: Mapping[str, str], held: Sequence[int]
    ) -> tuple[Process, subprocess.Popen[bytes]]:
        """Start its program in a new session, in its folder, with a new log that only its user can read.

        Returns:
            The process, and the child to wait for.
        """
        log = self.services.log(self.name)
        if log.exists():
            os.replace(log, log.with_suffix(".log.1"))
        fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            child = subprocess.Popen(
                list(argv), env=dict(environment), cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=fd, stderr=fd, start_new_session=True, pass_fds=held,
            )  # fmt: skip
        finally:
            os.close(fd)
        # A child is in /proc until it is waited for, even after it exits.
        return Process(child.pid, int(stat_fields(child.pid)[START]), _boot_id()), child

    def not_started(self, program: str, port: int, expected: str, got: str) -> HostError:
        """Return the error of a program that did not answer."""
        return HostError(
            f"{program} on {ADDRESS}:{port}", expected, got, f"read {self.services.log(self.name)}"
        )

    def _last_words(self) -> str:
        """Return its last output, for a message."""
        try:
            lines = self.services.log(self.name).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return last_of(lines) or "it exited without output"

    def end(self) -> bool:
        """Stop it. Return whether it was running. Keep its data, and its port for the next start."""
        process = self._noted()
        was_running = process is not None and process.end(self.end_s)
        port = self.services.read_state(self.name).get("port")
        if port is None:
            self.services.state(self.name).unlink(missing_ok=True)
        else:
            self.services.write_state(self.name, {"port": port})
        return was_running

    def delete(self) -> None:
        """Delete all its data."""
        shutil.rmtree(self.folder, ignore_errors=True)


def last_of(lines: Sequence[str]) -> str:
    """Return the last two lines of a program's output, for a message."""
    said = [line.strip() for line in lines if line.strip()]
    return " | ".join(said[-2:])[:500]


def holder(file: Path) -> Process | None:
    """Return another process of this host that has a file open, if its open files are readable."""
    try:
        wanted = file.stat()
    except OSError:
        return None
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        try:
            held = pid != os.getpid() and any(
                os.path.samestat(os.stat(one), wanted) for one in os.scandir(entry / "fd")
            )
        except OSError:
            continue
        start = process_start(pid) if held else None
        if start is not None:
            return Process(pid, start, _boot_id())
    return None


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _sockets_of(pid: int) -> set[str]:
    inodes = set()
    try:
        for entry in os.scandir(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(entry.path)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[len("socket:[") : -1])
    except OSError:
        pass
    return inodes
