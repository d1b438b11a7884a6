"""Start the processes of a run, and end them with it."""

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
#: limit of server output; the rest is dropped
_MOST_OUTPUT_BYTES = 1 << 20
_READY = re.compile(r"^ready port=(\d+) control=(\d+) release=(\d+)$", re.MULTILINE)


class Failed(Exception):
    """The run has no result. `code`: exit code. `lines`: lines to report nevertheless."""

    def __init__(self, message: str, code: int = 1, lines: Sequence[dict[str, object]] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.lines = list(lines)


class Placement:
    """The allowed CPUs of server and client; None: all CPUs of the run."""

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
            self.words = "not pinned: only one CPU"


class Family:
    """The child processes of a run. A context manager that kills remaining children at its end.

    Each child also has a pipe as its input, or watches the server, so that it ends if this process is killed.
    """

    def __init__(self) -> None:
        self._children: list[subprocess.Popen[bytes]] = []

    def start(
        self, command: Sequence[str], output: IO[bytes], cpus: set[int] | None
    ) -> subprocess.Popen[bytes]:
        """Start a program. It does not know the results file: this process reports for it.

        Args:
            command: program and arguments.
            output: destination of its standard output.
            cpus: allowed CPUs; None: all.

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
    """A server that is ready."""

    def __init__(self, child: subprocess.Popen[bytes], output: Path, ready: re.Match[str]) -> None:
        self._child = child
        self._output = output
        self.port, self.control, self.release = (int(text) for text in ready.groups())

    def drive(
        self,
        family: Family,
        command: Sequence[str],
        directory: Path,
        cpus: set[int] | None,
        limit_s: float,
    ) -> bytes:
        """Run the client until it ends.

        Returns:
            Its output.

        Raises:
            Failed: client or server failed, or the client ran longer than `limit_s`.
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
                    raise Failed(f"the client did not end within {limit_s:g} s")
                time.sleep(LOOK_S)
        printed = path.read_bytes()
        if client.returncode:
            # It prints the reason itself.
            raise Failed(f"the client ended, {_ending(client)}", 1, parse_lines(printed))
        return printed

    def stop(self) -> None:
        """End the server, and print its output without the ready line."""
        if self._child.stdin:
            self._child.stdin.close()
        try:
            self._child.wait(STOP_S)
        except subprocess.TimeoutExpired as expired:
            raise Failed(f"the server did not end within {STOP_S:g} s after SIGTERM") from expired
        if self._child.returncode:
            raise Failed(f"the server ended, {_ending(self._child)}", abs(self._child.returncode))
        _pass_on(self._output)


def start_server(family: Family, command: Sequence[str], directory: Path, cpus: set[int] | None) -> Server:
    """Start the server and wait until it is ready.

    Raises:
        Failed: it ends, or is not ready in time.
    """
    # A file, because a full pipe would block a JVM that logs.
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
    """Return 0 if the JVM supports the mode, 4 with a reason on standard error if not, or another code on failure."""
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
