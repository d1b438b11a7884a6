"""Sentences that claim no more than was shown: cells of other plans, several settings of one process, open differences."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.words import bound_words
from regatta.answers.topics.effects.topic import EFFECTS
from regatta.answers.topics.steady.compute import _agreement
from regatta.stats.estimate import Interval


def ratio(low: float, high: float) -> Interval:
    return Interval(5, 1.0, low, high, 0.95, "t")


def test_a_collector_of_another_plan_is_compared_unpaired_and_not_tied_with_the_others(
    tmp_path: Path,
    golden: Golden,
) -> None:
    generator = np.random.default_rng(7)
    cells = {name: cell(name) for name in ("g1", "parallel", "z")}
    records: list[dict[str, Any]] = []
    for round in range(10):
        for position, (name, one) in enumerate(cells.items()):
            value = 1e9 * (0.5 if name == "z" else 1.0) * math.exp(generator.normal(0, 0.01))
            plan = "plan-b" if name == "z" else "plan-a"
            records.append(record(one, round, [value], position=position, plan_id=plan))
    answer = answer_experiment(write_experiment(tmp_path, list(cells.values()), records, 10))
    (family,) = answer.families
    golden("collector-of-another-plan", family.words)


def test_a_bound_with_an_unknown_interval_is_not_known() -> None:
    assert bound_words([ratio(0.99, 1.02)]) == "likely at most 2.0 %"
    unknown = ratio(math.nan, math.nan)
    for both in ([unknown, ratio(0.99, 1.02)], [ratio(0.99, 1.02), unknown]):
        assert bound_words(both) == "size unknown"


def test_the_settings_of_one_process_count_once(tmp_path: Path) -> None:
    # 5 settings of a process share its luck; nothing differs between the collectors or heaps.
    alarms = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        cells = [cell(c, heap_factor=h, heap_mib=int(32 * h)) for c in ("serial", "g1") for h in (1.5, 2.0)]
        records = []
        for round in range(8):
            for position, one in enumerate(cells):
                luck = generator.normal(0, 0.02)
                rows = [
                    [0, "elapsed", 1e9 * math.exp(luck + generator.normal(0, 0.005)), "ns", None, {"size": s}]
                    for s in range(5)
                ]
                records.append(record(one, round, rows, position=position))
        answer = answer_experiment(write_experiment(tmp_path / str(seed), cells, records, 8))
        (table,) = EFFECTS.of(answer).tables
        row = next(row for row in table.found.rows if row.source == "collector")
        assert [(one.name, one.df_error) for one in table.found.strata] == [("within blocks", 3 * 7)]
        alarms += row.p < 0.05
    assert alarms <= 3


def test_two_ways_agree_only_where_the_whole_interval_is_close() -> None:
    assert _agreement(1.001, 0.995, 1.006, 1.0) == "agree"
    assert _agreement(1.146, 0.38, 3.47, 1.0) == "open"
    assert _agreement(1.2, 1.1, 1.3, 1.0) == "disagree"
    assert _agreement(math.nan, math.nan, math.nan, 1.0) == ""
