"""The kept first screen: it is shown at once, and never after anything that it depends on has changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import regatta
from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.cli import kept_screen
from regatta.cli.analyze import analyze
from regatta.cli.first_screen import Screen
from regatta.cli.kept_screen import KeptScreen
from regatta.store.folder import Folder

WIDTH = 100


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    cells = [native("spec/gzip:test"), native("spec/mcf:test")]
    lines = [
        record(cell, round_, [1e9 + round_ + at], position=at)
        for round_ in range(4)
        for at, cell in enumerate(cells)
    ]
    return Folder(write_experiment(tmp_path / "made-up", cells, lines, 5))


def _kept(folder: Folder, width: int = WIDTH, report: bool = False) -> Screen | None:
    return KeptScreen(folder, width, report).find()


def _keep(folder: Folder) -> Screen:
    return KeptScreen(folder, WIDTH, False).keep(answer_experiment(folder.path))


def test_a_kept_screen_is_what_an_analysis_prints(folder: Folder) -> None:
    assert _kept(folder) is None
    first = CliRunner().invoke(analyze, [str(folder.path)])
    kept = _kept(folder)
    assert kept is not None
    assert kept.lines == first.stdout.splitlines()
    assert "8 of 10 planned invocations recorded" in first.stdout
    assert CliRunner().invoke(analyze, [str(folder.path)]).output == first.output


def test_an_analysis_of_an_unchanged_experiment_computes_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    CliRunner().invoke(analyze, [str(folder.path)])
    monkeypatch.setattr(
        "regatta.answers.report.answer.answer_experiment", lambda *_, **__: pytest.fail("computed")
    )
    assert CliRunner().invoke(analyze, [str(folder.path)]).exit_code == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--all"],
        ["--json"],
        ["--csv"],
        ["--method", "georges2007"],
        ["--hosts", "random"],
        ["--anova-type", "3"],
    ],
)
def test_another_analysis_neither_shows_nor_replaces_the_kept_screen(
    folder: Folder, options: list[str]
) -> None:
    kept = _keep(folder)
    done = CliRunner().invoke(analyze, [str(folder.path), *options])
    assert done.exit_code == 0, done.output
    if options[0].startswith(("--all", "--json", "--csv")):
        assert done.stdout.splitlines() != kept.lines
    assert _kept(folder) == kept


def _add_a_record(folder: Folder) -> None:
    (journal,) = folder.journal.glob("alpha/0*.jsonl")
    with journal.open("ab") as file:
        file.write(journal.read_bytes().splitlines(keepends=True)[-1])


def _edit_a_journal(folder: Folder) -> None:
    (journal,) = folder.journal.glob("alpha/0*.jsonl")
    journal.write_bytes(journal.read_bytes().replace(b'"ok"', b'"no"', 1))


def _edit_the_plan(folder: Folder) -> None:
    path = folder.host_plan("alpha") / "plan.json"
    path.write_text(path.read_text().replace('"rounds": 5', '"rounds": 6'))


def _edit_the_experiment(folder: Folder) -> None:
    value = json.loads(folder.experiment.read_text())
    value["experiment"]["theta_percent"] = 7.0
    folder.experiment.write_text(json.dumps(value))


def _leave_a_host_out(folder: Folder) -> None:
    path = folder.receipts / "alpha" / "00000.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"left_out": "it burned"}))


def _edit_the_screen(folder: Folder) -> None:
    path = folder.path / "store" / "screen" / "screen.json"
    path.write_text(path.read_text().replace("8 of 10", "9 of 10"))


def _copy_the_screen(folder: Folder) -> None:
    screen = folder.path / "store" / "screen"
    shutil.copytree(screen, screen.with_name("copy"))
    shutil.rmtree(screen)
    screen.with_name("copy").rename(screen)


def _link_the_screen(folder: Folder) -> None:
    screen = folder.path / "store" / "screen"
    screen.rename(folder.path / "elsewhere")
    screen.symlink_to(folder.path / "elsewhere")


@pytest.mark.parametrize(
    "change",
    [
        _add_a_record,
        _edit_a_journal,
        _edit_the_plan,
        _edit_the_experiment,
        _leave_a_host_out,
        _edit_the_screen,
        _copy_the_screen,
        _link_the_screen,
    ],
)
def test_a_screen_is_not_shown_after_a_change(folder: Folder, change: Callable[[Folder], None]) -> None:
    kept = _keep(folder)
    assert _kept(folder) == kept
    change(folder)
    assert _kept(folder) is None


def test_a_screen_is_not_shown_at_another_width_or_with_a_new_report(folder: Folder) -> None:
    kept = _keep(folder)
    assert _kept(folder, WIDTH + 1) is None
    assert _kept(folder, report=True) is None
    assert _kept(folder) == kept


def test_a_screen_is_not_shown_by_a_changed_program(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    package = folder.path / "package"
    (package / "stats").mkdir(parents=True)
    for name in ("__init__.py", "stats/estimate.py"):
        (package / name).write_text("a = 1\n")
    monkeypatch.setattr(regatta, "__file__", str(package / "__init__.py"))
    _keep(folder)
    assert _kept(folder) is not None
    (package / "stats" / "__pycache__").mkdir()
    assert _kept(folder) is not None
    (package / "stats" / "estimate.py").write_text("a = 22\n")
    assert _kept(folder) is None


def test_a_record_that_comes_during_an_analysis_is_in_the_next_screen(folder: Folder) -> None:
    before = KeptScreen(folder, WIDTH, False)
    answer = answer_experiment(folder.path)
    _add_a_record(folder)
    before.keep(answer)
    assert _kept(folder) is None


def test_no_screen_is_shown_under_the_seal_of_another_one(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, answer = KeptScreen(folder, WIDTH, False), answer_experiment(folder.path)
    _add_a_record(folder)
    real = kept_screen.seal

    def killed_before_its_seal(*arguments: Any) -> None:
        monkeypatch.setattr(kept_screen, "seal", lambda *_: None)
        older.keep(answer)
        real(*arguments)

    monkeypatch.setattr(kept_screen, "seal", killed_before_its_seal)
    _keep(folder)
    assert _kept(folder) is None


def test_a_folder_of_another_user_is_left_as_it_is(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = answer_experiment(folder.path)
    monkeypatch.setattr(kept_screen.os, "geteuid", lambda: os.getuid() + 1)
    assert KeptScreen(folder, WIDTH, False).keep(answer).lines
    assert not (folder.path / "store" / "screen").exists()
