"""Web servers under load: what is asked for, that answers are compared, and what is reported."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from helpers.workloads.lm_runs import PATIENCE_S
from helpers.workloads.web_runs import SUITE, values, watched, web
from helpers.workloads.web_sessions import shop_sessions
from regatta.host.measure.cgroup import TreeAccounting
from regatta.host.units import UNITS

SERVERS = [("apache", "none"), ("nginx", "none"), ("apache", "cgi"), ("apache", "fastcgi")]
#: the thesis' numbers, section 6.3 and SPECweb99: percent of each class, and Zipf's thousandths of files 1 to 9
CLASSES = (35, 50, 14, 1)
FILES = (39, 59, 88, 177, 353, 118, 71, 50, 44)
THESIS_MEAN_BYTES = 14712
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root becomes somebody else")


def size_of(path: str) -> int:
    matched = re.fullmatch(r"/file_set/dir00000/class([0-3])_([1-9])", path)
    assert matched, path
    return round(102.4 * 10 ** int(matched[1]) * int(matched[2]))


# ---- what is asked for ----


def test_the_classes_have_the_mean_size_of_the_thesis() -> None:
    mean = sum(
        percent / 100 * thousandths / 1000 * 102.4 * 10**kind * number
        for kind, percent in enumerate(CLASSES)
        for number, thousandths in enumerate(FILES, 1)
    )
    assert round(mean) == THESIS_MEAN_BYTES


def test_the_servers_log_shows_the_classes_the_versions_and_the_sizes(
    web_sources: Path, tmp_path: Path
) -> None:
    found = watched(web_sources, tmp_path / "work", "--server=nginx", requests=2000)
    assert len(found.asked) == 2000
    assert {asked.status for asked in found.asked} == {200}
    assert all(asked.bytes == size_of(asked.path) for asked in found.asked)
    classes = Counter(asked.path[len("/file_set/dir00000/class")] for asked in found.asked)
    assert [classes[str(kind)] for kind in range(4)] == [20 * percent for percent in CLASSES]
    files = Counter(int(asked.path[-1]) for asked in found.asked)
    for number, thousandths in enumerate(FILES, 1):
        assert abs(files[number] - 2 * thousandths) <= 12, (number, files)
    versions = Counter(asked.version for asked in found.asked)
    assert versions == {"HTTP/1.0": 600, "HTTP/1.1": 1400}
    assert found.told["connections"] == 740
    assert found.told["body_bytes"] == sum(size_of(asked.path) for asked in found.asked)
    mean = found.told["body_bytes"] / 2000
    assert mean == pytest.approx(THESIS_MEAN_BYTES, rel=0.03)


@pytest.mark.parametrize(
    ("percent", "each", "connections"), [(0, 10, 300), (100, 10, 30), (50, 3, 200), (100, 1000, 1)]
)
def test_connections_are_as_many_as_the_share_that_stays_asks_for(
    web_sources: Path, tmp_path: Path, percent: int, each: int, connections: int
) -> None:
    options = (f"--persistent-percent={percent}", f"--requests-per-connection={each}", "--requests=300")
    outcome = web(web_sources, tmp_path / "work", "--server=nginx", "--json", *options)
    assert outcome.exit_code == 0, outcome.stderr
    assert json.loads(outcome.stdout)["connections"] == connections


def test_the_seed_alone_decides_which_requests_come(web_sources: Path, tmp_path: Path) -> None:
    """The same for two servers; connections interleave as the servers answer."""
    asked = {}
    for name, server, seed in (
        ("a", "nginx", "5"),
        ("b", "apache", "5"),
        ("c", "nginx", "6"),
        ("d", "nginx", "5"),
    ):
        found = watched(
            web_sources, tmp_path / name, f"--server={server}", "--connections=1", requests=300, REGATTA_SEED=seed
        )  # fmt: skip
        asked[name] = [(each.path, each.version) for each in found.asked]
    # The one process of nginx writes to the log in the order of the requests; those of Apache when they are done.
    assert asked["a"] == asked["d"]
    assert Counter(asked["a"]) == Counter(asked["b"])
    assert Counter(asked["a"]) != Counter(asked["c"])


@pytest.mark.parametrize(("dynamic", "percent"), [("cgi", 5), ("cgi", 100), ("fastcgi", 30)])
def test_dynamic_requests_have_their_share_and_the_classes_of_the_others(
    web_sources: Path, tmp_path: Path, dynamic: str, percent: int
) -> None:
    options = ("--server=apache", f"--dynamic={dynamic}", f"--dynamic-percent={percent}")
    found = watched(web_sources, tmp_path / "work", *options, requests=200)
    script = {"cgi": "/cgi-bin/page", "fastcgi": "/fcgi-bin/page"}[dynamic]
    dynamic_asked = [asked for asked in found.asked if asked.path == script]
    assert len(found.asked) == 200
    assert len(dynamic_asked) == found.told["dynamic_requests"] == 2 * percent
    for asked in dynamic_asked:
        # Apache's own count: head, HTML, the file, and the marks of its chunks, of which a busy machine makes more (one a page of a pipe)
        size = size_of(asked.query)
        assert 300 < asked.bytes - size < 600 + 10 * (size // 4096), asked


# ---- answers are compared ----

OTHER_LENGTH = r"Content-Length \d+, got \d+"
ANSWER = """#!/bin/sh
file=$DOCUMENT_ROOT$QUERY_STRING
{before}
printf 'Content-Type: text/html\\r\\n\\r\\n'
printf '<html><head><title>A page made for each request</title></head>\\n<body>\\n'
printf '<p>SERVER_SOFTWARE = %s\\n<p>REMOTE_ADDR = %s\\n' "$SERVER_SOFTWARE" "$REMOTE_ADDR"
printf '<p>SCRIPT_NAME = %s\\n<p>QUERY_STRING = %s\\n<pre>\\n' "$SCRIPT_NAME" "$QUERY_STRING"
{file}
printf '\\n</pre>\\n</body></html>\\n'
{after}
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, ""),
        ({"file": "tr a b <$file"}, "a difference after byte"),
        # Apache itself says the length of an answer that ended before it was begun.
        ({"file": "head -c 50 $file"}, rf"/class\d_\d: .*(, got a difference|{OTHER_LENGTH})"),
        ({"after": "printf x"}, rf"/class\d_\d: .*( bytes, got more|{OTHER_LENGTH})"),
        (
            {"file": "cat $file; sleep 0.05; kill -9 $$"},
            r"/file_set/dir00000/class\d_\d: expected",
        ),
        ({"before": "printf 'Status: 503 Busy\\r\\n'"}, "200, got HTTP/1.1 503 Busy"),
        ({"before": "exit 1"}, "200, got HTTP/1.1 500"),
    ],
)
def test_a_wrong_answer_is_found(
    web_sources: Path, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    """The CGI program is a script that says what it should, or nearly."""
    program = tmp_path / "page"
    program.write_text(ANSWER.format(**{"before": "", "file": "cat $file", "after": ""} | change))
    options = ("--dynamic=cgi", f"--cgi-program={program}", "--requests=20")
    outcome = web(web_sources, tmp_path / "work", *options)
    if not message:
        assert outcome.exit_code == 0, outcome.stderr
        return
    assert outcome.exit_code == 1
    assert re.search(message, outcome.stderr)
    (error,) = (line["error"] for line in outcome.lines if "error" in line)
    assert error in outcome.stderr
    assert not any("metric" in line for line in outcome.lines)


@pytest.mark.parametrize(
    "query", ["", "/etc/passwd", "/file_set/dir00000/../x", "/file_set/dir00000/class1_0", "class1_1",
              "/file_set/dir00000/class4_1", "/file_set/dir00000/class1_11"]
)  # fmt: skip
def test_the_program_reads_no_file_but_those_of_the_set(web_sources: Path, query: str) -> None:
    answer = subprocess.run(
        [web_sources / "build/page.cgi"],
        env={"QUERY_STRING": query, "DOCUMENT_ROOT": ""}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert answer.startswith("Status: 404 Not Found\n")
    assert answer.endswith("Content-Length: 0\n\n")


# ---- what is reported ----


@pytest.mark.parametrize(("server", "dynamic"), SERVERS)
def test_numbers_are_whole_and_fit_together(
    web_sources: Path, tmp_path: Path, server: str, dynamic: str
) -> None:
    options = (f"--server={server}", f"--dynamic={dynamic}", "--requests=200")
    outcome = web(web_sources, tmp_path / "work", *options)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == ""
    assert {line["unit"] in UNITS for line in outcome.lines if "metric" in line} == {True}
    assert {line["iteration"] for line in outcome.lines if "metric" in line} == {0}
    found = values(outcome)
    assert found["kernel_time"] + found["user_time"] == pytest.approx(found["cpu_time"], rel=1e-6, abs=1)
    assert found["elapsed_per_request"] * found["throughput"] == pytest.approx(1e9, rel=1e-6)
    assert found["server_share"] == pytest.approx(found["cpu_time"] / found["elapsed_per_request"], rel=1e-6)
    assert 0 < found["latency50"] <= found["latency99"]
    assert found["connections_per_request"] == pytest.approx(0.37)
    assert found["received_per_request"] > found["bytes_per_request"] > 10000
    assert found["resident_kib"] > 100
    assert outcome.info["server"] == server
    assert outcome.info["server_version"].startswith({"apache": "Apache/2", "nginx": "nginx/"}[server])


@pytest.mark.parametrize("beside", ["nothing", "stranger", "tracer"])
def test_processor_time_is_the_groups_where_it_has_nothing_else(
    web_sources: Path, tmp_path: Path, accounting: TreeAccounting, beside: str
) -> None:
    """A CGI program lives shorter than a tick: of each alone the kernel cannot tell user from system.

    A tracer, here one that is always at work, leaves the group and is none of the server's.
    """
    stranger = beside == "stranger"
    results = tmp_path / "results"
    environment = {"PATH": os.environ["PATH"], "REGATTA_RESULTS": str(results)}
    options = ["--dynamic=cgi", "--requests=200", "--warmup-ms=0"]
    if beside == "tracer":
        options += ["--", "sh", "-c", "trap 'exit 0' INT; : > {ready}; while :; do :; done"]
    accounting.begin()
    other = subprocess.Popen(["sleep", "3600"]) if stranger else None
    started = subprocess.Popen(
        [web_sources / "build/web", *options], cwd=tmp_path, env=environment, stdout=subprocess.PIPE
    )
    accounting.started()
    started.communicate(timeout=PATIENCE_S)
    if other is not None:
        other.kill()
        other.wait()
    usage = accounting.finish()
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    info = next(line["info"] for line in lines if "info" in line)
    cpu_ns = next(line["value"] for line in lines if line.get("metric") == "cpu_time") * 200
    assert usage.cpu_ns is not None
    assert 0 < cpu_ns < usage.cpu_ns - info["driver_ns"]
    if stranger:
        assert info["cpu_from"].startswith("sum over the server ")
        assert "has other processes" in info["cpu_from"]
        assert info["split_from"].startswith("inaccurate")
    else:
        assert info["cpu_from"] == f"control group, version {accounting.version}, minus the driver"
        kernel_ns = next(line["value"] for line in lines if line.get("metric") == "kernel_time") * 200
        assert kernel_ns > 0.2 * cpu_ns


@pytest.mark.parametrize("name", [name for name, one in SUITE["benchmarks"].items() if "command" in one])
def test_the_suite_asks_for_what_the_driver_has(web_sources: Path, tmp_path: Path, name: str) -> None:
    """Each benchmark's command, as it stands there."""
    if (
        name.startswith("varnish")
        and shutil.which("varnishd", path=f"{os.environ['PATH']}:/usr/sbin") is None
    ):
        pytest.skip("NOT TESTED: varnishd is not on PATH")
    benchmark = SUITE["benchmarks"][name]
    words = {key: str(value) for key, value in benchmark["sizes"]["quick"]["parameters"].items()}
    words |= {"window_ms": "3000" if name.endswith("-requests") else "50", "warmup_ms": "0"}
    words |= {
        f"web.{key}": str(web_sources / path) for key, path in SUITE["builds"]["web"]["outputs"].items()
    }
    words |= {"program.apache2": "/usr/sbin/apache2", "program.nginx": "/usr/sbin/nginx"}
    words |= {"program.varnishd": "/usr/sbin/varnishd"}
    words |= {
        "file.sessions": str(shop_sessions(tmp_path)),
        "rate": "1000",
    }
    command = [re.sub(r"\{([^}]+)\}", lambda found: words[found[1]], word) for word in benchmark["command"]]
    outcome = web(web_sources, tmp_path / name, *command[1:])
    assert outcome.exit_code == 0, (name, outcome.stderr)
    assert benchmark["metric"] in values(outcome)
    dynamic = (
        30 if name.endswith("-mix") else 0 if name.endswith(("-static", "-acceptance", "-requests")) else 100
    )
    assert outcome.info.get("dynamic_percent", 0) == dynamic


# ---- who and where ----


def test_the_server_has_the_last_cpu_and_the_driver_the_others(web_sources: Path, tmp_path: Path) -> None:
    found = watched(web_sources, tmp_path / "work", "--server=apache", requests=10)
    cpus = sorted(os.sched_getaffinity(0))
    assert found.status["Cpus_allowed_list"].strip() == str(cpus[-1])
    assert found.outcome.info["server_cpu"] == cpus[-1]
    assert found.outcome.info["driver_cpus"] == ",".join(map(str, cpus[:-1] or cpus))
    assert len(found.pids) == 9  # the main process, and as many as there are connections and four
    assert int(found.told["pid"]) in found.pids


@ROOT_ONLY
def test_no_server_is_root(web_sources: Path, tmp_path: Path) -> None:
    for server in ("apache", "nginx"):
        found = watched(web_sources, tmp_path / server, f"--server={server}", requests=10)
        assert found.status["Uid"].split() == ["65534"] * 4
        assert found.status["Gid"].split() == ["65534"] * 4
        assert found.status["Groups"].strip() == ""


def test_one_cpu_is_shared(web_sources: Path, tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    os_command = [
        "taskset",
        "-c",
        str(cpu),
        str(web_sources / "build/web"),
        "--requests=100",
        "--warmup-ms=0",
    ]
    results = tmp_path / "results"
    subprocess.run(
        os_command,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "REGATTA_RESULTS": str(results)},
        check=True,
    )
    info = json.loads(results.read_text().splitlines()[0])["info"]
    assert (info["server_cpu"], info["driver_cpus"], info["shared_cpu"]) == (cpu, str(cpu), True)
    assert info["spin_ns"] == 0
