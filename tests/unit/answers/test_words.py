"""What an answer says can be read aloud, and says no more than was shown."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regatta
from helpers.golden import Golden
from helpers.synthetic_journal import cell, native, record, write_facts, write_journal, write_plan
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.result import Answer
from regatta.answers.spine.words import bound_words, compared, f_words, how_much, p_words
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.answers.topics.suites.topic import SUITES
from regatta.stats.estimate import Interval

SOURCES = Path(regatta.__file__).parent


def ratio(point: float, low: float, high: float) -> Interval:
    return Interval(18, point, low, high, 0.95, "paired-log-t")


def sentences_of(answer: Answer) -> list[str]:
    found = [*answer.headline, *answer.warnings]
    found += [one.words for many in (answer.comparisons, answer.families, SUITES.of(answer)) for one in many]
    found += [sentence for sentences in answer.findings.values() for sentence in sentences]
    found += [one.words for one in (*HOSTS.of(answer).comparisons, *HOSTS.of(answer).families)]
    return found


def test_a_difference_is_read_aloud_with_its_interval(golden: Golden) -> None:
    found = compared("g1", "serial", ratio(0.959, 0.95, 0.968), "elapsed", "ns", "lower")
    golden("difference-with-its-interval", found)


def test_an_end_beyond_nothing_is_negative() -> None:
    assert how_much(ratio(0.959, 0.83, 1.09)) == "4 % [-9, 17]"


def test_numbers_of_tests_are_short() -> None:
    assert f_words(5.1234, 2, 27, 0.01309) == "F(2, 27) = 5.12, p = 0.0131"
    assert p_words(0.604) == "p = 0.60"
    assert p_words(1e-9) == "p < 0.0001"


def test_a_bound_is_never_below_the_interval() -> None:
    assert bound_words([ratio(1.0, 0.98, 1.0231)]) == "likely at most 2.4 %"
    assert bound_words([ratio(1.0, math.nan, math.nan)]) == "size unknown"


def test_a_bound_of_many_times_is_a_factor() -> None:
    assert bound_words([ratio(1.0, 0.1, 1.2)]) == "likely at most 900 %"
    assert bound_words([ratio(1.0, 0.9, 75.5)]) == "likely at most 76x"
    assert bound_words([ratio(1.0, 1 / 75.5, 1.1)]) == "likely at most 76x"


# As many as there are kinds: one program or two, two or three collectors, a native one or none, one host or two.
@pytest.mark.parametrize("seed", range(6))
def test_no_sentence_claims_that_there_is_no_difference(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = [
        cell(collector, benchmark=f"apps/{program}:small")
        for program in ("h2", "lzw")[: 1 + seed % 2]
        for collector in ("serial", "g1", "z")[: 2 + seed % 2]
    ]
    cells += [native()] if seed % 3 == 0 else []
    rounds = int(rng.integers(1, 7))
    factor = 1.0 + float(rng.choice([0.0, 0.002, 0.1]))
    for host in ("alpha", "beta")[: 1 + (seed // 2) % 2]:
        write_plan(tmp_path, cells, rounds, host=host, plan_id=host)
        write_journal(tmp_path, [_record(rng, one, r, i, host, factor) for r in range(rounds) for i, one in enumerate(cells)], host=host)  # fmt: skip
    write_facts(tmp_path)
    for method in ("regatta", "georges2007"):
        found = sentences_of(answer_experiment(tmp_path, method=method))
        assert found
        for sentence in found:
            assert not re.search(r"no difference(?! shown)", sentence, re.IGNORECASE), sentence
            assert not re.search(r"\bnan\b|\binf\b|\bequal to\b|\bthe same as\b", sentence), sentence


def _record(
    rng: np.random.Generator, one: dict[str, Any], round: int, place: int, host: str, factor: float
) -> dict[str, Any]:
    where: dict[str, Any] = {"host": host, "plan_id": host, "position": place}
    if rng.random() < 0.1:
        return record(one, round, status="failed", reason="exit 1", **where)
    value = 1e9 * factor ** (place % 3) * math.exp(rng.normal(0, 0.01))
    return record(one, round, [value], **where)


def test_no_text_in_the_sources_says_no_difference_without_shown() -> None:
    for path in SOURCES.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {id(node) for owner in nodes for node in _docstring(owner)}
        spoken = {
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        }
        for text in spoken:
            assert not re.search(r"no difference(?! shown)", text, re.IGNORECASE), f"{path}: {text}"


def _docstring(owner: ast.AST) -> list[ast.expr]:
    match owner:
        case ast.Module() | ast.ClassDef() | ast.FunctionDef() if owner.body and isinstance(
            owner.body[0], ast.Expr
        ):
            return [owner.body[0].value]
    return []
