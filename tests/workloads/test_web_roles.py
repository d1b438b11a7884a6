"""A web server and its load as two processes, as on two hosts, with the commands of the suite."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import threading
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.waiting import wait_until
from helpers.workloads import roles, web_runs
from helpers.workloads.lm_runs import PATIENCE_S, Run, run
from helpers.workloads.roles import Server
from helpers.workloads.web_runs import all_below, is_there, web

SUITE = web_runs.SUITE
WITH_ROLES = [name for name, benchmark in SUITE["benchmarks"].items() if "roles" in benchmark]
#: pages of every kind for one user, and a pause
SESSIONS = "regatta-sessions 1\nobjects 2\n1024\n300\nsessions 1\n-1 4\n0 0 8\n0 1 1\n1000 0 2\n1000 1 3\n"
#: a port for which no program can listen without being root, and nothing does
NO_SERVER = "127.0.0.1:1"


def command_of(name: str, role: str, sources: Path, place: Path, **values: object) -> list[str]:
    sessions = place / "sessions"
    sessions.write_text(SESSIONS)
    known = {f"program.{program}": f"/usr/sbin/{program}" for program in ("apache2", "nginx")}
    return roles.command_of(SUITE, name, role, sources, {**known, "file.sessions": sessions, **values})


def serving(name: str, sources: Path, place: Path, *more: str) -> AbstractContextManager[Server]:
    command = [*command_of(name, "server", sources, place), *more]
    return roles.serving(SUITE, name, command, place / "server")


def load_of(name: str, sources: Path, place: Path, server: Server) -> list[str]:
    return command_of(name, "client", sources, place, **{"server.port": server.port, "warmup_ms": 0})


def metrics_of(outcome: Run) -> set[str]:
    return {line["metric"] for line in outcome.lines if "metric" in line}


def ended(server: Server, number: int) -> tuple[int, str]:
    """The exit code and the messages of a server that gets a signal."""
    server.process.send_signal(number)
    _, told = server.process.communicate(timeout=PATIENCE_S)
    return server.process.returncode, told


@pytest.mark.parametrize("name", WITH_ROLES)
def test_a_load_reports_what_it_reports_on_one_host(web_sources: Path, tmp_path: Path, name: str) -> None:
    with serving(name, web_sources, tmp_path) as server:
        apart = run([*load_of(name, web_sources, tmp_path, server)], tmp_path / "apart")
        assert (apart.exit_code, apart.stderr) == (0, "")
        assert ended(server, signal.SIGTERM) == (0, "")
    together = run([*command_of(name, "", web_sources, tmp_path, warmup_ms=0)], tmp_path / "together")
    assert together.exit_code == 0, together.stderr
    assert metrics_of(apart) == metrics_of(together)
    same = ("server", "server_version", "dynamic", "servers", "acceptance", "server_cpu", "server_user")
    assert {key: apart.info[key] for key in same} == {key: together.info[key] for key in same}
    measured = web_runs.values(apart)
    assert measured["cpu_time"] == pytest.approx(measured["kernel_time"] + measured["user_time"], rel=1e-6)
    assert 0 < measured["server_share"] < os.cpu_count()
    assert measured["resident_kib"] > 0


def test_the_server_logs_the_requests_that_its_clients_report(web_sources: Path, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with serving("nginx-static", web_sources, tmp_path, f"--log-copy={log}") as server:
        at = f"--load=localhost:{server.port}"
        told = []
        for requests in (300, 200):
            outcome = web(web_sources, tmp_path / str(requests), at, f"--requests={requests}", "--json")
            assert (outcome.exit_code, outcome.stderr) == (0, "")
            told.append(json.loads(outcome.stdout))
        assert ended(server, signal.SIGINT) == (0, "")
    assert [(one["requests"], one["connections"]) for one in told] == [(300, 111), (200, 74)]
    lines = log.read_text().splitlines()
    assert len([line for line in lines if "GET /file_set/" in line]) == 2 * web_runs.PRIMED["none"] + 500
    assert list(server.directory.iterdir()) == []


def test_counters_are_read_at_the_borders_of_the_window(web_sources: Path, tmp_path: Path) -> None:
    fifos = [tmp_path / "counters.ask", tmp_path / "counters.answer"]
    asked: list[str] = []
    for fifo in fifos:
        os.mkfifo(fifo)

    def answer() -> None:
        with fifos[0].open() as ask, fifos[1].open("wb", buffering=0) as reply:
            for line in ask:
                asked.append(line)
                reply.write(b".")

    reader = threading.Thread(target=answer, daemon=True)
    reader.start()
    environment = {"REGATTA_COUNTERS": str(tmp_path / "counters")}
    with serving("nginx-static", web_sources, tmp_path) as server:
        load = ("--requests=200", "--json")
        outcome = web(web_sources, tmp_path / "work", f"--load=127.0.0.1:{server.port}", *load, **environment)
    assert outcome.exit_code == 0, outcome.stderr
    reader.join(PATIENCE_S)
    assert asked == ["begin 0\n", "end 0\n"]
    (elapsed,) = (line for line in outcome.lines if line.get("metric") == "elapsed_per_request")
    assert elapsed["operations"] == 200
    # On one host, the counters would be those of the driver, too.
    outcome = web(web_sources, tmp_path / "together", "--server=nginx", "--requests=200", **environment)
    assert outcome.exit_code == 0, outcome.stderr
    assert not any("operations" in line for line in outcome.lines)


def loading(sources: Path, place: Path, server: Server) -> subprocess.Popen[str]:
    """A load that takes long, once it is under way."""
    place.mkdir()
    at = f"--load=127.0.0.1:{server.port}"
    driver = subprocess.Popen(
        [sources / "build/web", at, "--window-ms=600000", "--warmup-ms=0"],
        cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    (folder,) = server.directory.glob("web.*")
    log = folder / "logs/access.log"
    wait_until(lambda: log.stat().st_size > 20000, "requests in the log", PATIENCE_S)
    return driver


@pytest.mark.parametrize("victim", ["program", "keeper", "driver of the server"])
def test_a_server_that_ends_fails_both_parts(web_sources: Path, tmp_path: Path, victim: str) -> None:
    with web_runs.reachable_directory() as place:
        place.chmod(0o777)
        with serving("nginx-static", web_sources, place) as server:
            below = all_below(server.process.pid)
            keeper, program = below[0], below[1]
            driver = loading(web_sources, place / "driver", server)
            chosen = {"program": program, "keeper": keeper, "driver of the server": server.process.pid}[
                victim
            ]
            os.kill(chosen, signal.SIGKILL)
            _, told = server.process.communicate(timeout=PATIENCE_S)
            _, told_of_load = driver.communicate(timeout=PATIENCE_S)
        assert server.process.returncode == (-signal.SIGKILL if chosen == server.process.pid else 1), told
        assert driver.returncode == 1
        assert told_of_load.startswith("web: ")
        wait_until(lambda: not any(map(is_there, below)), "the end of all processes", PATIENCE_S)
        wait_until(lambda: not list(server.directory.iterdir()), "the end of its folder", PATIENCE_S)


def test_a_load_that_ends_early_leaves_the_server_to_the_next(web_sources: Path, tmp_path: Path) -> None:
    with (
        web_runs.reachable_directory() as place,
        serving("nginx-static", web_sources, place) as server,
    ):
        driver = loading(web_sources, place / "driver", server)
        driver.kill()
        driver.communicate()
        for line in (b"something else\n", b"\0" * 5000, b""):
            with socket.create_connection(("127.0.0.1", int(server.port))) as connection:
                assert connection.recv(4096).startswith(b"web 1\t")
                connection.sendall(line)
        outcome = run([*load_of("nginx-static", web_sources, tmp_path, server)], tmp_path / "next")
        assert (outcome.exit_code, outcome.stderr) == (0, "")


def test_sides_that_do_not_fit_are_refused(web_sources: Path, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "sessions").write_text(SESSIONS)
    sessions = (f"--sessions={tmp_path / 'sessions'}", "--rate=100")
    cases = {
        "no sessions of the server": ("apache-static", sessions),
        "no sessions of the load": ("nginx-requests", ()),
        "no processor of the server alone": ("nginx-requests", (sessions[0], "--loop=saturate", "--users=8")),
    }
    for number, (case, (name, load)) in enumerate(cases.items()):
        (tmp_path / str(number)).mkdir()
        with serving(name, web_sources, tmp_path / str(number), "--server-cpus=all") as server:
            outcome = web(web_sources, tmp_path / case, f"--load=127.0.0.1:{server.port}", *load)
        assert (outcome.exit_code, outcome.stdout) == (1, "")
        told = outcome.stderr.replace(server.port, "PORT").replace(str(tmp_path), "PLACE")
        golden(f"sides/{case}", told)


def test_a_port_of_something_else_is_an_error(web_sources: Path, tmp_path: Path) -> None:
    refused = web(web_sources, tmp_path / "none", f"--load={NO_SERVER}")
    expected = f"--load {NO_SERVER}: expected a server of web --serve, got {os.strerror(111)}"
    assert (refused.exit_code, refused.stderr) == (1, f"web: {expected}\n")
    assert refused.lines[-1] == {"error": expected}
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            with other.accept()[0] as connection:
                connection.sendall(b"SSH-2.0\n")

        thread = threading.Thread(target=greet)
        thread.start()
        outcome = web(web_sources, tmp_path / "other", f"--load=127.0.0.1:{other.getsockname()[1]}")
        thread.join()
    assert outcome.exit_code == 1
    assert "of this version" in outcome.stderr


def test_an_address_of_another_machine_cannot_be_served(web_sources: Path, tmp_path: Path) -> None:
    # RFC 5737: for documentation.
    command = [web_sources / "build/web", "--serve=203.0.113.9", "--server=nginx"]
    outcome = run(command, tmp_path / "work")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert os.strerror(99) in outcome.stderr
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--serve=127.0.0.1", "--load=127.0.0.1:80"],
        ["--serve=127.0.0.1", "--window-ms=100"],
        ["--serve=127.0.0.1", "--server=varnish", "--cache-bytes=2000000", "--sessions=s"],
        ["--serve=127.0.0.1", "--sessions=s", "--dynamic=cgi"],
        ["--load=127.0.0.1:80", "--server=nginx"],
        ["--load=127.0.0.1:80", "--spin-us=10"],
        ["--load=127.0.0.1:80", "--requests=10", "--", "true"],
    ],
)
def test_options_of_the_other_part_are_refused(
    web_sources: Path, tmp_path: Path, arguments: list[str], golden: Golden
) -> None:
    outcome = run([web_sources / "build/web", *arguments], tmp_path / "work")
    assert (outcome.exit_code, outcome.stdout, outcome.lines) == (2, "", [])
    golden(shlex.join(arguments), outcome.stderr)


@pytest.mark.parametrize(
    "address", ["--serve=300.0.0.1", "--serve=", "--load=127.0.0.1", "--load=127.0.0.1:0", "--load=10.1:80"]
)
def test_an_address_that_is_none_is_refused(
    web_sources: Path, tmp_path: Path, address: str, golden: Golden
) -> None:
    outcome = run([web_sources / "build/web", address], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(address, outcome.stderr)
