"""Web servers under the load of sessions from a file: which requests come, and what is reported."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import resource
import shlex
import signal
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.waiting import wait_until
from helpers.workloads.lm_runs import PATIENCE_S, Run, run
from helpers.workloads.web_runs import (
    all_below,
    assert_nothing_is_left,
    children_of,
    driver_of,
    reachable_directory,
    values,
    web,
)
from helpers.workloads.web_sessions import (
    CONDITIONAL,
    GET,
    HEAD,
    METHODS,
    MISSING,
    MISSING_BYTES,
    NEW_VIEW,
    STATUSES,
    Logged,
    Session,
    logged,
    path_of,
    sessions_text,
    write_sessions,
)
from regatta.host.units import UNITS

SERVERS = ("apache", "nginx")
#: every fifth request is of another kind; sizes differ, so that a log shows which object it was
SIZES = [100 + 7 * number for number in range(60)]
MIXED = [
    Session(1000 * number, [
        (0, 3 * number, NEW_VIEW + GET),
        (0, 3 * number + 1, HEAD),
        (2000, 3 * number + 2, NEW_VIEW + CONDITIONAL),
        (0, 3 * number, MISSING),
        (1000, 3 * number + 1, NEW_VIEW + GET),
    ])
    for number in range(20)
]  # fmt: skip
#: where the kernel says how many connections it tracks
NETFILTER = Path("/proc/sys/net/netfilter")
#: a state in /proc/net/tcp, from <netinet/tcp.h>
ESTABLISHED = "01"
#: Apache serves one connection per process
PROCESSES = {"apache": "--servers=100", "nginx": "--servers=1"}


@pytest.fixture
def place() -> Iterator[Path]:
    with reachable_directory() as made:
        yield made


def assert_no_complaint(outcome: Run) -> None:
    """Nothing on standard error but the warning about a host whose firewall tracks too many connections of other tests."""
    assert all(line.startswith("web: warning: the firewall ") for line in outcome.stderr.splitlines())


def load(
    sources: Path, directory: Path, file: Path, *options: str, server: str = "nginx", **environment: str
) -> tuple[Run, list[Logged]]:
    """A run that succeeds, and the server's log of it."""
    log = directory.parent / f"{directory.name}.log"
    words = (f"--server={server}", PROCESSES[server], f"--sessions={file}", f"--log-copy={log}")
    outcome = web(sources, directory, *words, "--json", *options, **environment)
    assert outcome.exit_code == 0, outcome.stderr
    assert_no_complaint(outcome)
    return outcome, logged(log)


def expected_of(number: int, session: Session, sizes: list[int]) -> list[Logged]:
    found = []
    for _, requested, word in session.requests:
        kind = word % NEW_VIEW
        size = {GET: sizes[requested], MISSING: MISSING_BYTES}.get(kind, 0)
        found.append(Logged(number, METHODS[kind], path_of(requested, kind), STATUSES[kind], size))
    return found


# ---- which requests come ----


@pytest.mark.parametrize("server", SERVERS)
def test_a_replay_sends_each_request_once_and_each_kind_has_its_response(
    web_sources: Path, tmp_path: Path, server: str
) -> None:
    file = write_sessions(tmp_path / "sessions", SIZES, MIXED)
    outcome, log = load(web_sources, tmp_path / "work", file, "--loop=replay", server=server)
    wanted = [line for number, session in enumerate(MIXED) for line in expected_of(number, session, SIZES)]
    assert Counter(log) == Counter(wanted)
    told = json.loads(outcome.stdout)
    assert told["planned"] == told["requests"] == len(wanted)
    assert told["body_bytes"] == sum(line.bytes for line in wanted)
    assert told["unanswered"] == told["connection_errors"] == 0


@pytest.mark.parametrize("server", SERVERS)
def test_objects_are_files_in_folders_of_a_thousand(web_sources: Path, tmp_path: Path, server: str) -> None:
    sizes = [1 + number % 50 for number in range(2001)]
    numbers = (0, 1, 999, 1000, 1999, 2000)
    sessions = [Session(0, [(0, number, NEW_VIEW)]) for number in numbers]
    file = write_sessions(tmp_path / "sessions", sizes, sessions)
    _, log = load(web_sources, tmp_path / "work", file, "--loop=replay", server=server)
    assert {line.path: line.bytes for line in log} == {path_of(number): sizes[number] for number in numbers}
    assert path_of(1999) == "/f/1/1999"


