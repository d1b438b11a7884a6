"""The question that the baseline asks is answered first: of 2 runtimes x 2 collectors, on one host and on several."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_facts, write_journal, write_plan
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.page import render
from regatta.cli.main import cli

ROUNDS = 6
#: what each value of a factor multiplies the time by
FACTORS = {"g1": 1.3, "serial": 1.0, "jdk-17": 1.0, "jdk-21": 0.8, "none": 1.0, "thp": 0.9}


def experiment(
    folder: Path, heaps: int = 1, modifiers: tuple[str, ...] = ("none",), hosts: int = 1, **facts: Any
) -> Path:
    cells = [
        cell(collector, runtime=runtime, modifiers=chosen, heap_factor=1.0 + h, heap_mib=32 * (1 + h))
        for h in range(heaps)
        for runtime in ("jdk-17", "jdk-21")
        for collector in ("serial", "g1")
        for chosen in modifiers
    ]
    names = ["alpha", "beta", "gamma"][:hosts]
    for number, host in enumerate(names):
        records = [
            record(
                one,
                r,
                [1e9 * _factor(one) * (1 + (r * 7 + (i + number) * 3) % 5 / 1000)],
                host=host,
                position=i,
            )
            for r in range(ROUNDS)
            for i, one in enumerate(cells)
        ]
        write_plan(folder, cells, ROUNDS, host)
        write_journal(folder, records, host)
    write_facts(folder, host_facts={host: {"cpu": "a processor"} for host in names}, **facts)
    return folder


def _factor(one: Mapping[str, Any]) -> float:
    return FACTORS[one["collector"]] * FACTORS[one["runtime"]] * FACTORS[one["modifiers"]]


def kinds(headline: tuple[str, ...]) -> list[str]:
    """Of each sentence whether it compares runtimes, modifiers, or tells which collector leads."""

    def kind(sentence: str) -> str:
        if "jdk-21 is" in sentence and "than jdk-17" in sentence:
            return "runtime"
        if "thp is" in sentence and "than no modifiers" in sentence:
            return "modifiers"
        return "collector" if "serial is fastest" in sentence else sentence

    return [kind(sentence) for sentence in headline]


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ({}, ["collector"] * 2),
        ({"collector": "serial"}, ["collector"] * 2),
        ({"runtime": "jdk-17"}, ["runtime"] * 2 + ["collector"] * 2),
    ],
    ids=["none", "a collector", "a runtime"],
)
def test_the_first_conclusions_answer_the_baselines_question(
    tmp_path: Path, baseline: dict[str, str], expected: list[str]
) -> None:
    answer = answer_experiment(experiment(tmp_path / "made-up", baseline=baseline))
    assert kinds(answer.headline) == expected


def test_a_baseline_of_modifiers_is_answered_first_as_well(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "made-up", modifiers=("none", "thp"), baseline={"modifiers": "none"})
    over_all, *others = answer_experiment(folder).headline
    assert over_all.startswith("thp against ")
    assert kinds(tuple(others)) == ["modifiers"] * 4 + ["collector"] * 4


def test_a_baseline_given_on_the_command_line_asks_too(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "made-up")
    assert kinds(answer_experiment(folder, {"runtime": "jdk-17"}).headline)[:2] == ["runtime"] * 2


def test_each_sentence_says_under_which_collector_it_holds(tmp_path: Path) -> None:
    answer = answer_experiment(experiment(tmp_path / "made-up", baseline={"runtime": "jdk-17"}))
    first, second, *_ = answer.headline
    assert ", serial:" in first
    assert ", g1:" in second


def test_terminal_document_and_report_begin_with_it(tmp_path: Path) -> None:
    folder = experiment(tmp_path / "made-up", baseline={"runtime": "jdk-17"})
    answer = answer_experiment(folder)
    told = CliRunner().invoke(cli, ["analyze", "made-up", "--results", str(tmp_path)]).output
    first = next(line for line in told.splitlines() if line.startswith("• "))
    assert kinds((first,)) == ["runtime"]
    document = CliRunner().invoke(cli, ["analyze", "made-up", "--results", str(tmp_path), "--json"]).output
    assert json.loads(document)["headline"] == list(answer.headline)
    page = render(answer)
    assert page.index("than jdk-17") < page.index("serial is fastest")


def test_many_comparisons_are_summed_up_first(tmp_path: Path, golden: Golden) -> None:
    folder = experiment(tmp_path / "made-up", heaps=4, baseline={"runtime": "jdk-17"})
    first, *others = answer_experiment(folder).headline
    golden("many-comparisons", first)
    assert kinds(tuple(others))[:8] == ["runtime"] * 8


@pytest.mark.parametrize(
    ("baseline", "first"), [({"runtime": "jdk-17"}, "runtime"), ({"collector": "serial"}, "collector")]
)
def test_the_same_holds_over_several_hosts(tmp_path: Path, baseline: dict[str, str], first: str) -> None:
    answer = answer_experiment(experiment(tmp_path / "made-up", hosts=2, baseline=baseline))
    found = kinds(answer.headline)
    assert found[:2] == [first] * 2
    assert found[-2:] == ["collector"] * 2
