"""The busiest other process: from numbers of a known tree, and in the records of a real runner on a busy host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from helpers.runner_plans import NO_LIMITS, Runner, sh
from regatta.host.measure.other_processes import OtherProcesses


def write(proc: Path, pid: int, name: str, ticks: int, start: int = 7) -> None:
    words = ["S", *["0"] * 10, str(ticks - 1), "1", *["0"] * 6, str(start), "0"]
    (proc / str(pid)).mkdir(parents=True, exist_ok=True)
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(words)}\n")
    (proc / str(pid) / "comm").write_text(f"{name}\n")


def test_it_is_the_one_with_most_time_since_the_last_look(tmp_path: Path) -> None:
    write(tmp_path, 10, "old and large", 900)
    write(tmp_path, 11, "a (strange) name)", 5)
    (tmp_path / "self").mkdir()
    others = OtherProcesses(str(tmp_path))
    others.look()
    write(tmp_path, 10, "old and large", 910)
    write(tmp_path, 11, "a (strange) name)", 35)
    write(tmp_path, 12, "new", 20)
    assert others.busiest() == "a (strange) name)"
    others.look()
    assert others.busiest() == "a (strange) name)", "looks soon after each other are shared"
    others.look(shared_s=0.0)
    assert others.busiest() == "", "nobody worked since then"
    # The number of a process that has ended.
    write(tmp_path, 10, "another", 3, start=8)
    (tmp_path / "12" / "stat").unlink()
    assert others.busiest() == "another"


def test_records_of_a_busy_host_name_a_process(runner: Runner) -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        limits = {**NO_LIMITS, "other_cpu_percent": 0, "retries": 0}
        record = runner.one(sh("nap", "sleep 0.5"), limits=limits)
    finally:
        busy.kill()
        busy.wait()
    (exceeded,) = record["perturbation"]
    assert exceeded["limit"] == "other_cpu_percent"
    assert exceeded["process"]
    assert str(record["reason"]).endswith(f": {exceeded['process']})")
