"""Tracing by strace: exact and portable, but it stops every call twice."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.processes import die_with_parent
from regatta.models.system_calls.processes import is_there, listed, memory_of, tracer_of, tree_of
from regatta.models.system_calls.reading_thread import Reading
from regatta.models.system_calls.strace_lines import StraceReader
from regatta.models.system_calls.tree import Memory
from regatta.models.vectors.calls import FORK_MAPPING, CallTable, Seen, Tally

#: until strace is attached to every process
ATTACH_S = 20.0
#: until strace is detached from every process
DETACH_S = 30.0
#: number of forks after which the memory of a process is read again
_LOOK_AGAIN = 64
UNTOLD_FAULTS = "page faults of forked processes were not counted: strace does not report them"


class Strace:
    """One trace of a process, its descendants and their future children."""

    name = "strace"

    def __init__(self, table: CallTable) -> None:
        self.table = table
        self.memory: dict[int, tuple[int, Memory]] = {}
        self.process: subprocess.Popen[bytes] | None = None
        self.missed = 0

    def start(self, pid: int, gated: bool = False) -> None:
        """Attach. Return when every process is watched.

        Raises:
            HostError: strace is missing or not permitted, or the processes cannot be followed.
        """
        for pids in listed(pid, "run strace in that namespace, for example in the container"):
            self._start(pid, tuple(each for each in pids if is_there(each)), gated)
            if not self._late(pid):
                return
            self.kill()
            self.reading.wait(DETACH_S)
            self.errors.close()

    def _start(self, pid: int, pids: tuple[int, ...], gated: bool) -> None:
        self.reader = StraceReader(self.table, self._memory_of, () if gated else pids, pid if gated else None)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in stop)
        reading, writing = os.pipe()
        command = [
            strace_program(), "-f", "-q", "-yy", "-s", "0", "-a", "1", "-e", "signal=none", "-e", "verbose=clone3",
            "-o", f"/dev/fd/{writing}", *(word for each in pids for word in ("-p", str(each))),
        ]  # fmt: skip
        try:
            self.process = subprocess.Popen(
                command,
                pass_fds=(writing,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.errors,
                preexec_fn=die_with_parent,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C"},
            )
        finally:
            os.close(writing)
        self.reading = Reading("strace", lambda: self._read(reading))
        self._wait_until_attached(pid, pids)

    def _wait_until_attached(self, root: int, pids: tuple[int, ...]) -> None:
        assert self.process is not None
        end = time.monotonic() + ATTACH_S
        waiting = set(pids)
        while waiting:
            waiting = {pid for pid in waiting if tracer_of(pid) not in (self.process.pid, -1)}
            if self.process.poll() is not None or time.monotonic() > end:
                if not is_there(root):
                    return
                said = self._said()
                self.kill()
                raise HostError(
                    "strace", f"to attach to process {root}", said or "no answer in 20 s", _fix(said)
                )
            if waiting:
                time.sleep(0.005)

    def _late(self, root: int) -> bool:
        """Return whether a process forked between listing and attaching still runs: it is not followed."""
        late = [pid for pid in tree_of(root) if tracer_of(pid) == 0 and is_there(pid)]
        if late:
            time.sleep(0.05)
        still = [pid for pid in late if tracer_of(pid) == 0 and is_there(pid)]
        self.missed = len(late) - len(still)
        return bool(still)

    def stop(self) -> Tally:
        """Detach from every process, and return the counts.

        Raises:
            HostError: strace was killed during the trace, or its output could not be read completely, so calls are missing.
        """
        assert self.process is not None
        ended_by_itself = self.process.poll()
        if ended_by_itself is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(DETACH_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise HostError(
                    "strace", "to detach from all processes", "still attached after 30 s"
                ) from None
        said = self._said()
        self.errors.close()
        self.reading.wait(DETACH_S)
        if self.process.returncode == -signal.SIGKILL:
            ended_by_itself = self.process.returncode
        if ended_by_itself:
            how = f"signal {-ended_by_itself}" if ended_by_itself < 0 else f"exit code {ended_by_itself}"
            got = f"strace ended early with {how}: {said}".rstrip(": ")
            raise HostError("strace", "a complete trace", got, _fix(said) or "trace again")
        tally = self.reader.finish()
        remarks = list(tally.remarks)
        if Seen(FORK_MAPPING) in tally.seen:
            remarks.append(UNTOLD_FAULTS)
        if self.missed:
            remarks.append(f"{self.missed} processes ended while strace attached and were missed")
        return Tally(tally.seen, tuple(remarks))

    def kill(self) -> None:
        """Kill strace if it runs; the traced processes continue."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _read(self, descriptor: int) -> None:
        with open(descriptor, encoding="utf-8", errors="replace", newline="\n") as file:
            while line := file.readline(1 << 20):
                self.reader.read(line)

    def _said(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read(4096).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def _memory_of(self, pid: int) -> Memory:
        forks, found = self.memory.get(pid, (0, Memory()))
        # A process that exited before it was read may exist at its next fork.
        if forks % _LOOK_AGAIN == 0 or not found.mappings:
            now = memory_of(pid)
            found = Memory(now.resident_kib or found.resident_kib, now.mappings or found.mappings)
        if len(self.memory) > 10_000:
            self.memory.clear()
        self.memory[pid] = (forks + 1, found)
        return found


def strace_program() -> str:
    """Return the path of strace.

    Raises:
        HostError: it is not installed.
    """
    program = shutil.which("strace")
    if program is None:
        raise HostError("strace", "the program on PATH", "none", "run `sudo apt-get install strace`")
    return program


def _fix(said: str) -> str:
    if "not permitted" not in said:
        return ""
    try:
        scope = Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip()
    except OSError:
        scope = ""
    restricted = f" (kernel.yama.ptrace_scope is {scope})" if scope not in ("", "0") else ""
    return f"run as root or as the owner of the processes{restricted}; a process cannot be traced twice at the same time"
