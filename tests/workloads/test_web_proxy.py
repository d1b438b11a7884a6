"""Caching proxies in front of the driver's origin: what they ask for, what they answer, and how often their cache has it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import socket
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.waiting import wait_until
from helpers.workloads import web_runs
from helpers.workloads.lm_runs import PATIENCE_S, Run, run
from helpers.workloads.web_runs import (
    all_below,
    assert_nothing_is_left,
    driver_of,
    reachable_directory,
    values,
    web,
)
from helpers.workloads.web_sessions import (
    CONDITIONAL,
    GET,
    HEAD,
    MISSING,
    NEW_VIEW,
    Session,
    path_of,
    sessions_text,
)
from regatta.host.units import UNITS
from regatta.stats.two_samples import clustered_distance

MIB = 1 << 20
VARNISH = shutil.which("varnishd", path=web_runs._PATH) is not None
PROXIES = (
    "nginx",
    pytest.param(
        "varnish", marks=pytest.mark.skipif(not VARNISH, reason="NOT TESTED: varnishd is not on PATH")
    ),
)
#: nginx checks the size of its cache at its start, and then every ten seconds
TRIM_S = 10.0
BLOCK = 4096


@pytest.fixture
def place() -> Iterator[Path]:
    with reachable_directory() as made:
        yield made


def write(
    path: Path,
    sizes: Sequence[int],
    sessions: Sequence[Session],
    private: Sequence[int] = (),
    latencies_us: Sequence[int] = (),
) -> Path:
    text = sessions_text(sizes, sessions)
    for name, numbers in (("private", private), ("latencies", latencies_us)):
        if numbers:
            text += f"{name} {len(numbers)}\n" + "\n".join(map(str, numbers)) + "\n"
    path.write_text(text)
    return path


def proxied(
    sources: Path, directory: Path, server: str, file: Path, *options: str, **environment: str
) -> Run:
    words = (f"--server={server}", f"--sessions={file}", "--json")
    outcome = web(sources, directory, *words, *options, **environment)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


@dataclass(frozen=True)
class Seen:
    """A line of nginx's log: when a request ended, its path, what the cache did, and how long the origin took."""

    at_s: float
    path: str
    cache: str
    took_s: float | None


_LINE = re.compile(r'"(?:GET|HEAD) (\S+) HTTP/1\.[01]" .* (\d+\.\d{3}) ([A-Z-]+) (\d+\.\d{3}|-)$')


def seen(log: Path) -> list[Seen]:
    found = []
    for line in log.read_text().splitlines():
        matched = _LINE.search(line)
        assert matched, line
        path, at_s, cache, took = matched.groups()
        found.append(Seen(float(at_s), path, cache, None if took == "-" else float(took)))
    return found


def one_by_one(objects: Sequence[int], gap_us: int) -> list[Session]:
    """Sessions of one request each, at equal times."""
    return [Session(at * gap_us, [(0, number, NEW_VIEW)]) for at, number in enumerate(objects)]


def zipf(objects: int, count: int) -> list[int]:
    weights = np.arange(1, objects + 1) ** -0.8
    return [int(one) for one in np.random.default_rng(11).choice(objects, count, p=weights / weights.sum())]


# ---- what is asked and answered ----


