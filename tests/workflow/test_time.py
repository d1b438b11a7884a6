"""`regatta time`: commands become an experiment, with the same records and answers."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time as clock
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from helpers.experiments.experiment_parts import HOME
from helpers.experiments.small_experiments import read_terminal
from helpers.golden import Golden
from helpers.in_process import PROGRAM
from helpers.runner_plans import printed
from helpers.time_command import environment, time
from helpers.waiting import wait_until
from regatta.cli.temporary_folder import temporary_folder
from regatta.host.journal.decisions import read_decisions
from regatta.host.journal.journal import Damage, read_journal
from regatta.host.journal.runner_state import read_state
from regatta.host.processes import process_start
from regatta.spec.load import load_spec
from regatta.store.folder import Folder

pytestmark = pytest.mark.smoke


def test_two_commands_are_measured_in_turns_and_kept_as_an_experiment(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("b\na\n")
    done = time(
        tmp_path, "sort lines", "cat lines", "--runs", "3", "--save", "kept", "--prepare", "touch new"
    )
    assert "sort" in done.stdout
    assert "cat / sort" in done.stdout
    table = done.stdout.partition("Elapsed time")[2].splitlines()
    assert [line.split()[0] for line in table[2:4]] == ["sort", "cat"]
    assert f"--results {Path('kept') / 'results'}" in done.stderr
    records = list(read_journal(tmp_path / "kept" / "results" / "time"))
    assert not any(isinstance(record, Damage) for record in records)
    assert {record["status"] for record in records} <= {"ok", "perturbed"}
    rounds = Counter((record["round"], record["cell_id"]) for record in records)
    # one discarded round, and three
    assert len(rounds) == 2 * 4
    assert len({record["stdout"]["head"] for record in records}) == 2
    experiment = load_spec(tmp_path / "kept" / "time.yml", HOME)
    assert [runtime.name for runtime in experiment.runtimes] == ["sort", "cat"]
    program, *words = experiment.benchmarks[0].prepare
    assert (Path(program).name, words) == ("touch", ["new"])
    told = time(tmp_path, "true", "false", "--save", "kept", code=2).stderr
    assert told.split("`")[1].split() == ["regatta", "run", "kept/time.yml", "--results", "kept/results"]


def test_parameters_are_crossed_and_exported(tmp_path: Path) -> None:
    arguments = ("sh -c 'test {n} -gt 0'", "--parameter", "n", "1,2", "--runs", "2", "-n", "test")
    document = json.loads(time(tmp_path, *arguments, "--export", "json").stdout)
    benchmarks = ["time/command:default n=1", "time/command:default n=2"]
    assert list(dict.fromkeys(cell["benchmark"] for cell in document["cells"])) == benchmarks
    shown = time(tmp_path, *arguments, "--export", "markdown").stdout
    assert "| n=2 / n=1 | " in shown, "the values are compared with the first one"
    runs = [(one["command"], one["parameters"], len(one["runs"])) for one in document["commands"]]
    assert runs == [(f"sh -c 'test {n} -gt 0'", {"n": n}, 2) for n in ("1", "2")]
    assert all(run["elapsed_s"] > 0 for one in document["commands"] for run in one["runs"])
    rows = list(csv.DictReader(time(tmp_path, *arguments, "--export", "csv").stdout.splitlines()))
    assert [row["kind"] for row in rows[:2]] == ["cell", "cell"]
    assert [row["command"] for row in rows if row["kind"] == "run"] == [
        f"sh -c 'test {n} -gt 0'" for n in (1, 1, 2, 2)
    ]
    two = time(tmp_path, "true", "sleep 0", "--runs", "2", "--export", "markdown").stdout.splitlines()
    assert two[0].startswith("| comparison | ratio | 95 % CI |")
    assert two[2].startswith("| sleep / true | ")
    one = time(tmp_path, "true", "-r", "2", "--export", "markdown").stdout.splitlines()
    assert one[0].startswith("| command | mean ")
    assert [line.split(" | ")[0] for line in one[2:]] == ["| true"]
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
    assert _left_in(tmp_path) == set()


def test_a_scan_is_shown_by_its_means_in_the_unit_of_the_user(tmp_path: Path) -> None:
    scan = ("-P", "n", "0.01", "0.03", "-D", "0.02", "--sort", "mean-time", "--time-unit", "second")
    table = time(tmp_path, "sleep {n}", *scan, "--runs", "3").stdout.partition("Elapsed time")[2]
    head, *rows = (line.split() for line in table.strip().splitlines())
    assert [word for word in head if word in ("[s]", "SD", "user", "system")] == [
        "[s]",
        "SD",
        "user",
        "system",
    ]
    assert [row[1] for row in rows] == ["n=0.01", "n=0.03"]
    one = time(tmp_path, "sleep 0.01", "--runs", "3").stdout.partition("Elapsed time")[2]
    assert one.split()[:2] == ["command", "mean"]


def test_values_in_the_place_of_a_program_are_compared(tmp_path: Path) -> None:
    done = time(tmp_path, "{tool} 0", "--parameter", "tool", "true,sleep", "--runs", "2", "--export", "json")
    assert _runtimes(done.stdout) == ["true", "sleep"]
    named = ("{tool} 0", "echo", "-L", "tool", "true,sleep", "-n", "a", "-n", "the second")
    done = time(tmp_path, *named, "--runs", "2", "--export", "json")
    assert _runtimes(done.stdout) == ["a-true", "a-sleep", "the-second"]


def test_long_commands_of_one_program_are_named_by_the_words_that_differ(tmp_path: Path) -> None:
    copy = "cp --reflink={} /usr/share/common-licenses/GPL-3 here"
    commands = (copy.format("never"), copy.format("auto"))
    done = time(tmp_path, *commands, "--runs", "2", "--export", "json")
    assert _runtimes(done.stdout) == ["cp-reflink-never", "cp-reflink-auto"]


def test_the_question_of_one_command_with_values_names_the_parameter(tmp_path: Path, golden: Golden) -> None:
    time(tmp_path, "sleep 0.0{n}", "--parameter", "n", "1,2", "--runs", "2", "--save", "kept")
    golden("question with a parameter", load_spec(tmp_path / "kept" / "time.yml", HOME).question)


def test_each_row_shows_the_command_and_only_its_own_parameters(tmp_path: Path) -> None:
    commands = ("sh -c :", "sh -c 'exit 0'", "sh -c 'exit {n}'", "-L", "n", "0,00", "--runs", "2")
    shown = time(tmp_path, *commands, "--export", "markdown").stdout.rpartition("\n\n")[2].splitlines()
    # Nothing is compared with the second command at the second value.
    assert [tuple(line.split(" | ")[:2]) for line in shown if not line.startswith("| ---")] == [
        ("| name", "command"),
        ("| sh-c (next to n=0)", "sh -c :"),
        ("| sh-c-exit-0", "sh -c 'exit 0'"),
        ("| sh-c-exit-n n=0", "sh -c 'exit 0'"),
        ("| sh-c (next to n=00)", "sh -c :"),
        ("| sh-c-exit-n n=00", "sh -c 'exit 00'"),
    ]


def test_commands_run_in_the_current_directory_with_their_words_unchanged(tmp_path: Path) -> None:
    for name in ("hello", "--place=hello"):
        (tmp_path / name).mkdir()
    (tmp_path / "here.sh").write_text("#!/bin/sh\nread text < text; echo $text $*\n")
    (tmp_path / "here.sh").chmod(0o755)
    (tmp_path / "hello.txt").write_text("read\n")
    prepared = ("--prepare", "cp hello.txt text", "--runs", "2", "--save", "kept")
    time(tmp_path, "./here.sh hello --place=hello {word}", "-L", "word", "hello", *prepared)
    records = [r for r in read_journal(tmp_path / "kept" / "results" / "time") if not isinstance(r, Damage)]
    assert {printed(record, "stdout") for record in records} == {b"read hello --place=hello hello\n"}
    assert load_spec(tmp_path / "kept" / "time.yml", HOME).benchmarks[0].directory == str(tmp_path)
    explain = [PROGRAM, "explain", records[0]["cell_id"], "--results", "kept/results", "--json"]
    (cell,) = json.loads(subprocess.check_output(explain, cwd=tmp_path, env=environment(tmp_path)))
    by_hand = subprocess.check_output(["sh", "-c", cell["command"]], text=True)
    assert by_hand == "read hello --place=hello hello\n"


def test_the_maximum_bounds_a_precision(tmp_path: Path) -> None:
    # No interval of so few runs is this narrow.
    done = time(
        tmp_path,
        "true",
        "sleep 0",
        "--precision",
        "0.001",
        "--max-runs",
        "12",
        "--save",
        "kept",
        "--export",
        "json",
    )
    assert _runtimes(done.stdout) == ["true", "sleep"]
    # One discarded round, ten before the first decision, and two more in another segment.
    records = [r for r in read_journal(tmp_path / "kept" / "results" / "time") if not isinstance(r, Damage)]
    assert len({(record["cell_id"], record["round"]) for record in records}) == 2 * 13
    assert {record["segment"] for record in records} == {0, 1}
    stopping = load_spec(tmp_path / "kept" / "time.yml", HOME).stopping
    assert (stopping.pilot, stopping.maximum, stopping.target_percent) == (10, 12, 0.001)


def test_slow_commands_end_when_their_difference_is_clear(tmp_path: Path) -> None:
    done = time(tmp_path, "sleep 1", "sleep 0.5", "--save", "kept", "--export", "json")
    folder = Folder(tmp_path / "kept" / "results" / "time")
    (decision,) = read_decisions(folder.decisions("local")).values()
    assert (decision["rule"], decision["pilot"], decision["maximum"]) == ("decide", 5, 30)
    (pair,) = decision["pairs"]
    # On a busy machine, no run counts.
    assert pair["outcome"] in ("less", "greater", "undecided")
    if pair["outcome"] != "undecided":
        assert 5 <= decision["needed"] < 30
    else:
        assert decision["needed"] == 10
        assert pair["n"] < 3
    assert {len(one["runs"]) for one in json.loads(done.stdout)["commands"]} == {decision["needed"]}


def test_without_a_number_the_time_decides_once_for_all_commands(tmp_path: Path) -> None:
    done = time(tmp_path, "sleep 0.2", "true", "--max-runs", "20", "--save", "kept", "--export", "json")
    folder = Folder(tmp_path / "kept" / "results" / "time")
    (decision,) = read_decisions(folder.decisions("local")).values()
    assert (decision["rule"], decision["pilot"], decision["maximum"]) == ("seconds", 5, 20)
    assert decision["needed"] == 20
    records = [r for r in read_journal(folder.path) if not isinstance(r, Damage)]
    runs = {(record["cell_id"], record["round"]) for record in records}
    # One round is discarded.
    assert Counter(cell_id for cell_id, _ in runs) == dict.fromkeys(
        decision["cell_ids"], decision["needed"] + 1
    )
    assert {len(one["runs"]) for one in json.loads(done.stdout)["commands"]} == {decision["needed"]}


@pytest.mark.parametrize(("warmup", "discarded"), [("0", 0), ("3", 3)])
def test_runs_before_the_measured_ones_are_not_in_the_answer(
    tmp_path: Path, warmup: str, discarded: int
) -> None:
    arguments = ("--warmup", warmup, "--runs", "4", "--save", "kept", "--export", "json")
    done = time(tmp_path, "true", *arguments)
    (one,) = json.loads(done.stdout)["commands"]
    assert [run["round"] for run in one["runs"]] == [*range(discarded, discarded + 4)]
    records = [r for r in read_journal(tmp_path / "kept" / "results" / "time") if not isinstance(r, Damage)]
    assert {record["round"] for record in records} == set(range(discarded + 4))
    (cell,) = (cell for cell in json.loads(done.stdout)["cells"] if cell["metric"] == "elapsed")
    assert cell["n"] <= 4
    assert (f"first {discarded} invocations" in done.stderr) == (discarded > 1)


def test_a_command_is_compared_with_itself_under_two_names(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sh").symlink_to("/bin/sh")
    cases = {
        ("sleep 0.01", "sleep 0.01"): 1,
        ("./one/sh -c true", "./two/sh -c true"): 1,
        ("true {n}", "true 1", "-L", "n", "1,2"): 2,
    }
    for arguments, count in cases.items():
        done = time(tmp_path, *arguments, "-n", "a", "-n", "b", "--runs", "3", "--export", "json")
        answer = json.loads(done.stdout)
        assert [(one["a_name"], one["b_name"]) for one in answer["comparisons"]] == [("b", "a")] * count
        cells = {one["cell_id"]: len(one["runs"]) for one in answer["commands"]}
        assert list(cells.values()) == [3] * 2 * count


def test_setups_come_before_all_runs_and_cleanups_after_them(tmp_path: Path) -> None:
    (tmp_path / "make.sh").write_text(
        f"""test "$HOME" != {tmp_path} && test -d "$HOME" && test "$LC_ALL,$MINE" = C.UTF-8,1 || exit 9
        echo "$1" >> order; printf '#!/bin/sh\necho run >> order\n' > run-$1; chmod +x run-$1"""
    )
    arguments = ("./run-{n}", "-L", "n", "1,2", "--runs", "2", "--environment", "MINE=1", "--save", "kept")
    done = time(tmp_path, *arguments, "--setup", "sh make.sh {n}", "--cleanup", "rm run-{n}")
    order = (tmp_path / "order").read_text().split()
    assert order[:2] == ["1", "2"]
    assert set(order[2:]) == {"run"}
    assert not list(tmp_path.glob("run-*"))
    assert "--setup" in done.stderr, "the saved experiment has none"


def test_a_setup_creates_what_the_commands_need(tmp_path: Path) -> None:
    make = "mkdir new; echo hello > new/data; ln -s /bin/cat new/program"
    streams = ("--input", "new/data", "--output", "new/copy")
    arguments = ("./new/program", "--runs", "2", *streams, "--cleanup", "mv new/copy copy")
    time(tmp_path, *arguments, "--setup", shlex.join(["sh", "-c", make]))
    assert (tmp_path / "copy").read_text() == "hello\n"


def test_a_setup_that_fails_measures_nothing_and_cleans_up(tmp_path: Path) -> None:
    loud = "sh -c 'echo lost >&2; exit 4'"
    arguments = ("sh -c 'touch measured'", "--runs", "2", "--save", "kept")
    done = time(tmp_path, *arguments, "--setup", loud, "--cleanup", "touch cleaned", code=3)
    assert "exit 4" in done.stderr
    assert "lost" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"temporary", "cleaned"}
    # The answer is shown before a cleanup fails.
    failed = time(tmp_path, "true", "--runs", "2", "--cleanup", loud, "--export", "json", code=3)
    assert _runtimes(failed.stdout) == ["true"]
    assert "exit 4" in failed.stderr
    assert _left_in(tmp_path) == set()


@pytest.mark.parametrize("begun", ["setup", "run"])
def test_an_interruption_cleans_up(tmp_path: Path, begun: str) -> None:
    waiting = f"sh -c 'touch {tmp_path}/begun; sleep 60'"
    commands = [waiting, "--setup", "true"] if begun == "run" else ["true", "--setup", waiting]
    arguments = [*commands, "--cleanup", "touch cleaned"]
    with _started(tmp_path, [str(PROGRAM), "time", *arguments]) as process:
        ready = tmp_path / "begun"
        wait_until(lambda: ready.exists() or process.poll() is not None, "the command")
        process.send_signal(signal.SIGINT)
        told = process.communicate()
    assert process.returncode == 130, told
    assert (tmp_path / "cleaned").exists()
    assert _left_in(tmp_path) == set()


def _runtimes(document: str) -> list[str]:
    return [cell["runtime"] for cell in json.loads(document)["cells"] if cell["metric"] == "elapsed"]


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    loud = "sh -c 'for n in 1 2 3 4 5 6 7; do echo line $n; done >&2; exit 3'"
    done = time(tmp_path, loud, "true", "-n", "loud", "-n", "true", "--runs", "2", code=1)
    assert "failed: " in done.stdout
    after = done.stderr.partition("loud wrote to stderr:\n")[2].splitlines()
    assert after == [*(f"  line {number}" for number in range(1, 6)), "  and 2 more lines"]


def _left_in(folder: Path) -> set[str]:
    names = {path.name.partition(".")[0] for path in (folder / "temporary").iterdir()}
    return {name for name in names if name != "lock"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_every_record(tmp_path: Path, number: signal.Signals) -> None:
    command = [PROGRAM, "time", "sleep 0.05", "sleep 0.06", "--runs", "500", "--save", "kept"]
    with _started(tmp_path, command) as process:
        journal = tmp_path / "kept" / "results" / "time"
        while len(list(_readable(journal))) < 6:
            assert process.poll() is None
            clock.sleep(0.05)
        before = list(_readable(journal))
        process.send_signal(number)
        told = process.communicate()
    assert process.returncode == 130, told
    after = list(read_journal(journal))
    assert not any(isinstance(record, Damage) for record in after)
    after_ids = [record["invocation_id"] for record in after if not isinstance(record, Damage)]
    assert after_ids[: len(before)] == before
    assert len(after) < 1000
    assert "sleep-0.05" in told[0]
    assert f" {len(set(after_ids))} of 1002 " in told[1]
    (command,) = (line for line in told[1].splitlines() if line.startswith("continue: "))
    assert command.split()[1:] == ["regatta", "run", "kept/time.yml", "--results", "kept/results"]


@pytest.mark.full
def test_an_interruption_leaves_no_temporary_folder(tmp_path: Path) -> None:
    with _started(tmp_path, [PROGRAM, "time", "sleep 0.05", "--runs", "500"]) as process:
        while not list((tmp_path / "temporary").glob("regatta-time-*/results/time/journal/local/0*.jsonl")):
            assert process.poll() is None
            clock.sleep(0.05)
        process.send_signal(signal.SIGINT)
        told = process.communicate()
    assert process.returncode == 130, told
    assert _left_in(tmp_path) == set()
    assert "--save" in told[1]
    assert "again" not in told[1], "nothing is left that a further command could continue"


def test_an_interruption_before_the_first_run_ended_shows_no_empty_table(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    command = f"sh -c 'touch {begun}; sleep 60'"
    with _started(tmp_path, [PROGRAM, "time", command, "sleep 60"]) as process:
        wait_until(lambda: begun.exists() or process.poll() is not None, "a run")
        process.send_signal(signal.SIGINT)
        told = process.communicate()
    assert process.returncode == 130, told
    assert "[]" not in told[0]
    assert "no run" in told[1]


@pytest.mark.parametrize(("percent", "word"), [("0.001", "not reached"), ("100", "reached")])
def test_the_precision_is_told_to_be_reached_or_not(tmp_path: Path, percent: str, word: str) -> None:
    # On a busy machine there is no undisturbed interval.
    done = time(tmp_path, "sleep 0.02", "sleep 0.03", "--max-runs", "10", "--precision", percent)
    assert re.search(rf"^precision ({word}|unknown): ", done.stderr, re.MULTILINE)


@pytest.mark.full
def test_a_killed_command_ends_its_runner_and_the_next_one_removes_its_folder(tmp_path: Path) -> None:
    with _started(tmp_path, [PROGRAM, "time", "sleep 0.05", "--runs", "5000"]) as process:
        journals = tmp_path / "temporary"
        while not (found := list(journals.glob("regatta-time-*/results/time/journal/local/0*.jsonl"))):
            assert process.poll() is None
            clock.sleep(0.05)
        state = Folder(found[0].parents[2]).state / "local.json"
        runner = wait_until(lambda: read_state(state), "state of the runner")
        process.kill()
        process.wait()
    wait_until(lambda: process_start(runner["pid"]) is None, "end of the runner")
    assert _left_in(tmp_path) != set()
    time(tmp_path, "true", "--runs", "2")
    assert _left_in(tmp_path) == set()


def test_the_folder_of_a_command_that_still_runs_stays(tmp_path: Path) -> None:
    with mock.patch.object(tempfile, "tempdir", str(tmp_path)), temporary_folder() as first:
        (first / "file").touch()
        with temporary_folder() as second:
            assert (first / "file").exists()
            assert second.is_dir()
        assert not second.exists()
        foreign = tmp_path / "regatta-time-link"
        foreign.symlink_to(first)
        with temporary_folder():
            assert (first / "file").exists()
        foreign.unlink()
    assert list(tmp_path.iterdir()) == []


@contextmanager
def _started(folder: Path, command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _readable(journal: Path) -> Iterator[str]:
    """Yield the ids of complete records of a journal that may grow."""
    for path in sorted((journal / "journal" / "local").glob("0*.jsonl")):
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield str(json.loads(line)["invocation_id"])


@pytest.mark.full
def test_a_terminal_shows_the_progress(tmp_path: Path) -> None:
    reader, terminal = pty.openpty()
    hold = tmp_path / "hold"
    hold.touch()
    command = [PROGRAM, "time", f"sh -c 'while [ -e {hold} ]; do sleep 0.02; done'", "--runs", "3"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=terminal
    )
    os.close(terminal)
    parts = (b"measuring", b"/4")
    shown = read_terminal(reader, lambda shown: all(part in shown for part in parts), hold.unlink)
    assert process.wait() == 0
    assert [part for part in parts if part not in shown] == []


#: does not end before the processors were busy for a fifth of its time, twice the limit
DISTURBED = """
import os, time

