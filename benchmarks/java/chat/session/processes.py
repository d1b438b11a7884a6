"""The processes of a run: none of them outlives it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from results import RESULTS, parse_lines

START_S = 60.0
STOP_S = 10.0
PROBE_S = 60.0
LOOK_S = 0.01
#: of what the server prints; the rest is dropped
_MOST_OUTPUT_BYTES = 1 << 20
_READY = re.compile(r"^ready port=(\d+) control=(\d+) pid=(\d+) release=(\d+)$", re.MULTILINE)


class Failed(Exception):
    """The run has no result. `code`: to exit with. `lines`: to report all the same."""

    def __init__(self, message: str, code: int = 1, lines: Sequence[dict[str, object]] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.lines = list(lines)


class Placement:
    """Which CPUs server and client may use; None: all that the run may."""

    def __init__(self, apart: bool) -> None:
        cpus = sorted(os.sched_getaffinity(0))
        self.server: set[int] | None = None
        self.client: set[int] | None = None
        self.words = f"server and client on the same {len(cpus)} CPUs"
        if apart and len(cpus) > 1:
            half = len(cpus) // 2
            self.server, self.client = set(cpus[:half]), set(cpus[half:])
            self.words = f"server on CPUs {cpus[:half]}, client on CPUs {cpus[half:]}"
        elif apart:
            self.words = "not apart: there is one CPU"


class Family:
    """Everything that a run starts. A context manager: whatever still runs at its end is killed.

    Each child also has a pipe as its input, or watches the server: it ends too when this process is killed at once.
    """

    def __init__(self) -> None:
        self._children: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        command: Sequence[str],
        output: IO[bytes] | int,
        cpus: set[int] | None = None,
        errors: IO[bytes] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a program. It does not know where results go: what it has to report comes through this one.

        Args:
            command: program and arguments.
            output: where its standard output goes.
            cpus: that it may use; None: all.
            errors: where its standard error goes; None: where this program's goes.

        Raises:
            Failed: it cannot be started.
        """
        chosen: Callable[[], None] | None = None
        if cpus is not None:
            wanted = cpus

            def chosen() -> None:
                os.sched_setaffinity(0, wanted)

        try:
            child = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
                preexec_fn=chosen,
                env={name: value for name, value in os.environ.items() if name != RESULTS},
            )
        except OSError as error:
            raise Failed(f"{command[0]}: {error.strerror}") from error
        self._children.append(child)
        return child

    def __enter__(self) -> Family:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for child in self._children:
            if child.poll() is None:
                child.kill()
        for child in self._children:
            child.wait()
            if child.stdin:
                with suppress(OSError):
                    child.stdin.close()


class Server:
    """A server that can be used."""

    def __init__(self, child: subprocess.Popen[bytes], output: Path, ready: re.Match[str]) -> None:
        self._child = child
        self._output = output
        self.port, self.control, self.pid, self.release = (int(text) for text in ready.groups())

    def drive(
        self,
        family: Family,
        command: Sequence[str],
        directory: Path,
        cpus: set[int] | None,
        limit_s: float,
    ) -> bytes:
        """Run the client to its end.

        Returns:
            What it printed.

        Raises:
            Failed: it or the server failed, or it ran for longer than `limit_s`.
        """
        path = directory / "client.out"
        with path.open("wb") as output:
            client = family.start(command, output, cpus)
            until = time.monotonic() + limit_s
            while client.poll() is None:
                if self._child.poll() is not None:
                    raise Failed(
                        f"the server ended, {_ending(self._child)}", abs(self._child.returncode) or 1
                    )
                if time.monotonic() > until:
                    raise Failed(f"the client still ran after {limit_s:g} s")
                time.sleep(LOOK_S)
        printed = path.read_bytes()
        if client.returncode:
            # It says itself what went wrong.
            raise Failed(f"the client ended, {_ending(client)}", 1, parse_lines(printed))
        return printed

    def stop(self) -> None:
        """Let the server end, and print what it printed beside the line that it was ready."""
        if self._child.stdin:
            self._child.stdin.close()
        try:
            self._child.wait(STOP_S)
        except subprocess.TimeoutExpired as expired:
            raise Failed(f"the server still ran {STOP_S:g} s after it was told to end") from expired
        if self._child.returncode:
            raise Failed(f"the server ended, {_ending(self._child)}", abs(self._child.returncode))
        _pass_on(self._output)


def start_server(family: Family, command: Sequence[str], directory: Path, cpus: set[int] | None) -> Server:
    """Start the server and wait until it can be used.

    Raises:
        Failed: it ends, or is not ready in time.
    """
    # A file, because a pipe that nobody reads would stop a JVM that logs.
    path = directory / "server.out"
    with path.open("wb") as output:
        child = family.start(command, output, cpus)
    until = time.monotonic() + START_S
    while True:
        ended = child.poll() is not None
        ready = _READY.search(path.read_bytes()[:_MOST_OUTPUT_BYTES].decode("utf-8", "replace"))
        if ready:
            return Server(child, path, ready)
        if ended:
            _pass_on(path)
            raise Failed(f"the server did not start, {_ending(child)}", abs(child.returncode) or 1)
        if time.monotonic() > until:
            raise Failed(f"the server was not ready after {START_S:g} s")
        time.sleep(LOOK_S)


def probe(command: Sequence[str]) -> int:
    """Whether the JVM can do the mode: 0, 4 with a reason on standard error, or another code where it fails otherwise."""
    try:
        return subprocess.run(
            list(command), stdin=subprocess.DEVNULL, timeout=PROBE_S, check=False
        ).returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"chat: {error}", file=sys.stderr)
        return 1


def _pass_on(path: Path) -> None:
    text = path.read_bytes()[:_MOST_OUTPUT_BYTES].decode("utf-8", "replace")
    sys.stdout.write(_READY.sub("", text).lstrip("\n"))
    sys.stdout.flush()


def _ending(child: subprocess.Popen[bytes]) -> str:
    code = child.returncode
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
