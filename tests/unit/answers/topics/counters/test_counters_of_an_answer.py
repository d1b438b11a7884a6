"""Counters in an answer: means over invocations, ratios, and why a host lacks some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.kit.panels import panels_of
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.result import Answer
from regatta.answers.topics.counters.topic import COUNTERS, CounterAnswer
from regatta.host.values.counters import INFO

MISSING = {"cycles user": "no counter", "cycles kernel": "no counter", "energy": "not permitted"}


def rows(switches: int, instructions: int | None) -> list[list[Any]]:
    """One invocation: its time, its switches, and in some also its instructions."""
    found: list[list[Any]] = [
        [0, "elapsed", 1e6, "ns", None, None],
        [0, "counter_context_switches", switches, "count", None, None],
        [0, "counter_task_clock", 2_000_000 + switches, "ns", None, None],
    ]
    if instructions is not None:
        for space, share in (("user", 0.75), ("kernel", 0.25), ("all", 1)):
            found.append([0, "counter_instructions", instructions * share, "count", None, {"space": space}])
            found.append([0, "counter_ipc", 2 * share, "ratio", None, {"space": space}])
    return found


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    """Two cells, five rounds; the instructions are counted in every other invocation."""
    cells = [native("spec/gzip:test", modifiers="a"), native("spec/gzip:test", modifiers="b")]
    records = []
    for number in range(5):
        for position, cell in enumerate(cells):
            instructions = 1000 * (number + 1) if number % 2 == 0 else None
            one = record(cell, number, rows(10 * (position + 1) + number, instructions), position=position)
            one["info"] = {INFO: {"missing": MISSING, "group": number % 2, "groups": 2}}
            records.append(one)
    return answer_experiment(write_experiment(tmp_path / "made-up", cells, records, 5, method="fixed"))


def test_means_are_over_the_invocations_that_counted(answer: Answer) -> None:
    found: CounterAnswer = answer.topics["counters"]
    first, second = found.cells
    counts = {(one.metric, one.aspect): one.estimate for one in first.counts}
    assert (counts["counter_context_switches", ""].point, counts["counter_context_switches", ""].n) == (12, 5)
    assert (counts["counter_instructions", "all"].point, counts["counter_instructions", "all"].n) == (3000, 3)
    assert counts["counter_instructions", "kernel"].point == 750
    assert counts["counter_ipc", "user"].point == 1.5
    assert second.counts[1].estimate.point == 22


def test_reasons_are_told_once_with_all_their_counters(answer: Answer) -> None:
    found = answer.topics["counters"].missing
    assert [(one.reason, one.counters, one.invocations) for one in found] == [
        ("no counter", ("cycles",), 10),
        ("not permitted", ("energy",), 10),
    ]


@pytest.mark.parametrize(("rounds", "few"), [(5, True), (6, False)])
def test_fewer_than_two_rounds_per_group_are_reported_with_the_number_that_suffices(
    tmp_path: Path, rounds: int, few: bool
) -> None:
    cell = native("spec/gzip:test")
    records = [record(cell, number, rows(10 + number, 1000 + number)) for number in range(rounds)]
    for number, one in enumerate(records):
        one["info"] = {INFO: {"missing": {}, "group": number % 3, "groups": 3}}
    answer = answer_experiment(
        write_experiment(tmp_path / "made-up", [cell], records, rounds, method="fixed")
    )
    found = [(one.groups, one.rounds, one.needed) for one in answer.topics["counters"].few_rounds]
    assert found == ([(3, 5, 6)] if few else [])
    assert any("at least 6" in sentence for sentence in answer.findings.get("counters", ())) == few


def test_the_table_has_a_row_for_each_counter_and_the_page_no_panel(answer: Answer, golden: Golden) -> None:
    (table,) = COUNTERS.tables_of(View(answer))
    golden("table", "\n".join(" | ".join(row) for row in [table.columns, *table.rows]))
    golden("sentences", "\n".join(answer.findings["counters"]))
    assert {panel.metric for panel in panels_of(answer)} == {"elapsed"}


def test_an_experiment_without_counters_has_no_section(tmp_path: Path) -> None:
    cell = native("spec/gzip:test")
    records = [record(cell, number, [1e6 + number]) for number in range(3)]
    plain = answer_experiment(write_experiment(tmp_path / "made-up", [cell], records, 3, method="fixed"))
    assert plain.topics.get("counters", CounterAnswer()) == CounterAnswer()
    assert COUNTERS.section_of(View(plain)) is None
