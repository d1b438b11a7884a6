"""Plateaus of memory latency, and sleeps against what was asked for, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.golden import Golden
from helpers.scaling_experiment import FACTS, memory_ns, write_scaling_experiment
from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.result import Answer
from regatta.answers.topics.memory.topic import memory_curves, memory_words, plateaus
from regatta.answers.topics.sleeps.topic import sleep_curves, sleep_words

KIB = 1024


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answer_experiment(
        write_scaling_experiment(tmp_path_factory.mktemp("memory") / "made-up", rounds=5)
    )


def one_cell(folder: Path, rows: Sequence[tuple[float, Mapping[str, Any]]], unit: str = "ns") -> Answer:
    """One program, each of its lines in three invocations that differ by 1 %."""
    cell = native("lm/program:default", metric="latency")
    records = [
        record(cell, r, [[0, "latency", value * (1 + 0.01 * r), unit, None, dict(p)] for value, p in rows])
        for r in range(3)
    ]
    return answer_experiment(write_experiment(folder, [cell], records, 3))


def test_plateaus_are_told_up_to_the_sizes_at_which_they_end_with_the_caches_of_the_host(
    answer: Answer,
    golden: Golden,
) -> None:
    first = answer.findings["memory"][0]
    # Generators of numpy do not promise the same numbers in later versions.
    golden("plateaus", re.sub(r"[\d.]+ ns", "N ns", first))
    values = [float(text) for text in re.findall(r"([\d.]+) ns", first)]
    assert values == pytest.approx([1, 3, 10, 95], rel=0.15)
    assert len(answer.findings["memory"]) == 4


def test_caches_that_are_not_known_are_not_spoken_of(answer: Answer) -> None:
    words = memory_words(answer.cells, {"alpha": {"cpu": FACTS["cpu"]}})
    assert words
    assert not any("caches" in one for one in words)


def test_what_lies_between_two_levels_is_on_no_plateau() -> None:
    points = [(4, 1.0), (8, 1.05), (16, 1.6), (32, 3.0), (64, 3.1), (128, 9.0)]
    found = plateaus([(size * KIB, value) for size, value in points])
    assert [(one.first_bytes // KIB, one.last_bytes // KIB) for one in found] == [
        (4, 8),
        (32, 64),
        (128, 128),
    ]
    assert found[1].value == pytest.approx((3.0 * 3.1) ** 0.5)


def test_a_slope_that_never_stops_is_not_one_plateau() -> None:
    found = plateaus([(4096 << i, 1.15**i) for i in range(20)])
    assert len(found) > 4


@given(st.lists(st.floats(0.5, 200.0), min_size=1, max_size=30))
def test_plateaus_ascend_hold_what_they_say_and_lie_apart(values: list[float]) -> None:
    found = plateaus([(4096 << i, value) for i, value in enumerate(values)])
    assert found[-1].last_bytes == 4096 << (len(values) - 1)
    for one in found:
        run = [v for i, v in enumerate(values) if one.first_bytes <= 4096 << i <= one.last_bytes]
        assert all(one.value / 1.2000001 <= value <= one.value * 1.2000001 for value in run)
    assert all(a.last_bytes < b.first_bytes for a, b in pairwise(found))


def test_each_walk_and_load_is_a_curve_of_its_own(answer: Answer) -> None:
    curves = memory_curves(answer.cells)
    assert [curve.parameters["parallel"] for curve in curves] == [1, 2, 3, 4]
    assert all(list(curve.at) == [4096 << i for i in range(15)] for curve in curves)
    means = [cell.estimate.point for cell in curves[0].cells]
    assert np.allclose(means, [memory_ns(int(size)) for size in curves[0].at], rtol=0.03)


def test_few_sizes_and_sizes_without_a_stride_are_no_curve(tmp_path: Path) -> None:
    few = [(1.0, {"size_bytes": 4096 << i, "stride_bytes": 64}) for i in range(3)]
    other = [(1.0, {"size_bytes": 4096 << i}) for i in range(10)]
    found = one_cell(tmp_path, few + other)
    assert memory_curves(found.cells) == []
    assert "memory" not in found.findings


def test_sleeps_are_told_by_how_much_longer_they_last(answer: Answer, golden: Golden) -> None:
    words = answer.findings["sleeps"]
    assert len(words) == 16
    itimer = next(one for one in words if one.startswith("lat_usleep (call itimer)"))
    golden("longer-than-requested", itimer)
    assert "shorter" not in "".join(words)


def test_a_sleep_that_is_shorter_than_asked_is_named(tmp_path: Path, golden: Golden) -> None:
    rows = [
        (value, {"call": "bad", "requested_us": asked})
        for asked, value in ((10, 12.0), (100, 90.0), (1000, 1100.0))
    ]
    (words,) = sleep_words(one_cell(tmp_path, rows, unit="us").cells)
    golden("shorter-than-requested", words)


def test_requests_that_are_no_times_are_no_sleeps(tmp_path: Path) -> None:
    rows = [(5.0, {"requested_us": bad}) for bad in ("1", True, 0, -3)]
    assert sleep_curves(one_cell(tmp_path, rows).cells) == []
