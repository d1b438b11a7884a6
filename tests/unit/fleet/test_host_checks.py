"""Verdicts on hosts that were made up, and one look at this one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from regatta.fleet import host_checks
from regatta.fleet.fake_benchmarks import Answer, command_line, host_benchmarks, read_answer
from regatta.fleet.host_checks import Check, exit_code
from regatta.fleet.kernel_figures import (
    KernelFrequency,
    clock_source,
    kernel_frequency,
    kernel_line_bytes,
)
from regatta.host.errors import SpecError
from regatta.host.values.resolved import File

HOME = Path(__file__).parents[3]
INFO: dict[str, float] = {
    "clock_resolution_ns": 20, "clock_overhead_ns": 22.5, "trusted_interval_ns": 500000, "interval_trusted": True,
}  # fmt: skip


def noise(processor: str = "0", slowdown: float = 1.02, interrupted: float = 0.2) -> Answer:
    values = {
        "quantum_median": 50_000.0, "slowdown_p99": slowdown, "interrupted": interrupted,
        "interruptions": 3.0, "interruption_longest": 400_000.0,
    }  # fmt: skip
    rows = [
        (i, metric, value, "ns", 400, {"processor": processor, "quantum_us": 50, "parallel": 1})
        for metric, value in values.items()
        for i in range(5)
    ]
    return Answer("", INFO, tuple(rows))


def answer(metric: str, *values: float, **parameters: Any) -> Answer:
    return Answer("", INFO, tuple((i, metric, v, "ns", None, parameters) for i, v in enumerate(values)))


def verdicts(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.verdict for check in checks}


def test_a_process_that_stays_where_it_was_put_is_pinned() -> None:
    check = host_checks.check_pinning({0: noise("0"), 3: noise("3")})
    assert check.verdict == "ok"
    assert " 2 CPUs" in check.got


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (noise("several"), "CPU 3: ran on several"),
        (noise("1"), "CPU 3: ran on 1"),
        (Answer("cannot be used: Invalid argument"), "Invalid argument"),
    ],
)
def test_a_process_that_was_elsewhere_makes_a_host_unfit(found: Answer, told: str) -> None:
    check = host_checks.check_pinning({0: noise("0"), 3: found})
    assert check.verdict == "unfit"
    assert told in check.got
    assert check.advice
    assert exit_code([check]) == 3


def test_a_program_that_failed_says_nothing_of_where_it_ran() -> None:
    check = host_checks.check_pinning({0: noise("0"), 1: Answer("not run: late")})
    assert (check.verdict, check.got) == ("doubtful", "CPU 1: not run: late")


def test_without_the_programs_nothing_is_claimed() -> None:
    checks = [
        host_checks.check_pinning({}),
        *host_checks.check_clock([], "tsc"),
        host_checks.check_order(None, 2),
        *host_checks.check_noise({}),
        *host_checks.check_load({}, {}, None),
        *host_checks.check_frequency(None, KernelFrequency(3000, "constant")),
        host_checks.check_line(None, 64),
        host_checks.check_sleep(None),
    ]
    assert len(checks) == 14
    assert {check.verdict for check in checks} == {"not available here"}
    assert exit_code(checks) == 0


@pytest.mark.parametrize(
    ("change", "name", "verdict"),
    [
        ({}, "clock steps", "ok"),
        ({"clock_resolution_ns": 10_000_000}, "clock steps", "unfit"),
        ({"clock_overhead_ns": 800}, "clock cost", "doubtful"),
        ({}, "interval", "ok"),
        ({"interval_trusted": False, "trusted_interval_ns": 5_000_000}, "interval", "doubtful"),
    ],
)
def test_a_coarse_costly_or_uneven_clock_is_found(change: dict[str, float], name: str, verdict: str) -> None:
    checks = verdicts(host_checks.check_clock([{**INFO, **change}] * 3, "hpet"))
    assert checks[name] == verdict
    assert [v for n, v in checks.items() if n != name] == ["ok", "ok"]


def test_one_disturbed_trial_of_the_interval_does_not_decide() -> None:
    infos = [INFO, {**INFO, "interval_trusted": False}, INFO]
    check = host_checks.check_clock(infos, "tsc")[2]
    assert check.verdict == "ok"
    assert " 2 of 3 " in check.got
    assert check.got.endswith(" 0.5 ms")


def test_a_clock_that_goes_back_makes_a_host_unfit() -> None:
    back = Answer(
        "the clock goes back: -90 ns between a reading on processor 0 or 1 and the next one on the other"
    )
    assert host_checks.check_order(back, 2).verdict == "unfit"
    right = host_checks.check_order(answer("clock_step", 110.0, 100.0, **{"from": 0, "to": 1}), 2)
    assert right.verdict == "ok"
    assert "(n = 1)" in right.got
    assert right.got.endswith(" 100 ns")
    assert host_checks.check_order(Answer("no memory"), 2).verdict == "doubtful"
    assert host_checks.check_order(Answer("expected two processors"), 1).verdict == "not available here"


@pytest.mark.parametrize(
    ("slowdown", "interrupted", "expected"),
    [
        (1.05, 0.3, ["ok", "ok"]),
        (1.3, 0.9, ["doubtful", "ok"]),
        (1.05, 4.0, ["ok", "doubtful"]),
        (30.0, 25.0, ["doubtful", "unfit"]),
    ],
)
def test_the_noisiest_cpu_decides(slowdown: float, interrupted: float, expected: list[str]) -> None:
    checks = host_checks.check_noise({0: noise(), 1: noise("1", slowdown, interrupted), 2: Answer("failed")})
    assert [check.verdict for check in checks] == expected
    assert all("on CPU 1" in check.got for check in checks)
    assert "longest 400 us" in checks[1].got


def test_load_is_held_against_the_limits_of_an_invocation() -> None:
    shares = {"steal_percent": 7.0, "other_cpu_percent": 3.0, "memory_pressure_percent": None}
    limits = {"steal_percent": 5.0, "other_cpu_percent": 10.0, "memory_pressure_percent": 5.0}
    steal, other, memory = host_checks.check_load(shares, limits, 0.3)
    assert (steal.verdict, other.verdict, memory.verdict) == ("doubtful", "ok", "not available here")
    assert other.got == "3 %; load 0.3"


@pytest.mark.parametrize(
    ("found", "kernel", "expected"),
    [
        ((2995.0, 3010.0), KernelFrequency(3000, "constant"), ["ok", "ok"]),
        ((3050.0, 3051.0), KernelFrequency(3000, "constant"), ["ok", "unfit"]),
        ((3050.0, 3051.0), KernelFrequency(3000, "variable"), ["ok", "doubtful"]),
        ((3900.0, 3930.0), KernelFrequency(2600, "nominal"), ["ok", "not available here"]),
        ((2590.0, 2600.0), KernelFrequency(2600, "nominal"), ["ok", "ok"]),
        ((2000.0, 3000.0), KernelFrequency(3000, "constant"), ["doubtful", "ok"]),
        ((3000.0, 3000.0), None, ["ok", "not available here"]),
    ],
)
def test_the_frequency_is_compared_where_the_kernel_knows_it(
    found: tuple[float, float], kernel: KernelFrequency | None, expected: list[str]
) -> None:
    checks = host_checks.check_frequency(answer("frequency", *found), kernel)
    assert [check.verdict for check in checks] == expected


def test_a_machine_too_busy_for_its_frequency_is_doubtful() -> None:
    checks = host_checks.check_frequency(
        Answer("the machine is emulated, or too busy"), KernelFrequency(1, "constant")
    )
    assert [check.verdict for check in checks] == ["doubtful", "not available here"]


def test_a_line_is_what_the_kernel_says_or_doubtful() -> None:
    line = answer("line_size", 64.0)
    found = [host_checks.check_line(line, kernel).verdict for kernel in (64, 128, None)]
    assert found == ["ok", "doubtful", "not available here"]


def test_a_sleep_that_is_too_short_makes_a_host_unfit() -> None:
    def slept(*ns: float) -> Answer:
        return answer("latency", *ns, call="nanosleep", requested_us=100)

    assert host_checks.check_sleep(slept(150_000.0, 160_000.0)).verdict == "ok"
    # The clock's cost has been subtracted.
    assert host_checks.check_sleep(slept(99_980.0)).verdict == "ok"
    assert host_checks.check_sleep(slept(150_000.0, 99_000.0)).verdict == "unfit"
    assert host_checks.check_sleep(Answer("benchmark: Timer expired")).verdict == "unfit"
    assert host_checks.check_sleep(Answer("benchmark: Interrupted system call")).verdict == "doubtful"


def test_advice_is_given_only_where_something_is_wrong() -> None:
    good, bad = (Check("a", "b", "c", verdict, "mend it") for verdict in ("ok", "doubtful"))
    assert good.to_json()["fix"] == ""
    assert bad.to_json() == {
        "name": "a",
        "expected": "b",
        "got": "c",
        "verdict": "doubtful",
        "fix": "mend it",
    }
    assert exit_code([good, bad]) == 0


def kernel(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


CPU = "sys/devices/system/cpu"
FREQUENCY = f"{CPU}/cpu2/cpufreq/scaling"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({f"{FREQUENCY}_min_freq": "3000000\n", f"{FREQUENCY}_max_freq": "3000000\n"}, (3000.0, "constant")),
        (
            {f"{FREQUENCY}_min_freq": "3000000", f"{FREQUENCY}_max_freq": "3000000", f"{CPU}/cpufreq/boost": "1\n"},
            (3000.0, "variable"),
        ),
        (
            {f"{FREQUENCY}_min_freq": "3000000", f"{FREQUENCY}_max_freq": "3000000", f"{CPU}/intel_pstate/no_turbo": "0"},
            (3000.0, "variable"),
        ),
        (
            {
                f"{FREQUENCY}_min_freq": "800000", f"{FREQUENCY}_max_freq": "4900000",
                f"{FREQUENCY}_cur_freq": "1234567",
            },
            (1234.567, "variable"),
        ),
        (
            {"proc/cpuinfo": "processor\t: 0\ncpu MHz\t\t: 1.0\n\nprocessor\t: 2\ncpu MHz\t\t: 2596.100\n\n"},
            (2596.1, "nominal"),
        ),
        ({"proc/cpuinfo": "processor\t: 2\nBogoMIPS\t: 50.00\n"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_the_kernels_frequency_is_told_with_what_it_is_worth(
    tmp_path: Path, files: dict[str, str], expected: tuple[float, str] | None
) -> None:
    found = kernel_frequency(2, kernel(tmp_path, files))
    assert found == (None if expected is None else KernelFrequency(*expected))


def test_the_line_is_that_of_the_first_data_cache(tmp_path: Path) -> None:
    cache = f"{CPU}/cpu0/cache"
    files = {
        f"{cache}/index0/level": "1", f"{cache}/index0/type": "Instruction", f"{cache}/index0/coherency_line_size": "32",
        f"{cache}/index1/level": "1", f"{cache}/index1/type": "Data", f"{cache}/index1/coherency_line_size": "64\n",
        f"{cache}/index2/level": "2", f"{cache}/index2/type": "Unified", f"{cache}/index2/coherency_line_size": "128",
    }  # fmt: skip
    root = kernel(tmp_path, files)
    assert kernel_line_bytes(0, root) == 64
    assert kernel_line_bytes(1, root) is None
    assert clock_source(root) == ""


def test_what_a_program_left_becomes_an_answer() -> None:
    line = {
        "iteration": 0,
        "metric": "frequency",
        "value": 3000.5,
        "unit": "MHz",
        "parameters": {"parallel": 1},
    }
    lines = [json.dumps({"info": INFO}), json.dumps(line)]
    good = read_answer("\n".join(lines).encode(), "", "")
    assert (good.error, good.values("frequency"), good.parameters("parallel")) == ("", [3000.5], [1])
    assert good.info["clock_resolution_ns"] == 20
    told = read_answer(b'{"error": "the clock: -9 ns"}\n', "", "exit code 1")
    assert told.error == "the clock: -9 ns"
    assert read_answer(None, "", "ended by signal 9").error == "ended by signal 9"
    assert read_answer(lines[0].encode(), "", "").error.startswith("no result: REGATTA_RESULTS ")
    assert "line 1" in read_answer(b"{", "", "").error


def test_the_suites_own_programs_are_run_for_as_long_as_many_cpus_allow() -> None:
    few, many = host_benchmarks(HOME, 2), host_benchmarks(HOME, 32)
    assert {"cpu_noise", "clock_order", "lat_usleep"} <= set(few)
    period_ms = [int(found["cpu_noise"].parameters["period_ms"]) for found in (few, many)]
    assert period_ms == [200, 31]
    built = {"lm": {name: File(f"/built/{name}", "") for name in few}}
    assert command_line(few["cpu_noise"], built)[0] == "/built/cpu_noise"
    assert "--period-ms" in command_line(few["cpu_noise"], built)


def test_a_suite_that_is_wrong_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "configs/suites").mkdir(parents=True)
    (tmp_path / "configs/suites/lm.yml").write_text("suite: lm\nbenchmarks: {mhz: {sizes: {quick: {}}}}\n")
    with pytest.raises(SpecError, match=r"lm\.yml:2"):
        host_benchmarks(tmp_path, 1)


def regatta(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "regatta"), "check-host", *arguments]
    return subprocess.run(
        command, cwd=HOME, env={**os.environ, **environment}, text=True, capture_output=True, check=False
    )


@pytest.mark.full
@pytest.mark.skipif(
    shutil.which("gcc") is None or shutil.which("make") is None,
    reason="NO GCC OR MAKE: THIS HOST IS NOT CHECKED",
)
def test_this_host_is_looked_at(tmp_path: Path) -> None:
    own = {"REGATTA_HOST_LOCK": str(tmp_path / "lock"), "TMPDIR": str(tmp_path)}
    found = regatta("--json", **own)
    assert found.stdout, found.stderr
    value = json.loads(found.stdout)
    checks = {check["name"]: check for check in value["checks"]}
    assert value["cpus"] == sorted(os.sched_getaffinity(0))
    assert found.returncode == (3 if any(check["verdict"] == "unfit" for check in checks.values()) else 0)
    # With the counters that there are and those that there are not; one of the two can be empty.
    assert len(checks) - len(checks.keys() & {"counters", "other counters"}) == 14
    # True of every host that runs tests, whatever else it does meanwhile.
    for name in ("pinning", "clock steps", "sleep"):
        # Where others take all of the processors, the time for the programs can be over before the last.
        assert checks[name]["verdict"] == "ok" or "not run: the" in checks[name]["got"], checks[name]
    assert {path.name for path in tmp_path.iterdir()} == {"lock", f"lock.{os.geteuid()}"}


SLEEPERS = """
import dataclasses, json, sys, time, types
from pathlib import Path
from regatta.fleet import fake_benchmarks
from regatta.fleet.fake_benchmarks import HostRunner, host_benchmarks
# The clock stands until the first program has ended, which then had all of the time.
began, ended = time.monotonic(), []
clock = lambda: time.monotonic() if ended else began
fake_benchmarks.time = types.SimpleNamespace(monotonic=clock)
found = host_benchmarks(Path(sys.argv[1]), 1)
sleeping = {name: dataclasses.replace(found[name], command=("/bin/sleep", "600")) for name in ("cpu_noise", "lat_usleep")}
with HostRunner(sleeping, {}, [int(sys.argv[2])], budget_s=1) as runner:
    heard = runner.run([int(sys.argv[2])], lambda: ended.append(True))
