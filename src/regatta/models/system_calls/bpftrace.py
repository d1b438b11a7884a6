"""Tracing by bpftrace: the kernel counts, and no process stops. Requires root and the initial PID namespace."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError
from regatta.host.processes import die_with_parent
from regatta.models.kernel_traces.call_numbers import call_numbers
from regatta.models.system_calls.bpftrace_program import FORKED, program, seen_of_key
from regatta.models.system_calls.processes import calls_under_way, is_there, listed, started_ticks, tree_of
from regatta.models.system_calls.reading_thread import Reading
from regatta.models.vectors.calls import (
    EXEC_ALONE,
    FORK_ALONE,
    FORK_EXEC,
    FORK_FAULT,
    FORK_MAPPING,
    THREAD,
    CallTable,
    Seen,
    Tally,
    size_class,
)

#: until the program is compiled and attached: about 1 s, longer on a loaded machine
START_S = 60.0
#: detaching waits until no processor is in a tracepoint, which throttling or heavy load can delay
STOP_S = 150.0
_ASK_AGAIN_S = 45.0
#: entries of each bpftrace map: concurrent processes and threads, and kinds of calls
MAP_KEYS = 65536
_TRACEFS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_BTF = Path("/sys/kernel/btf/vmlinux")
#: inode of the initial PID namespace (include/linux/proc_ns.h)
_FIRST_NAMESPACE = 0xEFFFFFFC
_PROCESSES = (FORK_EXEC, FORK_ALONE, EXEC_ALONE, THREAD)


class Bpftrace:
    """One trace of a process, its descendants and their future children."""

    name = "bpftrace"

    def __init__(self, table: CallTable) -> None:
        self.table = table
        self.process: subprocess.Popen[str] | None = None
        self.missed = 0

    def start(self, pid: int, gated: bool = False) -> None:
        """Attach. Return when every process is watched.

        Raises:
            HostError: bpftrace is missing or not permitted, or the kernel does not support it.
        """
        check_bpftrace()
        for pids in listed(pid, "use --tool strace in that namespace, for example in the container"):
            self._start(pids, gated)
            if gated or not self._late(pid, pids):
                return
            self.kill()

    def _start(self, pids: tuple[int, ...], gated: bool) -> None:
        numbers = call_numbers(os.uname().machine)
        self.names = {number: name for name, number in numbers.items()}
        by_processor = _kernel() >= (6, 2)
        text = program(
            self.table,
            numbers,
            pids,
            gated,
            os.sysconf("SC_PAGE_SIZE") // 1024,
            by_processor,
            {} if gated else calls_under_way(pids),
        )
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in stop)
        # In memory, so that no file remains after a crash.
        with os.fdopen(os.memfd_create("program.bt"), "w") as file:
            file.write(text)
            file.flush()
            self.process = subprocess.Popen(
                [bpftrace_program(), "-k", "-f", "json", f"/dev/fd/{file.fileno()}"],
                pass_fds=(file.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
                errors="replace",
                preexec_fn=die_with_parent,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C", "BPFTRACE_MAP_KEYS_MAX": str(MAP_KEYS)},
            )
            self.said: queue.Queue[dict[str, Any] | None] = queue.Queue()
            self.reading = Reading("bpftrace", self._read)
            self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + START_S
        while True:
            try:
                said = self.said.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                said = None
            if said is None:
                errors = self._errors()
                self.kill()
                self.reading.wait(STOP_S)
                raise HostError(
                    "bpftrace", "to attach its program", errors or "no answer in 60 s", "use --tool strace"
                )
            if said.get("type") == "printf":
                return

    def _late(self, root: int, pids: tuple[int, ...]) -> bool:
        """Return whether a process forked between listing and attaching still runs: its calls are not counted."""
        now = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
        late = [pid for pid in tree_of(root) if pid not in pids and 0 < started_ticks(pid) <= now]
        self.missed = len(late)
        if late:
            time.sleep(0.2)
        return any(is_there(pid) for pid in late)

    def stop(self) -> Tally:
        """Detach, and return the counts.

        Raises:
            HostError: bpftrace lost counts, was killed during the trace, or its output could not be read completely.
        """
        assert self.process is not None
        ended_before = self.process.poll() is not None
        stuck = "" if ended_before else self._end()
        errors = self._errors()
        self.errors.close()
        self.reading.wait(STOP_S)
        maps: dict[str, Any] = {}
        while not self.said.empty():
            said = self.said.get()
            if said is None:
                break
            kind, data = said.get("type"), said.get("data")
            if kind == "map" and isinstance(data, dict):
                maps.update(data)
            elif kind in ("lost_events", "helper_error"):
                raise HostError("bpftrace", "a count of all calls", f"{kind}: {data or said}", _FULL)
        if self.process.returncode or ended_before:
            got = stuck or f"exit code {self.process.returncode} {errors}".strip()
            raise HostError("bpftrace", "a complete trace", got, "trace again")
        return self._tally(maps)

    def _end(self) -> str:
        """Ask bpftrace to detach and print. Return why it was killed, or ""."""
        assert self.process is not None
        end = time.monotonic() + STOP_S
        while time.monotonic() < end:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(_ASK_AGAIN_S)
                return ""
            except subprocess.TimeoutExpired:
                continue
        try:
            where = Path(f"/proc/{self.process.pid}/wchan").read_text()
        except OSError:
            where = ""
        self.kill()
        return f"it did not detach in {STOP_S:g} s (waiting in {where or 'nothing'})"

    def _tally(self, maps: dict[str, Any]) -> Tally:
        calls, sizes = _numbers(maps.get("@calls")), _numbers(maps.get("@bytes"))
        everything = int(maps.get("@all", 0))
        if sum(calls.values()) != everything:
            got = f"{sum(calls.values())} of {everything}"
            raise HostError("bpftrace", "a count of all calls", got, _FULL)
        seen = {seen_of_key(key, self.names): (count, sizes.get(key, 0)) for key, count in calls.items()}
        kib = maps.get("@process_kib", {})
        for key, count in (maps.get("@processes") or {}).items():
            what, size = (int(word) for word in key.split(","))
            seen[Seen(_PROCESSES[what], size=size)] = (int(count), int(kib.get(key, 0)))
        for call, name, forks in (
            (FORK_MAPPING, "@mappings", "@copying"),
            (FORK_FAULT, "@faults", "@faulting"),
        ):
            if count := int(maps.get(name, 0)):
                seen[Seen(call)] = (count, int(maps.get(forks, 0)))
        resident = maps.get("@resident") or {}
        for child, phase in (maps.get("@phase") or {}).items():
            if int(phase) == FORKED:
                size = max(int(resident.get(child, 0)) - 1, 0)
                alike = Seen(FORK_ALONE, size=size_class(size))
                there = seen.get(alike, (0, 0))
                seen[alike] = (there[0] + 1, there[1] + size)
        remarks = (
            [f"{self.missed} processes ended while bpftrace attached and were missed"] if self.missed else []
        )
        return Tally(seen, tuple(remarks))

    def kill(self) -> None:
        """Kill bpftrace if it runs; the traced processes continue."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _read(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        said = self.said
        try:
            with self.process.stdout as lines:
                for line in lines:
                    with contextlib.suppress(ValueError):
                        told = json.loads(line)
                        if isinstance(told, dict):
                            said.put(told)
        finally:
            said.put(None)

    def _errors(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read(8192).decode(errors="replace").strip().splitlines()
        lines = [line for line in lines if "RLIMIT_MEMLOCK" not in line]
        told = [line for line in lines if "ERROR" in line or "error" in line]
        return (told or lines or [""])[-1][:300]


_FULL = "trace for a shorter time, or use --tool strace"


def _numbers(data: Any) -> dict[int, int]:
    return {int(key): int(value) for key, value in (data or {}).items()}


def _kernel() -> tuple[int, ...]:
    words = os.uname().release.split("-")[0].split(".")
    return tuple(int(word) for word in words[:2] if word.isdigit())


def bpftrace_program() -> str:
    """Return the path of bpftrace.

    Raises:
        HostError: it is not installed.
    """
    program = shutil.which("bpftrace") or shutil.which("bpftrace", path="/usr/sbin:/usr/bin")
    if program is None:
        raise HostError(
            "bpftrace",
            "the program on PATH",
            "none",
            "run `sudo apt-get install bpftrace`, or use --tool strace",
        )
    return program


def check_bpftrace() -> None:
    """Check the requirements of bpftrace.

    Raises:
        HostError: a requirement is not met; the message names it and the fix.
    """
    bpftrace_program()
    if os.geteuid() != 0:
        raise HostError("bpftrace", "root", f"user {os.geteuid()}", "run as root, or use --tool strace")
    if os.stat("/proc/self/ns/pid").st_ino != _FIRST_NAMESPACE:
        raise HostError(
            "bpftrace",
            "the process IDs of the machine",
            "those of a container",
            "use --tool strace",
        )
    if not any((home / "events/raw_syscalls/sys_enter").exists() for home in _TRACEFS):
        raise HostError(
            "bpftrace",
            "tracepoints in /sys/kernel/tracing",
            "none: not mounted, or a kernel without CONFIG_FTRACE_SYSCALLS",
            "run `mount -t tracefs nodev /sys/kernel/tracing`, or use --tool strace",
        )
    if not _BTF.exists():
        raise HostError(
            "bpftrace",
            f"kernel types in {_BTF}",
            "none",
            "use a kernel with CONFIG_DEBUG_INFO_BTF, or --tool strace",
        )
    call_numbers(os.uname().machine)
