"""What a plan asks for around a run, in the real runner: exit codes that are no failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.runner_plans import Runner, sh


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path / "around")


def test_an_expected_exit_code_is_ok_and_others_fail(runner: Runner) -> None:
    records = runner.measure(
        sh("expected", "exit 3", expect={"exit_codes": [0, 3]}),
        sh("other", "exit 4", expect={"exit_codes": [0, 3]}),
        sh("any", "exit 4", expect={"exit_codes": []}),
        sh("killed", "kill -9 $$", expect={"exit_codes": []}),
    )
    assert [record["status"] for record in records] == ["ok", "failed", "ok", "crashed"]
    assert records[0]["exit_code"] == 3
