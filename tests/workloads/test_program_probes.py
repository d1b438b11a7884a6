"""The probes write exactly the marks that a program makes, to a file and to the kernel's trace."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROBES = HERE.parents[1] / "benchmarks" / "probes"
MARKS = [
    ("accept", "phase", -1, "parse"),
    ("accept", "transaction", 17, "order.new"),
    ("request", "lock", -1, "cache_1"),
    ("accept", "lock", -1, "cache_1"),
    ("finish", "lock", -1, "cache_1"),
    ("finish", "transaction", 0, "order-2"),
    ("wait", "transaction", 2**62, "A"),
]
LINES = [
    "regatta: accept phase parse",
    "regatta: accept transaction 17 order.new",
    "regatta: request lock cache_1",
    "regatta: accept lock cache_1",
    "regatta: finish lock cache_1",
    "regatta: finish transaction 0 order-2",
    f"regatta: wait transaction {2**62} A",
]
#: names that would spoil the trace, or another mark
BAD = ["", "two words", "line\nbreak", "a\n", "tab\t", "ü", "%s", "a/b", "x" * 300]
#: Mount a tracefs that only this process sees, and make, fill, print and remove an instance of it.
IN_INSTANCE = """
folder=$1; name=$2; shift 2
mount -t tracefs none "$folder" || exit 77
mkdir "$folder/instances/$name" || exit 77
trap 'rmdir "$folder/instances/$name"' EXIT
echo mono >"$folder/instances/$name/trace_clock" || exit 77
REGATTA_TRACE_MARKER="$folder/instances/$name/trace_marker" "$@"
result=$?
cat "$folder/instances/$name/trace"
exit $result
"""
#: exit code of a host without tracefs
NO_TRACEFS = 77


def arguments(marks: list[tuple[str, str, int, str]]) -> list[str]:
    return [str(word) for mark in marks for word in mark]


@pytest.fixture(scope="module", params=["c", "java"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of a program with a probe; its arguments are marks."""
    folder = tmp_path_factory.mktemp(request.param)
    tools = {"c": ["gcc"], "java": ["javac", "java"]}[request.param]
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"THE PROBE FOR {request.param} IS NOT TESTED: {', '.join(missing)} not on PATH")
    if request.param == "java":
        subprocess.run(["javac", "-d", folder, PROBES / "Probe.java", HERE / "Marked.java"], check=True)
        return ["java", "-cp", str(folder), "Marked"]
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{PROBES}"]
    subprocess.run(["gcc", *flags, "-o", folder / "marked", HERE / "marked.c"], check=True)
    return [str(folder / "marked")]


def run(program: list[str], marks: list[tuple[str, str, int, str]], trace: Path) -> str:
    environment = {**os.environ, "REGATTA_TRACE_MARKER": str(trace), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [*program, *arguments(marks)], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def test_marks_are_appended_line_by_line(program: list[str], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.write_text("before\n")
    assert run(program, MARKS, trace) == ""
    assert trace.read_text().splitlines() == ["before", *LINES]


def test_a_mark_with_another_character_is_not_written(program: list[str], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.touch()
    bad = [("accept", "phase", -1, name) for name in BAD]
    words = [("accept phase", "x", -1, "x"), ("accept", "a\nb", -1, "x"), ("", "phase", -1, "x")]
    assert run(program, [*bad, *words, MARKS[0]], trace) == ""
    assert trace.read_text().splitlines() == LINES[:1]


def test_without_a_trace_the_program_runs(program: list[str], tmp_path: Path) -> None:
    for missing in (tmp_path / "missing", tmp_path / "missing" / "trace_marker", tmp_path):
        assert run(program, MARKS, missing) == ""
    assert run(program, MARKS, Path("/dev/full")) == ""
    assert list(tmp_path.iterdir()) == []


def test_marks_reach_the_trace_of_the_kernel(program: list[str], tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("MARKS IN THE KERNEL'S TRACE ARE NOT TESTED: mounting tracefs needs root and unshare")
    name = f"regatta-probes-{os.getpid()}"
    script = ["unshare", "-m", "sh", "-c", IN_INSTANCE, "sh", str(tmp_path), name]
    done = subprocess.run([*script, *program, *arguments(MARKS)], capture_output=True, text=True, check=False)
    if done.returncode == NO_TRACEFS:
        pytest.skip(f"MARKS IN THE KERNEL'S TRACE ARE NOT TESTED: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    assert [line[line.index("regatta: ") :].rstrip() for line in lines] == LINES
    assert list(tmp_path.iterdir()) == []
