"""The first sentences of an answer about many places: summed up, then told one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment


def heads(folder: Path, heaps: int) -> tuple[str, ...]:
    """parallel leads by a third, but for the roomiest heap, where nothing differs."""
    cells = [
        cell(c, heap_factor=1.0 + h, heap_mib=32 * (1 + h))
        for h in range(heaps)
        for c in ("serial", "parallel")
    ]
    lines = []
    for r in range(6):
        for i, one in enumerate(cells):
            slow = one["collector"] == "serial" and one["heap_factor"] < heaps
            lines.append(
                record(one, r, [1e9 * (1.3 if slow else 1) * (1 + (r * 7 + i * 3) % 5 / 100)], position=i)
            )
    return answer_experiment(write_experiment(folder, cells, lines, 6)).headline


def test_many_places_are_summed_up_first(tmp_path: Path, golden: Golden) -> None:
    first, *others = heads(tmp_path / "made-up", 8)
    golden("many-places", first)
    assert len(others) == 8


@pytest.mark.parametrize("heaps", [1, 6])
def test_few_places_are_told_one_by_one(tmp_path: Path, heaps: int) -> None:
    told = heads(tmp_path / "made-up", heaps)
    assert len(told) == heaps
    assert not any("combinations" in sentence for sentence in told)
