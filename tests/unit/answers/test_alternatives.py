"""One line per alternative against the baseline over all places, and then the exceptions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.alternatives import _which

ROUNDS = 6
BENCHMARKS = ("h2", "lusearch", "compress", "pmd", "xalan", "fop")
#: benchmark -> ratio of g1 to parallel
RATIOS = dict(zip(BENCHMARKS, (1.04, 1.08, 0.9, 1.0, 1.22, 1.1), strict=True))


def folder_of(path: Path, benchmarks: tuple[str, ...] = BENCHMARKS, **facts: object) -> Path:
    cells = {
        (name, collector): cell(collector, benchmark=f"apps/{name}:small")
        for name in benchmarks
        for collector in ("parallel", "g1", "serial")
    }
    records = []
    for number, ((name, collector), one) in enumerate(cells.items()):
        factor = {"parallel": 1.0, "g1": RATIOS[name], "serial": 2.0}[collector]
        for r in range(ROUNDS):
            value = 1e9 * factor * (1 + (r * 7 + number * 3) % 5 / 1000)
            block, position = divmod(number, 3)
            records.append(record(one, r, [value], block=block, position=position))
    return write_experiment(path, list(cells.values()), records, ROUNDS, **facts)


def test_each_alternative_has_one_line_with_its_exceptions(tmp_path: Path, golden: Golden) -> None:
    answer = answer_experiment(folder_of(tmp_path, baseline={"collector": "parallel"}))
    lines = answer.headline[:2]
    golden("lines", "\n".join(lines))
    ratios = [one.ratio.point for one in answer.comparisons if one.a_name.endswith("g1")]
    assert len(ratios) == 6
    mean = float(np.exp(np.mean(np.log(ratios))))
    assert f" {mean:.3f} [" in lines[0]


@pytest.mark.parametrize(
    ("benchmarks", "facts"),
    [(BENCHMARKS, {}), (BENCHMARKS[:3], {"baseline": {"collector": "parallel"}})],
    ids=["no baseline chosen", "few places"],
)
def test_without_a_chosen_baseline_or_with_few_places_there_is_no_such_line(
    tmp_path: Path, benchmarks: tuple[str, ...], facts: dict[str, object]
) -> None:
    answer = answer_experiment(folder_of(tmp_path, benchmarks, **facts))
    assert not [line for line in answer.headline if " against parallel" in line]


@pytest.mark.parametrize(
    ("several", "which"),
    [((False, False), ""), ((True, False), ", on host n1"), ((False, True), ", cpu"), ((True, True), ", cpu on host n1")],
)  # fmt: skip
def test_lines_of_several_hosts_or_metrics_are_told_apart(several: tuple[bool, bool], which: str) -> None:
    one: Any = SimpleNamespace(
        comparison=SimpleNamespace(metric="cpu"),
        pair=SimpleNamespace(cell=SimpleNamespace(place=SimpleNamespace(host="n1"))),
    )
    assert _which(one, *several) == which
