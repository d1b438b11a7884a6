"""Benchmarks of communication between two hosts: a server and a client as processes, with the commands of the suite."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.waiting import wait_until
from helpers.workloads import roles
from helpers.workloads.lm_runs import PATIENCE_S, SUITE, Run, assert_conforms, run
from helpers.workloads.roles import Server
from helpers.workloads.web_runs import children_of

SERIES: dict[str, list[dict[str, object]]] = {
    "lat_tcp": [{}],
    "bw_tcp": [{"message_bytes": 65536}],
    "lat_udp": [{}],
    "lat_connect": [{"until": "connected"}, {"until": "accepted"}],
    "lat_http": [{"size_bytes": 4096}],
    "lat_rpc": [{"protocol": "udp"}, {"protocol": "tcp"}],
}
#: the server has a process for each connection
WITH_SESSIONS = ("lat_tcp", "lat_udp", "bw_tcp")
#: a port for which no program can listen without being root, and nothing does
NO_SERVER = "127.0.0.1:1"


def role_command(name: str, role: str, sources: Path, port: str = "", **overrides: object) -> list[str]:
    return roles.command_of(SUITE, name, role, sources, {"server.port": port, **overrides})


def serving(name: str, sources: Path, directory: Path, **overrides: object) -> AbstractContextManager[Server]:
    command = role_command(name, "server", sources, **overrides)
    return roles.serving(SUITE, name, command, directory, "built without libtirpc")


def sessions_of(server: Server) -> list[int]:
    """The processes that serve a connection each."""
    return [session for helper in children_of(server.process.pid) for session in children_of(helper)]


def client(name: str, sources: Path, server: Server, place: Path, **overrides: object) -> Run:
    return run([*role_command(name, "client", sources, server.port, **overrides)], place)


@pytest.mark.parametrize("name", SERIES)
def test_a_client_reports_the_series_of_one_host(lm_sources: Path, tmp_path: Path, name: str) -> None:
    with serving(name, lm_sources, tmp_path / "server") as server:
        outcome = client(name, lm_sources, server, tmp_path / "work", repetitions=2)
        metric, unit = ("bandwidth", "MB/s") if name.startswith("bw_") else ("latency", "ns")
        assert_conforms(outcome, 2, metric, unit)
        assert [dict(series) for series in outcome.series] == [
            given | {"parallel": 1} for given in SERIES[name]
        ]
        wait_until(lambda: not sessions_of(server), "the sessions to end with their client", PATIENCE_S)
        # A server has no end of its own: it serves the next client.
        again = client(name, lm_sources, server, tmp_path / "again", repetitions=1)
        assert (again.exit_code, again.stderr) == (0, "")
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", SERIES)
def test_a_server_ends_when_it_is_told_to_and_leaves_nothing(
    lm_sources: Path, tmp_path: Path, name: str, stop: signal.Signals
) -> None:
    with serving(name, lm_sources, tmp_path / "server") as server:
        with socket.create_connection(("127.0.0.1", int(server.port))):
            if name in WITH_SESSIONS:
                wait_until(lambda: sessions_of(server), "a session", PATIENCE_S)
            helpers = [*children_of(server.process.pid), *sessions_of(server)]
            assert helpers
            server.process.send_signal(stop)
            stdout, stderr = server.process.communicate(timeout=PATIENCE_S)
        assert (server.process.returncode, stdout, stderr) == (0, "", "")
        assert list(server.directory.iterdir()) == []
        assert not any(Path(f"/proc/{helper}").exists() for helper in helpers)


@pytest.mark.parametrize("name", ["lat_tcp", "lat_udp", "bw_tcp", "lat_http"])
def test_a_server_that_ends_during_a_measurement_fails_its_client(
    lm_sources: Path, tmp_path: Path, name: str
) -> None:
    with serving(name, lm_sources, tmp_path / "server") as server:
        command = [*role_command(name, "client", lm_sources, server.port), "--interval-us=60000000"]
        started = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            wait_until(lambda: children_of(started.pid), "the measured process", PATIENCE_S)
            time.sleep(0.1)
            server.process.send_signal(signal.SIGTERM)
            stdout, stderr = started.communicate(timeout=PATIENCE_S)
        finally:
            started.kill()
            started.wait()
    assert (started.returncode, stdout) == (1, "")
    assert stderr.startswith(f"{name}: ")


def test_a_server_whose_serving_process_dies_fails(lm_sources: Path, tmp_path: Path) -> None:
    with serving("lat_connect", lm_sources, tmp_path / "server") as server:
        (helper,) = children_of(server.process.pid)
        os.kill(helper, signal.SIGKILL)
        _, stderr = server.process.communicate(timeout=PATIENCE_S)
        assert server.process.returncode == 1
        assert stderr.startswith("lat_connect: --serve 127.0.0.1: ")


@pytest.mark.parametrize("name", SERIES)
def test_a_refused_connection_is_an_error_with_its_cause(lm_sources: Path, tmp_path: Path, name: str) -> None:
    outcome = run([lm_sources / "build" / name, "--server", NO_SERVER], tmp_path / "work")
    message = f"--server {NO_SERVER}: {os.strerror(111)}"
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (1, "", f"{name}: {message}\n")
    assert outcome.lines[-1] == {"error": message}


@pytest.mark.parametrize(
    ("name", "of_server", "of_client", "option"),
    [
        ("bw_tcp", {"message_kib": 32}, {"message_kib": 64}, "--message-kib"),
        ("lat_http", {"bytes": 100}, {"bytes": 200}, "--bytes"),
    ],
)
def test_sides_with_unequal_sizes_are_refused(
    lm_sources: Path,
    tmp_path: Path,
    name: str,
    of_server: dict[str, object],
    of_client: dict[str, object],
    option: str,
) -> None:
    with serving(name, lm_sources, tmp_path / "server", **of_server) as server:
        outcome = client(name, lm_sources, server, tmp_path / "work", repetitions=1, **of_client)
        assert (outcome.exit_code, outcome.stdout) == (1, "")
        assert outcome.stderr.startswith(f"{name}: {option}: ")


def test_the_web_server_gives_other_hosts_its_own_file_alone(lm_sources: Path, tmp_path: Path) -> None:
    with serving("lat_http", lm_sources, tmp_path / "server") as server:
        (server.directory / "other").write_text("secret")

        def status(path: str) -> str:
            with socket.create_connection(("127.0.0.1", int(server.port))) as connection:
                connection.sendall(f"GET /{path} HTTP/1.0\r\n\r\n".encode())
                return connection.makefile("rb").readline().decode().split()[1]

        assert status(f"lat_http.{server.port}") == "200"
        assert status("other") == "404"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lat_tcp", ["--serve", "127.0.0.1", "--server", "127.0.0.1:80"]),
        ("lat_tcp", ["--serve", "300.0.0.1"]),
        ("lat_tcp", ["--serve", ""]),
        ("lat_tcp", ["--server", "127.0.0.1"]),
        ("lat_tcp", ["--server", "127.0.0.1:0"]),
        ("lat_tcp", ["--server", "127.0.0.1:65536"]),
        ("lat_tcp", ["--server", "10.1:80"]),
        ("lat_udp", ["--serve", "127.0.0.1", "--parallel", "2"]),
        ("lat_http", ["--server", "127.0.0.1:80", "--placement", "compact"]),
        ("lat_udp", ["--serve", "127.0.0.1", "--repetitions", "3"]),
        ("bw_tcp", ["--serve", "127.0.0.1", "--total-kib", "1"]),
        ("lat_connect", ["--serve", "127.0.0.1", "--until", "accepted"]),
        ("lat_rpc", ["--serve", "127.0.0.1", "--protocol", "udp"]),
        ("bw_pipe", ["--serve", "127.0.0.1"]),
    ],
)
def test_a_wrong_option_is_refused_with_a_message(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str], golden: Golden
) -> None:
    outcome = run([lm_sources / "build" / name, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join([name, *arguments]), outcome.stderr)
    assert (outcome.stdout, outcome.lines) == ("", [])


def test_an_address_of_another_machine_cannot_be_served(lm_sources: Path, tmp_path: Path) -> None:
    # RFC 5737: for documentation.
    outcome = run([lm_sources / "build/lat_tcp", "--serve", "203.0.113.9"], tmp_path / "work")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("lat_tcp: --serve 203.0.113.9: ")
