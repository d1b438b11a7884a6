"""A command that starts in two steps: the process exists and can be watched, then the command runs."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from regatta.host.errors import HostError
from regatta.host.processes import die_with_parent, prctl

_PR_SET_PTRACER = 0x59616D61
_ANY = -1


@dataclass(frozen=True)
class Finished:
    """Exit code of a command, and its resource usage including reaped children."""

    #: exit code; negative: the signal
    code: int
    elapsed_ns: int
    user_ns: int


class GatedCommand:
    """A process that waits, and executes the command on release."""

    def __init__(self, command: Sequence[str], output: IO[bytes], *, with_errors: bool = False) -> None:
        """Start it; `output` receives its standard output, `with_errors` also its standard error."""
        program = shutil.which(command[0])
        if program is None:
            raise HostError(
                command[0], "a program to trace", "no such program", "give its path, or install it"
            )
        reading, self._gate = os.pipe()
        self._failure, failing = os.pipe()
        self.command = list(command)
        self.finished: Finished | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _become(program, self.command, reading, failing, output.fileno(), with_errors)
        os.close(reading)
        os.close(failing)

    def release(self) -> None:
        """Execute the command.

        Raises:
            HostError: the kernel refuses to execute it.
        """
        self.began_ns = time.monotonic_ns()
        os.write(self._gate, b"1")
        os.close(self._gate)
        said = os.read(self._failure, 16)
        os.close(self._failure)
        if said:
            os.waitpid(self.pid, 0)
            self.finished = Finished(127, 0, 0)
            raise HostError(self.command[0], "an executable program", os.strerror(int(said)))

    def wait(self) -> Finished:
        """Wait until the command ends."""
        _, status, usage = os.wait4(self.pid, 0)
        elapsed_ns = time.monotonic_ns() - self.began_ns
        code = os.waitstatus_to_exitcode(status)
        self.finished = Finished(code, elapsed_ns, round(usage.ru_utime * 1e9))
        return self.finished

    def stop(self) -> None:
        """Terminate the command and its process group, unless they have ended."""
        if self.finished is not None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)
            end = time.monotonic() + 5
            while time.monotonic() < end:
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    self.finished = Finished(-number, 0, 0)
                    return
                time.sleep(0.01)


def _become(
    program: str, command: list[str], gate: int, failing: int, output: int, with_errors: bool
) -> None:
    """In the child: wait, then execute the command. Never returns."""
    try:
        os.setpgid(0, 0)
        die_with_parent()
        # With Yama only ancestors may trace, and the tracer is a sibling.
        prctl(_PR_SET_PTRACER, _ANY)
        # Every run reads the same empty input. A terminal would stop the process, which is not in the foreground.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.set_inheritable(0, True)
        os.dup2(output, 1)
        if with_errors:
            os.dup2(output, 2)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        if os.read(gate, 1):
            os.execv(program, command)
        os._exit(0)
    except OSError as error:
        os.write(failing, str(error.errno or 0).encode())
    finally:
        os._exit(127)
