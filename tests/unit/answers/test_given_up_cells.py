"""Cells that were given up are counted as cells, apart from the invocations that failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.page import render
from regatta.answers.report.summary import count
from regatta.answers.spine.verification import verify_experiment
from regatta.store.folder import Folder
from regatta.store.progress import read_progress

REASON = "gave up: the first 3 invocations ended with oom"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two cells of which one never succeeds: 3 of its 10 invocations were run."""
    good, bad = cell("g1"), cell("z")
    records = [record(good, r, [1e9 + r]) for r in range(10)]
    records += [record(bad, r, status="oom", reason="out of memory", position=1) for r in range(3)]
    records += [
        {**record(bad, r, status="skipped", reason=REASON, position=1), "elapsed_ns": 0} for r in range(3, 10)
    ]
    return write_experiment(tmp_path / "e", [good, bad], records, 10)


def test_verify_names_such_a_cell_once(folder: Path, golden: Golden) -> None:
    (problem,) = verify_experiment(Folder(folder)).problems
    golden("problem-of-a-given-up-cell", problem)


def test_a_busy_host_is_one_problem_of_all_its_disturbed_cells(tmp_path: Path) -> None:
    cells = [cell("serial"), cell("g1"), cell("parallel")]
    records = [
        record(one, r, [1e9], status="perturbed" if i < 2 and r else "ok", reason="busy", position=i)
        for r in range(4)
        for i, one in enumerate(cells)
    ]
    (problem,) = verify_experiment(Folder(write_experiment(tmp_path / "e", cells, records, 4))).problems
    assert "2 cells" in problem
    assert cells[0]["cell_id"] in problem
    assert "6 of 8 invocations perturbed" in problem


def test_the_answer_counts_them_apart_from_failures(folder: Path, golden: Golden) -> None:
    answer = answer_experiment(folder)
    assert [(f.status, f.count, f.reason) for f in answer.failures] == [
        ("oom", 3, "out of memory"),
        ("skipped", 7, REASON),
    ]
    counts = count(answer)
    assert "(1 cell given up)" in render(answer)
    assert (counts.failed, counts.skipped, counts.given_up_cells, counts.missing) == (3, 7, 1, 0)
    golden("coverage", "\n".join(answer.findings["coverage"]))
    golden("warnings", "\n".join(answer.warnings))


def test_the_status_counts_them_apart_and_expects_nothing_more(folder: Path) -> None:
    (host,) = read_progress(Folder(folder)).hosts
    assert (host.recorded, host.planned, host.failed, host.given_up) == (20, 20, 3, 1)
