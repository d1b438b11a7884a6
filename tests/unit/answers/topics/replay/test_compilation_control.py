"""Table 5: conclusions under controlled compilation against those of the plain configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.report.page import render
from regatta.answers.spine.families.result import Family
from regatta.answers.spine.parts import FamilyPair, Place
from regatta.answers.topics.replay.topic import REPLAY, agreement, judge_control
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import Interval

#: intervals of a ratio: below 1, above 1, around 1
LESS, MORE, NEITHER = (0.8, 0.9, 0.95), (1.05, 1.1, 1.2), (0.95, 1.01, 1.05)


def ratio(ends: tuple[float, float, float]) -> Interval:
    return Interval(10, ends[1], ends[0], ends[2], 0.95, "tukey")


@pytest.mark.parametrize(
    ("plain", "controlled", "expected"),
    [
        (NEITHER, NEITHER, "agree"),
        (NEITHER, MORE, "inconclusive"),
        (NEITHER, LESS, "inconclusive"),
        (MORE, NEITHER, "inconclusive"),
        (MORE, MORE, "agree"),
        (MORE, LESS, "disagree"),
        (LESS, MORE, "disagree"),
        (LESS, LESS, "agree"),
    ],
)
def test_the_classes_of_table_5(plain: Any, controlled: Any, expected: str) -> None:
    assert agreement(ratio(plain), ratio(controlled)) == expected


def family(modifiers: str, pairs: Sequence[tuple[str, str, Any]], **more: Any) -> Family:
    plain = Family(
        Place("alpha", "local", "s/lzw:x", "jdk-25", "", modifiers, Heap(2.0, 64)), "elapsed", {}, ("serial", "parallel", "g1"), 1.0, 2.0, 18.0,
        0.01, "block-anova+sidak", tuple(FamilyPair(a, b, ratio(ends), 0.01) for a, b, ends in pairs), "",
    )  # fmt: skip
    return replace(plain, **more)


def test_each_set_and_phase_is_counted_apart(golden: Golden) -> None:
    phases = [{"phase": "mix"}, {"phase": "stable"}]
    families = [
        family(modifiers, [("serial", "g1", ends)], parameters=phase, names=("serial", "g1"))
        for phase, sides in zip(phases, [(LESS, MORE, LESS), (LESS, NEITHER, LESS)], strict=True)
        for modifiers, ends in zip(("none", "c1-only", "aot-cache"), sides, strict=True)
    ]
    found = judge_control(families, ("c1-only", "aot-cache"), "replay")
    assert [(c.modifiers, c.phase, c.against, c.pairs[0].agreement) for c in found] == [
        ("c1-only", "mix", "startup", "disagree"),
        ("c1-only", "stable", "steady state", "inconclusive"),
        ("aot-cache", "mix", "startup", "agree"),
        ("aot-cache", "stable", "steady state", "agree"),
    ]
    golden("opposite-conclusions", found[0].words)


def test_agreement_on_no_difference_is_told_apart(golden: Golden) -> None:
    pairs = [("serial", "parallel", MORE), ("serial", "g1", NEITHER), ("parallel", "g1", NEITHER)]
    (found,) = judge_control([family("none", pairs), family("c1-only", pairs)], ("c1-only",), "startup")
    golden("agreement-on-no-difference", found.words)


def test_what_has_no_interval_on_one_side_is_left_out_and_counted(golden: Golden) -> None:
    nothing = (math.nan, 1.0, math.nan)
    plain = family("none", [("serial", "parallel", MORE), ("serial", "g1", LESS), ("parallel", "g1", LESS)])
    controlled = family("c1-only", [("serial", "parallel", MORE), ("serial", "g1", nothing)])
    (found,) = judge_control([plain, controlled], ("c1-only",), "startup")
    assert (found.phase, found.against, len(found.pairs), found.left_out) == ("startup", "startup", 1, 2)
    golden("no-interval-on-one-side", found.words)
    (empty,) = judge_control([plain, replace(controlled, pairs=())], ("c1-only",), "fixed")
    assert "no comparison" in empty.words
    assert empty.left_out == 3


def test_places_that_differ_are_not_compared() -> None:
    plain = family("none", [("serial", "g1", MORE)])
    for other in ({"heap": Heap(4.0, 64)}, {"runtime": "jdk-21"}, {"host": "beta"}, {"benchmark": "s/h2:x"}):
        controlled = family("c1-only", [("serial", "g1", MORE)])
        controlled = replace(controlled, place=replace(controlled.place, **other))
        assert judge_control([plain, controlled], ("c1-only",), "startup") == ()
    assert judge_control([plain, family("thp", [("serial", "g1", MORE)])], ("c1-only",), "startup") == ()


def test_an_experiment_says_whether_its_conclusions_survive_control(tmp_path: Path, golden: Golden) -> None:
    import json

    cells = [cell(c, modifiers=m) for m in ("none", "c1-only") for c in ("serial", "g1")]
    levels = {
        ("serial", "none"): 100,
        ("g1", "none"): 110,
        ("serial", "c1-only"): 200,
        ("g1", "c1-only"): 150,
    }
    records = [
        record(
            one,
            r,
            [(levels[one["collector"], one["modifiers"]] + 0.1 * r * (1 + i) + 0.3 * (r % 2) * i) * 1e6] * 2,
            position=i,
        )
        for r in range(6)
        for i, one in enumerate(cells)
    ]
    folder = write_experiment(tmp_path / "made-up", cells, records, 6, method="replay", warmup=1)
    path = folder / "plan/experiment.json"
    facts = json.loads(path.read_text())
    facts["experiment"]["controlled"] = ["c1-only"]
    path.write_text(json.dumps(facts))
    answer = answer_experiment(folder)
    assert [(c.phase, c.count("disagree")) for c in REPLAY.of(answer)] == [("mix", 1), ("stable", 1)]
    assert len(answer.findings["replay"]) == 2
    assert document_of(answer)["compilation"][0]["pairs"][0]["agreement"] == "disagree"
    page = render(answer)
    assert "Compilation control" in page
    for words in answer.findings["replay"]:
        assert words.partition(":")[0] in page
    golden("findings", "\n".join(answer.findings["replay"]))
