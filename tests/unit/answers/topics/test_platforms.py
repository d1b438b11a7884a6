"""Platforms and hosts as alternatives: ratios of independent samples, what they hold for, means, and the times of measurement."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helpers.fleet_experiment import HOSTS, Fleet, write_fleet
from regatta.answers.answer import answer_experiment
from regatta.answers.documents import COLUMNS, document_of, rows_of
from regatta.answers.parts import Place
from regatta.answers.topics.platforms.compute import PlatformRatio, _change, _means, rankings
from regatta.answers.topics.platforms.topic import PLATFORMS
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import Interval
from regatta.stats.hosts import pool_hosts

TWO_EACH = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8), "graviton": ("arm", 1.3), "altra": ("arm", 1.4)}


def fleet(path: Path, **changes: object) -> Path:
    given = {"collectors": ("serial", "g1"), "compare": ("collector", "platform"), **changes}
    return write_fleet(path / "made-up", Fleet(**given))  # type: ignore[arg-type]


def test_each_benchmark_has_the_ratio_of_the_platforms_for_these_hosts(tmp_path: Path) -> None:
    found = PLATFORMS.of(answer_experiment(fleet(tmp_path, baseline={"platform": "x86"})))
    assert (found.by, dict(found.hosts)) == ("platform", {"arm": ("graviton",), "x86": ("ryzen", "xeon")})
    assert len(found.ratios) == 6
    expected = 1.3 / (1.0 * 0.8) ** 0.5
    for one in found.ratios:
        assert (one.a, one.b, set(one.hosts_b)) == ("arm", "x86", {"ryzen", "xeon"})
        assert one.these.low < expected < one.these.high
        assert one.these.high / one.these.low < 1.05
        # One Arm host says nothing of others.
        assert math.isnan(one.like_these.low)
        assert one.practical == "yes"


def test_with_several_hosts_on_each_side_their_variation_is_part_of_the_wider_statement(
    tmp_path: Path,
) -> None:
    answer = answer_experiment(fleet(tmp_path, hosts=TWO_EACH, baseline={"platform": "x86"}))
    found = PLATFORMS.of(answer)
    for one in found.ratios:
        assert one.like_these.low < one.these.low < one.these.high < one.like_these.high
    (mean,) = [one for one in found.means if one.place.collector == "g1"]
    assert (mean.benchmarks, mean.these.n) == (("apps/ecj:small", "apps/h2:small"), 2)
    words = next(one for one in answer.headline if "geometric mean of 2 benchmarks, jdk-21 g1" in one)
    assert "arm (2 hosts" in words
    assert "slower than x86 (2 hosts); similar hosts: " in words
    assert mean.similar_hosts.low < 1.0 < mean.these.low
    assert any("; similar benchmarks: " in one for one in answer.findings["platforms"])
    assert any("similar hosts: " in one and "not significant" in one for one in answer.findings["platforms"])


def test_the_hosts_of_the_only_platform_are_compared(tmp_path: Path) -> None:
    hosts = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8)}
    answer = answer_experiment(fleet(tmp_path, hosts=hosts, baseline={}))
    found = PLATFORMS.of(answer)
    assert found.by == "host"
    assert {(one.a, one.b) for one in found.ratios} == {("xeon", "ryzen")}
    assert not any("similar hosts" in one for one in answer.findings["platforms"])


def test_the_times_of_measurement_and_the_drift_are_stated(tmp_path: Path) -> None:
    answer = answer_experiment(fleet(tmp_path))
    by_name = {one.platform: one for one in PLATFORMS.of(answer).times}
    for one in by_name.values():
        assert 0 < one.first_utc_ns < one.last_utc_ns
        assert one.drift.low < 1.0 < one.drift.high
    (arm,) = [one for one in answer.findings["platforms"] if one.startswith("arm: measured from ")]
    assert "UTC; second half compared with the first: " in arm


def test_platforms_are_ranked_together_though_a_heap_differs_in_size(tmp_path: Path) -> None:
    hosts = {**HOSTS, "visionfive": ("riscv", 5.0)}
    found = PLATFORMS.of(answer_experiment(fleet(tmp_path, hosts=hosts, baseline={"platform": "x86"})))
    riscv, arm = (
        next(one for one in found.means if one.a == name and one.place.collector == "g1")
        for name in ("riscv", "arm")
    )
    arm = replace(arm, place=replace(arm.place, heap=arm.place.heap.asked))
    assert rankings([riscv, arm]) == [[(1, None), (2, arm), (3, riscv)]]
    higher = [replace(one, better="higher") for one in (arm, riscv)]
    assert rankings(higher) == [[(1, higher[1]), (2, higher[0]), (3, None)]]
    # Means over other benchmarks have ranks of their own.
    fewer = replace(riscv, benchmarks=riscv.benchmarks[:1])
    assert rankings([fewer, arm]) == [[(1, None), (2, fewer)], [(1, None), (2, arm)]]


def test_platforms_are_compared_on_request_alone(tmp_path: Path) -> None:
    folder = fleet(tmp_path, compare=("collector",))
    answer = answer_experiment(folder)
    assert PLATFORMS.of(answer) == PLATFORMS.empty
    assert "platforms" not in answer.findings or not answer.findings["platforms"]
    asked = answer_experiment(folder, baseline={"platform": "arm"})
    assert {(one.a, one.b) for one in PLATFORMS.of(asked).ratios} == {("x86", "arm")}
    with pytest.raises(SpecError, match=r"one of arm, x86"):
        answer_experiment(folder, baseline={"platform": "riscv"})


def test_a_platform_that_lacks_a_cell_or_is_not_measured_is_left_out_there(tmp_path: Path) -> None:
    lacking = PLATFORMS.of(answer_experiment(fleet(tmp_path, lacking={"arm": ("g1",)})))
    assert {one.place.collector for one in lacking.ratios} == {"", "serial"}
    nothing = PLATFORMS.of(answer_experiment(fleet(tmp_path / "b", recorded={"graviton": 0})))
    assert nothing.ratios == ()


def test_documents_and_rows_have_the_ratios(tmp_path: Path) -> None:
    answer = answer_experiment(fleet(tmp_path, hosts={**HOSTS}))
    document = json.loads(json.dumps(document_of(answer), allow_nan=False))["platforms"]
    assert document["by"] == "platform"
    first = document["ratios"][0]
    assert {"a", "b", "benchmark", "collector", "these", "like_these", "p"} <= set(first)
    rows = [row for row in rows_of(answer) if row["kind"] in ("platform", "platform-mean")]
    assert len(rows) == len(document["ratios"]) + len(document["means"])
    assert all(set(row) <= set(COLUMNS) for row in rows)


def test_a_baseline_without_records_is_not_replaced(tmp_path: Path) -> None:
    hosts = {**HOSTS, "visionfive": ("riscv", 3.0)}
    answer = answer_experiment(
        fleet(tmp_path, hosts=hosts, baseline={"platform": "arm"}, recorded={"graviton": 0})
    )
    found = PLATFORMS.of(answer)
    assert (found.ratios, found.missing) == ((), "arm")
    assert answer.headline[0] == "no ratios of platforms: the baseline arm has no records yet"


def test_the_drift_of_conditions_that_all_series_share_covers_none_as_often_as_it_says(
    tmp_path: Path,
) -> None:
    """Rounds vary by 2 %, series by 0.2 %: each host has 20 rounds, not 20 times the number of its series."""
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(300):
        rounds = np.exp(rng.normal(0, 0.02, 20))
        many = [
            SimpleNamespace(
                values=rounds * np.exp(rng.normal(0, 0.002, 20)),
                samples=[SimpleNamespace(round=r) for r in range(20)],
            )
            for _ in range(12)
        ]
        interval = pool_hosts([_change(many)]).contrast.interval  # type: ignore[arg-type]
        missed += not interval.low <= 0.0 <= interval.high
    assert 3 <= missed <= 30


def test_benchmarks_with_several_settings_are_named_and_left_out_of_means() -> None:
    def ratio(benchmark: str, point: float, a: dict[str, float], b: dict[str, float]) -> PlatformRatio:
        these = Interval(20, point, point * 0.99, point * 1.01, 0.95, "fixed-hosts")
        place = Place("", "", benchmark, "native", "", "none", Heap())
        return PlatformRatio(
            "arm",
            "x86",
            a,
            b,
            place,
            benchmark,
            "elapsed",
            "ns",
            "lower",
            {},
            these,
            0.01,
            these,
            "yes",
            18.0,
        )

    both, one = {"b1": 1.0, "b2": 1.1}, {"b1": 1.0}
    arm = {"a1": 2.0, "a2": 2.1}
    context: Any = SimpleNamespace(facts=SimpleNamespace(level=0.95, theta_percent=1.0))
    ratios = [ratio(f"s/{name}:d", 2.0, arm, both) for name in ("x", "y", "m", "m")]
    (mean,) = _means(ratios, context)
    assert (mean.benchmarks, [label for label, _ in mean.left_out]) == (("s/x:d", "s/y:d"), ["s/m:d"])
    assert mean.similar_hosts.high / mean.similar_hosts.low >= mean.these.high / mean.these.low
    # Values of a parameter are not benchmarks: each has its own mean.
    values = [ratio(f"s/{name}:d n={n}", 2.0, arm, both) for name in ("x", "y") for n in (1, 4)]
    assert [(dict(m.parameters), m.benchmarks) for m in _means(values, context)] == [
        ({"n": "1"}, ("s/x:d", "s/y:d")), ({"n": "4"}, ("s/x:d", "s/y:d"))
    ]  # fmt: skip
    # A host that lacks a benchmark says nothing of the others.
    (lacking,) = _means([ratio("s/x:d", 2.0, arm, both), ratio("s/y:d", 2.0, arm, one)], context)
    assert lacking.similar_hosts.reason == "not every host has all benchmarks"
