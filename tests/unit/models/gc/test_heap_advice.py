"""Advice from curves, from pauses and from the profile of G1."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from regatta.models.gc import collector_choice
from regatta.models.gc.collector_choice import choose_collector
from regatta.models.gc.heap_advice import advise_latency, advise_overhead
from regatta.models.gc.heap_curve import HeapCurve, HeapPoint, fit_curve
from regatta.models.gc.heap_measurements import read_heap_csv
from regatta.models.gc.heap_policy import can_stall

MIB = float(1 << 20)
LIVE, MINHEAP = 48 * MIB, 64 * MIB


def points(
    base: float, k: float, heaps: tuple[float, ...] = (80, 96, 128, 256, 512, 1024)
) -> list[HeapPoint]:
    return [
        HeapPoint(heap * MIB, [(base + k * MIB / (heap * MIB - LIVE)) * one for one in (0.998, 1.0, 1.002)])
        for heap in heaps
    ]


def curve(base: float, k: float) -> HeapCurve:
    return fit_curve(points(base, k), MINHEAP)


def test_the_heap_of_a_target_is_that_of_the_model() -> None:
    advice = advise_overhead({"parallel": curve(2.0, 20.0)}, 0.1)
    # 20 / (h - 48) = 0.1 * 2
    assert advice.heap.point / MIB == pytest.approx(148, rel=0.12)
    assert advice.heap.low < 148 * MIB < advice.heap.high
    assert advice.overhead.point == pytest.approx(0.1, abs=0.005)
    assert advice.certainty == 1.0
    assert not advice.refusals


def test_the_collector_with_the_least_heap_is_chosen_and_the_reference_is_the_best_of_all() -> None:
    fast, small = curve(2.0, 60.0), curve(2.02, 8.0)
    advice = advise_overhead({"parallel": fast, "serial": small}, 0.1)
    assert advice.collector == "serial"
    # 2.02 + 8 / (h - 48) = 2.2
    assert advice.heap.point / MIB == pytest.approx(92.4, rel=0.06)
    assert advise_overhead({"serial": small, "parallel": fast}, 0.1).collector == "serial"


def test_a_slow_collector_never_reaches_the_target() -> None:
    advice = advise_overhead({"z": curve(3.0, 8.0), "parallel": curve(2.0, 20.0)}, 0.1)
    assert advice.collector == "parallel"
    assert advice.certainty == 1.0


def test_equal_collectors_are_not_decided() -> None:
    advice = advise_overhead({"a": curve(2.0, 20.0), "b": curve(2.0, 20.0)}, 0.1)
    assert advice.certainty < 0.95
    assert any(text.startswith("collector: ") for text in advice.refusals)


def test_the_tight_end_is_not_recommended_without_a_measurement() -> None:
    fitted = fit_curve(points(2.0, 10.0, (192, 512)), MINHEAP)
    advice = advise_overhead({"g1": fitted}, 0.9)
    assert advice.heap.point >= 1.5 * MINHEAP
    assert advice.heap.reason
    assert advice.refusals


def test_rows_have_measured_heaps_and_the_recommended_one() -> None:
    advice = advise_overhead({"parallel": curve(2.0, 20.0)}, 0.1)
    heaps = [row.prediction.heap_bytes for row in advice.rows]
    assert heaps == sorted(heaps)
    assert sum(row.invocations == 3 for row in advice.rows) == 6
    assert any(abs(heap / advice.heap.point - 1) < 0.05 for heap in heaps)


def test_bad_targets_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^target: "):
        advise_overhead({"g1": curve(2.0, 20.0)}, 0.0)
    with pytest.raises(ValueError, match=r"^curves: "):
        advise_overhead({}, 0.1)
    with pytest.raises(ValueError, match=r"^limit_ms: "):
        advise_latency({}, -1.0)


# Latency


def paused(heap: float, pauses: tuple[float, ...], seconds: float = 2.0) -> HeapPoint:
    return HeapPoint(heap * MIB, [seconds] * 3, math.nan, pauses)


def test_the_least_heap_with_short_pauses_is_chosen() -> None:
    given = {
        "g1": [paused(128, (12.0, 12.4, 12.2)), paused(256, (8.0, 8.2, 8.1)), paused(512, (5.0, 5.1, 5.2))],
        "parallel": [paused(128, (80.0, 81.0, 85.0))],
    }
    advice = advise_latency(given, 10.0)
    assert advice.chosen is not None
    assert (advice.chosen.collector, advice.chosen.heap_bytes) == ("g1", 256 * MIB)
    assert [row.meets for row in advice.rows] == ["no", "yes", "yes", "no"]
    assert advice.next is not None
    assert 128 * MIB < advice.next[1] < 256 * MIB


def test_pauses_around_the_limit_are_open() -> None:
    advice = advise_latency({"g1": [paused(128, (8.0, 13.0, 10.0))]}, 10.0)
    assert advice.chosen is None
    assert advice.next == ("g1", 128 * MIB)
    assert advice.refusals


def test_without_pauses_nothing_is_answered() -> None:
    advice = advise_latency({"g1": [HeapPoint(128 * MIB, [1.0])]}, 10.0)
    assert advice.chosen is None
    assert advice.rows == ()
    assert advice.refusals


def test_a_heap_with_unknown_stalls_is_open() -> None:
    given = {"z": [paused(128, (0.02, 0.021, 0.022)), paused(256, (0.02, 0.021, 0.022))]}
    advice = advise_latency(given, 10.0, stalls_ms={("z", 128 * MIB): math.nan})
    assert [row.meets for row in advice.rows] == ["open", "yes"]
    assert advice.chosen is not None
    assert advice.chosen.heap_bytes == 256 * MIB
    assert any("stalls of z: unknown" in text for text in advice.refusals)


def test_stalls_of_a_csv_file_count_like_pauses(tmp_path: Path) -> None:
    """A log with pauses of 0.02 ms, and with stalls of 29 ms."""
    path = tmp_path / "z.csv"
    rows = [
        f"z,{heap},{s},0.02{i},{stall}"
        for heap, stall in ((64, 29 + 1), (128, 0))
        for i, s in enumerate((1, 1.1, 1.2))
    ]
    path.write_text("collector,heap_mib,seconds,pause_p99_ms,stall_max_ms\n" + "\n".join(rows) + "\n")
    measured = read_heap_csv(path)
    assert measured.stalls_ms == {("z", 64 * MIB): 30, ("z", 128 * MIB): 0}
    assert [list(point.pauses_ms) for point in measured.points["z"]] == [[30, 30, 30], [0.02, 0.021, 0.022]]


def test_a_csv_file_without_stalls_does_not_tell_them_for_z(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    path.write_text("collector,heap_mib,seconds,pause_p99_ms\nz,64,1,0.02\ng1,64,1,0.02\n")
    stalls = read_heap_csv(path).stalls_ms
    assert math.isnan(stalls["z", 64 * MIB])
    assert stalls["g1", 64 * MIB] == 0


@pytest.mark.parametrize("name", ["z", "ZGC", "Zgen", "z-generational", "GenZGC", "Shenandoah", "genshen"])
def test_concurrent_collectors_can_stall(name: str) -> None:
    assert can_stall(name)


@pytest.mark.parametrize("name", ["g1", "Serial", "parallel", "zero", "freeze", "epsilon", "default"])
def test_other_collectors_do_not_stall(name: str) -> None:
    assert not can_stall(name)


# Collectors from the profile of G1


def test_a_decision_needs_nine_of_ten_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {str(number): (1.0, 1.0, 1.0, 2.0, 2.0, 2.0) for number in range(19)}
    reverse = {"b": (1.0, 1.0, 1.0, 0.8, 0.8, 0.8), "c": (1.0, 1.0, 1.0, 0.8, 0.8, 0.8)}
    monkeypatch.setattr(collector_choice, "RATIOS", other | reverse)
    assert choose_collector("G1", "Z", 0.1).faster == "G1"
    assert choose_collector("Z", "G1", 0.1).faster == "G1"
    monkeypatch.setattr(collector_choice, "RATIOS", dict(list(other.items())[:10]) | reverse)
    assert choose_collector("G1", "Z", 0.1).faster == ""


def test_a_program_with_short_pauses_is_not_decided() -> None:
    assert choose_collector("Z", "G1", 0.005).faster == ""
    assert choose_collector("Z", "G1", 0.1).faster == "G1"
    assert choose_collector("Z", "Zgen", 0.1).faster == ""
    assert not np.isnan(choose_collector("G1", "Serial").ratio)


def test_an_unknown_collector_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^collector: "):
        choose_collector("G1", "cms")