def test_the_seed_alone_decides_the_plan(web_sources: Path, tmp_path: Path) -> None:
    file = write_sessions(tmp_path / "sessions", SIZES, MIXED)
    found = {}
    for name, server, seed in (("a", "nginx", "5"), ("b", "apache", "5"), ("c", "nginx", "6")):
        options = ("--rate=200", "--window-ms=700")
        _, found[name] = load(
            web_sources, tmp_path / name, file, *options, server=server, REGATTA_SEED=seed
        )  # fmt: skip
    assert Counter(found["a"]) == Counter(found["b"])
    assert Counter(found["a"]) != Counter(found["c"])


def test_sessions_under_way_at_the_start_make_the_rate_stationary(web_sources: Path, tmp_path: Path) -> None:
    """A window of 0.9 s has at most one request of such a session, so their number follows Poisson's distribution."""
    sessions = [Session(-1, [(0, 0, NEW_VIEW), *((10**6, 0, NEW_VIEW),) * 9])]
    file = write_sessions(tmp_path / "sessions", [100], sessions)
    mean = 700 * 0.9
    for seed in "123":
        options = ("--rate=700", "--window-ms=900")
        outcome, log = load(web_sources, tmp_path / seed, file, *options, REGATTA_SEED=seed)
        planned = json.loads(outcome.stdout)["planned"]
        assert abs(planned - mean) < 5 * math.sqrt(mean)
        assert len(log) == planned
        assert values(outcome)["planned_rate"] == pytest.approx(planned / 0.9)
        assert max(Counter(line.visit for line in log).values()) == 1


def test_requests_of_the_warm_up_are_sent_and_not_counted(web_sources: Path, tmp_path: Path) -> None:
    sessions = [Session(0, [(0, 0, NEW_VIEW), (0, 1, GET), (400_000, 2, NEW_VIEW)])]
    file = write_sessions(tmp_path / "sessions", SIZES, sessions)
    options = ("--loop=replay", "--warmup-ms=200")
    outcome, log = load(web_sources, tmp_path / "work", file, *options)
    assert [line.path for line in log] == [path_of(number) for number in (0, 1, 2)]
    told = json.loads(outcome.stdout)
    assert told["planned"] == told["requests"] == 1
    assert told["body_bytes"] == SIZES[2]


@pytest.mark.parametrize("server", SERVERS)
def test_users_of_the_closed_loop_play_whole_sessions(web_sources: Path, tmp_path: Path, server: str) -> None:
    """Each user starts within a session, and the end of the run cuts its last one."""
    file = write_sessions(tmp_path / "sessions", SIZES, MIXED)
    options = ("--loop=closed", "--users=20", "--window-ms=2000")
    outcome, log = load(web_sources, tmp_path / "work", file, *options, server=server)
    told = json.loads(outcome.stdout)
    assert len(log) == told["planned"] > 20
    assert 0 < told["open_connections"] <= 20
    visits = defaultdict(list)
    for line in log:
        visits[line.visit].append(line)
    texts = {tuple(expected_of(0, session, SIZES)) for session in MIXED}
    for visit, lines in visits.items():
        seen = tuple(Logged(0, line.method, line.path, line.status, line.bytes) for line in lines)
        starts = range(5) if visit < 20 else range(1)
        assert any(text[start : start + len(seen)] == seen for text in texts for start in starts), seen
    assert sum(len(lines) == 5 for lines in visits.values()) > 0


def test_a_visit_uses_at_most_six_connections(web_sources: Path, tmp_path: Path) -> None:
    file = write_sessions(tmp_path / "sessions", SIZES, [Session(0, [(0, i, GET) for i in range(40)])])
    outcome, log = load(web_sources, tmp_path / "work", file, "--loop=replay")
    assert Counter(line.path for line in log) == Counter(path_of(i) for i in range(40))
    told = json.loads(outcome.stdout)
    assert 1 <= told["open_connections"] == told["connections"] <= 6


