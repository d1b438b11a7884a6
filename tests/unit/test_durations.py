"""What is recorded of a run of the tests."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers import durations
from helpers.durations import TESTS, Durations

HERE = Path(__file__).relative_to(TESTS).as_posix()
OTHER = "unit/test_tiers.py"


def report(name: str, duration: float) -> pytest.TestReport:
    return pytest.TestReport(
        f"tests/{name}::test", (name, 0, "test"), {}, "passed", None, "call", duration=duration
    )


def test_files_that_ran_have_new_values_and_files_that_are_gone_have_none(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    path.write_text(json.dumps({"unit/test_gone.py": 3, HERE: 5, OTHER: 7}))
    run = Durations(path)
    for duration in (0.4, 1.4):
        run.pytest_runtest_logreport(report(HERE, duration))
    run.pytest_sessionfinish()
    assert durations.recorded(path) == {TESTS / HERE: 2, TESTS / OTHER: 7}


def test_nothing_recorded_is_no_files(tmp_path: Path) -> None:
    assert durations.recorded(tmp_path / "none.json") == {}


@pytest.mark.parametrize(("full", "args"), [(False, ["tests"]), (True, [f"tests/{HERE}::test"])])
def test_a_part_is_not_recorded_as_the_whole(full: bool, args: list[str]) -> None:
    config: Any = SimpleNamespace(args=args, getoption={"--record": True, "full": full}.get)
    with pytest.raises(pytest.UsageError):
        durations.record(config)