@pytest.mark.parametrize("server", PROXIES)
def test_the_origin_is_asked_once_for_what_may_be_cached(
    web_sources: Path, tmp_path: Path, server: str
) -> None:
    """Every kind of request, each before and after the object is cached; each answer is verified by the driver."""
    kinds = [GET, HEAD, CONDITIONAL, MISSING]
    asked = [(first, kind) for first in range(4) for kind in [kinds[first], *kinds]]
    asked += [(4, GET), (4, HEAD), (4, GET), (5, MISSING), (5, MISSING)]
    sessions = [
        # Far apart: nginx asks again for an object whose answer it still waits for.
        Session(150_000 * at, [(0, number, NEW_VIEW + kind)])
        for at, (number, kind) in enumerate(asked)
    ]
    sizes = [100, 5000, 100_000, 70_000, 9000, 1]
    file = write(tmp_path / "sessions", sizes, sessions, private=[4], latencies_us=[0, 2000])
    options = ("--loop=replay", f"--cache-bytes={16 * MIB}")
    outcome = proxied(web_sources, tmp_path / "work", server, file, *options)
    cached = {number for number, kind in asked if kind != MISSING and number != 4}
    passed = [number for number, kind in asked if kind == MISSING or number == 4]
    told = json.loads(outcome.stdout)
    assert told["planned"] == told["requests"] == len(asked)
    assert told["unanswered"] == told["connection_errors"] == 0
    assert told["origin_requests"] == len(cached) + len(passed)
    assert values(outcome)["hit_ratio"] == pytest.approx(1 - told["origin_requests"] / len(asked))
    assert values(outcome)["origin_bytes_per_request"] == pytest.approx(told["origin_bytes"] / len(asked))
    assert outcome.info["cache_bytes"] == 16 * MIB
    assert outcome.info["latencies"] == 2
    assert outcome.info["server"] == server


@pytest.mark.parametrize("server", PROXIES)
def test_numbers_of_a_proxy_fit_together(web_sources: Path, tmp_path: Path, server: str) -> None:
    file = write(
        tmp_path / "sessions", [3000] * 50, one_by_one(zipf(50, 300), 1000), latencies_us=[3000, 5000]
    )
    options = ("--rate=400", "--window-ms=1500", "--warmup-ms=300", f"--cache-bytes={MIB}")
    outcome = proxied(web_sources, tmp_path / "work", server, file, *options)
    assert {line["unit"] in UNITS for line in outcome.lines if "metric" in line} == {True}
    found = values(outcome)
    told = json.loads(outcome.stdout)
    assert 0 <= told["origin_requests"] <= outcome.info["origin_requests"]
    assert found["hit_ratio"] == pytest.approx(1 - told["origin_requests"] / told["planned"])
    # All threads count: no proxy answers a request within a few microseconds of processor time.
    assert found["cpu_time"] > 5_000
    assert ("cached_bytes" in found) == (server == "nginx")
    assert found.get("cached_bytes", BLOCK) >= BLOCK


def test_the_warm_up_fills_the_cache_and_is_not_counted(web_sources: Path, tmp_path: Path) -> None:
    requests = [Session(0, [(0, number, NEW_VIEW)]) for number in range(20)]
    requests += [Session(600_000, [(0, number, NEW_VIEW)]) for number in range(25)]
    file = write(tmp_path / "sessions", [1000] * 25, requests)
    options = ("--loop=replay", "--warmup-ms=500", f"--cache-bytes={MIB}")
    told = json.loads(proxied(web_sources, tmp_path / "work", "nginx", file, *options).stdout)
    assert told["planned"] == 25
    assert told["origin_requests"] == 5
    assert told["origin_bytes"] == 5000


# ---- the cache ----


def hits(
    requests: Sequence[tuple[float, int]], sizes: Sequence[int], capacity: float, period_s: float = 0.0, by_use: bool = True
) -> int:  # fmt: skip
    """Count the hits of a cache that is emptied to its capacity after each miss, or at times a period apart.

    It drops what was used (or fetched) first.
    """
    cache: OrderedDict[int, None] = OrderedDict()
    used, count, next_s = 0, 0, period_s
    for at_s, number in requests:
        if period_s and at_s >= next_s:
            next_s += period_s
            while used >= capacity:
                used -= sizes[cache.popitem(last=False)[0]]
        if number in cache:
            count += 1
            if by_use:
                cache.move_to_end(number)
            continue
        cache[number] = None
        used += sizes[number]
        while not period_s and used > capacity:
            used -= sizes[cache.popitem(last=False)[0]]
    return count