@pytest.mark.parametrize("server", SERVERS)
def test_slow_clients_get_whole_responses(web_sources: Path, tmp_path: Path, server: str) -> None:
    sizes = [30_000, 1, 5000]
    session = Session(0, [(0, 0, NEW_VIEW), (0, 1, GET), (0, 2, GET), (0, 2, HEAD)])
    file = write_sessions(tmp_path / "sessions", sizes, [session] * 5)
    for kbit in (1000, 1_000_000):
        options = ("--loop=replay", f"--client-kbit={kbit}")
        outcome, log = load(web_sources, tmp_path / str(kbit), file, *options, server=server)
        assert len(log) == 20
        assert json.loads(outcome.stdout)["body_bytes"] == 5 * 35_001
        assert outcome.info["client_kbit"] == kbit


def test_many_users_keep_their_connections(web_sources: Path, tmp_path: Path) -> None:
    users, others = 2000, 100
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < users + others:
        pytest.skip("NOT TESTED: the limit of open files is too low for 2000 connections")
    file = write_sessions(
        tmp_path / "sessions", SIZES, [Session(-1, [(0, i, GET), *((400_000, i, NEW_VIEW),) * 20]) for i in range(50)]
    )  # fmt: skip
    options = ("--loop=closed", f"--users={users}", "--window-ms=700", "--warmup-ms=500")
    outcome, log = load(web_sources, tmp_path / "work", file, *options)
    told = json.loads(outcome.stdout)
    assert told["unanswered"] == told["connection_errors"] == 0
    assert told["open_connections"] == len({line.visit for line in log if line.visit < users}) <= users
    assert {line.status for line in log} == {200}


# ---- what is reported ----


@pytest.mark.parametrize("loop", ["--rate=2000", "--users=10", ""])
def test_numbers_of_each_loop_fit_together(web_sources: Path, tmp_path: Path, loop: str) -> None:
    file = write_sessions(tmp_path / "sessions", SIZES, MIXED * 2)
    name = {"--rate=2000": "open", "--users=10": "closed", "": "replay"}[loop]
    options = (f"--loop={name}", *([loop] if loop else []), "--window-ms=700")
    outcome, _ = load(web_sources, tmp_path / "work", file, *options)
    assert {line["unit"] in UNITS for line in outcome.lines if "metric" in line} == {True}
    assert {line["iteration"] for line in outcome.lines if "metric" in line} == {0}
    found = values(outcome)
    assert found["elapsed_per_request"] * found["throughput"] == pytest.approx(1e9, rel=1e-6)
    assert found["kernel_time"] + found["user_time"] == pytest.approx(found["cpu_time"], rel=1e-6, abs=1)
    assert 0 < found["latency50"] <= found["latency90"] <= found["latency99"]
    assert ("send_delay99" in found) == ("planned_rate" in found) == (name != "closed")
    assert found["received_per_request"] > found["bytes_per_request"] > 0
    assert found["open_connections"] > 0
    assert outcome.info["loop"] == name
    assert outcome.info["planned"] >= outcome.info["requests"] > 0
    assert "connections" not in outcome.info


