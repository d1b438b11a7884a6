"""The report tells of comparisons among many, suites, hosts, effects and levels, and of the paper's way."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_facts, write_journal, write_plan
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.page import render
from regatta.answers.report.registry import sections_of
from regatta.answers.spine.result import Answer
from regatta.figures.section import Section

ROUNDS = 6


def answered(
    directory: Path, hosts: int = 2, collectors: int = 3, failing: bool = False, **options: Any
) -> Answer:
    """Two benchmarks on some hosts, three iterations of which the first warms up."""
    cells = [
        cell(name, benchmark=f"apps/{program}:small")
        for program in ("h2", "<b>lzw")
        for name in ("serial", "g1", "z")[:collectors]
    ]
    rng = np.random.default_rng(3)
    for host in [f"host-{number}" for number in range(hosts)]:
        write_plan(directory, cells, ROUNDS, host=host, plan_id=host)
        records = []
        for r in range(ROUNDS):
            for i, one in enumerate(cells):
                where: dict[str, Any] = {
                    "host": host,
                    "plan_id": host,
                    "block": i // collectors,
                    "position": i,
                }
                if failing:
                    records.append(record(one, r, status="failed", reason="exit 1", **where))
                    continue
                values = (
                    1e9
                    * math.exp(rng.normal(0, 0.02))
                    * (1 + 0.05 * (i % collectors))
                    * rng.normal(1, 0.01, 3)
                )
                records.append(record(one, r, values.tolist(), **where))
        write_journal(directory, records, host=host)
    write_facts(directory, method="fixed", warmup=1)
    return answer_experiment(directory, **options)


def topics(answer: Answer) -> dict[str, Section]:
    found = sections_of(View(answer))
    return {topic.anchor: topic for topic in found}


def test_every_answer_among_many_has_its_place_in_the_report(tmp_path: Path, golden: Golden) -> None:
    answer = answered(tmp_path)
    found = topics(answer)
    assert {"comparisons", "suites", "hosts", "effects", "levels"} <= set(found)
    assert "method" not in found
    assert len(found["comparisons"].tables[0].rows) == 8
    assert "adj. p (Holm)" in found["comparisons"].tables[0].columns
    golden("titles-of-suites", "\n".join(group.title for group in found["suites"].groups))
    assert len(found["hosts"].tables[0].rows) == 4 + 2
    assert found["hosts"].tables[0].columns[0] == "platform"
    assert len(found["hosts"].groups) == 2
    assert found["effects"].tables[0].rows[-1][0] == "error"
    assert len(found["levels"].tables[0].rows) == 6 * 3
    for topic in found.values():
        for table in topic.tables:
            assert all(len(row) == len(table.columns) for row in table.rows), topic.anchor
    page = render(answer)
    assert "<b>lzw" not in page.split("<body", 1)[1].split("<script", 1)[0]
    assert found["hosts"].title in page


def test_one_host_has_a_sentence_and_no_table(tmp_path: Path) -> None:
    topic = topics(answered(tmp_path, hosts=1))["hosts"]
    assert topic.tables == []
    assert topic.groups == []
    assert "this host only" in topic.sentences[0]


def test_one_comparison_is_not_many(tmp_path: Path) -> None:
    found = topics(answered(tmp_path, hosts=1, collectors=1))
    assert not {"comparisons", "suites", "effects"} & set(found)


def test_the_papers_way_is_told_first(tmp_path: Path) -> None:
    answer = answered(tmp_path, method="georges2007")
    assert next(iter(topics(answer))) == "method"
    assert "georges2007" in render(answer)


def test_all_failed_is_a_page_without_numbers(tmp_path: Path) -> None:
    answer = answered(tmp_path, failing=True)
    found = topics(answer)
    assert not {"suites", "effects", "levels"} & set(found)
    assert found["hosts"].groups == []
    assert "NaN" not in render(answer).split("<body", 1)[1].split("<script", 1)[0]
