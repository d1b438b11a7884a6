"""Screens fit the terminal: what a narrow one cuts is names, never counts, times or intervals; pipes have no padding."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from regatta.cli.live_bar import LiveBar
from regatta.cli.tables import plain_console, show_table
from regatta.cli.watcher import Watcher
from regatta.store.folder import Folder
from regatta.store.so_far import SoFar, write_so_far

CELL = "vm/compress:s10 · temurin-21 parallel compressed · 3x (69 MiB)"


def drawn(bar: LiveBar, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    with console.capture() as capture:
        for part in bar.get_renderables():
            console.print(part)
    return capture.get().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_progress_line_keeps_count_and_time(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    bar = LiveBar()
    bar.add_task("measuring", total=1234, completed=777, now=f"7 perturbed · {CELL}")
    (line,) = drawn(bar, width)
    assert len(line.rstrip()) <= width
    assert " 777/1234 " in line
    assert " 0:00:00 left " in line
    assert (CELL in line) == (width == 200)
    assert "7 per" in line


@pytest.mark.parametrize("width", [60, 80])
def test_the_comparisons_below_it_keep_their_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    folder = Folder(tmp_path)
    folder.state.mkdir()
    row = (
        "vm/compress:s10 of a long suite",
        "3x (69 MiB)",
        "serial / parallel",
        "0.878",
        "[0.641, 1.202]",
        "12",
    )
    columns = ("benchmark", "heap", "comparison", "ratio", "95 % CI", "n")
    write_so_far(folder, SoFar(24, "", columns, (row,) * 14))
    watcher = Watcher(folder)
    watcher.stage = "measure"
    bar = watcher._bar = LiveBar()
    watcher._look_at_estimates()
    lines = bar.below.split("\n")
    assert max(map(len, lines)) <= width
    assert len(lines) == 1 + 1 + 12 + 1
    assert all(line.endswith("0.878  [0.641, 1.202]  12") for line in lines[2:-1])


def test_a_table_in_a_pipe_has_no_spaces_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    header = ["check", "got"]
    show_table(plain_console(), "this host", header, [["a", "x"], ["b", "long " * 9]], left=header)
    out = capsys.readouterr().out
    assert "long long" in out
    assert [line for line in out.split("\n") if line != line.rstrip()] == []
