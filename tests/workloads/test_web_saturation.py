"""The highest throughput of a web server, and the costs of its primitives."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from helpers.workloads.lm_runs import PATIENCE_S
from helpers.workloads.web_runs import SUITE, reachable_directory, values, web
from helpers.workloads.web_sessions import (
    GET,
    NEW_VIEW,
    Session,
    logged,
    path_of,
    shop_sessions,
    write_sessions,
)

SERVERS = {"apache": ("--dynamic=none", "--servers=12"), "nginx": ("--servers=1",)}
USERS = 8
REFUSED = "saturation: expected a server that is busy for at least 95 % of the window, got "


@pytest.mark.parametrize("server", SERVERS)
def test_users_who_saturate_a_server_never_pause_and_close_idle_connections(
    web_sources: Path, tmp_path: Path, server: str
) -> None:
    """An hour between two views is none here. Whether the server was busy depends on the machine."""
    views = [(0, 0, NEW_VIEW), (4_999_000, 1, NEW_VIEW), (3_600_000_000, 2, NEW_VIEW), (0, 3, GET)]
    file = write_sessions(tmp_path / "sessions", [100, 200, 300, 400], [Session(-1, views)])
    log = tmp_path / "log"
    words = (
        f"--server={server}",
        *SERVERS[server],
        f"--sessions={file}",
        "--loop=saturate",
        f"--users={USERS}",
    )
    outcome = web(web_sources, tmp_path / "work", *words, "--window-ms=700", f"--log-copy={log}", "--json")
    visits = defaultdict(list)
    for line in logged(log):
        visits[line.visit].append(line.path)
    # Processes of Apache write the lines of different connections in any order. The ends of the run cut the sessions of users.
    whole = [path_of(number) for number in range(4)]
    assert all(len(set(paths)) == len(paths) for paths in visits.values())
    assert sum(sorted(paths) == whole for paths in visits.values()) >= max(1, len(visits) - 2 * USERS)
    if outcome.exit_code != 0:
        assert REFUSED in outcome.stderr
        return
    told = json.loads(outcome.stdout)
    assert abs(told["connections"] - told["requests"] / 2) <= 2 * USERS
    assert values(outcome)["server_share"] >= 0.95


def test_the_throughput_of_a_server_that_waits_is_refused(web_sources: Path, tmp_path: Path) -> None:
    """Its clients receive slowly, so that it is idle on any machine."""
    file = write_sessions(tmp_path / "sessions", [5000], [Session(-1, [(0, 0, NEW_VIEW)])])
    words = (f"--sessions={file}", "--loop=saturate", "--users=2", "--client-kbit=400", "--window-ms=1000")
    outcome = web(web_sources, tmp_path / "work", "--server=nginx", *SERVERS["nginx"], *words)
    assert outcome.exit_code == 1
    assert REFUSED in outcome.stderr
    assert [line for line in outcome.lines if REFUSED in line.get("error", "")]
    assert not [line for line in outcome.lines if "metric" in line]


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("name", [name for name, one in SUITE["benchmarks"].items() if "commands" in one])
def test_the_suite_asks_for_what_the_programs_have(
    web_sources: Path, tmp_path: Path, name: str, server: str
) -> None:
    """Each command as it stands there, with few users."""
    benchmark = SUITE["benchmarks"][name]
    words = {key: str(value) for key, value in benchmark["sizes"]["quick"]["parameters"].items()}
    words |= {
        f"web.{key}": str(web_sources / path) for key, path in SUITE["builds"]["web"]["outputs"].items()
    }
    words |= {
        "file.sessions": str(shop_sessions(tmp_path)),
        "users": "4",
        "window_ms": "1000",
    }
    words["runtime"] = {"apache": "/usr/sbin/apache2", "nginx": "/usr/sbin/nginx"}[server]
    command = [
        re.sub(r"\{([^}]+)\}", lambda found: words[found[1]], word) for word in benchmark["commands"][server]
    ]
    exit_code, lines, stderr = results_of(command)
    refused = [line for line in lines if REFUSED in line.get("error", "")]
    assert exit_code == len(refused), stderr
    assert refused or any(line.get("metric") == benchmark["metric"] for line in lines)


def results_of(command: list[str]) -> tuple[int, list[dict[str, Any]], str]:
    """Run a program in a folder that a server without rights can read; return its exit code, results and messages."""
    with reachable_directory() as place:
        results = place / "results.jsonl"
        environment = {**os.environ, "REGATTA_RESULTS": str(results)}
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, timeout=PATIENCE_S, env=environment
        )
        lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
        assert {path.name for path in place.iterdir()} <= {"results.jsonl"}
    return done.returncode, lines, done.stderr


def costs(sources: Path, sizes: str, *driver: str) -> tuple[int, list[dict[str, Any]], str]:
    program = [sys.executable, "-I", str(sources / "costs.py"), "--bytes", sizes]
    return results_of([*program, "--", str(sources / "build/web"), *driver])


@pytest.mark.parametrize("server", SERVERS)
def test_each_primitive_of_a_server_has_a_cost(web_sources: Path, server: str) -> None:
    words = (f"--server={server}", *SERVERS[server], "--users=4", "--warmup-ms=0", "--window-ms=1000")
    exit_code, lines, stderr = costs(web_sources, "1000,30000", *words)
    assert exit_code == 0, stderr
    found = [line for line in lines if line.get("metric") == "cpu_time"]
    assert [line["parameters"] for line in found] == [
        {"operation": "get", "bytes": 1000},
        {"operation": "get", "bytes": 30000},
        {"operation": "head"},
        {"operation": "unmodified"},
        {"operation": "missing"},
        {"operation": "connect", "connections": 0.001},
        {"operation": "connect", "connections": 0.25},
        {"operation": "connect", "connections": 1.0},
    ]
    assert all(line["value"] > 0 and line["unit"] == "ns" for line in found)
    shares = [line["value"] for line in lines if line.get("metric") == "user_share"]
    assert len(shares) == len(found)
    assert all(0 <= share <= 1 for share in shares)
    (info,) = [line["info"] for line in lines if "info" in line]
    assert info["server"] == server


def test_a_driver_that_fails_gives_no_costs(web_sources: Path) -> None:
    exit_code, lines, stderr = costs(
        web_sources, "1,2", "--server=nginx", "--nginx=/nonexistent/nginx", "--users=1"
    )
    assert exit_code == 1
    assert [set(line) for line in lines] == [{"error"}]
    assert "{'operation': 'get', 'bytes': 1}" in stderr


@pytest.mark.parametrize("sizes", ["1", "2,1", "1,1", "0,1", "1,16777217", "1,x", ""])
def test_wrong_sizes_are_refused(web_sources: Path, sizes: str) -> None:
    exit_code, lines, stderr = costs(web_sources, sizes, "--server=nginx")
    assert exit_code == 2
    assert "argument --bytes" in stderr
    assert not lines
