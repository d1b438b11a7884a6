"""Run a helper program (a package manager, a build, a JVM query) and report its failure."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.host.cache import cache_folder
from regatta.host.errors import HostError
from regatta.host.files import write_whole
from regatta.host.measure.capture import Capture
from regatta.host.printable import with_lines

#: of an output, half from its start and half from its end; a build with all its warnings has some MiB
KEPT_BYTES = 16 << 20
#: how long a pipe is read that a daemon of the ended program holds
_REST_MS = 500
_SHOWN = 8


@dataclass(frozen=True)
class Done:
    """The result of a program: its exit code (negative: the signal), and its combined standard output and error.

    `cut`: the middle of an output of more than `KEPT_BYTES` is missing in `text`, with a mark in its place.
    """

    command: str
    what: str
    fix: str
    returncode: int
    text: str
    cut: bool = False

    def succeeded(self) -> str:
        """Return the output of a program that must succeed.

        Raises:
            HostError: the program failed; the message contains the last lines of its output, and names a log with all of it.
        """
        if self.returncode == 0:
            return self.text
        raise self.error(f"`{self.command}` to succeed", f"exit {self.returncode}")

    def error(self, expected: str, got: str) -> HostError:
        """Return the error of a program that failed, with the last lines of its output."""
        lines = [line for line in self.text.splitlines() if line.strip()]
        fix = self.fix
        if len(lines) > _SHOWN:
            fix = "; ".join(filter(None, (fix, self._logged())))
        return HostError(self.what, expected, with_lines(got, lines[-_SHOWN:]), fix)

    def _logged(self) -> str:
        """Write the output to a file of the cache, which the next failure of the same command replaces."""
        name = hashlib.sha256(f"{self.what} {self.command}".encode(errors="replace")).hexdigest()[:16]
        # Without a log, the error is still complete.
        with contextlib.suppress(OSError, HostError):
            path = cache_folder("logs") / f"{name}.log"
            write_whole(path, self.text.encode(errors="replace"))
            return f"see {path}"
        return ""


def run_command(
    argv: Sequence[str],
    what: str,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 1800,
    fix: str = "",
    inherited: bool = True,
) -> Done:
    """Run a program to its end, regardless of its exit code. Pass the arguments without a shell.

    It has a session of its own. After a timeout or an interrupt, all processes of its group are killed.

    If `inherited`, add `environment` to the environment of this process. Otherwise it is the whole environment.

    Raises:
        HostError: the program cannot be started, or exceeds the timeout.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=directory,
            env={**(os.environ if inherited else {}), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise HostError(what, f"the program {argv[0]}", "missing", fix or f"install {argv[0]}") from error
    except OSError as error:
        raise HostError(what, f"`{argv[0]}` to start", str(error.strerror), fix) from error
    with process:
        assert process.stdout is not None
        output = Capture(process.stdout.fileno(), KEPT_BYTES, hashed=False)
        try:
            ended = _follow(process, output, time.monotonic() + timeout_s)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        output.drain()
    text = output.kept.decode("utf-8", "replace")
    done = Done(" ".join(argv), what, fix, process.returncode, text, output.cut)
    if not ended:
        raise done.error(f"`{argv[0]}` to end within {timeout_s:g} s", "timeout")
    return done


def _follow(process: subprocess.Popen[bytes], output: Capture, deadline: float) -> bool:
    """Keep the output of a process until it ends. Return False at the deadline."""
    poll = select.poll()
    poll.register(output.fd, select.POLLIN)
    is_open = True
    while (left := deadline - time.monotonic()) > 0:
        if is_open and poll.poll(min(left * 1000, _REST_MS)):
            is_open = output.drain()
        elif not is_open:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(left)
                return True
        elif process.poll() is not None:
            return True
    return False
