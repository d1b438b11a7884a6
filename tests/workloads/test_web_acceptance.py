"""The number of server processes, and how they accept connections: what the kernel says about them."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.workloads.lm_runs import Run
from helpers.workloads.web_runs import values, web

SERVERS = 5
EPOLLEXCLUSIVE = 1 << 28
#: numbers of system calls in which a process waits
CALLS: dict[str, dict[str, tuple[int, ...]]] = {
    "x86_64": {
        "accept": (43, 288),
        "poll": (7, 232, 281, 441),
        "flock": (73,),
        "fcntl": (72,),
        "semop": (65, 220),
        "futex": (202,),
    },
    "aarch64": {
        "accept": (202, 242),
        "poll": (22, 73, 441),
        "flock": (32,),
        "fcntl": (25,),
        "semop": (192, 193),
        "futex": (98,),
    },
}
MUTEXES = {
    "flock": "flock",
    "fcntl": "fcntl",
    "sysvsem": "semop",
    "posixsem": "futex",
    "pthread": "futex",
}
#: says of each process of the idle server where it waits, on which sockets, and whether it maps a POSIX semaphore;
#: the driver would replace a pid in braces
OBSERVER = """
import json, os, pathlib, re, signal, sys, time
ready, kept = map(pathlib.Path, sys.argv[1:3])
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
proc = pathlib.Path("/proc")
main, pids = int(sys.argv[3]), [int(word) for word in sys.argv[4].split(",")]
rows = [line.split() for line in (proc / "net/tcp").read_text().splitlines()[1:]]
listening = {row[9]: int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}
def socket_of(process, descriptor):
    try:
        found = re.fullmatch(r"socket:\\[(\\d+)\\]", os.readlink(process / "fd" / descriptor))
    except FileNotFoundError:
        return None
    return found[1] if found and found[1] in listening else None
def of(process):
    try:
        call = (process / "syscall").read_text().split()[0]
        names = [entry.name for entry in (process / "fd").iterdir()]
    except PermissionError:
        return None
    sockets = {inode for name in names if (inode := socket_of(process, name))}
    waits = {}
    for name in names:
        text = (process / "fdinfo" / name).read_text()
        for descriptor, events in re.findall(r"tfd:\\s+(\\d+) events:\\s+([0-9a-f]+)", text):
            if inode := socket_of(process, descriptor):
                waits[inode] = int(events, 16)
    maps = (process / "maps").read_text()
    return {"call": call, "sockets": sorted(sockets), "waits": waits, "semaphore": "/dev/shm/" in maps}
def look():
    return {pid: of(proc / str(pid)) for pid in pids if pid != main}
seen, before, until = look(), None, time.monotonic() + 60
while (seen != before or any(each and each["call"] == "running" for each in seen.values())) and time.monotonic() < until:
    time.sleep(0.1)
    before, seen = seen, look()
