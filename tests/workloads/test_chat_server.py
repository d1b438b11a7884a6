"""The chat benchmark as the runner runs it: one command starts server and client, measures a window, and leaves nothing behind."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from helpers.counting import skip_without_counters
from helpers.marked_processes import processes_with
from helpers.runner_plans import Runner, cell
from helpers.waiting import wait_until
from helpers.workloads import chat_runs, java_runs
from helpers.workloads.chat_runs import PATIENCE_S, RELEASES, SUITE
from regatta.host.units import UNITS
from regatta.host.values.counters import INFO

MODES = sorted(RELEASES)
SHORT = ("--seconds", 0.3, "--warmup-seconds", 0.1)
PER_MESSAGE = (
    "cpu_per_message",
    "cpu_client_per_message",
    "cpu_user_per_message",
    "cpu_system_per_message",
    "switches_voluntary_per_message",
)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_delivers_everything_and_reports_each_window(mode: str, tmp_path: Path) -> None:
    java = java_runs.jvm(RELEASES[mode])
    options = ("--mode", mode, "--connections", 40, "--iterations", 2, *SHORT)
    run = chat_runs.session(tmp_path, *options, java=java, packed=True)
    assert run.code == 0, run.stderr
    assert len(run.values("delivered_rate", mode=mode, connections=40, rate=0)) == 2
    for line in run.lines:
        if "metric" in line:
            assert line["unit"] in UNITS
            assert line["value"] >= 0
    for iteration, (sent, heard) in enumerate(
        zip(run.values("messages"), run.values("deliveries"), strict=True)
    ):
        # What is on its way at a border of the window makes the two differ: a message of each of the 40 users to 20 others,
        # and more where a sender hears itself, and goes on, before the others have heard it.
        assert abs(heard - 20 * sent) <= 40 * 20 + 0.1 * heard, iteration
        assert sent > 0
    for metric in PER_MESSAGE:
        assert len(run.values(metric)) == 2, metric
    assert all(0 < share <= 1.2 for share in run.values("cpu_share"))
    assert len(run.values("compile_time")) == 2
    percents = (50, 90, 99, 99.9, 100)
    shown = [value for percent in percents for value in run.values("latency", percentile=percent)[:1]]
    assert shown == sorted(shown)
    assert run.info["server_release"] == RELEASES[mode]


def test_the_last_room_may_be_smaller_and_a_planned_rate_is_kept(tmp_path: Path) -> None:
    java = java_runs.jvm(17)
    options = ("--mode", "selector", "--connections", 25, "--rate", 40, "--seed", 5, "--pin")
    run = chat_runs.session(tmp_path, *options, "--seconds", 1, "--warmup-seconds", 0.1, java=java)
    assert run.code == 0, run.stderr
    # 25 users at 40 a second: 1,000 on average, and what a busy machine moves from one side of a border to the other. A rate
    # for all of them would give 40, as many as can be 50,000 and more.
    assert 100 < run.values("sent_rate")[0] < 10_000
    apart = len(os.sched_getaffinity(0)) > 1
    assert run.info["placement"].startswith("server on CPUs" if apart else "not apart")


@pytest.mark.parametrize("release", [11, 17])
def test_virtual_threads_are_not_possible_before_release_21(release: int, tmp_path: Path) -> None:
    java = java_runs.jvm(release)
    for options in (("--probe",), SHORT):
        run = chat_runs.session(tmp_path, "--mode", "virtual", *options, java=java)
        assert run.code == 4
        assert run.stderr.startswith(f"not possible: release {release} ")
        assert "no virtual threads, 21" in run.stderr
        assert run.lines == []
    assert chat_runs.session(tmp_path, "--mode", "platform", "--probe", java=java).code == 0


def test_the_suite_runs_at_its_tiny_size(tmp_path: Path) -> None:
    benchmark = SUITE["benchmarks"]["chat"]
    given = {**benchmark["sizes"]["tiny"]["parameters"], "iterations": 1}
    given |= {"session.program": str(chat_runs.built("session")), "chat.jar": str(chat_runs.built("chat"))}
    command: list[str] = []
    for argument in benchmark["command"]:
        for name, value in given.items():
            argument = argument.replace(f"{{{name}}}", str(value))
        command += (
            [java_runs.jvm(17), "-Xmx64m", "-XX:+UseParallelGC"] if argument == "{runtime}" else [argument]
        )
    run = chat_runs.finished(command, tmp_path)
    assert run.code == 0, run.stderr
    assert len(run.values(benchmark["metric"])) == 1


def test_the_server_asks_for_the_counters_of_each_window(tmp_path: Path) -> None:
    skip_without_counters()
    options = ("--mode", "selector", "--connections", 20, "--iterations", 2, *SHORT)
    command = chat_runs.session_command(*options, java=java_runs.jvm(17))
    asked = {
        "counters": {"names": ["context-switches"], "raw": {}},
        "adapter": {"name": "regatta", "options": {}},
        "metric": "delivered_rate",
    }
    runner = Runner(tmp_path / "hand")
    record = runner.one(cell("chat", [shutil.which(command[0]) or command[0], *command[1:]], **asked))
    runner.assert_nothing_left()
    assert record["status"] == "ok", record["reason"]
    for metric in ("counter_iteration_context_switches", "counter_operation_context_switches"):
        assert [row[0] for row in record["iterations"] if row[1] == metric] == [0, 1]
    assert record["info"][INFO]["missing"] == {}


def test_what_the_server_did_before_the_window_is_not_counted(tmp_path: Path) -> None:
    java = java_runs.jvm(17)
    source = Path(__file__).with_name("Burning.java")
    jar = chat_runs.built("chat")
    subprocess.run(
        ["javac", "--release", "11", "-cp", str(jar), "-d", str(tmp_path), str(source)], check=True
    )
    # Stands for the JVM: the server burns processor time before it serves, the client is as it is.
    wrapper = tmp_path / "java"
    wrapper.write_text(
        "#!/bin/sh\n"
        f'for argument do shift; case "$argument" in *.ChatServer) argument=Burning;; {jar}) argument={jar}:{tmp_path};; esac\n'
        'set -- "$@" "$argument"; done\n'
        f'exec {java} "$@"\n'
    )
    wrapper.chmod(0o755)
    options = (
        "--mode",
        "platform",
        "--connections",
        20,
        "--rate",
        5,
        "--seconds",
        0.4,
        "--warmup-seconds",
        0.1,
    )
    run = chat_runs.session(tmp_path, *options, java=str(wrapper))
    assert run.code == 0, run.stderr
    burnt_ns = int(run.stdout.split("burnt ")[1].split()[0])
    assert burnt_ns >= 1_500_000_000
    assert run.values("cpu_user")[0] + run.values("cpu_system")[0] < burnt_ns


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_driver_that_is_ended_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    marker = f"chat-test-{os.getpid()}-{number}"
    command = chat_runs.session_command(
        "--mode", "platform", "--connections", 20, "--seconds", 600, java=java_runs.jvm(17)
    )
    driver = subprocess.Popen(
        command,
        env=chat_runs.environment(tmp_path, REGATTA_INVOCATION=marker),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        # The driver, the server and the client.
        wait_until(
            lambda: len(processes_with(marker)) == 3, "driver, server and client", patience_s=PATIENCE_S
        )
        driver.send_signal(number)
        driver.wait(PATIENCE_S)
        wait_until(lambda: not processes_with(marker), "all of them to end", patience_s=PATIENCE_S)
    finally:
        for pid in processes_with(marker):
            os.kill(pid, signal.SIGKILL)
        driver.wait()
    assert driver.returncode == (128 + number if number == signal.SIGTERM else -number)


@pytest.mark.parametrize("program", [chat_runs.SERVER, chat_runs.CLIENT])
def test_too_few_descriptors_are_told_before_anything_is_measured(program: str, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

    options = {
        chat_runs.SERVER: ["--mode", "selector"],
        chat_runs.CLIENT: ["--server", "127.0.0.1:9", "--control", "9"],
    }
    command = [
        java_runs.jvm(17),
        "-cp",
        str(chat_runs.built("chat")),
        program,
        *options[program],
        "--connections",
        "800",
    ]
    done = subprocess.run(
        command, preexec_fn=limit, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 2
    assert "limit of 864 open files" in done.stderr
    assert "got 200; " in done.stderr
    assert "ulimit -n" in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--mode", "fibres"), "invalid choice: 'fibres'"),
        (("--mode", "selector", "--connections", "0"), "expected an integer from 1"),
        (("--mode", "selector", "--rate", "nan"), "expected a number from 0"),
    ],
)
def test_a_wrong_option_of_the_driver_is_told_and_exits_with_2(
    options: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    run = chat_runs.session(tmp_path, *options, java="java")
    assert run.code == 2
    assert told in run.stderr
