"""Programs that misbehave, under the real runner: each is one record, and leaves nothing on the machine."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.runner_plans import (
    HOST,
    NO_RLIMITS,
    Runner,
    cell,
    is_gone,
    measured_processes,
    printed,
    python,
    sh,
    write_plan,
)
from helpers.waiting import wait_until

pytestmark = pytest.mark.full  # each test starts runners, and waits for what they kill

TRUE = shutil.which("true") or "/bin/true"
REGATTA_LINES = {"adapter": {"name": "regatta", "options": {}}}
ONE_LINE = '{"iteration": 0, "metric": "elapsed", "value": 1, "unit": "ns"}'

DAEMON = """
    import os, sys, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            {before}
            time.sleep(600)
        os._exit(0)
    os.wait()
    """


def daemon(before: str = "pass") -> str:
    """A program that forks twice, leaves its session, and ends."""
    return textwrap.dedent(DAEMON).replace("{before}", before)


def test_a_daemon_in_its_own_session_is_killed_and_counted(runner: Runner) -> None:
    record = runner.one(python("daemon", daemon()))
    assert (record["status"], record["left_behind"]) == ("ok", 1)


def test_a_daemon_that_closes_everything_and_clears_its_environment_is_killed_too(
    runner: Runner, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    hidden = f"open({str(told)!r}, 'w').write(str(os.getpid())); os.closerange(0, 64); os.execve('/bin/sleep', ['sleep', '600'], {{}})"
    wait = f"import time\nwhile not os.path.exists({str(told)!r}): time.sleep(0.01)\n"
    record = runner.one(python("hidden", daemon(hidden) + wait))
    assert (record["status"], record["left_behind"]) == ("ok", 1)
    assert is_gone(int(told.read_text()))


def test_a_background_process_of_a_shell_is_killed_and_counted(runner: Runner) -> None:
    record = runner.one(sh("background", "sleep 600 & sleep 600 & exit 0"))
    assert (record["status"], record["left_behind"]) == ("ok", 2)


def test_a_child_that_ended_by_itself_was_not_left_behind(runner: Runner) -> None:
    unreaped = "import os, time\npid = os.fork()\nif pid == 0: os._exit(0)\nos.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)"
    assert runner.one(python("unreaped", unreaped))["left_behind"] == 0


def test_a_row_of_daemons_that_fork_faster_than_they_die_is_ended(runner: Runner) -> None:
    rolling = (
        "import os\nif os.fork(): os._exit(0)\nos.setsid()\nwhile True:\n    if os.fork(): os._exit(0)\n"
    )
    record = runner.one(python("rolling", rolling))
    assert record["status"] == "ok"
    assert record["left_behind"] >= 1


#: seconds; a test goes on to the next where the machine has not let a program begin in time
TIMEOUTS_S = (0.3, 3.0, 30.0)


@pytest.mark.parametrize(
    "how",
    ["while :; do sleep 0.05; done", "sleep 600", "kill -STOP $$; sleep 600"],
    ids=["restarts", "waits", "stops itself"],
)
def test_a_program_that_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path, how: str) -> None:
    for timeout_s in TIMEOUTS_S:
        runner, ignores = Runner(tmp_path / f"{timeout_s:g}" / "hand"), tmp_path / f"ignores-{timeout_s:g}"
        record = runner.one(sh("stubborn", f"trap '' TERM; : > {ignores}; {how}", timeout_s=timeout_s))
        runner.assert_nothing_left()
        assert record["status"] == "timeout"
        assert record["reason"] == f"timed out after {timeout_s:g} s"
        assert record["elapsed_ns"] >= timeout_s * 1e9
        if ignores.exists():
            break
    assert record["signal"] == signal.SIGKILL


def test_a_program_that_never_stops_printing_meets_its_timeout(runner: Runner) -> None:
    record = runner.one(sh("endless", "cat /dev/zero & exec cat /dev/zero >&2", timeout_s=0.5))
    assert record["status"] == "timeout"


def test_a_gigabyte_on_each_stream_is_counted_and_not_kept(runner: Runner) -> None:
    size = 1 << 30
    script = f"head -c {size} /dev/zero; head -c {size} /dev/zero >&2"
    write_plan(runner.folder, [sh("loud", script, timeout_s=120)])
    argv = runner.argv()
    with_peak = (
        f"import sys; sys.path.insert(0, {argv[2]!r})\nfrom regatta.host.__main__ import main\ncode = main()\n"
        "print([line for line in open('/proc/self/status') if line.startswith('VmHWM')][0].split()[1])\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", with_peak, *argv[3:]],
        env={**os.environ, "REGATTA_HOST_LOCK": str(runner.lock)},
        capture_output=True,
        text=True,
        check=True,
    )
    record = runner.records()[0]
    assert record["status"] == "ok"
    assert record["stdout"]["bytes"] == record["stderr"]["bytes"] == size
    assert printed(record, "stdout") == printed(record, "stderr", "tail") == bytes(16 * 1024)
    assert next((runner.folder.journal / HOST).iterdir()).stat().st_size < 64 * 1024
    assert int(done.stdout) < 64 * 1024, "KiB of the runner's own memory"


def test_a_wrong_exit_code_is_a_failure_with_the_last_words(runner: Runner) -> None:
    record = runner.one(sh("three", "echo first >&2; echo last words >&2; exit 3"))
    assert (record["status"], record["exit_code"], record["signal"]) == ("failed", 3, None)
    assert record["reason"] == "exit code 3: last words"


def test_a_segmentation_fault_is_a_crash(runner: Runner) -> None:
    record = runner.one(python("segfault", "import ctypes; ctypes.string_at(0)"))
    assert (record["status"], record["exit_code"], record["signal"]) == ("crashed", None, signal.SIGSEGV)
    assert "signal 11" in record["reason"]


def test_invalid_utf_8_is_kept_byte_by_byte(runner: Runner) -> None:
    record = runner.one(sh("bytes", r"printf '\377\376\000\303('; printf '\200\n' >&2; exit 1"))
    assert printed(record, "stdout") == b"\xff\xfe\x00\xc3("
    assert printed(record, "stderr") == b"\x80\n"
    assert record["reason"] == "exit code 1: �"


def test_a_program_that_deletes_its_working_directory_disturbs_nobody(runner: Runner) -> None:
    scripts = {
        "directory": 'rm -rf "$HOME"',
        "everything": 'rm -rf "$(dirname "$HOME")"',
        "link": 'mkdir ../elsewhere; touch ../elsewhere/precious; cd /; rm -rf "$HOME"; ln -s elsewhere "$HOME"',
        "file": 'cd /; rm -rf "$HOME"; echo > "$HOME"',
        "sealed": "mkdir -p a/b; touch a/b/c; chmod 0 a/b a .",
    }
    cells = [sh(name, script) for name, script in scripts.items()]
    # Deeper than a recursion in Python goes.
    cells.append(python("deep", "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\n"))
    look = [
        sh(f"after {n}", '[ "$(pwd)" = "$HOME" ] && [ -z "$(ls -A)" ] && [ ! -L "$HOME" ]')
        for n in range(len(cells))
    ]
    records = runner.measure(
        *[planned for pair in zip(cells, look, strict=True) for planned in pair], rounds=2
    )
    assert [r["reason"] for r in records if r["status"] != "ok"] == []
    assert len(records) == 4 * len(cells)
    assert not (runner.folder.scratch / "elsewhere" / "precious").exists()


RESULTS_ARE = {
    "garbage": ("head -c 100000 /dev/urandom", "line 1 of the results"),
    "not ours": ("echo '{\"iteration\": 0}'", "results: expected metric"),
    "nothing": (":", "no result"),
    "not a number": (
        'echo \'{"iteration": 0, "metric": "elapsed", "value": 1e999, "unit": "ns"}\'',
        "finite",
    ),
    "too great": (
        f'echo \'{{"iteration": 0, "metric": "elapsed", "value": 1{"0" * 400}, "unit": "ns"}}\'',
        "finite",
    ),
    "endless info": ('echo \'{"info": {"x": -1e999}}\'', "line 1 of the results"),
}


@pytest.mark.parametrize(("script", "reason"), RESULTS_ARE.values(), ids=RESULTS_ARE)
def test_results_that_cannot_be_read_are_a_failure(runner: Runner, script: str, reason: str) -> None:
    record = runner.one(sh("garbage", f'{script} > "$REGATTA_RESULTS"', **REGATTA_LINES))
    assert record["status"] == "failed"
    assert reason in record["reason"]


NOT_A_FILE = {
    "a hundred megabytes": ('head -c 104857600 /dev/zero > "$REGATTA_RESULTS"', "at most 64 MiB"),
    "a link": ('ln -s /etc/passwd "$REGATTA_RESULTS"', "a regular file"),
    "a directory": ('mkdir -p "$REGATTA_RESULTS/a"', "a regular file"),
    "a pipe": ('mkfifo "$REGATTA_RESULTS"', "a regular file"),
    "a device": ('mknod "$REGATTA_RESULTS" c 1 5 || ln -s /dev/zero "$REGATTA_RESULTS"', "a regular file"),
}


@pytest.mark.parametrize(("script", "reason"), NOT_A_FILE.values(), ids=NOT_A_FILE)
def test_results_that_are_no_plain_file_are_a_failure_and_the_next_invocation_starts_clean(
    runner: Runner, script: str, reason: str
) -> None:
    good = sh(
        "good", f'[ ! -e "$REGATTA_RESULTS" ] && echo \'{ONE_LINE}\' > "$REGATTA_RESULTS"', **REGATTA_LINES
    )
    bad, after = runner.measure(sh("bad", script, **REGATTA_LINES), good)
    assert bad["status"] == "failed"
    assert reason in bad["reason"]
    assert (after["status"], after["reason"]) == ("ok", None)


def test_wrong_output_is_a_failure(runner: Runner) -> None:
    digest = "ab" * 32
    wrong = sh(
        "digest",
        f'echo \'{ONE_LINE}\' > "$REGATTA_RESULTS"; echo \'{{"iteration": 0, "digest": "{"cd" * 32}"}}\' >> "$REGATTA_RESULTS"',
        expect={"digest": digest, "stdout_sha256": "", "check_sha256": ""},
        **REGATTA_LINES,
    )
    printed_wrong = sh(
        "stdout", "echo no", expect={"digest": "", "stdout_sha256": digest, "check_sha256": ""}
    )
    check_fails = sh("check fails", "touch made", check=["/bin/sh", "-c", "test -e made && exit 4"])
    check_differs = cell("check differs", [TRUE], check=["/bin/echo", "no"], expect={"check_sha256": digest})
    no_check = cell("no check", [TRUE], check=["/no/such/program"])
    records = runner.measure(wrong, printed_wrong, check_fails, check_differs, no_check)
    assert {r["status"] for r in records} == {"failed"}
    reasons = [r["reason"] for r in records]
    assert all(reason.startswith("wrong output: ") for reason in reasons)
    facts = ("digest cdcd", "stdout", "exit code 4", "check printed", " /no/such/program")
    for reason, fact in zip(reasons, facts, strict=True):
        assert fact in reason


def test_a_check_that_hangs_is_a_failure(tmp_path: Path) -> None:
    for timeout_s in TIMEOUTS_S:
        runner = Runner(tmp_path / f"{timeout_s:g}" / "hand")
        hangs = cell("hangs", [TRUE], check=["/bin/sleep", "600"], timeout_s=timeout_s)
        record = runner.one(hangs)
        runner.assert_nothing_left()
        # The same timeout holds for the program itself.
        if record["status"] != "timeout":
            break
    assert record["status"] == "failed"
    assert record["reason"].startswith("wrong output: ")
    assert record["reason"].endswith(f" check timed out after {timeout_s:g} s")


def test_a_program_that_cannot_be_started_is_a_failure_among_others(runner: Runner, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    records = runner.measure(
        cell("none", ["/no/such/program"]), cell("text", [str(text)]), cell("good", [TRUE])
    )
    assert [r["status"] for r in records] == ["failed", "failed", "ok"]
    assert records[0]["reason"] == f"cannot start /no/such/program: {os.strerror(errno.ENOENT)}"
    assert records[0]["exit_code"] is records[0]["signal"] is None


JAVA_PROGRAM = """
public class Hostile {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("fill")) {
            java.util.ArrayList<byte[]> kept = new java.util.ArrayList<>();
            while (true) kept.add(new byte[1 << 20]);
        }
        if (arguments[0].equals("throw")) throw new IllegalStateException("on purpose");
        new ProcessBuilder("kill", "-ABRT", Long.toString(ProcessHandle.current().pid())).start();
        Thread.sleep(600000);
    }
}
"""


def test_an_exhausted_heap_is_told_apart_from_a_crash_and_from_a_failure(
    runner: Runner, tmp_path: Path
) -> None:
    java, javac = shutil.which("java"), shutil.which("javac")
    if not java or not javac:
        pytest.skip("NOT TESTED: no JDK on PATH, so that no real JVM can run out of heap")
    source = tmp_path / "Hostile.java"
    source.write_text(JAVA_PROGRAM)
    subprocess.run([javac, "-d", str(tmp_path), str(source)], check=True)

    def jvm(name: str, *flags: str) -> dict[str, object]:
        argv = [java, "-XX:+UseSerialGC", *flags, "-cp", str(tmp_path), "Hostile", name]
        return cell(name + " ".join(flags), argv, kind="java", timeout_s=300)

    records = runner.measure(
        jvm("fill", "-Xmx8m"),
        jvm("fill", "-Xmx8m", "-XX:+ExitOnOutOfMemoryError"),
        jvm("fill", "-Xmx8m", "-XX:+CrashOnOutOfMemoryError", "-XX:-CreateCoredumpOnCrash"),
        jvm("fill", "-Xmx1k"),
        jvm("kill", "-Xmx8m", "-XX:-CreateCoredumpOnCrash"),
        jvm("throw", "-Xmx8m"),
    )
    assert [r["status"] for r in records] == ["oom", "oom", "oom", "oom", "crashed", "failed"]
    assert "OutOfMemoryError" in records[0]["reason"]
    assert "heap" in records[3]["reason"]
    assert records[4]["signal"] == signal.SIGABRT


@pytest.fixture
def for_all(tmp_path: Path) -> Iterator[Path]:
    """A folder that an unprivileged user can work in; pytest's own are closed to others."""
    directory = Path(tempfile.mkdtemp(prefix="regatta-test-"))
    yield directory
    shutil.rmtree(directory)


