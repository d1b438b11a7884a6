"""Running a web server under load, and what the server itself has noted of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from helpers.waiting import wait_until
from helpers.workloads.lm_runs import PATIENCE_S, Run, run

ROOT = Path(__file__).resolve().parents[3]
SUITE = YAML(typ="safe").load(ROOT / "configs/suites/web.yml")
BUILD = SUITE["builds"]["web"]
_PATH = f"{os.environ['PATH']}:/usr/sbin"
MISSING = [name for name in ("gcc", "make", "apache2", "nginx") if shutil.which(name, path=_PATH) is None]
BRIEF = ("--warmup-ms=0",)

#: what the driver asks for before it measures: every file once, by the dynamic program too, and the processes of FastCGI
PRIMED = {"none": 36, "cgi": 2 * 36, "fastcgi": 2 * 36 + 6}
#: watches as a tracer does: says so once the server has written about those, which Apache does when it likes, and when it
#: is told to end keeps what the server wrote about the counted requests
WATCHER = """
import json, os, pathlib, signal, sys, time
ready, kept, pid, requests = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
before = int(sys.argv[6])
over = []
signal.signal(signal.SIGINT, lambda *_: over.append(1))
log = ready.parent / "logs/access.log"
def written():
    return [line for line in log.read_text().splitlines() if "GET /nonce " not in line]
while len(written()) < before:
    time.sleep(0.02)
status = pathlib.Path(f"/proc/{pid}/status").read_text()
ready.touch()
while not over:
    time.sleep(0.02)
until = time.monotonic() + 120
while len(lines := written()[before:]) < requests and time.monotonic() < until:
    time.sleep(0.02)
kept.write_text(json.dumps({"lines": lines, "status": status, "pids": sys.argv[5]}))
"""


@dataclass(frozen=True)
class Asked:
    """A line of the server's log."""

    path: str
    query: str
    version: str
    status: int
    bytes: int


@dataclass(frozen=True)
class Watched:
    told: dict[str, Any]
    asked: list[Asked]
    #: of the server's main process
    status: dict[str, str]
    pids: list[int]
    outcome: Run


_LINE = re.compile(r'"GET ([^ ?]+)\??(\S*) (HTTP/1\.[01])" (\d+) (\d+)')


def web(sources: Path, directory: Path, *arguments: str, **environment: str) -> Run:
    """A run of the driver; its folder is where it puts it."""
    return run([sources / "build/web", *BRIEF, *arguments], directory, may_refuse=True, **environment)


def driver_of(
    sources: Path, place: Path, file: Path, *options: str, made: str = "logs/access.log"
) -> tuple[subprocess.Popen[str], Path]:
    """A driver under way with sessions of a file, and the folder that it has made, once a file is in it."""
    driver = subprocess.Popen(
        [sources / "build/web", "--server=nginx", f"--sessions={file}", f"--folder={place}", "--warmup-ms=0", "--json",
         *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PATH": os.environ["PATH"], "REGATTA_RESULTS": str(place.parent / f"{place.name}.results")},
    )  # fmt: skip
    wait_until(lambda: any(place.glob(f"web.*/{made}")), "a file of the server", PATIENCE_S)
    (folder,) = place.glob("web.*")
    return driver, folder


def watched(sources: Path, directory: Path, *arguments: str, requests: int, **environment: str) -> Watched:
    """A run with a command that keeps the server's log of the counted requests."""
    kept = directory.parent / f"{directory.name}.kept"
    dynamic = next((word.partition("=")[2] for word in arguments if word.startswith("--dynamic=")), "none")
    words = ["{ready}", str(kept), "{pid}", "{requests}", "{pids}", str(PRIMED[dynamic])]
    command = ["--", sys.executable, "-c", WATCHER, *words]
    outcome = web(sources, directory, *arguments, f"--requests={requests}", *command, **environment)
    assert outcome.exit_code == 0, outcome.stderr
    found = json.loads(kept.read_text())
    status = dict(line.split(":\t", 1) for line in found["status"].splitlines() if ":\t" in line)
    asked = [Asked(m[1], m[2], m[3], int(m[4]), int(m[5])) for m in map(_LINE.search, found["lines"]) if m]
    pids = [int(word) for word in found["pids"].split(",")]
    return Watched(json.loads(outcome.stdout), asked, status, pids, outcome)


def values(outcome: Run) -> dict[str, float]:
    """Metric -> value, latencies by their percentile."""
    found = {}
    for line in outcome.lines:
        if "metric" in line:
            percentile = line.get("parameters", {}).get("percentile", "")
            found[f"{line['metric']}{percentile}"] = line["value"]
    return found


def processes_of(folder: Path) -> list[int]:
    """Processes that were started with the folder's path, or that have it as their working directory or root."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                if str(folder).encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def children_of(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:  # a program that answers a request has ended meanwhile, and has none
        return []


def all_below(pid: int) -> list[int]:
    return [below for child in children_of(pid) for below in (child, *all_below(child))]


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def assert_nothing_is_left(below: list[int], place: Path, folder: Path) -> None:
    wait_until(lambda: not any(map(is_there, below)), "the end of all processes", PATIENCE_S)
    wait_until(lambda: not list(place.iterdir()), "the folder to be removed", PATIENCE_S)
    wait_until(lambda: not processes_of(folder), "the end of programs that answered a request", PATIENCE_S)


@contextlib.contextmanager
def reachable_directory() -> Iterator[Path]:
    """A directory that nobody can go through, as pytest's own are not."""
    made = Path(tempfile.mkdtemp(prefix="regatta-web-"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made)


def build(copy: Path, *goals: str) -> Path:
    """A copy of the sources in which the suite's own build command has run."""
    shutil.copytree(ROOT / BUILD["directory"], copy, ignore=shutil.ignore_patterns("build"))
    subprocess.run([*BUILD["command"], "-j2", *goals], cwd=copy, check=True)
    return copy
