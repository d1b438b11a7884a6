"""Profiles that stand for the compared times, and those that do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regatta.answers.explanation.compute import check_times, is_complete, read_profile
from regatta.answers.explanation.division import Run
from regatta.host.errors import StoreError

PROFILE: dict[str, Any] = {
    "v": 1,
    "hz": 100,
    "windows": {"0": 2.0, "1": 1.0, "2": 3.0},
    "stacks": [
        [-1, 50, "a;start (a)"],
        [0, 150, "a;f (a)"],
        [1, 80, "a;f (a)"],
        [2, 160, "a;f (a)"],
        [2, 40, "a;g (a)"],
    ],
}


def run(value_s: float, whole_s: float = 1.0, of_iterations: bool = False) -> Run:
    return Run(whole_s, {}, of_iterations, value_s, 0.0)


def test_only_counted_iterations_are_read(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text(json.dumps(PROFILE))
    found = read_profile(tmp_path / "profile", {1, 2, 3}, 9.0, 2.0)
    assert found == Run(2.0, {"a;f (a)": pytest.approx(1.2), "a;g (a)": pytest.approx(0.2)}, True, 2.0, 4.8)


def test_a_program_without_marks_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text(json.dumps({**PROFILE, "windows": {}}))
    found = read_profile(tmp_path / "profile", {0}, 9.0, 8.0)
    assert (found.whole_s, found.of_iterations) == (9.0, False)
    assert sum(found.stacks_s.values()) == pytest.approx(found.sampled_s)


@pytest.mark.parametrize(
    "changed", [{"v": 2}, {"hz": 0}, {"windows": {"0": 0}}, {"stacks": [[0, "x", "a"]]}, {"stacks": None}]
)
def test_a_damaged_profile_is_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    (tmp_path / "profile").write_text(json.dumps({**PROFILE, **changed}))
    with pytest.raises(StoreError, match="profile"):
        read_profile(tmp_path / "profile", {0}, 9.0, 8.0)


@pytest.mark.parametrize(
    ("sampled_s", "used_s", "complete"),
    [
        (10.0, 10.0, True),
        (9.6, 10.0, True),
        (8.0, 10.0, False),
        (0.0, 1.0, False),
        (0.0, 0.0, True),
        (12.0, 10.0, False),
    ],
)
def test_samples_must_be_the_processor_time(sampled_s: float, used_s: float, complete: bool) -> None:
    assert is_complete(sampled_s, used_s) == complete


@pytest.mark.parametrize(
    "pair",
    [
        (run(0.9), run(0.92)),
        # A time per operation is the same part of an iteration on both sides.
        (run(1e-6, of_iterations=True), run(1.02e-6, of_iterations=True)),
    ],
)
def test_times_of_the_metric_are_divided(pair: tuple[Run, Run]) -> None:
    check_times("a cell", "elapsed", [pair] * 3)


@pytest.mark.parametrize(
    "pair",
    [
        # an iteration after warm-up, of a program that marks none
        (run(0.1), run(0.1)),
        # loops that are repeated until some time has passed
        (run(1e-6, of_iterations=True), run(1.2e-6, of_iterations=True)),
        (run(0.9), run(0.9, of_iterations=True)),
        (run(0.0, of_iterations=True), run(0.0, of_iterations=True)),
    ],
)
def test_other_metrics_are_refused(pair: tuple[Run, Run]) -> None:
    with pytest.raises(StoreError, match="a cell"):
        check_times("a cell", "elapsed", [pair] * 3)
