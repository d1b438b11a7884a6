"""How the chat server, its client and their driver are run in tests."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from ruamel.yaml import YAML

from helpers.workloads import java_runs
from helpers.workloads.java_runs import Run
from regatta.host.ready.builds import build
from regatta.host.values.experiment import Build

ROOT = java_runs.ROOT
SESSION = ROOT / "benchmarks" / "java" / "chat" / "session"
SUITE = YAML(typ="safe").load((ROOT / "configs" / "suites" / "chat.yml").read_text(encoding="utf-8"))
SERVER = "org.regatta.bench.chat.ChatServer"
CLIENT = "org.regatta.bench.chat.ChatClient"
TIMEOUT_S = 400
#: for an answer of a server that may be stopped for many seconds with its machine
PATIENCE_S = 120
#: release on which each mode is tested: the lowest that has it here
RELEASES = {"platform": 11, "selector": 17, "virtual": 21}


@cache
def built(name: str) -> Path:
    """The output of one of the suite's two builds."""
    spec = SUITE["builds"][name]
    done = build(
        Build(name, spec["directory"], tuple(spec["command"]), spec["outputs"], tuple(spec["needs"])), ROOT
    )
    return next(Path(file.path) for file in done.values())


def session_command(*options: object, java: str, packed: bool = False) -> list[str]:
    """The driver's command, as the suite has it: from its sources or from the packed file."""
    program = built("session") if packed else SESSION
    told = [str(option) for option in options]
    return [sys.executable, str(program), "--jar", str(built("chat")), *told, "--", *java.split(), "-Xmx128m"]


def environment(directory: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "TMPDIR": str(directory), "LC_ALL": "C.UTF-8", **more}


def session(directory: Path, *options: object, java: str, packed: bool = False) -> Run:
    """Run the driver to its end."""
    return finished(session_command(*options, java=java, packed=packed), directory)


def client_command(*options: object, java: str) -> list[str]:
    told = [str(option) for option in options]
    return [*java.split(), "-Xmx128m", "-cp", str(built("chat")), CLIENT, *told]


def client(directory: Path, *options: object, java: str) -> Run:
    """Run the client alone to its end."""
    return finished(client_command(*options, java=java), directory)


def finished(command: list[str], directory: Path) -> Run:
    results = directory / "results.jsonl"
    results.unlink(missing_ok=True)
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment(directory, REGATTA_RESULTS=str(results)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    return Run(done.returncode, done.stdout, done.stderr, [json.loads(line) for line in text.splitlines()])


@dataclass
class Server:
    """A server that runs by itself."""

    process: subprocess.Popen[bytes]
    port: int
    control: int

    def user(self, room: int, number: int) -> User:
        return User(self.port, room, number)


@contextmanager
def server(mode: str, *options: str, java: str, errors: IO[bytes] | None = None) -> Iterator[Server]:
    """A server that ends with the test. `errors`: where its standard error goes; None: where the test's goes."""
    command = [*java.split(), "-Xmx128m", "-cp", str(built("chat")), SERVER, "--mode", mode, *options]
    process = subprocess.Popen(
        [*command, "--until-input-ends"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
    )
    try:
        assert process.stdout is not None
        told = dict(pair.split("=") for pair in process.stdout.readline().decode().split()[1:] if "=" in pair)
        yield Server(process, int(told["port"]), int(told["control"]))
    finally:
        process.kill()
        process.communicate()


def message(room: int, user: int, sequence: int) -> bytes:
    """A message as the protocol has it. The server does not look at the body."""
    frame = struct.pack(">BiiiQ", 3, room, user, sequence, 0) + bytes([sequence % 251]) * 64
    return struct.pack(">i", len(frame)) + frame


class User:
    """A user on a raw socket."""

    def __init__(self, port: int, room: int, number: int) -> None:
        self.room, self.number = room, number
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        joining = struct.pack(">Bii", 1, room, number)
        self.socket.sendall(struct.pack(">i", len(joining)) + joining)
        answer = struct.pack(">Bii", 2, room, number)
        assert self.hear(4 + len(answer)) == struct.pack(">i", len(answer)) + answer

    def say(self, sequence: int) -> bytes:
        """Send a message; returns what everybody in the room must hear."""
        said = message(self.room, self.number, sequence)
        self.socket.sendall(said)
        return said

    def hear(self, size: int) -> bytes:
        """So many bytes, fewer only where the connection ends."""
        heard = bytearray()
        while len(heard) < size:
            part = self.socket.recv(min(65536, size - len(heard)))
            if not part:
                break
            heard += part
        return bytes(heard)

    def is_closed(self, within_s: float = PATIENCE_S) -> bool:
        """Whether the server closes the connection, without saying anything more."""
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            if select.select([self.socket], [], [], 0.2)[0]:
                try:
                    return self.socket.recv(1) == b""
                except ConnectionResetError:
                    return True
        return False

    def reset(self) -> None:
        """Die: the connection ends at once, without a word."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
