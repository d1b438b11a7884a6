"""How `regatta time` bounds the number of runs, and what its progress bar counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from helpers.runner_plans import HOST, python, write_plan
from regatta.cli.measure_here import due_before
from regatta.cli.time_spec import invocations_of
from regatta.host.journal.decisions import DECISIONS, DECISIONS_VERSION
from regatta.spec.invocations_schema import Invocations
from regatta.store.folder import Folder


def timed(least: int, most: int) -> dict[str, Any]:
    return {"fixed": least, "seconds": 3.0, "maximum": most}


def decided(least: int, looked: int, most: int) -> dict[str, Any]:
    return {"decide": {"pilot": least, "maximum": looked}, "seconds": 3.0, "maximum": most}


def adaptive(least: int, most: int) -> dict[str, Any]:
    return {"adaptive": {"target_percent": 5, "pilot": least, "maximum": most}}


@pytest.mark.parametrize(
    ("runs", "least", "most", "precision", "commands", "expected"),
    [
        (None, None, None, None, 1, timed(10, 3000)),
        (None, None, None, None, 2, decided(5, 30, 3000)),
        (None, None, None, None, 1000, decided(5, 30, 300)),
        (None, None, None, None, 100_000, decided(5, 5, 5)),
        (None, 2, None, None, 2, decided(3, 30, 3000)),
        (None, 50, None, None, 2, decided(50, 50, 3000)),
        (None, None, 4, None, 2, decided(4, 4, 4)),
        (None, None, 2, None, 2, timed(2, 2)),
        (None, None, 150, None, 2, decided(5, 150, 150)),
        (None, None, 20_000, None, 2, decided(5, 10_000, 20_000)),
        (None, 20_000, None, None, 2, timed(20_000, 20_000)),
        (None, 20, None, None, 1, timed(20, 3000)),
        (None, 5000, None, None, 1, timed(5000, 5000)),
        (None, None, 5, None, 1, timed(5, 5)),
        (None, 2, 20_000, None, 1, timed(2, 20_000)),
        (7, None, None, None, 1, {"fixed": 7}),
        (None, None, None, 5, 1000, adaptive(10, 100)),
        (None, 3, 50, 5, 1, adaptive(3, 50)),
        (None, 200, None, 5, 1, adaptive(200, 200)),
        (None, None, 6, 5, 1, adaptive(6, 6)),
    ],
)
def test_a_default_gives_way_to_the_bounds_that_are_given(
    runs: int | None,
    least: int | None,
    most: int | None,
    precision: float | None,
    commands: int,
    expected: dict[str, Any],
) -> None:
    found = invocations_of(runs, least, most, precision, None, commands)
    assert found["invocations"] == expected
    Invocations.model_validate(found["invocations"])
    warmed = invocations_of(runs, least, most, precision, 3, commands)
    assert warmed == {**found, "invocations": {**expected, "discarded": 3}}
    Invocations.model_validate(warmed["invocations"])


@pytest.mark.parametrize(
    ("runs", "least", "most", "precision", "named"),
    [
        (10, 5, None, None, "--min-runs"),
        (10, None, 20, None, "--max-runs"),
        (10, None, None, 5, "--precision"),
        (None, 20, 10, None, "--max-runs"),
        (None, 20, 10, 5, "--max-runs"),
        (None, 2, None, 5, "--precision"),
        (None, None, 20_000, 5, "--precision"),
    ],
)
def test_options_that_exclude_each_other_are_named(
    runs: int | None, least: int | None, most: int | None, precision: float | None, named: str
) -> None:
    with pytest.raises(click.UsageError) as refused:
        invocations_of(runs, least, most, precision, None, 1)
    assert named in refused.value.message


def test_the_progress_counts_only_runs_that_are_certain(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "e")
    groups = [{"key": key, "cells": [at], "pairs": [[at, None]]} for at, key in enumerate(("a", "b"))]
    cells = [python("a", ""), python("b", "")]
    stopping = {"rule": "seconds", "pilot": 2, "maximum": 5, "seconds": 3.0, "groups": groups}
    write_plan(folder, cells, rounds=6, rounds_per_segment=3, discarded_rounds=1, stopping=stopping)
    assert due_before(folder, HOST, 0).tolist() == [*range(7)]
    decided = {"v": DECISIONS_VERSION, "groups": {"a": {"needed": 4}, "b": {"needed": 2}}}
    path = folder.decisions(HOST)
    assert path.name == DECISIONS
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(decided))
    # The pilot and one discarded round of both, then two more rounds of the first alone.
    assert due_before(folder, HOST, 1).tolist() == [*range(8), 7, 8, 8, 8, 8]
    write_plan(folder, cells, rounds=2, discarded_rounds=0, stopping=None)
    assert due_before(folder, HOST, 0).tolist() == [0, 1, 2, 3, 4]


def test_the_progress_counts_the_runs_that_a_look_expects(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "e")
    groups = [{"key": "k", "cells": [0, 1], "pairs": [[0, 1]]}]
    stopping = {"rule": "decide", "pilot": 3, "maximum": 10, "seconds": 3.0, "most": 40, "groups": groups}
    write_plan(folder, [python("a", ""), python("b", "")], rounds=41, discarded_rounds=1, stopping=stopping)
    # Of the 40 rounds that a measuring time may allow, comparisons need 10 at most.
    assert due_before(folder, HOST, 0)[-1] == 2 * 11
    path = folder.decisions(HOST)
    path.parent.mkdir(parents=True)
    for expected, runs in ((6, 2 * 7), (4, 2 * 6), (30, 2 * 11), (None, 2 * 11)):
        # The comparison that is excluded counts for nothing.
        pairs = [{"needed": None, "n": n, "expected": of} for n, of in ((3, expected), (0, None))]
        looked = {"needed": None, "cells": {}, "seen": 4, "pairs": pairs}
        path.write_text(json.dumps({"v": DECISIONS_VERSION, "groups": {"k": looked}}))
        assert due_before(folder, HOST, 0)[-1] == runs