@pytest.mark.parametrize("load", ["static", "replay"])
def test_a_firewall_with_a_full_table_is_named(web_sources: Path, tmp_path: Path, load: str) -> None:
    """The files of the kernel are replaced for this program: a real table is that of the whole machine."""
    if os.geteuid() != 0 or not NETFILTER.is_dir():
        pytest.skip("NOT TESTED: the kernel tracks no connections, or nothing can be mounted here")
    table = tmp_path / "table"
    table.mkdir()
    (table / "nf_conntrack_count").write_text("985\n")
    (table / "nf_conntrack_max").write_text("1000\n")
    file = write_sessions(tmp_path / "sessions", SIZES, MIXED)
    options = {"static": ["--requests=20"], "replay": [f"--sessions={file}", "--loop=replay"]}[load]
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    replaced: list[str | Path] = ["unshare", "--mount", "sh", "-c", script, "sh", table, NETFILTER]
    program = [web_sources / "build/web", "--server=nginx", "--warmup-ms=0", *options]
    outcome = run([*replaced, *program], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    assert re.findall(r"^web: warning: .* 985 .* 1000 .*nf_conntrack_max", outcome.stderr, re.MULTILINE)
    assert outcome.stderr.count("\n") == 1


def wait_for_requests(folder: Path) -> None:
    log = folder / "logs/access.log"
    wait_until(lambda: '"s0"' in log.read_text(), "a request in the log", PATIENCE_S)


def test_a_killed_server_fails_the_run_and_leaves_nothing(
    web_sources: Path, place: Path, tmp_path: Path
) -> None:
    file = write_sessions(tmp_path / "sessions", SIZES, MIXED)
    driver, folder = driver_of(web_sources, place, file, "--rate=500", "--window-ms=600000")
    wait_for_requests(folder)
    below = all_below(driver.pid)
    (keeper,) = children_of(driver.pid)
    (server,) = children_of(keeper)
    workers = all_below(server)
    for pid in (server, *workers):
        os.kill(pid, signal.SIGKILL)
    _, told = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 1
    assert "nginx: killed by signal" in told
    assert_nothing_is_left(below, place, folder)


def test_the_server_ends_with_its_driver(web_sources: Path, place: Path, tmp_path: Path) -> None:
    file = write_sessions(tmp_path / "sessions", SIZES, MIXED)
    driver, folder = driver_of(web_sources, place, file, "--loop=closed", "--users=5", "--window-ms=600000")
    wait_for_requests(folder)
    below = all_below(driver.pid)
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(PATIENCE_S) == -signal.SIGTERM
    driver.communicate()
    assert_nothing_is_left(below, place, folder)


def open_files(pid: int) -> list[str]:
    found = []
    for entry in Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):  # closed meanwhile
            found.append(str(entry.readlink()))
    return found


def test_reset_connections_are_counted_and_leave_percentiles_undefined(
    web_sources: Path, place: Path, tmp_path: Path
) -> None:
    """A worker is killed while it sends two large files slowly; its successor serves the third request."""
    sessions = [*[Session(0, [(0, 0, NEW_VIEW)])] * 2, Session(1_000_000, [(0, 1, NEW_VIEW)])]
    file = write_sessions(tmp_path / "sessions", [30_000_000, 10], sessions)
    driver, folder = driver_of(web_sources, place, file, "--loop=replay", "--client-kbit=400")
    opened = str(folder / "site/f/0/0")

    def senders() -> list[int]:
        return [pid for pid in all_below(driver.pid) if open_files(pid).count(opened) == 2]

    (worker,) = wait_until(senders, "a worker that sends two files", PATIENCE_S)
    os.kill(worker, signal.SIGKILL)
    stdout, told = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 0, told
    found = json.loads(stdout)
    assert (found["planned"], found["requests"], found["unanswered"]) == (3, 1, 2)
    assert found["connection_errors"] == 2
    lines = [json.loads(line) for line in (place.parent / f"{place.name}.results").read_text().splitlines()]
    info = next(line["info"] for line in lines if "info" in line)
    assert info["latency_percentiles"] == "50: undefined (unanswered requests)"
    assert not [line for line in lines if line.get("metric") == "latency"]


def has_connection(pid: int) -> bool:
    """Whether a process has a connection that neither end has closed."""
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    established = {f"socket:[{row[9]}]" for row in rows if row[3] == ESTABLISHED}
    return not established.isdisjoint(open_files(pid))


