"""Counters of real programs on this machine, and the encoding of events of other processors."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from helpers.counting import skip_without_counters, skip_without_perf
from helpers.runner_plans import Runner, cell, measured_processes, python, sh, write_plan
from helpers.waiting import wait_until
from regatta.host.counters import perf_events, profile
from regatta.host.counters.counting import Counters
from regatta.host.counters.program_profile import ProgramProfile
from regatta.host.measure.cgroup import open_accounting
from regatta.host.measure.containers.gate import Gate
from regatta.host.processes import children_of
from regatta.host.values.counters import ARM, COUNTERS, INFO, METRIC_PREFIX, NAMES, Event

SOFTWARE = [name for name, counter in COUNTERS.items() if not counter.by_space]
ASKED: dict[str, Any] = {"names": SOFTWARE, "raw": {}}
#: touches pages; the argument is their number
TOUCH = "import mmap; m = mmap.mmap(-1, {pages} * 4096); m.madvise(mmap.MADV_NOHUGEPAGE)\nfor i in range({pages}): m[i * 4096] = 1\n"


@pytest.fixture(autouse=True)
def _counting() -> None:
    skip_without_counters()


def counts_of(record: Any) -> dict[str, float]:
    assert record["status"] == "ok", record["reason"]
    return {
        row[1].removeprefix(METRIC_PREFIX): row[2]
        for row in record["iterations"]
        if row[1].startswith(METRIC_PREFIX)
    }


def test_all_processes_of_an_invocation_are_counted_and_the_runner_is_not(runner: Runner) -> None:
    few, many = TOUCH.format(pages=100), TOUCH.format(pages=20_000)
    fork = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', {many!r}], check=True)\n"
    )
    small, own, child = map(
        counts_of,
        runner.measure(
            python("few", few, counters=ASKED),
            python("own", many, counters=ASKED),
            python("child", fork, counters=ASKED),
        ),
    )
    assert set(small) == {name.replace("-", "_") for name in SOFTWARE}
    assert 19_700 <= own["page_faults"] - small["page_faults"] <= 20_100
    # The child of the third program has the faults of the second one.
    assert child["page_faults"] >= own["page_faults"]
    assert own["major_faults"] < 100


def test_the_task_clock_agrees_with_the_time_that_the_kernel_accounts(runner: Runner) -> None:
    (record,) = runner.measure(python("loop", "for i in range(3_000_000): pass", counters=ASKED))
    usage = record["rusage"]
    accounted = usage["user_s"] + usage["system_s"]
    assert counts_of(record)["task_clock"] / 1e9 == pytest.approx(accounted, rel=0.2)


def test_waits_are_switches(runner: Runner) -> None:
    nap = "import time\nfor i in range({}): time.sleep(0.0001)\n"
    none, many = map(
        counts_of,
        runner.measure(*(python(f"n{n}", nap.format(n), counters=ASKED) for n in (0, 300))),
    )
    assert many["context_switches"] - none["context_switches"] >= 250


def test_a_cell_without_counters_has_the_record_that_it_had(runner: Runner) -> None:
    plain, counted = runner.measure(sh("plain", "true"), sh("counted", "true", counters=ASKED))
    assert plain["info"] == {}
    assert counts_of(plain) == {}
    assert set(counted["info"]) == {INFO}
    assert list(counts_of(counted)) == [name.replace("-", "_") for name in SOFTWARE]


def test_a_counter_that_this_machine_lacks_has_a_reason_and_no_value(runner: Runner) -> None:
    asked = {"names": list(NAMES), "raw": {"own": "event=0xc4,umask=0x20"}}
    (record,) = runner.measure(sh("all", "true", counters=asked))
    counted = counts_of(record)
    missing = record["info"][INFO]["missing"]
    for name in (*NAMES, "own"):
        reasons = [why for key, why in missing.items() if key.split(" ")[0] == name]
        measured = name.replace("-", "_") in counted or name == "kernel-profile"
        # With several groups, a counter of another group has neither.
        assert measured or reasons or record["info"][INFO].get("groups", 1) > 1
        assert all(reasons)


def test_counters_work_with_a_small_limit_on_open_files(runner: Runner) -> None:
    rlimits = {"open_files": 16, "address_space_mib": None, "processes": None, "core_mib": 0}
    (record,) = runner.measure(sh("few", "true", counters=ASKED), rlimits=rlimits)
    assert len(counts_of(record)) == len(SOFTWARE)


def test_counters_work_with_a_memory_limit_whose_process_another_thread_starts(runner: Runner) -> None:
    limited = {"isolation": {"kind": "cgroup", "memory_mib": 256}, "counters": ASKED}
    opened, reason = open_accounting({"memory"})
    if opened is None:
        pytest.skip(f"NOT TESTED: no memory limit may be set here: {reason}")
    opened.close()
    (record,) = runner.measure(python("limited", TOUCH.format(pages=5000), **limited))
    assert 5000 <= counts_of(record)["page_faults"] < 10_000


def test_the_program_that_cannot_start_has_no_counts(runner: Runner) -> None:
    (record,) = runner.measure(cell("missing", ["/nowhere/program"], counters=ASKED))
    assert record["status"] == "failed"
    assert not any(row[1].startswith(METRIC_PREFIX) for row in record["iterations"])


def devices(tmp_path: Path, pmu: str = "cpu", **terms: str) -> Path:
    folder = tmp_path / pmu / "format"
    folder.mkdir(parents=True)
    (tmp_path / pmu / "type").write_text("4\n")
    for name, bits in terms.items():
        (folder / name).write_text(bits + "\n")
    return tmp_path


def only(devices: Path) -> perf_events.Cores:
    (cores,) = perf_events.kinds_of_cores(devices=devices)
    return cores


def is_listed(event: Event, devices: Path) -> bool:
    try:
        return bool(perf_events.event_on(event, only(devices)))
    except OSError:
        return False


def test_an_event_of_the_manual_is_encoded_as_the_processor_says(tmp_path: Path) -> None:
    intel = devices(
        tmp_path / "intel", event="config:0-7", umask="config:8-15", cmask="config:24-31", inv="config:23"
    )
    assert perf_events.raw_event("event=0xc4,umask=0x20", only(intel)) == Event(4, 0x20C4)
    assert perf_events.raw_event("event=0x3c,cmask=1,inv=1", only(intel)) == Event(4, 0x0180003C)
    # The number of an event of AMD has 12 bits in two places.
    amd = devices(tmp_path / "amd", event="config:0-7,32-35", umask="config:8-15")
    assert perf_events.raw_event("event=0x1a0,umask=0x1e", only(amd)) == Event(4, 0x1_0000_1EA0)
    arm = devices(tmp_path / "arm", "armv8_pmuv3_0", event="config:0-15")
    assert perf_events.raw_event("event=0x24", only(arm)) == Event(4, 0x24)


def test_an_event_of_arm_is_counted_only_where_the_kernel_lists_it(tmp_path: Path) -> None:
    place = devices(tmp_path, "armv8_pmuv3_0", event="config:0-15")
    (tmp_path / "armv8_pmuv3_0" / "events").mkdir()
    (tmp_path / "armv8_pmuv3_0" / "events" / "l2d_cache").touch()
    events = {name: counter.event_of(ARM) for name, counter in COUNTERS.items()}
    listed = {name for name, event in events.items() if event is not None and is_listed(event, place)}
    assert "l2-references" in listed
    assert not {"l2-misses", "llc-misses", "branches", "stalled-backend"} & listed
    assert {"cycles", "instructions", "task-clock"} <= listed


@pytest.mark.parametrize(
    ("event", "expected"),
    [("event=0x1c4", "does not fit"), ("edge=1", "no term `edge`"), ("ldlat=3", "no term `ldlat`")],
)
def test_an_event_that_the_processor_cannot_count_is_refused(
    tmp_path: Path, event: str, expected: str
) -> None:
    found = devices(tmp_path, event="config:0-7", ldlat="config1:0-15")
    with pytest.raises(OSError, match=expected) as refused:
        perf_events.raw_event(event, only(found))
    assert refused.value.errno == errno.EINVAL


def test_without_a_processor_that_counts_there_is_no_event(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no counters"):
        perf_events.raw_event("event=1", only(tmp_path))


def test_a_process_that_waits_at_a_gate_is_counted_from_its_program_on(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    try:
        # The shell that waits touches memory, too; its program begins with nothing.
        touch = [sys.executable, "-I", "-S", "-c", TOUCH.format(pages=5000)]
        shell = subprocess.Popen(gate.argv(touch), stdin=subprocess.DEVNULL)
        assert gate.wait(time.monotonic() + 300)
        (waiting,) = children_of(shell.pid)
        counting = Counters(1, "alpha").of(ASKED, 0)
        counting.begin(waiting)
        gate.release()
        assert gate.exit_word() == 0
        rows, told = counting.end()
        gate.let_go()
        shell.wait(300)
    finally:
        gate.close()
    assert told[INFO]["missing"] == {}
    faults = next(row[2] for row in rows if row[1] == "counter_page_faults")
    assert 5000 <= faults < 7500


def test_a_process_that_is_gone_has_reasons_and_no_values() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait(300)
    counting = Counters(1, "alpha").of(ASKED, 0)
    counting.begin(gone.pid)
    rows, told = counting.end()
    assert rows == []
    assert set(told[INFO]["missing"]) == set(SOFTWARE)


@pytest.fixture
def _perf() -> None:
    skip_without_perf()


@pytest.mark.usefixtures("_perf")
def test_the_kernel_is_sampled_while_the_program_runs_and_nothing_is_left(runner: Runner) -> None:
    read = "import os\nf = os.open('/dev/zero', 0)\nfor i in range(60): os.read(f, 100_000_000)\n"
    asked = {"names": ["kernel-profile", "task-clock"], "raw": {}}
    (record,) = runner.measure(python("reads", read, counters=asked))
    assert record["status"] == "ok", record["reason"]
    assert record["info"][INFO]["missing"] == {}
    times = {row[5]["symbol"]: row[2] for row in record["iterations"] if row[1] == "counter_kernel_profile"}
    # Zeros are written by the kernel, for nearly all of the time of the program.
    assert times["all"] >= 0.5 * counts_of(record)["task_clock"] / 1e9
    assert times["all"] == pytest.approx(sum(used for symbol, used in times.items() if symbol != "all"))
    # Functions of other programs, which tests beside this one may start, are among them.
    assert set(times) > {"all", "others"}
    assert all(used >= 0.005 * times["all"] for symbol, used in times.items() if symbol != "others")
    assert record["left_behind"] == 0


@pytest.mark.usefixtures("_perf")
def test_the_functions_of_a_program_and_its_children_are_kept_by_iteration(runner: Runner) -> None:
    asked = {"names": ["program-profile", "kernel-profile", "task-clock"], "raw": {}}
    read = "f = os.open('/dev/zero', 0)\nfor i in range(30): os.read(f, 100_000_000)\n"
    program = (
        "import os, subprocess, sys\n"
        "def border(word):\n"
        "    path = os.environ['REGATTA_COUNTERS']\n"
        "    open(path + '.ask', 'w').write(word + '\\n'); open(path + '.answer').read(1)\n"
        f"border('begin 3')\n{read}border('end 3')\n"
        f"subprocess.run([sys.executable, '-I', '-S', '-c', 'import os\\n' + {read!r}], check=True)\n"
    )
    (record,) = runner.measure(python("reads", program, counters=asked))
    assert record["status"] == "ok", record["reason"]
    assert record["info"][INFO]["missing"] == {}
    (kept,) = record["kept"]
    (path,) = runner.folder.journal.rglob(kept["name"])
    found = json.loads(path.read_text())
    assert set(found["windows"]) == {"3"}
    in_kernel = {3: 0, -1: 0}
    for window, count, stack in found["stacks"]:
        in_kernel[window] += count * ("[kernel.kallsyms]" in stack)
    counts = counts_of(record)
    total = sum(count for _, count, _ in found["stacks"]) / found["hz"]
    assert counts["program_profile"] == pytest.approx(total)
    # Half of the zeros are written in the iteration, the others by the child.
    for count in in_kernel.values():
        assert count / found["hz"] > 0.25 * total
    # Both count the same processes; samples of 1 ms are not exact.
    assert total == pytest.approx(counts["task_clock"] / 1e9, rel=0.15)
    assert record["left_behind"] == 0
    assert not list(Path(runner.results_file).parent.glob("regatta-profile-*"))


@pytest.mark.usefixtures("_perf")
def test_samples_are_refused_once_perf_has_recorded_as_much_as_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # When it starts, perf describes all processes, before any sample.
    monkeypatch.setattr(profile, "LARGEST_KIB", 1024)
    sampling = ProgramProfile(str(tmp_path / "results"))
    try:
        sampling.begin()
        wait_until(lambda: sum(range(100_000)) and not Path(f"/proc/{sampling.pid}/exe").exists(), "its end")
        with pytest.raises(OSError, match="the most"):
            sampling.stop()
    finally:
        sampling.close()


#: two threads that wake each other all the time
PING_PONG = """
import queue, threading
there, back = queue.SimpleQueue(), queue.SimpleQueue()
def answer():
    while (item := there.get()) is not None: back.put(item)
