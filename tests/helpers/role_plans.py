"""Plans by hand for cells with roles, with two hosts that are really this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.marked_processes import processes_with
from helpers.runner_plans import HOST, NO_LIMITS, Runner, cell, write_plan
from helpers.waiting import PATIENCE_S
from regatta.host.values.experiment import Cores

#: names in the order of their locks
HOSTS = ("alpha", "beta")

#: A server on a port of the system's choice: it says which, and answers every line until SIGTERM. `before` runs at each line.
SERVER = """
import os, signal, socket, sys
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
with socket.create_server((sys.argv[1], 0)) as listening:
    print("started")
    print("ready port=%d" % listening.getsockname()[1], flush=True)
    while True:
        connection, _ = listening.accept()
        with connection, connection.makefile("rw") as lines:
            for line in lines:
                BEFORE
                lines.write(line.upper())
                lines.flush()
"""

CLIENT = """
import json, os, socket, sys, time
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection, connection.makefile("rw") as lines:
    begin = time.monotonic_ns()
    lines.write("hello\\n")
    lines.flush()
    answer = lines.readline()
    took = time.monotonic_ns() - begin
    print(answer, connection.getsockname()[0], connection.getpeername()[0])
assert answer == "HELLO\\n", answer
AFTER
with open(os.environ["REGATTA_RESULTS"], "w") as results:
    results.write(json.dumps({"iteration": 0, "metric": "elapsed", "value": took, "unit": "ns"}) + "\\n")
"""


def python_role(name: str, host: str, code: str, *words: str, **ready: str) -> dict[str, Any]:
    """A role of a planned cell whose program is a Python script."""
    role = {
        "name": name, "host": host, "argv": [sys.executable, "-I", "-S", "-c", code, *words],
        "environment": {"PATH": "/usr/bin:/bin"}, "files": [],
    }  # fmt: skip
    return {**role, "ready": ready} if ready else role


def server(host: str = "alpha", before: str = "pass") -> dict[str, Any]:
    """The role of the server."""
    code = SERVER.replace("BEFORE", before)
    return python_role("server", host, code, "{server.address}", output="^ready port=(?P<port>[0-9]+)$")


def client(host: str = "beta", after: str = "pass") -> dict[str, Any]:
    """The role of the client."""
    return python_role("client", host, CLIENT.replace("AFTER", after), "{server.address}", "{server.port}")


def with_roles(name: str, *roles: Mapping[str, Any], **other: Any) -> dict[str, Any]:
    """A cell of these roles."""
    own = {"adapter": {"name": "regatta", "options": {}}, "roles": list(roles), **other}
    return cell(name, roles[-1]["argv"], **own)


class Conductor:
    """A runner whose cells have roles on hosts that are this machine: each has its own lock, and a folder for its files."""

    def __init__(self, runner: Runner, hosts: Sequence[str] = HOSTS) -> None:
        self.runner = runner
        self.hosts = hosts
        self.ways = runner.folder.path / "ways.json"
        self.scratch = (runner.folder.path / "hosts").resolve()
        self.write_ways()

    def way(self, host: str) -> dict[str, Any]:
        """How to reach a host."""
        agent = [sys.executable, "-I", str(self.runner.folder.runner), "role"]
        return {
            "argv": ["/usr/bin/env", f"REGATTA_HOST_LOCK={self.runner.folder.path}/{host}.lock", *agent],
            "scratch": f"{self.scratch}/{host}",
            "address": "127.0.0.1",
        }

    def write_ways(self, **changed: Mapping[str, Any]) -> None:
        """Write how to reach the hosts."""
        self.ways.write_text(
            json.dumps({host: {**self.way(host), **changed.get(host, {})} for host in self.hosts})
        )

    def plan(self, *cells: Mapping[str, Any], rounds: int = 1, **header: Any) -> None:
        """Plan cells with roles."""
        environment = {"set": {"PATH": "/usr/bin:/bin"}, "padding_bytes": 0}
        cores = {**vars(Cores()), "cpus": []}
        members = [
            {"host": host, "host_fingerprint": {}, "cores": cores, "environment": environment}
            for host in self.hosts
        ]
        write_plan(
            self.runner.folder, cells, rounds, limits={**NO_LIMITS, "retries": 1}, members=members, **header
        )

    def options(self) -> list[str]:
        """Options of the runner."""
        return ["--ways", str(self.ways)]

    def measure(self, *cells: Mapping[str, Any], rounds: int = 1, **header: Any) -> list[Any]:
        """Plan the cells, run the only segment, and give its records. It must end well."""
        self.plan(*cells, rounds=rounds, **header)
        done = self.runner.run(0, *self.options(), patience_s=PATIENCE_S)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return list(self.runner.records())

    def left(self) -> list[int]:
        """Living programs of roles."""
        return processes_with(f"REGATTA_RESULTS={self.scratch}")

    def agents(self) -> list[int]:
        """Living agents."""
        found = []
        runner = str(self.runner.folder.runner).encode()
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdecimal() else []
            except OSError:
                continue
            if runner in words and b"role" in words:
                found.append(int(entry.name))
        return found


__all__ = ["HOST", "Conductor", "client", "python_role", "server", "with_roles"]