def test_a_request_on_a_connection_that_the_server_has_closed_is_sent_again(
    web_sources: Path, place: Path, tmp_path: Path
) -> None:
    """The driver is stopped until the server has closed the idle connection and the second request is due."""
    due_s = 8
    session = Session(0, [(0, 0, NEW_VIEW), (due_s * 1_000_000, 1, NEW_VIEW)])
    file = write_sessions(tmp_path / "sessions", SIZES, [session])
    log = tmp_path / "log"
    driver, folder = driver_of(web_sources, place, file, "--loop=replay", f"--log-copy={log}")
    wait_for_requests(folder)
    requested_s = time.monotonic()
    driver.send_signal(signal.SIGSTOP)
    wait_until(lambda: not has_connection(driver.pid), "the end of the idle connection", PATIENCE_S)
    time.sleep(max(0.0, requested_s + due_s - time.monotonic()))
    driver.send_signal(signal.SIGCONT)
    stdout, told = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 0, told
    found = json.loads(stdout)
    assert (found["unanswered"], found["connection_errors"], found["connections"]) == (0, 0, 2)
    assert [line.path for line in logged(log)] == [path_of(0), path_of(1)]


def test_a_wrong_body_is_found(web_sources: Path, place: Path, tmp_path: Path) -> None:
    file = write_sessions(
        tmp_path / "sessions",
        [5000],
        [Session(0, [(0, 0, NEW_VIEW)]), Session(1_500_000, [(0, 0, NEW_VIEW)])],
    )
    driver, folder = driver_of(web_sources, place, file, "--loop=replay")
    wait_for_requests(folder)
    with (folder / "site/f/0/0").open("r+b") as opened:
        opened.seek(4000)
        opened.write(b"!")
    _, told = driver.communicate(timeout=PATIENCE_S)
    assert driver.returncode == 1
    assert "expected the contents of" in told
    assert not list(place.iterdir())


# ---- what is wrong is said ----