thread = threading.Thread(target=answer); thread.start()
for i in range(40_000): there.put(i); back.get()
there.put(None); thread.join()
"""


@pytest.mark.usefixtures("_perf")
def test_the_time_of_scheduling_and_synchronisation_is_known(runner: Runner) -> None:
    asked = {"names": ["kernel-profile", "task-clock"], "raw": {}}
    counts = counts_of(*runner.measure(python("threads", PING_PONG, counters=asked)))
    # Other programs, which tests beside this one may start, have some, too.
    for kind in ("futex", "scheduler"):
        assert counts[f"{kind}_profile"] > 0.1 * counts["task_clock"] / 1e9


@pytest.mark.usefixtures("_perf")
def test_a_runner_that_is_killed_while_it_samples_leaves_perf_to_the_next_one(runner: Runner) -> None:
    asked = {"names": ["kernel-profile"], "raw": {}}
    write_plan(
        runner.folder, [sh("sleeps", "sleep 300", counters=asked), sh("quick", "true", counters=asked)]
    )
    process = runner.start()
    sampling = wait_until(lambda: perf_of(runner), "perf")
    wait_until(lambda: measured_processes(runner.results_file) != sampling, "the program")
    process.kill()
    process.wait()
    assert perf_of(runner) == sampling
    write_plan(runner.folder, [sh("quick", "true", counters=asked)])
    runner.run()
    wait_until(lambda: not perf_of(runner), "the end of perf")
    assert not list(Path(runner.results_file).parent.glob("regatta-profile-*"))


def perf_of(runner: Runner) -> list[int]:
    """The processes of perf that this runner has started."""
    found = []
    for pid in measured_processes(runner.results_file):
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text().strip() == "perf":
                found.append(pid)
    return found