print(json.dumps([*(a.error for a in heard.noise.values()), *(a.error for a in heard.others.values())]))
"""


def test_programs_that_do_not_end_are_ended_when_the_time_is_over(tmp_path: Path) -> None:
    cpu = str(min(os.sched_getaffinity(0)))
    done = subprocess.run(
        [sys.executable, "-c", SLEEPERS, str(HOME), cpu], text=True, capture_output=True, check=False,
        env={**os.environ, "REGATTA_HOST_LOCK": str(tmp_path / "lock"), "TMPDIR": str(tmp_path)}, timeout=500,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    still_ran, not_run = json.loads(done.stdout)
    assert still_ran.startswith("terminated after ")
    assert not_run.startswith("not run: ")
    assert " 1 s " in not_run
    assert {path.name for path in tmp_path.iterdir()} == {"lock", f"lock.{os.geteuid()}"}


@pytest.mark.parametrize("given", ["70000", "x", "", "3-1"])
def test_cpus_that_are_not_there_are_refused(given: str) -> None:
    done = regatta("--cpus", given)
    assert done.returncode == 2
    assert "--cpus" in done.stderr
    assert "Traceback" not in done.stderr


def test_people_read_each_piece_of_advice_once(capsys: pytest.CaptureFixture[str]) -> None:
    from regatta.cli.check_host import _show, _spread

    _show([
        Check("steal", "little", "9 %", "doubtful", "move"),
        Check("pinning", "stays", "moved", "unfit", "move"),
        Check("sleep", "long", "long", "ok", "never said"),
    ])  # fmt: skip
    shown = capsys.readouterr().out
    assert "fix steal, pinning: move" in shown
    assert "never said" not in shown
    assert "1 unfit · 1 doubtful" in shown
    assert _spread(list(range(128)), 32) == list(range(0, 128, 4))
    assert _spread([2, 5], 32) == [2, 5]
