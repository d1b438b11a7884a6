"""What cells are, beside their records: once, before the first, whole and durable."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import HOST, Runner, end, sh, write_plan
from helpers.synthetic_journal import cell
from helpers.waiting import wait_until
from regatta.host.errors import StoreError
from regatta.host.journal.cells import CellsFile
from regatta.host.journal.journal import (
    CELLS,
    Damage,
    described_cells,
    journal_files,
    read_cells,
    segment_files,
)
from regatta.host.journal.record import DamagedLine, decode_cell, encode_record


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "journal" / "alpha"


def describe(place: Path, *cells: dict[str, Any]) -> None:
    file = CellsFile(place, "made-up", "alpha")
    for one in cells:
        file.describe(one)
    file.close()


def test_each_cell_is_described_once_by_whoever_comes(place: Path) -> None:
    g1, serial = cell("g1"), cell("serial")
    first, second = (CellsFile(place, "made-up", "alpha") for _ in range(2))
    for file, one in ((first, g1), (second, g1), (second, serial), (first, serial), (first, g1)):
        file.describe(one)
    first.close()
    second.close()
    assert list(read_cells(place / CELLS)) == [
        {"v": 1, "cell_id": one["cell_id"], "experiment": "made-up", "host": "alpha", **one}
        for one in (g1, serial)
    ]


def test_a_later_name_does_not_take_the_place_of_the_first(place: Path) -> None:
    one = cell("g1")
    describe(place, one)
    describe(place, {**one, "runtime": "another name"})
    assert described_cells(place)[one["cell_id"]]["runtime"] == one["runtime"]
    assert len((place / CELLS).read_bytes().splitlines()) == 1


def test_a_description_is_on_the_disk_before_the_call_returns(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fdatasync

    def sync(fd: int) -> None:
        synced.append(os.fstat(fd).st_size)
        real(fd)

    monkeypatch.setattr(os, "fdatasync", sync)
    describe(place, cell("g1"), cell("g1"))
    assert synced == [(place / CELLS).stat().st_size]


def test_a_line_torn_at_any_byte_is_dropped_and_written_again(place: Path) -> None:
    cells = cell("g1"), cell("serial")
    describe(place, *cells)
    path = place / CELLS
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for size in range(first, len(whole)):
        path.write_bytes(whole[:size])
        assert set(described_cells(place)) == {cells[0]["cell_id"]}
        describe(place, *cells)
        assert path.read_bytes() == whole


def test_a_damaged_line_counts_as_damage_and_its_cell_is_described_again(place: Path) -> None:
    cells = cell("g1"), cell("serial")
    describe(place, *cells)
    path = place / CELLS
    path.write_bytes(path.read_bytes().replace(b"jdk-21", b"jdk-22", 1))
    damage = next(iter(read_cells(path)))
    assert isinstance(damage, Damage)
    assert (damage.host, damage.line, damage.torn, damage.reason) == (
        "alpha",
        1,
        False,
        "checksum mismatch",
    )
    describe(place, *cells)
    assert {one["runtime"] for one in described_cells(place).values()} == {"jdk-21"}
    assert len(described_cells(place)) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"cell_id": 3}, {"host": None}, {"experiment": "x" * 201}, {"benchmark": ["x"]}, {"heap_mib": 1.5},
        {"heap_mib": -1}, {"heap_factor": "2"}, {"heap_factor": 1 << 70}, {"argv": "java"}, {"argv": [1]},
        {"environment": {"a": 1 << 70}}, {"label": 1},
    ],
    ids=str,
)  # fmt: skip
def test_values_of_other_types_are_damage(wrong: dict[str, Any]) -> None:
    whole = {"v": 1, "experiment": "made-up", "host": "alpha", **cell("g1")}
    assert decode_cell(encode_record(whole))["cell_id"] == whole["cell_id"]
    with pytest.raises(DamagedLine):
        decode_cell(encode_record({**whole, **wrong}))


def test_a_full_disk_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(place, cell("g1"))
    before = (place / CELLS).read_bytes()
    monkeypatch.setattr(
        os, "fdatasync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(StoreError, match=r"cells\.jsonl: .*free space.*No space"):
        describe(place, cell("serial"))
    assert (place / CELLS).read_bytes() == before


def test_what_cells_are_is_no_file_of_records(place: Path) -> None:
    describe(place, cell("g1"))
    (place / "00000.jsonl").touch()
    assert segment_files(place) == journal_files(place.parent.parent) == [place / "00000.jsonl"]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    one = Runner(tmp_path / "hand")
    yield one
    one.assert_nothing_left()


def test_the_runner_describes_the_cells_that_it_records(runner: Runner) -> None:
    ok, bad = sh("ok", "true"), sh("bad", "exit 3")
    runner.measure(ok, bad, rounds=3, give_up_after=1)
    found = list(read_cells(runner.folder.journal / HOST / CELLS))
    names = {"v": 1, "experiment": "hand", "host": HOST}
    assert found == [{**names, **ok}, {**names, **bad}]
    assert [one["status"] for one in runner.records()].count("skipped") == 2
    # Of an edited plan, what is new alone is added.
    more = sh("more", "true")
    runner.receipt_path().unlink()
    runner.measure(more, rounds=1)
    assert list(read_cells(runner.folder.journal / HOST / CELLS)) == [*found, {**names, **more}]
    assert len(runner.records()) == 7


def test_a_kill_between_a_description_and_the_first_record_doubles_neither(runner: Runner) -> None:
    path = runner.folder.journal / HOST / CELLS
    marker = runner.folder.path / "again"
    slow = sh("slow", f"[ -e {marker} ] || sleep 600", timeout_s=600)
    write_plan(runner.folder, [slow], rounds=2)
    process = runner.start()
    wait_until(lambda: path.exists() and path.read_bytes().endswith(b"\n"), "the description")
    end(process)
    assert process.returncode == -signal.SIGKILL
    assert runner.records() == []
    described = path.read_bytes()
    marker.touch()
    assert runner.run().returncode == 0
    assert path.read_bytes() == described
    assert [one["status"] for one in runner.records()] == ["ok", "ok"]


def test_a_journal_of_an_older_version_goes_on_and_describes_what_is_run_since(runner: Runner) -> None:
    before, after = sh("before", "true"), sh("after", "true")
    runner.measure(before)
    path = runner.folder.journal / HOST / CELLS
    path.unlink()
    runner.measure(before, after)
    assert [one["cell_id"] for one in read_cells(path) if not isinstance(one, Damage)] == [after["cell_id"]]
    assert len(runner.records()) == 2


def test_a_cell_that_no_reader_would_take_is_not_written_down(place: Path) -> None:
    odd = {**cell("g1"), "adapter": {"name": "regex", "options": {"limit": 2**64}}}
    describe(place, odd, cell("serial"))
    assert [one for one in read_cells(place / CELLS) if isinstance(one, Damage)] == []
    assert list(described_cells(place)) == [cell("serial")["cell_id"]]
