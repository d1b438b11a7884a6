"""The A/A gate: silent where intervals are right, loud where they are not, and the twin is in no other answer."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.summary import count, perturbed_cells
from regatta.answers.topics.aa.compute import Gate
from regatta.answers.topics.aa.topic import AA

ROUNDS = 60


def cells() -> list[dict[str, Any]]:
    """Two collectors, and the first of them again."""
    serial, g1 = cell("serial"), cell("g1")
    return [serial, g1, {**serial, "cell_id": "f" * 16, "twin_of": serial["cell_id"]}]


def gate_of(directory: Path, twin_factor: float, seed: int = 1, rounds: int = ROUNDS) -> Gate:
    generator = np.random.default_rng(seed)
    three = cells()
    records = []
    for round in range(rounds):
        drift = 1.0 + 0.1 * generator.standard_normal()
        for position, one in enumerate(three):
            factor = twin_factor if one.get("twin_of") else 1.0
            value = 1e9 * drift * factor * (1 + 0.01 * generator.standard_normal())
            records.append(record(one, round, [value], position=position))
    answer = answer_experiment(write_experiment(directory, three, records, rounds))
    assert not any(c.cell_id == "f" * 16 for c in answer.cells)
    assert all("f" * 16 not in (c.a, c.b) for c in answer.comparisons)
    assert all(len(family.names) == 2 for family in answer.families)
    assert answer.planned == answer.recorded == 3 * rounds
    (gate,) = AA.of(answer)
    assert answer.findings["aa"] == (gate.words,)
    return gate


def test_a_gate_holds_where_twins_are_alike(tmp_path: Path, golden: Golden) -> None:
    gate = gate_of(tmp_path, 1.0)
    assert gate.holds
    assert gate.alarms == 0
    assert gate.alarm_rate.n == ROUNDS // 5
    assert gate.alarm_rate.low <= 0.05 <= gate.alarm_rate.high
    golden("gate-that-holds", gate.words)
    assert gate.pairs[0].ratio.n == ROUNDS
    assert gate.pairs[0].ratio.low < 1 < gate.pairs[0].ratio.high


def test_perturbed_twins_are_among_the_perturbed_invocations_of_the_report(tmp_path: Path) -> None:
    three = cells()
    records = [
        record(
            one,
            r,
            [1e9],
            position=position,
            status="perturbed" if r == 1 and position else "ok",
            reason="busy",
        )
        for r in range(6)
        for position, one in enumerate(three)
    ]
    answer = answer_experiment(write_experiment(tmp_path / "e", three, records, 6))
    (warning,) = (one for one in answer.warnings if " perturbed" in one)
    assert count(answer).perturbed == int(warning.split()[0]) == 2
    assert sum(one.excluded + one.kept for one in perturbed_cells(answer)) == 1


def test_a_gate_fails_where_the_second_of_two_names_is_slower(tmp_path: Path) -> None:
    gate = gate_of(tmp_path, 1.03)
    assert gate.holds is False
    assert gate.alarms == 1
    assert gate.p < 0.01
    assert "too narrow" in gate.words


@pytest.mark.parametrize("twin", [1000.0, 1001.0])
def test_counts_without_variance_are_judged_in_every_window(tmp_path: Path, twin: float) -> None:
    three = [{**one, "metric": "instructions"} for one in cells()]
    records = [
        record(
            one,
            round,
            [[0, "instructions", twin if one.get("twin_of") else 1000.0, "count", None, None]],
            position=position,
        )
        for round in range(ROUNDS)
        for position, one in enumerate(three)
    ]
    (gate,) = AA.of(answer_experiment(write_experiment(tmp_path, three, records, ROUNDS)))
    differs = twin != 1000.0
    assert (gate.alarms, gate.holds) == (int(differs), not differs)
    assert (gate.alarm_rate.n, gate.alarm_rate.point) == (ROUNDS // 5, float(differs))
    assert gate.pairs[0].ratio.is_exact


def test_a_short_experiment_is_too_little_to_judge_by(tmp_path: Path) -> None:
    gate = gate_of(tmp_path, 1.0, rounds=6)
    assert gate.holds is None
    assert "too few blocks" in gate.words


def test_a_twin_without_values_is_said_to_be_so(tmp_path: Path, golden: Golden) -> None:
    three = cells()
    records = [record(one, r, [1e9 + r], position=i) for r in range(9) for i, one in enumerate(three[:2])]
    (gate,) = AA.of(answer_experiment(write_experiment(tmp_path, three, records, 9)))
    assert math.isnan(gate.alarm_rate.point)
    assert gate.alarm_rate.reason
    golden("twin-without-values", gate.words)


def test_without_twins_there_is_no_gate(tmp_path: Path) -> None:
    both = cells()[:2]
    records = [record(one, r, [1e9 + r], position=i) for r in range(3) for i, one in enumerate(both)]
    answer = answer_experiment(write_experiment(tmp_path, both, records, 3))
    assert AA.of(answer) == ()
    assert "aa" not in answer.findings


@pytest.mark.parametrize("seed", range(3))
def test_drift_of_the_machine_raises_no_alarm(tmp_path: Path, seed: int) -> None:
    assert gate_of(tmp_path, 1.0, seed=10 + seed).holds
