"""The report's topic of stopping: a row a block group, a bar a block group, and nothing where rounds were fixed."""

from __future__ import annotations

import math
from dataclasses import replace

from helpers.synthetic_answers import HOSTILE, java_answer
from regatta.answers.kit.view import View
from regatta.answers.topics.stopping.compute import StoppedGroup, StoppedPair
from regatta.answers.topics.stopping.topic import STOPPING
from regatta.figures.sections_page import render_sections

PAIR = StoppedPair("g1", "serial", "", 10, 0.017, 14, 0.98, "target 1 % met by 14 rounds")
GROUP = StoppedGroup(
    "local", "h2 at 2 x minheap", "stein", 1.0, 10, 30, 14, 14, 80, 0.98, True, (), (PAIR,), PAIR.reason, ""
)
OPEN = replace(
    GROUP, place=HOSTILE, needed=None, met=None, run=10, saved=0, reached_percent=math.nan, pairs=(), reason="not decided yet"
)  # fmt: skip


def test_fixed_rounds_have_no_such_topic() -> None:
    assert STOPPING.section_of(View(java_answer())) is None


def test_cells_that_stop_alone_have_a_row_each_and_no_comparisons() -> None:
    alone = replace(GROUP, rule="javastats-cell", pairs=(replace(PAIR, b_name=""),))
    answer = replace(java_answer(), topics={"stopping": (alone,)})
    topic = STOPPING.section_of(View(answer))
    assert topic is not None
    (table,) = topic.tables
    assert table.columns[0] == "cell"
    assert [row[:5] for row in table.rows] == [("h2 at 2 x minheap", "14", "14", "1 %", "0.98 %")]


def test_each_block_group_has_a_row_and_a_bar() -> None:
    missed = replace(GROUP, needed=30, met=False, reached_percent=1.8)
    answer = replace(
        java_answer(), topics={"stopping": (GROUP, missed, OPEN)}, findings={"stopping": ("Saved much.",)}
    )
    topic = STOPPING.section_of(View(answer))
    assert topic is not None
    table, pairs = topic.tables
    assert list(table.rows) == [
        ("h2 at 2 x minheap", "14", "14", "1 %", "0.98 %", "yes", PAIR.reason),
        ("h2 at 2 x minheap", "30", "14", "1 %", "1.8 %", "no", PAIR.reason),
        (HOSTILE, "not decided yet", "10", "1 %", "–", "", "not decided yet"),
    ]
    assert pairs.rows[0][1:6] == ("g1 / serial", "10", "1.7 %", "14", "0.98 %")
    needed, beyond = topic.groups[0].figures[0].traces
    assert needed["x"] == [30, 10, 14]
    assert [a + b for a, b in zip(needed["x"], beyond["x"], strict=True)] == [30, 30, 30]
    page = render_sections("t", "", (), [topic])
    assert "<img" not in page
    assert "Saved much." in page
