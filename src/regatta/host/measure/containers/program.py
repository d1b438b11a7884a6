"""Control the program of a container from the gate to its end: release it, wait, and read its usage before removal."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from regatta.host.errors import HostError
from regatta.host.measure.capture import REST_BYTES, Capture
from regatta.host.measure.containers.docker import Engine
from regatta.host.measure.containers.gate import SHELL, Gate
from regatta.host.measure.containers.limits import ContainerLimits
from regatta.host.measure.containers.usage import ContainerGroups, ContainerUsage
from regatta.host.measure.process import (
    GRACE_S,
    Interrupted,
    Launch,
    Outcome,
    StopSignals,
    wait_for_end,
)
from regatta.host.processes import children_of, descendants
from regatta.host.values.plan_cell import PlanCell

#: Usually some 0.1 s, unless the machine is stuck.
START_S = 60.0

#: <linux/pidfd.h>, Linux 6.15 and later: struct pidfd_info of 64 bytes, `mask` first and `exit_code` last
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3
_INFO = struct.Struct("=Q52xi")
_BY_SIGNAL = 128


class Program:
    """The program of a started container, waiting at the gate."""

    def __init__(self, engine: Engine, container: str, gate: Gate, cell: PlanCell, cores: list[int]) -> None:
        self._gate = gate
        self._fds: list[int] = []
        if not gate.wait(time.monotonic() + START_S):
            got = "not started"
            raise HostError(
                f"Docker image {cell['isolation']['image']}", f"{SHELL} to start the program", got
            )
        self._holder_pid = int(engine.ask("GET", f"/containers/{container}/json")["State"]["Pid"])
        try:
            self.groups = ContainerGroups(self._holder_pid, container)
            (self._pid,) = children_of(self._holder_pid)
            for pid in (self._holder_pid, self._pid):
                self._fds.append(os.pidfd_open(pid))
            self._limits = ContainerLimits(f"Docker at {engine.path}", cell, self._holder_pid, cores)
        except (LookupError, ValueError, OSError) as error:
            self._close()
            raise HostError(
                f"Docker at {engine.path}",
                "a container with processes on this machine",
                str(error),
                "use an engine on the machine of the runner",
            ) from error
        self._holder, self._main = self._fds
        try:
            self._limits.check()
        except HostError:
            self._close()
            raise

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()

    def _close(self) -> None:
        if hasattr(self, "groups"):
            self.groups.close()
        for fd in self._fds:
            os.close(fd)
        self._fds = []

    def throttled(self) -> dict[str, Any]:
        """Return the record's fields about a quota, after the program has ended."""
        return self._limits.throttled()

    def attend(
        self, launch: Launch, stop: StopSignals, let_go: Callable[[], None], ended: Callable[[], None]
    ) -> tuple[Outcome, ContainerUsage]:
        """Release the program, wait for its end or its timeout, read its usage, and let the container end."""
        stdout = Capture(self._gate.stdout, launch.output_bytes, launch.hash_stdout)
        stderr = Capture(self._gate.stderr, launch.output_bytes, False)
        if stop.received:
            raise Interrupted
        if launch.count is not None:
            launch.count(self._pid)
        for tell in launch.started:
            tell(self._pid)
        let_go()
        self.groups.begin()
        self._limits.begin()
        utc_ns, start_ns = time.time_ns(), time.monotonic_ns()
        self._gate.release()
        read = (stdout, stderr, *launch.requests)
        end_ns = wait_for_end(self._main, start_ns + int(launch.timeout_s * 1e9), stop, *read)
        timed_out = not end_ns
        if timed_out:
            end_ns = time.monotonic_ns()
            self._ask_to_end()
            grace_ns = time.monotonic_ns() + int(GRACE_S * 1e9)
            wait_for_end(self._main, grace_ns, stop, stdout, stderr)
        ended()
        usage = self.groups.finish()
        self._limits.finish()
        self._word = self._gate.exit_word(GRACE_S if timed_out else START_S)
        self._ending = ending_by_kernel(self._main)
        left_behind = len(set(self.groups.processes()) - {self._holder_pid, self._pid})
        if timed_out:
            self._end_all()
        self._gate.let_go()
        spent = resource.struct_rusage((usage.user_s, usage.system_s) + (0,) * 14)
        outcome = Outcome(
            utc_ns, start_ns, end_ns - start_ns, None, None, timed_out, spent, left_behind, stdout, stderr
        )
        return outcome, usage

    def complete(self, outcome: Outcome, container_code: int) -> None:
        """After the container is removed, set the exit code or signal and read the rest of the output."""
        ending = self._ending or ending_by_kernel(self._main)
        word = container_code if self._word is None else self._word
        outcome.exit_code, outcome.signal = ending or ending_by_word(word)
        for stream in (outcome.stdout, outcome.stderr):
            if isinstance(stream, Capture):
                stream.drain(REST_BYTES)

    def _ask_to_end(self) -> None:
        """Send SIGTERM to the program and its descendants."""
        for pid in descendants(self._pid):
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)
        with suppress(OSError):
            signal.pidfd_send_signal(self._main, signal.SIGTERM)

    def _end_all(self) -> None:
        """Kill the first process. The kernel then kills all others in the container."""
        with suppress(OSError):
            signal.pidfd_send_signal(self._holder, signal.SIGKILL)


def ending_by_kernel(pidfd: int) -> tuple[int | None, int | None] | None:
    """Return (exit code, signal) of a process that its parent has reaped; None if the kernel does not report them."""
    info = bytearray(_INFO.pack(_PIDFD_INFO_EXIT, 0))
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    mask, status = _INFO.unpack(info)
    if not mask & _PIDFD_INFO_EXIT:
        return None
    number = status & 0x7F
    return (None, number) if number else (status >> 8 & 0xFF, None)


def ending_by_word(code: int) -> tuple[int | None, int | None]:
    """Return (exit code, signal) from a shell's exit code: 128 + signal. A program may also exit with such a code itself."""
    number = code - _BY_SIGNAL
    return (None, number) if number in signal.valid_signals() else (code, None)
