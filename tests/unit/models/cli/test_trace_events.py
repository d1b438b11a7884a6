"""`regatta trace events` on traces of other programs, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from helpers import in_process

ROOT = Path(__file__).parents[4]

#: of `perf script`: a thread works, sleeps, and is woken by another one on the other CPU
_TEXT = """\
 worker  101 [000]     1.000000100: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=worker next_pid=101 next_prio=120
 worker  101 [000]     1.000000500: raw_syscalls:sys_enter: NR 0 (3, 7f0000000000, 100, 0, 0, 0)
 worker  101 [000]     1.000000900: sched:sched_switch: prev_comm=worker prev_pid=101 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
  boss   102 [001]     1.000001500: sched:sched_waking: comm=worker pid=101 prio=120 target_cpu=000
 swapper   0 [000]     1.000001700: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=worker next_pid=101 next_prio=120
 worker  101 [000]     1.000001900: raw_syscalls:sys_exit: NR 0 = 1
"""


def regatta(*words: str) -> subprocess.CompletedProcess[str]:
    return in_process.regatta(*words, cwd=ROOT)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "perf.txt"
    path.write_text(_TEXT)
    return path


def test_a_text_gives_measures_a_trace_and_a_file_for_the_viewer(text: Path, tmp_path: Path) -> None:
    words = [
        "trace",
        "events",
        "--from",
        str(text),
        "-o",
        str(tmp_path / "t"),
        "--perfetto",
        str(tmp_path / "p"),
    ]
    done = regatta(*words, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["seconds"] == pytest.approx(1.8e-6)
    assert (tmp_path / "p").stat().st_size > 0
    again = regatta("trace", "events", "--from", str(tmp_path / "t"), "--json")
    assert json.loads(again.stdout) == told


@pytest.mark.parametrize("words", [(), ("--pid", "1", "--", "true"), ("--ready", "x", "--", "true"), ("--from", "/dev/null", "--overhead", "2")])  # fmt: skip
def test_wrong_combinations_are_refused(words: tuple[str, ...]) -> None:
    assert regatta("trace", "events", *words).returncode == 2


def test_an_unknown_modifier_is_refused_with_those_that_record_events() -> None:
    done = regatta("trace", "events", "--modifier", "event", "--", "true")
    assert done.returncode == 2
    assert "events-apache" in done.stderr


def test_a_foreign_file_is_refused_with_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "letter"
    path.write_text("Dear reader,\nthis is no trace.\n")
    done = regatta("trace", "events", "--from", str(path))
    assert done.returncode == 3
    assert "offset 0" in done.stderr


def test_a_trace_is_not_written_again(text: Path, tmp_path: Path) -> None:
    assert regatta("trace", "events", "--from", str(text), "-o", str(tmp_path / "t")).returncode == 0
    again = regatta("trace", "events", "--from", str(tmp_path / "t"), "-o", str(tmp_path / "u"))
    assert again.returncode == 2
    assert not (tmp_path / "u").exists()


def test_a_chart_of_a_window_is_written(text: Path, tmp_path: Path) -> None:
    chart = tmp_path / "chart.html"
    done = regatta("trace", "events", "--from", str(text), "--chart", str(chart), "--window", "0", "1")
    assert done.returncode == 0, done.stderr
    assert "worker" in chart.read_text(encoding="utf-8")