def busy_s():
    user, nice, system, idle, waiting, *more = map(int, open("/proc/stat").readline().split()[1:8])
    return (user + nice + system + sum(more)) / os.sysconf("SC_CLK_TCK")

began_s, before_s = time.monotonic(), busy_s()
while busy_s() - before_s < max(0.5, 0.2 * os.cpu_count() * (time.monotonic() - began_s)):
    time.sleep(0.05)
"""


@pytest.mark.full
def test_perturbed_runs_are_repeated_and_their_cause_is_told(tmp_path: Path) -> None:
    (tmp_path / "disturbed.py").write_text(DISTURBED)
    loops = [
        subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range((os.cpu_count() or 1) // 4 + 1)
    ]
    try:
        command = shlex.join([sys.executable, "-I", "-S", "disturbed.py"])
        done = time(tmp_path, command, "--runs", "2", "--save", "kept")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert "other_cpu_percent" in done.stderr
    assert re.search(r"\[.+\] disturbed", done.stdout)
    records = list(read_journal(tmp_path / "kept" / "results" / "time"))
    attempts = Counter(record["invocation_id"] for record in records if not isinstance(record, Damage))
    assert min(attempts.values()) >= 2


def test_names_of_one_program_are_different_commands(tmp_path: Path) -> None:
    # As in busybox: the program looks at the name under which it is started.
    program = tmp_path / "program.c"
    program.write_text(
        '#include <string.h>\nint main(int n, char **words) { return n && strstr(words[0], "bad") ? 3 : 0; }\n'
    )
    subprocess.run(["cc", "-o", tmp_path / "program", program], check=True)
    for name in ("good", "bad"):
        (tmp_path / name).symlink_to("program")
    done = time(tmp_path, "./good 1", "./bad 1", "--runs", "2", code=1)
    # One is discarded.
    assert "3 invocations failed" in done.stderr
    for name in ("one", "other"):
        (tmp_path / name).symlink_to("program")
    answer = json.loads(time(tmp_path, "./one 1", "./other 1", "--runs", "2", "--export", "json").stdout)
    assert [(one["a_name"], one["b_name"]) for one in answer["comparisons"]] == [("other", "one")]


def test_the_environment_is_not_inherited_except_for_the_named_variables(tmp_path: Path) -> None:
    check = tmp_path / "check"
    check.write_text(
        f"""#!/bin/sh