kept.write_text(json.dumps({"processes": list(seen.values()), "listening": listening}))
ready.touch()
signal.sigwait([signal.SIGINT])
"""


@dataclass(frozen=True)
class Observed:
    #: of the processes that accept
    processes: list[dict[str, Any]]
    #: socket -> port, of these processes
    listening: dict[str, int]
    outcome: Run

    def calls(self) -> list[str]:
        """Names of the calls in which they wait."""
        names = {
            str(number): name for name, numbers in CALLS[platform.machine()].items() for number in numbers
        }
        return sorted(names.get(process["call"], process["call"]) for process in self.processes)

    def exclusive(self) -> list[bool]:
        """Of each listening socket for which a process waits with epoll."""
        return [bool(events & EPOLLEXCLUSIVE) for each in self.processes for events in each["waits"].values()]


def observed(sources: Path, directory: Path, *options: str) -> Observed:
    kept = directory.parent / f"{directory.name}.kept"
    command = ["--", sys.executable, "-c", OBSERVER, "{ready}", str(kept), "{pid}", "{pids}"]
    fixed = (f"--servers={SERVERS}", "--connections=8", "--persistent-percent=0", "--requests=100")
    outcome = web(sources, directory, *fixed, *options, *command)
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["connections"] == 100
    found = json.loads(kept.read_text())
    if None in found["processes"]:
        pytest.skip("NOT TESTED: this user may not look at the server's processes")
    if platform.machine() not in CALLS:
        pytest.skip(f"NOT TESTED: the numbers of system calls of {platform.machine()} are not listed")
    own = {inode for process in found["processes"] for inode in process["sockets"]}
    listening = {inode: port for inode, port in found["listening"].items() if inode in own}
    return Observed(found["processes"], listening, outcome)


def test_every_process_of_apache_waits_in_accept(web_sources: Path, tmp_path: Path) -> None:
    found = observed(web_sources, tmp_path / "work")
    assert found.calls() == ["accept"] * SERVERS
    assert len(found.listening) == 1
    assert found.outcome.info["acceptance"] == "parallel"


@pytest.mark.parametrize("kind", MUTEXES)
def test_one_process_of_apache_polls_and_the_others_wait_for_the_mutex(
    web_sources: Path, tmp_path: Path, kind: str
) -> None:
    found = observed(web_sources, tmp_path / "work", f"--acceptance={kind}")
    assert found.calls() == sorted(["poll", *[MUTEXES[kind]] * (SERVERS - 1)])
    assert len(set(found.listening.values())) == 2
    assert {process["semaphore"] for process in found.processes} == {kind == "posixsem"}
    assert found.outcome.info["acceptance"] == kind


def test_apache_has_a_socket_per_bucket(web_sources: Path, tmp_path: Path) -> None:
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    if not 2 <= cpus <= SERVERS:
        pytest.skip(f"NOT TESTED: {cpus} CPUs, which is not from 2 to {SERVERS}")
    found = observed(web_sources, tmp_path / "work", "--acceptance=buckets")
    assert found.calls() == ["accept"] * SERVERS
    assert len(found.listening) == cpus
    assert len(set(found.listening.values())) == 1


def test_workers_of_nginx_wait_exclusively_for_one_socket(web_sources: Path, tmp_path: Path) -> None:
    found = observed(web_sources, tmp_path / "work", "--server=nginx")
    assert len(found.listening) == 1
    assert found.exclusive() == [True] * SERVERS


def test_one_worker_of_nginx_at_a_time_waits_for_connections(web_sources: Path, tmp_path: Path) -> None:
    found = observed(web_sources, tmp_path / "work", "--server=nginx", "--acceptance=accept_mutex")
    assert len(found.listening) == 1
    assert found.exclusive() == [False]


def test_each_worker_of_nginx_has_its_own_socket(web_sources: Path, tmp_path: Path) -> None:
    found = observed(web_sources, tmp_path / "work", "--server=nginx", "--acceptance=reuseport")
    assert len(found.listening) == SERVERS
    assert len(set(found.listening.values())) == 1
    waited = [inode for process in found.processes for inode in process["waits"]]
    assert sorted(waited) == sorted(found.listening)


@pytest.mark.parametrize("server", ["apache", "nginx"])
@pytest.mark.parametrize("percent", [0, 70])
@pytest.mark.parametrize("servers", [1, 3])
def test_fewer_servers_than_connections_serve_them_all(
    web_sources: Path, tmp_path: Path, server: str, percent: int, servers: int
) -> None:
    options = (f"--server={server}", f"--servers={servers}", f"--persistent-percent={percent}")
    pids = tmp_path / "pids"
    command = ("--", "sh", "-c", f"echo {{pids}} > {pids}; : > {{ready}}; exec sleep 600")
    outcome = web(web_sources, tmp_path / "work", *options, "--connections=40", "--requests=400", *command)
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["requests"] == 400
    assert outcome.info["servers"] == servers
    assert len(pids.read_text().split(",")) == 1 + servers
    assert values(outcome)["connections_per_request"] == pytest.approx({0: 1, 70: 0.37}[percent], abs=0.01)


def test_the_server_may_have_all_cpus_and_share_them(web_sources: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    script = f"grep -h Cpus_allowed_list /proc/{{pid}}/status /proc/$PPID/status > {kept}; : > {{ready}}"
    command = ("--", "sh", "-c", f"{script}; exec sleep 600")
    outcome = web(web_sources, tmp_path / "work", "--server-cpus=all", "--requests=50", *command)
    assert outcome.exit_code == 0, outcome.stderr
    allowed = [
        line for line in Path("/proc/self/status").read_text().splitlines() if "Cpus_allowed_list" in line
    ]
    assert kept.read_text().splitlines() == allowed * 2
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    info = outcome.info
    assert (info["server_cpus"], info["driver_cpus"], info["shared_cpu"]) == (cpus, cpus, True)
    assert "server_cpu" not in info
