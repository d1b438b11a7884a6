"""Run a command under valgrind, and reduce its references while they arrive."""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import socket
import subprocess
import time
from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np

from regatta.host.errors import HostError
from regatta.models.page_cache.lackey import lackey_arguments
from regatta.models.page_cache.mappings import read_folder, read_mappings
from regatta.models.page_cache.process import Files, ProcessReader
from regatta.models.page_cache.references import Facts, Reducer, References

_CHUNK = 1 << 18
#: valgrind writes each line by itself. A short wait lets them gather, so that the reader does not wake for
#: each.
_GATHER_S = 0.002
_WAIT_S = 0.1
_END_S = 5.0


def valgrind_program() -> str:
    """Return the path of valgrind.

    Raises:
        HostError: it is not installed.
    """
    program = shutil.which("valgrind")
    if program is None:
        raise HostError("valgrind", "the program on PATH", "none", "run `sudo apt-get install valgrind`")
    return program


def record(command: Sequence[str]) -> tuple[References, int]:
    """Run a command with its own input and output, and return the reduced trace and the exit code.

    All programs that it runs are followed. A process that is forked and runs no program is not, and is
    counted.

    Raises:
        HostError: valgrind is missing, or recorded nothing.
    """
    program = valgrind_program()
    collector = _Collector()
    with socket.create_server(("127.0.0.1", 0)) as server, selectors.DefaultSelector() as selector:
        server.setblocking(False)
        selector.register(server, selectors.EVENT_READ)
        argv = [program, *lackey_arguments(server.getsockname()[1], command)]
        process = subprocess.Popen(argv)
        try:
            _collect(server, selector, process, collector)
        finally:
            _end(process)
            for key in list(selector.get_map().values()):
                if key.data is not None:
                    selector.unregister(key.fileobj)
                    key.data.connection.close()
    if not collector.processes:
        raise HostError("valgrind", "a trace of the command", f"exit code {process.returncode} and no trace")
    return collector.references(), process.returncode


class _Collector:
    """What all processes have left so far."""

    def __init__(self) -> None:
        self.problems: Counter[str] = Counter()
        self.processes: list[_Process] = []
        self.files = Files()
        self.pages = array("q")

    def references(self) -> References:
        system = os.uname()
        facts = Facts(
            "valgrind lackey",
            system.nodename,
            system.release,
            sum(one.reader.references for one in self.processes),
            max(one.reducer.exact_from for one in self.processes),
            dict(self.problems),
        )
        return References(np.array(self.pages, np.int64), tuple(self.files.rows), facts)


class _Process:
    """The connection of one process: a program that runs under valgrind."""

    def __init__(self, connection: socket.socket, collector: _Collector) -> None:
        self.connection = connection
        self.reader = ProcessReader(collector.files, collector.problems, read_mappings, read_folder)
        self.reducer = Reducer()
        self._collector = collector

    def receive(self) -> int:
        """Read what has arrived; return the number of bytes, 0 at the end."""
        text = b""
        with contextlib.suppress(ConnectionError):
            text = self.connection.recv(_CHUNK)
        if text:
            kept = self.reducer.add(self.reader.read(text))
        else:
            self.reader.finish()
            kept = self.reducer.finish()
        self._collector.pages.frombytes(kept.tobytes())
        return len(text)


def _collect(
    server: socket.socket,
    selector: selectors.BaseSelector,
    process: subprocess.Popen[bytes],
    collector: _Collector,
) -> None:
    """Read until the command and all that it has started have ended."""
    open_ones = 0
    while True:
        ended = process.poll() is not None
        ready = selector.select(_WAIT_S)
        if ended and not ready and not open_ones:
            return
        most = 0
        for key, _ in ready:
            if key.data is None:
                connection, _ = server.accept()
                one = _Process(connection, collector)
                collector.processes.append(one)
                selector.register(connection, selectors.EVENT_READ, one)
                open_ones += 1
                continue
            got = key.data.receive()
            most = max(most, got)
            if not got:
                selector.unregister(key.fileobj)
                key.data.connection.close()
                open_ones -= 1
        if ready and most < _CHUNK // 4:
            time.sleep(_GATHER_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
