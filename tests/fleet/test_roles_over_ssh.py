"""A server and a client on two hosts that are reached over SSH: both placements, a lost connection, and the same command again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helpers.hosts.host_containers import TestHost
from helpers.role_plans import CLIENT, SERVER
from helpers.waiting import wait_until
from regatta.host.journal.journal import Damage, read_journal
from regatta.store.folder import Folder

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

SUITE = """\
suite: pair
builds:
  scripts: {directory: src, command: ["true"], outputs: {server: server.py, client: client.py}, portable: true}
benchmarks:
  echo:
    adapter: regatta
    roles:
      server:
        command: [python3, "{scripts.server}", "{server.address}"]
        ready: {output: "^ready port=(?P<port>[0-9]+)$"}
      client:
        command: [python3, "{scripts.client}", "{server.address}", "{server.port}", "{rest_s}"]
    sizes: {quick: {parameters: {rest_s: 0}}, slow: {parameters: {rest_s: 1}}}
"""
SPEC = """\
name: %s
roles: {server: x86, client: x86}
placements: %s
suites: pair.yml
benchmarks: [{suite: pair, benchmark: echo, size: %s}]
invocations: {fixed: %d}
iterations: {method: fixed}
perturbation: {steal_percent: null, other_cpu_percent: null, memory_pressure_percent: null, io_pressure_percent: null,
  frequency_drop_percent: null, swapped_pages: null, throttle_events: null}
"""


class Pair:
    """A home with two hosts, and specs."""

    def __init__(self, folder: Path, hosts: list[TestHost]) -> None:
        self.folder = folder
        self.hosts = hosts
        home = folder / "home"
        (home / "configs" / "hosts").mkdir(parents=True)
        for name in ("Snakefile", "workflows", "playbooks", "benchmarks"):
            (home / name).symlink_to(ROOT / name)
        for name in ("profiles", "collectors.yml", "modifiers.yml", "runtimes.yml", "suites", "config.yml"):
            (home / "configs" / name).symlink_to(ROOT / "configs" / name)
        addresses = [host.exec(["hostname", "-I"]).stdout.split()[0] for host in hosts]
        entries = {
            host.name: host.inventory_entry() | {"regatta_address": address}
            for host, address in zip(hosts, addresses, strict=True)
        }
        inventory = {"all": {"children": {"x86": {"hosts": entries}}}}
        (home / "configs" / "hosts" / "fleet.yml").write_text(json.dumps(inventory))
        (folder / "src").mkdir()
        (folder / "src" / "server.py").write_text(SERVER.replace("BEFORE", "pass"))
        (folder / "src" / "client.py").write_text(CLIENT.replace("AFTER", "time.sleep(int(sys.argv[3]))"))
        (folder / "pair.yml").write_text(SUITE)
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "REGATTA_HOME": str(home), "PATH": path}

    def start(self, name: str) -> subprocess.Popen[str]:
        """Start `regatta run`."""
        return subprocess.Popen(
            [str(BIN / "regatta"), "run", f"{name}.yml"], cwd=self.folder, env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def run(self, name: str) -> str:
        """Run an experiment to its end."""
        process = self.start(name)
        text, _ = process.communicate(timeout=900)
        assert process.returncode == 0, text
        return text

    def records(self, name: str) -> list[Any]:
        """All records."""
        items = list(read_journal(self.folder / "results" / name))
        assert not [item for item in items if isinstance(item, Damage) and not item.torn]
        return [item for item in items if not isinstance(item, Damage)]

    def left(self) -> list[str]:
        """Programs of roles on the hosts."""
        found = [host.exec(["pgrep", "-af", "(server|client).py"], check=False).stdout for host in self.hosts]
        return [line for text in found for line in text.splitlines() if "pgrep" not in line]


@pytest.fixture(scope="module")
def pair(x86_hosts: list[TestHost], tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A home for both hosts."""
    return Pair(tmp_path_factory.mktemp("pair"), x86_hosts)


def test_both_placements_are_measured_in_the_same_blocks(pair: Pair) -> None:
    (pair.folder / "echo.yml").write_text(
        SPEC % ("echo", "swap", "quick", 3) + "compare: [parameters.server]\n"
    )
    pair.run("echo")
    records = pair.records("echo")
    assert {record["status"] for record in records} == {"ok"}
    assert {record["host"] for record in records} == {"x86-one+x86-two"}
    placed = Counter((r["roles"]["server"]["host"], r["roles"]["client"]["host"]) for r in records)
    assert placed == {("x86-one", "x86-two"): 3, ("x86-two", "x86-one"): 3}
    blocks = Counter((record["round"], record["block"]) for record in records)
    assert set(blocks.values()) == {2}
    plan = Folder(pair.folder / "results" / "echo").host_header("x86-one+x86-two")
    assert {cell["benchmark"] for cell in plan["cells"]} == {
        "pair/echo:quick server=x86-one",
        "pair/echo:quick server=x86-two",
    }
    for record in records:
        # Both hosts are this machine.
        clock = record["roles"]["server"]["clock"]
        assert abs(clock["offset_ns"]) <= clock["error_ns"]
    wait_until(lambda: not pair.left(), "the end of the programs")


def test_what_was_lost_is_measured_by_the_same_command(pair: Pair) -> None:
    (pair.folder / "lost.yml").write_text(SPEC % ("lost", "fixed", "slow", 6))
    process = pair.start("lost")
    wait_until(lambda: len(pair.records("lost")) >= 2 and len(pair.left()) >= 2, "an invocation", every_s=0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    # The agents hear that the conductor has ended, and end their programs.
    wait_until(lambda: not pair.left(), "the end of the programs", every_s=0.1)
    process = pair.start("lost")
    wait_until(lambda: len(pair.left()) >= 2, "an invocation", every_s=0.1)
    pair.hosts[0].exec(["pkill", "-9", "-f", "role$"])
    text, _ = process.communicate(timeout=900)
    records = pair.records("lost")
    # A failed invocation is the only thing that can make the command fail.
    assert process.returncode in (0, 1), text
    assert sorted(record["round"] for record in records) == list(range(6)), text
    assert sum(record["status"] != "ok" for record in records) <= 1, text
    wait_until(lambda: not pair.left(), "the end of the programs", every_s=0.1)