case $1 in
  clean) test -z "$MINE" && test "$HOME" != {tmp_path} && test "$PATH" != "$2" ;;
  copied) test "$MINE" = 'a b {{c}}' && test "$HOME" = {tmp_path} && test "$PATH" = "$2" ;;
esac
"""
    )
    check.chmod(0o755)
    own = {
        **environment(tmp_path),
        "MINE": "a b {c}",
        "HOME": str(tmp_path),
        "REGATTA_CACHE": str(tmp_path / "c"),
    }

    def run(*arguments: str) -> None:
        done = subprocess.run(
            [PROGRAM, "time", *arguments, "--runs", "2"], cwd=tmp_path, env=own, text=True, capture_output=True, check=False
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    run(shlex.join(["./check", "clean", own["PATH"]]))
    copied = ("--environment", "MINE", "--environment", "HOME", "--environment", "PATH", "--save", "kept")
    run(shlex.join(["./check", "copied", own["PATH"]]), *copied)
    suite = json.loads((tmp_path / "kept" / "time-suite.yml").read_text())
    assert suite["benchmarks"]["command"]["environment"]["MINE"] == "a b {c}"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("sleep '1",), 2),
        (("",), 2),
        (("no-such-program", "true"), 3),
        (("true", "true"), 2),
        (("true", "echo", "-n", "a", "-n", "a"), 2),
        (("true", "--prepare", "no-such-program"), 3),
        (("true", "--environment", "NOT_SET"), 2),
        (("true", "-n", "a", "-n", "b"), 2),
        (("cat a | sort", "true"), 2),
        (("echo $HOME",), 2),
        (("sleep {t}", "--parameter", "t-", "1"), 2),
        (("true", "--precision", "0%"), 2),
        (("true", "--precision", "5", "--max-runs", "20000"), 2),
        (("{a} -c true", "-L", "a", "./one/sh,./two/sh"), 2),
        (("true", "false", "-L", "a", "1,2"), 2),
        (("true {a}", "-L", "a", "1", "-L", "a", "2"), 2),
        (("true {a}", "-L", "a", "1,1"), 2),
        (("true", "--precision", "5", "--runs", "9"), 2),
        (("true", "--min-runs", "20", "--max-runs", "10"), 2),
        (("{a} 0", "-L", "a", "true,sleep", "--prepare", "touch {a}"), 2),
        (("FOO=1 true",), 2),
        (("echo *.c",), 2),
        (("echo {b}", "-L", "a", "1"), 2),
        (("sleep {n}", "-P", "n", "2", "1"), 2),
        (("sleep {n}", "-P", "n", "1", "2", "-L", "n", "1"), 2),
    ],
)
def test_what_cannot_be_measured_is_told(
    tmp_path: Path, arguments: tuple[str, ...], code: int, golden: Golden
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sh").symlink_to("/bin/sh")
    shown = time(tmp_path, *arguments, code=code).stderr
    golden(shlex.join(arguments), shown.splitlines()[-1])
    assert "regatta-time-" not in shown, "a folder that no longer exists"
