"""The comparisons of an experiment that is still being measured."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.spine import so_far
from regatta.answers.spine.so_far import Estimates
from regatta.store.folder import Folder
from regatta.store.so_far import age_of_so_far, forget_so_far, read_so_far


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    cells = [cell("serial"), cell("g1")]
    lines = [
        record(one, number, [1e6 * (90 + 20 * at + number)], position=at)
        for number in range(5)
        for at, one in enumerate(cells)
    ]
    write_experiment(tmp_path / "made-up", cells, lines, 5)
    made = Folder(tmp_path / "made-up")
    made.state.mkdir(exist_ok=True)
    return made


def test_they_are_computed_once_for_the_same_records_and_read_back(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(so_far, "_LEAST_GAP_S", 0.0)
    monkeypatch.setattr(so_far, "_SHARE", 1e9)
    computed: list[float] = []

    def apart(work):
        computed.append(time.monotonic())
        work()
        return True

    estimates = Estimates(folder, apart)
    assert (read_so_far(folder), age_of_so_far(folder)) == (None, float("inf"))
    for _ in range(3):
        estimates.look()
    assert len(computed) == 1
    found = read_so_far(folder)
    assert found is not None
    assert found.recorded == 10
    assert found.columns[-3:] == ("ratio", "95 % CI", "n")
    ((*_, pair, ratio, _ends, n),) = found.rows
    assert (pair, n) in {("g1 / serial", "5"), ("serial / g1", "5")}
    assert float(ratio) == pytest.approx(112 / 92 if pair == "g1 / serial" else 92 / 112, abs=0.002)
    assert "not final" in found.lines(1)[0]
    assert "10 invocations" in found.lines(1)[0]
    forget_so_far(folder)
    assert read_so_far(folder) is None


def test_a_new_process_loads_its_code_only_after_a_while_and_ends_what_takes_too_long(folder: Folder) -> None:
    asked: list[object] = []

    def apart(work):
        asked.append(work)
        return False

    (folder.state / "so-far").write_text("{}")
    Estimates(folder, apart).look()
    assert asked == []
    long_ago = time.time() - 60
    os.utime(folder.state / "so-far", (long_ago, long_ago))
    estimates = Estimates(folder, apart)
    estimates.look()
    (folder.journal / "alpha" / "00001.jsonl").write_bytes(b"{}\n")
    estimates.look()
    assert len(asked) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"columns": ["a"], "rows": [["b", "c"]], "recorded": 1}',
        '{"columns": "ab", "rows": [], "recorded": 1}',
    ],
)
def test_a_file_that_is_none_of_ours_is_nothing(folder: Folder, text: str) -> None:
    (folder.state / "so-far").write_text(text)
    assert read_so_far(folder) is None