def test_a_fork_bomb_is_held_by_its_limit_and_ended(for_all: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: only root can become a user of its own, whose processes can be counted")
    python_of_all = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    if not python_of_all:
        pytest.skip("NOT TESTED: no python3 that every user can execute")
    user = 61_613
    bomb = (
        "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    try: os.fork()\n"
        "    except BlockingIOError: open(sys.argv[1], 'w').close(); time.sleep(0.01)\n"
    )
    os.chmod(for_all, 0o755)
    for timeout_s in (1.0, 10.0, 100.0):
        runner = Runner(for_all / f"{timeout_s:g}" / "hand")
        held = runner.folder.path / "held"
        argv = [python_of_all, "-I", "-S", "-c", bomb, str(held)]
        write_plan(
            runner.folder,
            [cell("bomb", argv, timeout_s=timeout_s), cell("good", [TRUE], timeout_s=300)],
            rlimits={**NO_RLIMITS, "processes": 40},
        )
        os.chmod(runner.folder.path, 0o777)
        done = subprocess.run(
            [python_of_all, *runner.argv()[1:]],
            env={"PATH": os.environ["PATH"], "REGATTA_HOST_LOCK": str(runner.folder.path / "lock")},
            user=user,
            group=user,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert (done.returncode, done.stderr) == (0, "")
        bombed, good = runner.records()
        assert bombed["status"] == "timeout"
        assert bombed["left_behind"] < 40
        assert (good["status"], good["cgroup"]) == ("ok", None)
        assert measured_processes(runner.results_file) == []
        assert not [p for p in Path("/proc").glob("[0-9]*") if _owner(p) == user]
        if held.exists():
            break
    assert bombed["left_behind"] >= 1


def _owner(path: Path) -> int:
    try:
        return path.stat().st_uid
    except OSError:
        return -1


def test_a_program_that_went_missing_after_planning_is_named(runner: Runner, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    write_plan(runner.folder, [cell("gone", [str(gone)], files=[{"path": str(gone), "sha256": "ab" * 32}])])
    done = runner.run()
    assert done.returncode == 3
    assert str(gone) in done.stderr
    assert "No such file" in done.stderr
    assert runner.records() == []


def test_a_program_that_changed_after_planning_is_named_and_not_measured(
    runner: Runner, tmp_path: Path
) -> None:
    changed = tmp_path / "changed"
    changed.write_text("#!/bin/sh\n")
    write_plan(
        runner.folder, [cell("changed", [str(changed)], files=[{"path": str(changed), "sha256": "ab" * 32}])]
    )
    done = runner.run()
    assert done.returncode == 3
    assert f"{changed}: expected SHA-256 abababababab" in done.stderr
    assert runner.records() == []


def test_a_killed_runner_leaves_a_process_that_the_next_start_ends(tmp_path: Path) -> None:
    # Any runner on this machine ends the orphans of a dead one: when another test's did, once more.
    assert any(_is_ended_by_the_next_start(tmp_path / str(attempt)) for attempt in range(10))


def _is_ended_by_the_next_start(place: Path) -> bool:
    runner, told = Runner(place / "hand"), place / "pid"
    script = f"[ -e {told} ] && exit 0; echo $$ > {told}.new; mv {told}.new {told}; exec sleep 600"
    write_plan(runner.folder, [sh("orphan", script)])
    process = runner.start()
    wait_until(told.exists, "the measured process to start")
    process.kill()
    process.communicate()
    orphans = measured_processes(runner.results_file)
    assert runner.run().returncode == 0
    wait_until(lambda: is_gone(int(told.read_text())), "the end of what was killed")
    assert [(r["status"], r["attempt"]) for r in runner.records()] == [("ok", 0)]
    runner.assert_nothing_left()
    return (orphans, runner.receipt()["orphans_ended"]) == ([int(told.read_text())], 1)


def test_a_second_runner_under_another_host_lock_is_refused_and_ends_no_process_of_the_first(
    runner: Runner, tmp_path: Path
) -> None:
    started, go_on = tmp_path / "started", tmp_path / "go-on"
    script = f"echo > {started}; while [ ! -e {go_on} ]; do sleep 0.01; done"
    write_plan(runner.folder, [sh("long", script, timeout_s=600)])
    first = runner.start()
    wait_until(started.exists, "the first runner to measure")
    runner.lock = tmp_path / "other.lock"
    second = runner.run()
    go_on.touch()
    _, said = first.communicate(timeout=300)
    assert second.returncode != 0
    assert "00000.jsonl: expected no other" in second.stderr
    assert (first.returncode, said) == (0, "")
    assert [(record["status"], record["signal"]) for record in runner.records()] == [("ok", None)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_runner_that_is_told_to_stop_ends_the_tree_and_records_nothing_of_it(
    runner: Runner, tmp_path: Path, number: signal.Signals
) -> None:
    told = tmp_path / "told"
    script = f"[ -e {told} ] && exit 0; trap '' TERM; setsid sleep 600 & echo > {told}; sleep 600; sleep 600"
    write_plan(runner.folder, [cell("first", [TRUE]), sh("long", script)])
    process = runner.start()
    wait_until(told.exists, "the long one to run")
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    # The command that started it tells how to continue.
    assert (process.returncode, err) == (130, "")
    runner.assert_nothing_left()
    assert len(runner.records()) == 1
    assert not runner.receipt_path().exists()
    assert runner.run().returncode == 0
    assert [r["status"] for r in runner.records()] == ["ok", "ok"]


def test_a_runner_that_is_told_to_stop_while_it_waits_for_the_host_stops(runner: Runner) -> None:
    import fcntl

    write_plan(runner.folder, [cell("first", [TRUE])])
    with runner.lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = runner.start()
        assert process.stderr is not None
        assert "waiting" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_small_limit_of_open_files_holds_though_the_runner_has_many_open(runner: Runner) -> None:
    few = {**NO_RLIMITS, "open_files": 16}
    record = runner.one(sh("few", "ulimit -Sn"), rlimits=few)
    assert (record["status"], printed(record, "stdout")) == ("ok", b"16\n")


def test_a_file_that_the_runner_was_started_with_is_not_handed_on(runner: Runner, tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as held:
        write_plan(runner.folder, [sh("files", "ls /proc/self/fd | wc -l")])
        process = runner.start(pass_fds=(held.fileno(),))
        process.communicate()
    assert printed(runner.records()[0], "stdout") == b"4\n", "and one of them is the listing"