@pytest.mark.skipif(not VARNISH, reason="NOT TESTED: varnishd is not on PATH")
def test_varnish_hits_as_often_as_a_cache_of_its_size(web_sources: Path, tmp_path: Path) -> None:
    """One user asks for one object after the other, as fast as Varnish answers.

    Varnish moves an object to the front only if the last move was two seconds ago, and stores more than the body.
    """
    sizes = [int(size) for size in np.random.default_rng(3).integers(10_000, 40_000, 200)]
    asked = zipf(200, 20_000)
    file = write(tmp_path / "sessions", sizes, [Session(-1, [(0, number, GET) for number in asked])])
    ratios = []
    for capacity in (MIB, 2 * MIB, 16 * MIB):
        options = ("--loop=closed", "--users=1", "--window-ms=2000", f"--cache-bytes={capacity}")
        outcome = proxied(web_sources, tmp_path / str(capacity), "varnish", file, *options)
        planned = json.loads(outcome.stdout)["planned"]
        timed = [(0.0, asked[at % len(asked)]) for at in range(planned)]
        bounds = [
            hits(timed, sizes, room, by_use=by_use) / planned
            for room in (0.85 * capacity, capacity)
            for by_use in (True, False)
        ]
        ratios.append(values(outcome)["hit_ratio"])
        assert min(bounds) - 0.02 < ratios[-1] < max(bounds) + 0.02, capacity
    assert ratios[0] < ratios[1] < ratios[2] == pytest.approx(bounds[-1], abs=1e-6)


