"""N copies of a program at once: together, each in a place of its own, all right or none, and none left behind."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.workloads.speclike_runs import ROOT, SUITE, needs

BUILD = SUITE["builds"]["copies"]
pytestmark = needs(*BUILD["needs"])

#: long enough for any machine; what waits for it has failed
LONG_S = 200
#: longer than any test waits for its end
FOREVER_S = 3600


class Ended:
    """What a run of `copies` left."""

    def __init__(self, process: subprocess.CompletedProcess[str], results: Path, work: Path) -> None:
        self.exit_code, self.stdout, self.stderr = process.returncode, process.stdout, process.stderr
        self.work = work
        text = results.read_text() if results.exists() else ""
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]

    @property
    def info(self) -> dict[str, Any]:
        (info,) = (line["info"] for line in self.lines if "info" in line)
        return info

    @property
    def values(self) -> dict[str, float]:
        return {line["metric"]: line["value"] for line in self.lines if "metric" in line}

    def failure(self) -> str:
        """The message, after asserting that there is nothing but it."""
        assert self.exit_code == 1
        assert self.stdout == ""
        (line,) = self.lines
        assert self.stderr.rstrip("\n") == f"copies: {line['error']}"
        return str(line["error"])


Run = Callable[..., Ended]


def built(place: Path, *arguments: str) -> Path:
    """Where `make` put the program of a copy of the sources."""
    copy = place / "copies"
    shutil.copytree(ROOT / BUILD["directory"], copy, ignore=shutil.ignore_patterns("build"))
    subprocess.run([*BUILD["command"], *arguments], cwd=copy, check=True)
    return copy / "build"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("plain")) / "copies"


@pytest.fixture(autouse=True)
def nothing_outlives_the_test(tmp_path: Path) -> Iterator[None]:
    """So that a failing test leaves no more behind than one that passes."""
    yield
    for process in inside(tmp_path):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.fixture
def run(program: Path, tmp_path: Path) -> Run:
    def start(*arguments: str | Path, by: Path = program, **environment: str) -> Ended:
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        results = tmp_path / "results.jsonl"
        results.unlink(missing_ok=True)
        made = {"PATH": os.environ["PATH"], "REGATTA_RESULTS": str(results), **environment}
        ended = subprocess.run(
            [by, *arguments], cwd=work, env=made, capture_output=True, text=True, timeout=2 * LONG_S, check=False
        )  # fmt: skip
        return Ended(ended, results, work)

    return start


def inside(directory: Path) -> list[int]:
    """Processes that work below a directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(directory):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + LONG_S
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


# ---- what is measured ----


def test_one_copy_is_speed_and_reports_its_time_once(run: Run) -> None:
    ended = run("--", "sh", "-c", "echo said; sleep 0.05")
    assert (ended.exit_code, ended.stdout) == (0, "said\n")
    assert re.match(r"sh copies=1: elapsed \d+\.", ended.stderr)
    assert list(ended.values) == ["elapsed", "user", "system", "max_rss"]
    assert ended.values["elapsed"] >= 50e6
    assert [line["parameters"] for line in ended.lines if "metric" in line] == [{"copies": 1}] * 4
    assert ended.info["copy_elapsed_ns"] == [ended.values["elapsed"]]


def test_all_copies_run_at_the_same_time(run: Run) -> None:
    # Each tells that it is there and then waits for the others: one after the other they would never meet.
    meet = f"""
        : >../met-$(basename $PWD)
        for i in $(seq {LONG_S * 50}); do
            [ $(ls .. | grep -c met-) = 3 ] && exit 0
            sleep 0.02
        done
        exit 1
    """
    ended = run("--copies", "3", "--", "sh", "-c", meet)
    assert ended.exit_code == 0, ended.stderr
    assert len(ended.info["copy_elapsed_ns"]) == 3


def test_no_copy_starts_before_the_common_release(run: Run) -> None:
    note = "import time; open('started', 'w').write(str(time.clock_gettime_ns(time.CLOCK_MONOTONIC)))"
    ended = run("--copies", "12", "--", sys.executable, "-I", "-S", "-c", note)
    started = [int((ended.work / f"copy-{n}/started").read_text()) for n in range(1, 13)]
    assert min(started) > ended.info["release_ns"]


def test_none_is_released_when_one_cannot_be_made_ready(run: Run, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "work/copy-3.stderr").mkdir(parents=True)
    ended = run("--copies", "3", "--", "touch", "../ran")
    golden("not ready", ended.failure())
    assert not (ended.work / "ran").exists()


def test_the_time_is_to_the_end_of_the_last_and_processor_time_is_of_all(run: Run) -> None:
    burn = """
import os, time
while time.process_time() < 0.15: pass
if os.getcwd().endswith("copy-2"): time.sleep(0.4)
"""
    ended = run("--copies", "2", "--", sys.executable, "-I", "-S", "-c", burn)
    first, last = ended.info["copy_elapsed_ns"]
    assert last >= 0.5e9
    assert ended.values["elapsed"] == max(first, last)
    # Nearly all of it: the kernel may count in ticks of 4 or 10 ms.
    assert ended.values["user"] + ended.values["system"] >= 2 * 0.15 - 0.04
    assert ended.values["max_rss"] > 1024


