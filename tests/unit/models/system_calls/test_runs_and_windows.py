"""Runs, windows and options that are not as they should be: told early, and what was traced is kept."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.golden import Golden
from regatta.host.errors import RegattaError, SpecError
from regatta.models.cli.trace import trace as trace_group
from regatta.models.system_calls import windows
from regatta.models.system_calls.runs import Figure, Figures, Run, read_figure, run_command, watch
from regatta.models.system_calls.tools import NoTracer
from regatta.models.system_calls.windows import CountingRequest, measure, vector_of
from regatta.models.vectors.calls import Seen, Tally, read_calls

HOME = Path(__file__).parents[4]
TABLE = read_calls(HOME / "configs" / "primitives" / "os-calls.yml")


def printing(text: str) -> list[str]:
    return [sys.executable, "-c", f"print('{text}')"]


def test_no_elapsed_time_is_refused_in_the_run():
    elapsed = Figures(1.0, elapsed_ns=Figure("-", "k"))
    with pytest.raises(RegattaError, match=r"elapsed time: .* got 0"):
        run_command(printing('{"k": 0}'), NoTracer(), elapsed)
    assert run_command(printing('{"k": 5}'), NoTracer(), elapsed)[0].elapsed_ns == 5


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e999", "NaN", "-1", '"1"', "true"])
def test_a_figure_is_a_finite_number(number):
    with pytest.raises(RegattaError, match=r"^k in .*least 0"):
        read_figure(Figure("-", "k"), f'{{"k": {number}}}')


def test_the_user_time_of_a_process_that_ended_in_a_window_is_not_known():
    busy = "import sys\nfor _ in range(4_000_000): pass\nprint(flush=True)\nsys.stdin.readline()"
    process = subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    there, _ = watch(process.pid, NoTracer(), None, threading.Event(), 0.1)
    assert there.user_ns is not None
    assert there.user_ns >= 0

    class InTheWindow(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            process.communicate("\n")
            return super().wait(timeout)

    run, _ = watch(process.pid, NoTracer(), None, InTheWindow(), 600.0)
    assert run.user_ns is None


def wanted(folder: Path, **more: object) -> CountingRequest:
    (folder / "units.json").write_text('{"served": 1}')
    figures = {
        "units_from": Figure(str(folder / "units.json"), "served"),
        "elapsed_from": None,
        "user_time_from": None,
    }
    return CountingRequest(**{
        "command": (), "figures": figures, "output": None, "tool": "auto", "name": "x", "per": "request", "units": None,
        "benchmark": "", "pairs": 2, "level": 0.95, "pid": 1234, "for_s": 0.1, "ready": None, "tally": None, "calls": None,
        **more,
    })  # type: ignore[arg-type]  # fmt: skip


@pytest.mark.parametrize(
    ("note", "units", "user"),
    [
        ("ended in a window", 5.0, None),
        ("process that has ended", 0.0, None),
    ],
)
def test_a_process_that_ends_in_the_last_window_leaves_what_was_traced(
    monkeypatch, tmp_path, note, units, user, golden: Golden
):
    told = iter([Run(5, 1e9, 50.0), Run(5, 2e9, 99.0), Run(5, 2e9, 99.0), Run(units, 1e8, user)])
    left = iter([True, True, False, False])

    def watched(*_: object) -> tuple[Run, Tally]:
        return next(told), Tally({Seen("fcntl"): (10, 0)})

    monkeypatch.setattr(windows, "watch", watched)
    monkeypatch.setattr(windows, "make_tracer", lambda tool, table: NoTracer())
    monkeypatch.setattr(windows, "is_there", lambda pid: next(left))
    asked = wanted(tmp_path)
    measured = measure(asked, "strace", TABLE)
    vector = vector_of(asked, "strace", TABLE, measured)
    golden(note, vector.provenance["notes"])
    assert (vector.counts[0].count.value, vector.counts[0].count.n) == (2, 2)
    assert vector.user_time is not None
    assert (vector.user_time.value, vector.user_time.n) == (10, 1)


def test_a_process_that_has_ended_has_no_more_windows(monkeypatch, tmp_path, golden: Golden):
    monkeypatch.setattr(windows, "watch", lambda *_: (Run(5, 1e9, 50.0), Tally({Seen("fcntl"): (10, 0)})))
    monkeypatch.setattr(windows, "make_tracer", lambda tool, table: NoTracer())
    monkeypatch.setattr(windows, "is_there", lambda pid: False)
    measured = measure(wanted(tmp_path), "strace", TABLE)
    assert (len(measured.without), len(measured.traces)) == (1, 1)
    (note,) = measured.notes
    golden("process that has ended", note)


def test_an_argument_that_is_no_text_is_told_by_its_bytes(tmp_path):
    asked = wanted(tmp_path, command=("cat", os.fsdecode(b"\xff")), pid=None)
    assert windows.origin_of(asked, "strace")["command"] == "cat \\udcff"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--per", ""], "--per: expected text, got"),
        (["--name", ""], "--name: expected text, got"),
        (["--per", "a\nb"], "per: expected a string"),
        (["--name", "x" * 300], "the new vector:2:name: expected"),
        (["--benchmark", "a\nb"], "benchmark: expected a string"),
        (["-o", "{file}/x.yml"], "writable file · got "),
        (["-o", "/proc/nowhere/x.yml"], f"writable file · got {os.strerror(errno.ENOENT)}"),
        (["--tally", "{folder}/none/t.json"], f"writable file · got {os.strerror(errno.ENOENT)}"),
    ],
)
def test_what_no_vector_can_be_written_with_is_told_before_anything_runs(tmp_path, words, said, monkeypatch):
    monkeypatch.setenv("REGATTA_HOME", str(HOME))
    monkeypatch.setattr("regatta.models.system_calls.tools.choose_tool", lambda wish: ("strace", ""))
    (tmp_path / "file").touch()
    words = [word.format(file=tmp_path / "file", folder=tmp_path) for word in words]
    if "-o" not in words:
        words = ["-o", str(tmp_path / "x.yml"), *words]
    done = CliRunner().invoke(trace_group, ["os", *words, "--", "touch", str(tmp_path / "ran")])
    assert done.exit_code != 0
    told = str(done.exception) if isinstance(done.exception, SpecError | RegattaError) else done.output
    assert said in told
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "x.yml").exists()