def test_nginx_hits_as_often_as_a_cache_that_is_emptied_every_ten_seconds(
    web_sources: Path, tmp_path: Path
) -> None:
    random = np.random.default_rng(3)
    sizes = [int(size) for size in random.integers(10_000, 40_000, 400)]
    asked = zipf(400, 1600)
    file = write(tmp_path / "sessions", sizes, one_by_one(asked, 15_000))
    log = tmp_path / "log"
    options = ("--loop=replay", f"--cache-bytes={MIB}", f"--log-copy={log}")
    outcome = proxied(web_sources, tmp_path / "work", "nginx", file, *options)
    lines = seen(log)
    # The server has just started when it first answers.
    start_s = lines[0].at_s
    numbers = {path_of(number): number for number in range(400)}
    timed = [(line.at_s - start_s, numbers[line.path]) for line in lines if line.path in numbers]
    assert len(timed) == len(asked)
    # nginx counts the blocks of files, which have a head of some hundred bytes.
    blocks = [-(-(size + 600) // BLOCK) * BLOCK for size in sizes]
    ratio = values(outcome)["hit_ratio"]
    counted = sum(line.cache == "HIT" for line in lines if line.path in numbers)
    assert ratio == pytest.approx(counted / len(asked))
    assert ratio == pytest.approx(hits(timed, blocks, MIB, TRIM_S) / len(asked), abs=0.03)
    assert hits(timed, blocks, MIB) / len(asked) < ratio < 1 - len(set(asked)) / len(asked)
    assert values(outcome)["cached_bytes"] > MIB


# ---- the origin ----

MASK = (1 << 64) - 1


def splitmix(state: int) -> tuple[int, int]:
    """The state and the number that follow; written from the description of the algorithm (Steele and others, 2014)."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z ^ (z >> 31)


def drawn_us(seed: int, number: int, before: int, latencies: Sequence[int]) -> int:
    _, first = splitmix(seed)
    _, second = splitmix((first + number) & MASK)
    _, third = splitmix((second + before) & MASK)
    return latencies[third % len(latencies)]


def test_each_miss_takes_the_latency_that_was_drawn(web_sources: Path, tmp_path: Path) -> None:
    """The log of nginx has milliseconds. How much longer an answer takes is the machine's."""
    random = np.random.default_rng(4)
    latencies = sorted(int(us) for us in 1e6 * random.lognormal(-3, 0.7, 500))
    objects = 1200
    sessions = one_by_one([*range(objects), *range(200)], 1500)
    file = write(tmp_path / "sessions", [50] * objects, sessions, private=range(200), latencies_us=latencies)
    log = tmp_path / "log"
    options = ("--loop=replay", f"--cache-bytes={64 * MIB}", f"--log-copy={log}")
    outcome = proxied(web_sources, tmp_path / "work", "nginx", file, *options, REGATTA_SEED="77")
    numbers = {path_of(number): number for number in range(objects)}
    found: dict[int, list[float]] = {}
    for line in seen(log):
        if line.path in numbers:
            assert line.cache == "MISS"
            assert line.took_s is not None
            found.setdefault(numbers[line.path], []).append(line.took_s)
    drawn = {
        number: [drawn_us(77, number, before, latencies) / 1e6 for before in range(len(took))]
        for number, took in found.items()
    }
    for number, took in found.items():
        for measured_s, drawn_s in zip(sorted(took), sorted(drawn[number]), strict=True):
            assert measured_s > drawn_s - 0.002
    values_s = np.array([one for number in sorted(drawn) for one in drawn[number]])
    assert len(values_s) == 1400
    distance = clustered_distance(
        (values_s, np.arange(len(values_s))),
        (np.array(latencies) / 1e6, np.arange(len(latencies))),
        np.random.default_rng(1),
    )
    assert not distance.shown
    assert values(outcome)["origin_latency50"] >= 1e9 * np.median(values_s) * 0.999
    assert values(outcome)["origin_delay50"] >= 0


def test_thousands_of_answers_wait_at_the_same_time(web_sources: Path, tmp_path: Path) -> None:
    """One after the other, they would take more than an hour."""
    count = 3000
    sessions = [Session(0, [(0, 6 * at + more, GET) for more in range(6)]) for at in range(count // 6)]
    file = write(tmp_path / "sessions", [20] * count, sessions, latencies_us=[1_500_000])
    options = ("--loop=replay", f"--cache-bytes={64 * MIB}")
    outcome = proxied(web_sources, tmp_path / "work", "nginx", file, *options)
    told = json.loads(outcome.stdout)
    assert told["requests"] == told["origin_requests"] == count
    assert told["unanswered"] == 0
    assert values(outcome)["latency50"] >= 1.5e9


def origin_port(folder: Path) -> int:
    matched = re.search(r"upstream origin \{ server 127\.0\.0\.1:(\d+)", (folder / "nginx.conf").read_text())
    assert matched
    return int(matched[1])


HOST = "Host: x\r\n"
REFUSED = {
    "another method": f"POST /f/0/0 HTTP/1.1\r\n{HOST}\r\n",
    "a path out of the site": f"GET /f/0/../../etc/passwd HTTP/1.1\r\n{HOST}\r\n",
    "an object that is not there": f"GET /f/0/60 HTTP/1.1\r\n{HOST}\r\n",
    "a large number": f"GET /f/0/99999999999999999999 HTTP/1.1\r\n{HOST}\r\n",
    "another folder": f"GET /f/1/0 HTTP/1.1\r\n{HOST}\r\n",
    "a query": f"GET /f/0/0?a HTTP/1.1\r\n{HOST}\r\n",
    "a long path": f"GET /{'a' * 3000} HTTP/1.1\r\n{HOST}\r\n",
    "a long head": f"GET /f/0/0 HTTP/1.1\r\n{HOST}A: {'a' * 5000}\r\n\r\n",
    "no host": "GET /f/0/0 HTTP/1.1\r\n\r\n",
    "another protocol": f"GET /f/0/0 HTTP/2.0\r\n{HOST}\r\n",
    "a body": f"GET /f/0/0 HTTP/1.1\r\n{HOST}Content-Length: 3\r\n\r\nabc",
    "chunks": f"GET /f/0/0 HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n",
    "two requests at once": f"GET /f/0/0 HTTP/1.1\r\n{HOST}\r\n" * 2,
    "a line without a name": f"GET /f/0/0 HTTP/1.1\r\n{HOST}: a\r\n\r\n",
    "control characters": f"GET /f/0/0 HTTP/1.1\r\n{HOST}A: \x1b[2J\r\n\r\n",
    "a zero": "GET /f/0/0\0 HTTP/1.1\r\n\r\n",
    "no HTTP": "\x16\x03\x01\r\n\r\n",
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_no_proxy_may_send_fails_the_run(
    web_sources: Path, place: Path, tmp_path: Path, name: str
) -> None:
    file = write(tmp_path / "sessions", [50] * 60, [Session(0, [(0, 0, NEW_VIEW)])], latencies_us=[1000])
    driver, folder = driver_of(web_sources, place, file, "--rate=20", "--window-ms=600000", f"--cache-bytes={MIB}")  # fmt: skip
    wait_until(lambda: "/f/0/0" in (folder / "logs/access.log").read_text(), "an answer", PATIENCE_S)
    below = all_below(driver.pid)
    with socket.create_connection(("127.0.0.1", origin_port(folder))) as opened:
        opened.sendall(REFUSED[name].encode("latin-1"))
        _, told = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 1, told
    assert "web: origin: request" in told
    assert "\x1b" not in told
    assert_nothing_is_left(below, place, folder)


def test_a_connection_without_a_request_is_no_failure(web_sources: Path, place: Path, tmp_path: Path) -> None:
    """Nor is one that ends before its answer is due."""
    file = write(tmp_path / "sessions", [50], [Session(0, [(0, 0, NEW_VIEW)])] * 3 + [Session(2_000_000, [(0, 0, NEW_VIEW)])], latencies_us=[500_000])  # fmt: skip
    driver, folder = driver_of(web_sources, place, file, "--loop=replay", f"--cache-bytes={MIB}")
    wait_until(lambda: "nonce" in (folder / "logs/access.log").read_text(), "the server", PATIENCE_S)
    for text in ("", "\x16\x03\x01", "GET /f", f"GET /f/0/0 HTTP/1.1\r\n{HOST}\r\n"):
        with socket.create_connection(("127.0.0.1", origin_port(folder))) as opened:
            opened.sendall(text.encode())
    stdout, told = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 0, told
    assert json.loads(stdout)["requests"] == 4


@pytest.mark.parametrize("server", PROXIES)
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_proxy_ends_with_its_driver(
    web_sources: Path, place: Path, tmp_path: Path, server: str, ending: signal.Signals
) -> None:
    file = write(tmp_path / "sessions", [50] * 9, one_by_one(range(9), 1000), latencies_us=[100_000])
    options = ("--rate=50", "--window-ms=600000", f"--cache-bytes={MIB}", f"--server={server}")
    made = "logs/access.log" if server == "nginx" else "default.vcl"
    driver, folder = driver_of(web_sources, place, file, *options, made=made)
    wait_until(lambda: len(all_below(driver.pid)) >= 3, "the keeper and two processes", PATIENCE_S)
    below = all_below(driver.pid)
    driver.send_signal(ending)
    assert driver.wait(PATIENCE_S) == -ending
    driver.communicate()
    assert_nothing_is_left(below, place, folder)


# ---- what is wrong is said ----

_GOOD = "regatta-sessions 1\nobjects 2\n10\n20\nsessions 1\n0 2\n0 0 8\n5 1 2\n"
BROKEN = {
    "no private objects": ("private 0\n", 9),
    "too many private objects": ("private 16777217\n", 9),
    "an unknown private object": ("private 1\n2\n", 10),
    "a missing private object": ("private 2\n0\n", 11),
    "no latencies": ("latencies 0\n", 9),
    "too many latencies": ("latencies 1000001\n", 9),
    "a negative latency": ("latencies 1\n-1\n", 10),
    "a long latency": ("latencies 1\n600000001\n", 10),
    "a latency that is no number": ("latencies 1\n1e3\n", 10),
    "a missing latency": ("latencies 2\n1\n", 11),
    "the other order": ("latencies 1\n1\nprivate 1\n0\n", 11),
    "a part twice": ("latencies 1\n1\nlatencies 1\n1\n", 11),
    "more than the parts": ("private 1\n0\nlatencies 1\n1\n7\n", 13),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_part_is_refused_with_its_line(
    web_sources: Path, tmp_path: Path, name: str, golden: Golden
) -> None:
    text, line = BROKEN[name]
    file = tmp_path / "sessions"
    file.write_text(_GOOD + text)
    outcome = web(web_sources, tmp_path / "work", f"--sessions={file}", "--rate=1")
    assert outcome.exit_code == 1
    assert f"web: {file}:{line}: expected " in outcome.stderr
    golden(name, outcome.stderr.replace(str(file), "FILE"))


def test_a_condition_for_a_private_object_is_refused(web_sources: Path, tmp_path: Path) -> None:
    file = tmp_path / "sessions"
    file.write_text(_GOOD + "private 1\n1\n")
    outcome = web(web_sources, tmp_path / "work", f"--sessions={file}", "--rate=1")
    assert outcome.exit_code == 1
    assert "which is private" in outcome.stderr


def test_a_server_without_a_cache_ignores_the_parts_for_a_proxy(web_sources: Path, tmp_path: Path) -> None:
    file = tmp_path / "sessions"
    file.write_text(_GOOD + "private 1\n0\nlatencies 1\n600000000\n")
    outcome = proxied(web_sources, tmp_path / "work", "nginx", file, "--loop=replay")
    assert json.loads(outcome.stdout)["requests"] == 2
    assert not [line for line in outcome.lines if "origin" in line.get("metric", "")]


@pytest.mark.parametrize(
    "options",
    [
        ("--server=varnish", "--sessions=a", "--rate=1"),
        ("--server=varnish", "--sessions=a", "--rate=1", "--cache-bytes=1000"),
        ("--server=varnish", "--sessions=a", "--rate=1", "--cache-bytes=2000000", "--servers=2"),
        ("--server=varnish", "--sessions=a", "--rate=1", "--cache-bytes=2000000", "--log-copy=b"),
        ("--server=varnish", "--sessions=a", "--rate=1", "--cache-bytes=2000000", "--acceptance=reuseport"),
        ("--server=varnish", "--dynamic=cgi", "--cache-bytes=2000000"),
        ("--server=nginx", "--sessions=a", "--rate=1", "--cache-bytes=1048575"),
        ("--server=nginx", "--cache-bytes=2000000"),
        ("--server=apache", "--sessions=a", "--rate=1", "--cache-bytes=2000000"),
        ("--server=nginx", "--sessions=a", "--rate=1", "--cache-bytes=-1"),
    ],
)
def test_wrong_usage_of_a_proxy_is_refused(
    web_sources: Path, tmp_path: Path, options: tuple[str, ...], golden: Golden
) -> None:
    outcome = web(web_sources, tmp_path / "work", *options)
    assert outcome.exit_code == 2
    golden(shlex.join(["web", *options]), outcome.stderr)


def test_a_missing_varnish_is_said_with_its_package(web_sources: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "sessions", [50], [Session(0, [(0, 0, NEW_VIEW)])])
    options = (
        f"--sessions={file}",
        "--loop=replay",
        f"--cache-bytes={MIB}",
        "--varnish=/nonexistent/varnishd",
    )
    outcome = web(web_sources, tmp_path / "work", "--server=varnish", *options)
    assert outcome.exit_code == 1
    assert "/nonexistent/varnishd: cannot find" in outcome.stderr
    assert "(Debian: varnish)" in outcome.stderr


# ---- addresses, leaks, undefined behaviour ----


def test_the_origin_is_clean_under_sanitizers(sanitized_web: Path, tmp_path: Path) -> None:
    kinds = [GET, HEAD, CONDITIONAL, MISSING]
    sessions = [Session(1000 * at, [(0, at % 30, kinds[at % 4]), (500, 30, GET)]) for at in range(120)]
    sizes = [200_000 if number == 7 else 100 + number for number in range(31)]
    file = write(tmp_path / "sessions", sizes, sessions, private=[30], latencies_us=[0, 1000, 20_000])
    broken = tmp_path / "broken"
    broken.write_text(file.read_text()[:-8])
    loops = (
        ["--loop=replay"],
        ["--loop=closed", "--users=40"],
        ["--loop=open", "--rate=300", "--client-kbit=2000"],
    )
    for server in ("nginx", *(["varnish"] if VARNISH else [])):
        for number, loop in enumerate(loops):
            words: list[str | Path] = [
                sanitized_web / "web",
                f"--server={server}",
                f"--cache-bytes={MIB}",
            ]
            words += ["--window-ms=700", "--warmup-ms=50", *loop]
            outcome = run([*words, f"--sessions={file}"], tmp_path / f"{server}{number}")
            assert outcome.exit_code == 0, outcome.stderr
            refused = run([*words, f"--sessions={broken}"], tmp_path / f"{server}b{number}", may_refuse=True)
            assert refused.exit_code == 1
            assert "Sanitizer" not in refused.stderr