def test_each_pass_is_a_run_of_the_program(run: Run) -> None:
    ended = run(
        "--copies", "2", "--passes", "3", "--", "sh", "-c", "echo done >>passes; echo said; sleep 0.05"
    )
    assert (ended.exit_code, ended.stdout) == (0, "said\n")
    assert [(ended.work / f"copy-{n}/passes").read_text() for n in (1, 2)] == ["done\n" * 3] * 2
    assert ended.values["elapsed"] >= 3 * 50e6


def test_compact_copies_stay_on_one_cpu_each(run: Run) -> None:
    show = "import os; open('cpus', 'w').write(' '.join(map(str, sorted(os.sched_getaffinity(0)))))"
    ended = run("--copies", "3", "--placement", "compact", "--", sys.executable, "-I", "-c", show)
    told = [(ended.work / f"copy-{n}/cpus").read_text() for n in (1, 2, 3)]
    assert told == [str(cpu) for cpu in ended.info["copy_cpu"]]
    assert len(set(told)) == min(3, len(os.sched_getaffinity(0)))
    free = run("--copies", "2", "--check", "--", sys.executable, "-I", "-c", show)
    assert free.exit_code == 0
    assert (free.work / "copy-1/cpus").read_text().split() == [
        str(c) for c in sorted(os.sched_getaffinity(0))
    ]


# ---- a place of its own ----


def test_each_copy_has_its_own_files_and_environment(run: Run, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/input").write_text("given\n")
    script = 'echo "$HOME $TMPDIR $PWD ${REGATTA_RESULTS-none}" >place; echo more >>input; cat input; cat'
    ended = run("--copies", "2", "--", "sh", "-c", script)
    assert (ended.exit_code, ended.stdout) == (0, "given\nmore\n")
    assert (ended.work / "input").read_text() == "given\n"
    for number in (1, 2):
        own = ended.work / f"copy-{number}"
        assert (own / "place").read_text() == f"{own} {own} {own} none\n"
        assert (own / "input").read_text() == "given\nmore\n"


def test_a_check_runs_where_each_copy_ran_and_reports_no_time(run: Run, golden: Golden) -> None:
    assert run("--copies", "2", "--", "sh", "-c", "echo made >out").exit_code == 0
    ended = run("--check", "--copies", "2", "--", "cat", "out")
    assert (ended.exit_code, ended.stdout, ended.stderr, ended.lines) == (0, "made\n", "", [])
    (ended.work / "copy-2/out").write_text("made up\n")
    wrong = run("--check", "--copies", "2", "--", "cat", "out")
    assert (wrong.exit_code, wrong.stdout, wrong.lines) == (1, "", [])
    golden("wrong output of a check", wrong.stderr)
    missing = run("--check", "--copies", "3", "--", "cat", "out")
    assert missing.exit_code == 1
    golden("no directory to check in", missing.stderr)


# ---- what goes wrong ----


def test_a_failing_copy_is_named_with_its_cause_and_ends_the_others(run: Run, golden: Golden) -> None:
    script = f"case $PWD in *copy-2) echo gone wrong >&2; exit 3 ;; esac; sleep {FOREVER_S} & wait"
    ended = run("--copies", "3", "--", "sh", "-c", script)
    golden("failing copy", ended.failure())
    assert wait_until(lambda: not inside(ended.work))


def test_a_killed_copy_is_named_with_its_signal(run: Run, golden: Golden) -> None:
    ended = run(
        "--copies", "2", "--", "sh", "-c", f"case $PWD in *copy-1) kill -9 $$ ;; esac; sleep {FOREVER_S}"
    )
    golden("killed copy", ended.failure())
    assert wait_until(lambda: not inside(ended.work))


def test_a_killed_keeper_is_no_hang(run: Run, golden: Golden) -> None:
    ended = run(
        "--copies", "2", "--", "sh", "-c", f"case $PWD in *copy-2) kill -9 $PPID ;; esac; sleep {FOREVER_S}"
    )
    golden("killed keeper", ended.failure())
    assert wait_until(lambda: not inside(ended.work))


def test_a_later_pass_that_fails_is_told(run: Run, golden: Golden) -> None:
    script = "echo x >>n; [ $(wc -l <n) -lt 2 ]"
    golden("failing pass", run("--passes", "4", "--", "sh", "-c", script).failure())


def test_copies_that_print_something_else_are_wrong(run: Run, golden: Golden) -> None:
    golden("copies differ", run("--copies", "2", "--", "sh", "-c", "basename $PWD").failure())


def test_passes_that_print_something_else_are_wrong(run: Run, golden: Golden) -> None:
    golden("passes differ", run("--passes", "2", "--", "sh", "-c", "echo x >>n; cat n").failure())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_when_the_parent_is_killed_nothing_stays(
    program: Path, tmp_path: Path, number: signal.Signals
) -> None:
    script = f"sleep {FOREVER_S} & : >../here-$(basename $PWD); wait"
    parent = subprocess.Popen([program, "--copies", "3", "--", "sh", "-c", script], cwd=tmp_path)
    try:
        assert wait_until(lambda: len(list(tmp_path.glob("here-*"))) == 3)
        # A keeper, a shell and what it started for each copy; the shell of a name may still be ending.
        assert wait_until(lambda: len(inside(tmp_path)) == 1 + 3 * 3)
    finally:
        parent.send_signal(number)
        assert parent.wait() == -number
    assert wait_until(lambda: not inside(tmp_path))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--copies", "0", "--", "true"],
        ["--copies", "-1", "--", "true"],
        ["--copies", "99999999999999999999", "--", "true"],
        ["--copies", "", "--", "true"],
        ["--copies"],
        ["--passes", "0", "--", "true"],
        ["--placement", "far", "--", "true"],
        ["--fast", "--", "true"],
        ["true"],
        ["--copies", "2"],
        ["--"],
    ],
)
def test_wrong_usage_is_refused_with_a_message(run: Run, arguments: list[str], golden: Golden) -> None:
    ended = run(*arguments)
    assert (ended.exit_code, ended.stdout, ended.lines) == (2, "", [])
    golden(shlex.join(["copies", *arguments]), ended.stderr)
    assert list(ended.work.iterdir()) == []


