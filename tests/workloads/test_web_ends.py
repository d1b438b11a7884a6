"""A web server is stopped, whatever becomes of the driver, and what is wrong is said."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.waiting import wait_until
from helpers.workloads import web_runs
from helpers.workloads.lm_runs import PATIENCE_S
from helpers.workloads.web_runs import (
    all_below,
    assert_nothing_is_left,
    children_of,
    reachable_directory,
    web,
)

CAPABILITIES = ["setpriv", "--bounding-set=-all,+setuid,+setgid", "--inh-caps=-all"]


@pytest.fixture
def place() -> Iterator[Path]:
    with reachable_directory() as made:
        yield made


def started(sources: Path, place: Path, *arguments: str) -> tuple[subprocess.Popen[str], Path]:
    """A driver that loads its server for long, and the folder that it has made."""
    driver = subprocess.Popen(
        [sources / "build/web", f"--folder={place}", "--window-ms=600000", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    wait_until(lambda: any(place.glob("web.*/logs/access.log")), "the server's log", PATIENCE_S)
    (folder,) = place.glob("web.*")
    log = folder / "logs/access.log"
    wait_until(lambda: log.stat().st_size > 20000, "requests in it", PATIENCE_S)
    return driver, folder


@pytest.mark.parametrize(
    ("dynamic", "number"),
    [("none", signal.SIGKILL), ("cgi", signal.SIGTERM), ("fastcgi", signal.SIGKILL), ("fastcgi", signal.SIGINT)],
)  # fmt: skip
def test_the_server_ends_with_its_driver(
    web_sources: Path, place: Path, dynamic: str, number: signal.Signals
) -> None:
    driver, folder = started(web_sources, place, f"--dynamic={dynamic}")
    below = all_below(driver.pid)
    assert len(below) > 5
    driver.send_signal(number)
    assert driver.wait(PATIENCE_S) == -number
    driver.communicate()
    assert_nothing_is_left(below, place, folder)


def test_the_server_ends_with_its_keeper_and_the_driver_says_so(web_sources: Path, place: Path) -> None:
    driver, folder = started(web_sources, place, "--server=nginx")
    (keeper,) = children_of(driver.pid)
    below = all_below(driver.pid)
    os.kill(keeper, signal.SIGKILL)
    _, told = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 1
    assert "web: " in told
    assert_nothing_is_left(below, place, folder)


def test_a_server_that_dies_fails_the_measurement(web_sources: Path, place: Path) -> None:
    driver, folder = started(web_sources, place)
    below = all_below(driver.pid)
    (keeper,) = children_of(driver.pid)
    (server,) = children_of(keeper)
    for pid in [server, *all_below(server)]:
        with contextlib.suppress(ProcessLookupError):  # the driver has seen the first one's end, and ended it
            os.kill(pid, signal.SIGKILL)
    _, told = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 1
    assert "expected" in told
    assert_nothing_is_left(below, place, folder)


def semaphores_of(pids: list[int]) -> set[int]:
    """Those that one of these processes was the last to use."""
    get_pid = 11
    libc = ctypes.CDLL(None)
    rows = [line.split() for line in Path("/proc/sysvipc/sem").read_text().splitlines()[1:]]
    return {int(row[1]) for row in rows if libc.semctl(int(row[1]), 0, get_pid) in pids}


def existing_semaphores() -> set[int]:
    return {int(line.split()[1]) for line in Path("/proc/sysvipc/sem").read_text().splitlines()[1:]}


@pytest.mark.parametrize("killed", ["driver", "keeper", "server"])
def test_no_semaphore_outlives_the_server(web_sources: Path, place: Path, killed: str) -> None:
    driver, folder = started(web_sources, place, "--acceptance=sysvsem", "--servers=5")
    below = all_below(driver.pid)
    (keeper,) = children_of(driver.pid)
    (server,) = children_of(keeper)
    found: set[int] = set()
    wait_until(lambda: bool(found.update(semaphores_of(below)) or found), "its semaphore", PATIENCE_S)
    victims = {"driver": [driver.pid], "keeper": [keeper], "server": [server, *all_below(server)]}
    for pid in victims[killed]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    driver.communicate(timeout=PATIENCE_S)
    assert_nothing_is_left(below, place, folder)
    assert len(found) == 1
    assert not found & existing_semaphores()


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="NOT TESTED: only root gives up capabilities"
)
def test_two_capabilities_are_enough(web_sources: Path, place: Path) -> None:
    """As in a container: root there may neither send signals to nobody's processes nor change owners."""
    driver = [*CAPABILITIES, web_sources / "build/web", "--requests=50", "--warmup-ms=0", f"--folder={place}"]
    for options in (["--dynamic=fastcgi"], ["--server=nginx"], ["--acceptance=sysvsem"]):
        done = subprocess.run([*driver, *options], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert list(place.iterdir()) == []
    without = [word.replace(",+setuid,+setgid", "") for word in CAPABILITIES]
    refused = subprocess.run([*without, *driver[3:]], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "user nobody" in refused.stderr
    assert os.strerror(errno.EPERM) in refused.stderr
    assert "SETUID" in refused.stderr
    assert list(place.iterdir()) == []


# ---- what is wrong is said ----


def test_a_port_that_is_taken_is_said(web_sources: Path, place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = web(web_sources, place / "work", f"--port={port}", f"--folder={place}")
    assert outcome.exit_code == 1
    assert "Address already in use" in outcome.stderr
    assert not list(place.glob("web.*"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--apache-modules=/nonexistent",), "Cannot load /nonexistent/mod_"),
        (("--apache=/nonexistent/apache2",), "the program of apache"),
        (("--server=nginx", "--nginx=/bin/false"), "ended with exit code 1"),
        (("--dynamic=cgi", "--cgi-program=/nonexistent"), "/nonexistent: expected a program"),
        (("--dynamic=fastcgi", "--fastcgi-program=/bin/false"), "FastCGI: expected 6 responding processes"),
        (("--folder=/nonexistent",), "--folder: expected a folder"),
    ],
)
def test_a_server_that_cannot_be_started_is_said(
    web_sources: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    outcome = web(web_sources, tmp_path / "work", *options, "--requests=10")
    assert outcome.exit_code == 1
    assert message in outcome.stderr
    assert any(message in line.get("error", "") for line in outcome.lines)


@pytest.mark.parametrize(
    "options",
    [
        ("--server=lighttpd",),
        ("--server=nginx", "--dynamic=cgi"),
        ("--dynamic-percent=101",),
        ("--connections=0",),
        ("--connections",),
        ("--", "true"),
        ("--apache=apache2",),
        ("--unknown=1",),
        ("--servers=257",),
        ("--server-cpus=first",),
        ("--acceptance=unknown",),
        ("--acceptance=reuseport",),
        ("--server=nginx", "--acceptance=flock"),
        ("--server=nginx", "--acceptance=accept_mutex"),
    ],
)
def test_wrong_usage_is_refused(
    web_sources: Path, tmp_path: Path, options: tuple[str, ...], golden: Golden
) -> None:
    outcome = web(web_sources, tmp_path / "work", *options)
    assert outcome.exit_code == 2
    golden(shlex.join(["web", *options]), outcome.stderr)


# ---- the command that watches ----


def test_a_watching_command_that_ends_or_never_watches_fails_the_run(web_sources: Path, place: Path) -> None:
    options = ("--server=nginx", "--requests=10", f"--folder={place}")
    ended = web(web_sources, place / "a", *options, "--", "sh", "-c", "exit 3", "{ready}")
    assert ended.exit_code == 1
    assert re.search(r"sh: .* exit code 3\b", ended.stderr)
    silent = web(
        web_sources,
        place / "b",
        *options,
        "--trace-wait-ms=300",
        "--",
        sys.executable,
        "-c",
        "import time; time.sleep(3600)",
        "{ready}",
    )
    assert silent.exit_code == 1
    assert "within 300 ms" in silent.stderr
    assert not list(place.glob("web.*"))


# ---- addresses, leaks, undefined behaviour ----


def test_the_driver_and_its_programs_are_clean_under_sanitizers(sanitized_web: Path, tmp_path: Path) -> None:
    for number, options in enumerate(
        (["--dynamic=cgi"], ["--dynamic=fastcgi"], ["--server=nginx"], ["--acceptance=sysvsem"])
    ):
        outcome = web_runs.run(
            [sanitized_web / "web", "--requests=150", "--warmup-ms=50", *options], tmp_path / str(number)
        )
        assert outcome.exit_code == 0, outcome.stderr
        assert outcome.stderr == ""


def test_clang_compiles_it_too(tmp_path: Path) -> None:
    if shutil.which("clang") is None:
        pytest.skip("NOT TESTED: clang is not installed")
    web_runs.build(tmp_path / "sources", "CC=clang", "CFLAGS=-O0")


def test_what_libfcgi_is_missing_for_is_said(tmp_path: Path) -> None:
    source = web_runs.ROOT / web_runs.BUILD["directory"]
    shutil.copytree(source, tmp_path / "web", ignore=shutil.ignore_patterns("build"))
    refused = subprocess.run(
        ["make", "-s", "CFLAGS=-nostdinc"], cwd=tmp_path / "web", capture_output=True, text=True, check=False
    )
    assert refused.returncode != 0
    assert "expected libfcgi" in refused.stderr