_HEAD = "regatta-sessions 1\nobjects 2\n10\n20\nsessions 1\n"
BROKEN = {
    "empty": ("", 1),
    "another format": ("web-sessions 1\n", 1),
    "another version": ("regatta-sessions 2\n", 1),
    "no objects": ("regatta-sessions 1\nobjects 0\n", 2),
    "too many objects": ("regatta-sessions 1\nobjects 16777217\n", 2),
    "an empty object": ("regatta-sessions 1\nobjects 1\n0\n", 3),
    "a large object": ("regatta-sessions 1\nobjects 1\n1073741825\n", 3),
    "a large site": ("regatta-sessions 1\nobjects 3\n" + "1073741824\n" * 3, 5),
    "a size that is no number": ("regatta-sessions 1\nobjects 1\n1e3\n", 3),
    "a missing object": ("regatta-sessions 1\nobjects 3\n1\n2\nsessions 1\n", 5),
    "no sessions": ("regatta-sessions 1\nobjects 1\n1\nsessions 0\n", 4),
    "a negative start": (_HEAD + "-2 1\n0 0 0\n", 6),
    "a late start": (_HEAD + "4398046511105 1\n0 0 0\n", 6),
    "no requests": (_HEAD + "0 0\n", 6),
    "a missing request": (_HEAD + "0 2\n0 0 0\n", 8),
    "a first gap": (_HEAD + "0 1\n1 0 0\n", 7),
    "a negative gap": (_HEAD + "0 2\n0 0 0\n-1 0 0\n", 8),
    "a long gap": (_HEAD + "0 2\n0 0 0\n137438953472 0 0\n", 8),
    "a long session": (_HEAD + "0 40\n0 0 0\n" + "137438953471 0 0\n" * 39, 40),
    "an unknown object": (_HEAD + "0 1\n0 2 0\n", 7),
    "an unknown kind": (_HEAD + "0 1\n0 0 4\n", 7),
    "an unknown bit": (_HEAD + "0 1\n0 0 16\n", 7),
    "more than the file says": (_HEAD + "0 1\n0 0 0\n0 1\n", 8),
    "bytes that cannot be printed": (_HEAD + "0 1\n0 0 \x00\x1b\n", 7),
    "a long word": (_HEAD + "0 1\n0 0 " + "9" * 100 + "\n", 7),
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_file_is_refused_with_its_line(
    web_sources: Path, tmp_path: Path, name: str, golden: Golden
) -> None:
    text, line = BROKEN[name]
    file = tmp_path / "sessions"
    file.write_text(text)
    outcome = web(web_sources, tmp_path / "work", f"--sessions={file}", "--rate=1")
    assert outcome.exit_code == 1
    assert f"web: {file}:{line}: expected " in outcome.stderr
    assert any(f"{file}:{line}: " in found.get("error", "") for found in outcome.lines)
    golden(name, outcome.stderr.replace(str(file), "FILE"))


@pytest.mark.parametrize(
    "options",
    [
        ("--rate=1",),
        ("--loop=closed",),
        ("--sessions=a",),
        ("--sessions=a", "--loop=closed"),
        ("--sessions=a", "--loop=closed", "--users=10001"),
        ("--sessions=a", "--loop=replay", "--rate=1"),
        ("--sessions=a", "--rate=1", "--users=1"),
        ("--sessions=a", "--rate=1", "--dynamic=cgi"),
        ("--sessions=a", "--rate=1", "--requests=1"),
        ("--sessions=a", "--rate=1", "--requests=1", "--", "true"),
        ("--sessions=a", "--loop=half", "--rate=1"),
        ("--sessions=a", "--loop=saturate"),
        ("--sessions=a", "--loop=saturate", "--users=1", "--server-cpus=all"),
    ],
)
def test_wrong_usage_is_refused(
    web_sources: Path, tmp_path: Path, options: tuple[str, ...], golden: Golden
) -> None:
    outcome = web(web_sources, tmp_path / "work", *options)
    assert outcome.exit_code == 2
    golden(shlex.join(["web", *options]), outcome.stderr)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--loop=replay",), "replay: expected a start of 0 or more for every session, got -1 for session 1"),
        (("--rate=1000000", "--window-ms=60000"), "plan: expected at most 20000000 requests"),
        (("--rate=100000",), "plan: expected at most 100000000 arriving sessions"),
        (("--rate=1", "--window-ms=1"), "plan: expected requests after the warm-up of 0 ms, got none"),
        (("--rate=1", "--log-copy=/nonexistent/log"), "--log-copy: expected a file that can be written"),
    ],
)
def test_a_plan_that_cannot_be_made_is_said(
    web_sources: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    sessions = [Session(0, [(0, 0, GET)]), Session(-1, [(0, 0, GET), (10**10, 0, NEW_VIEW)])]
    file = write_sessions(tmp_path / "sessions", [1], sessions)
    outcome = web(web_sources, tmp_path / "work", f"--sessions={file}", *options)
    assert outcome.exit_code == 1
    assert message in outcome.stderr
    assert any(message in line.get("error", "") for line in outcome.lines)


def test_a_limit_of_open_files_below_the_users_is_said(web_sources: Path, tmp_path: Path) -> None:
    file = write_sessions(tmp_path / "sessions", SIZES, MIXED)
    command = [str(web_sources / "build/web"), f"--sessions={file}", "--loop=closed", "--users=200"]
    limited = ["sh", "-c", 'ulimit -n 250 && exec "$@"', "sh", *command]
    refused = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "expected a limit of 264" in refused.stderr


# ---- addresses, leaks, undefined behaviour ----


def test_each_loop_is_clean_under_sanitizers(sanitized_web: Path, tmp_path: Path) -> None:
    file = write_sessions(tmp_path / "sessions", SIZES, MIXED)
    broken = tmp_path / "broken"
    broken.write_text(sessions_text(SIZES, MIXED)[:-3])
    common = ["--window-ms=1000", "--warmup-ms=50", "--client-kbit=2000"]
    for number, (name, loop) in enumerate(
        (
            ("nginx", ["--loop=open", "--rate=500"]),
            ("nginx", ["--loop=replay", "--warmup-ms=5"]),
            ("nginx", ["--loop=closed", "--users=30"]),
            ("apache", ["--loop=closed", "--users=10"]),
        )
    ):
        words: list[str | Path] = [sanitized_web / "web", f"--server={name}", PROCESSES[name]]
        words += [*common, *loop]
        outcome = run([*words, f"--sessions={file}"], tmp_path / str(number))
        assert outcome.exit_code == 0, outcome.stderr
        assert_no_complaint(outcome)
        refused = run([*words, f"--sessions={broken}"], tmp_path / f"b{number}", may_refuse=True)
        assert refused.exit_code == 1
        assert "Sanitizer" not in refused.stderr