def test_a_program_that_is_not_there_is_told(run: Run) -> None:
    failure = run("--copies", "2", "--", "no-such-program").failure()
    assert re.match(r"copy [12]: cannot start ", failure)
    assert failure.endswith(os.strerror(errno.ENOENT))


def test_directories_of_an_earlier_run_or_other_ones_are_not_written_into(run: Run, golden: Golden) -> None:
    assert run("--", "true").exit_code == 0
    golden("directory of an earlier run", run("--", "true").failure())
    ended = run("--", "true", REGATTA_RESULTS="/no/such/file")
    assert ended.exit_code == 1
    assert "cannot open REGATTA_RESULTS" in ended.stderr


def test_only_plain_files_are_copied(run: Run, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "work/folder").mkdir(parents=True)
    golden("folder to copy", run("--", "true").failure())


def test_help_names_every_option_that_the_suite_uses(run: Run) -> None:
    ended = run("--help")
    assert (ended.exit_code, ended.stderr, ended.lines) == (0, "", [])
    for benchmark in SUITE["benchmarks"].values():
        command = [*benchmark["command"], *benchmark.get("check", {}).get("command", [])]
        own = command[: command.index("--")]
        assert all(option in ended.stdout for option in own if option.startswith("--"))


# ---- other builds ----


def exercise(run: Run, by: Path) -> None:
    ended = run(
        "--copies",
        "2",
        "--passes",
        "2",
        "--placement",
        "compact",
        "--",
        "sh",
        "-c",
        "echo x; pwd >out",
        by=by,
    )
    assert (ended.exit_code, ended.stdout, len(ended.values)) == (0, "x\n", 4), ended.stderr
    wrong = run("--check", "--copies", "2", "--", "cat", "out", by=by)
    assert wrong.stderr.startswith("copies: wrong output: copy 2"), wrong.stderr
    failed = run("--check", "--copies", "2", "--", "sh", "-c", "echo why >&2; exit 4", by=by)
    assert failed.stderr.endswith(": exit code 4: why\n"), failed.stderr


def test_it_runs_clean_under_the_sanitizers(run: Run, tmp_path: Path) -> None:
    (tmp_path / "probe.c").write_text("int main(void) { return 0; }\n")
    flags = ["-fsanitize=address,undefined", "-o", tmp_path / "probe", tmp_path / "probe.c"]
    if subprocess.run(["gcc", *flags], capture_output=True, check=False).returncode != 0:
        pytest.skip("NOT TESTED: this gcc has no AddressSanitizer")
    exercise(run, built(tmp_path, "sanitized") / "sanitized/copies")


@needs("clang")
def test_clang_compiles_it_without_a_warning(run: Run, tmp_path: Path) -> None:
    exercise(run, built(tmp_path, "CC=clang") / "copies")


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64-static")
def test_it_runs_on_aarch64(run: Run, tmp_path: Path) -> None:
    emulated = built(tmp_path, "CC=aarch64-linux-gnu-gcc", "LDFLAGS=-static") / "copies"
    ended = run(emulated, "--copies", "2", "--", "sh", "-c", "echo x", by=Path("qemu-aarch64-static"))
    assert (ended.exit_code, ended.stdout, len(ended.values)) == (0, "x\n", 4), ended.stderr
