"""`advise heap` as a person uses it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from helpers.golden import Golden
from helpers.synthetic_answers import java_answer
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.spine.result import Answer
from regatta.host.errors import RegattaError, SpecError
from regatta.models.cli.advise import advise
from regatta.models.gc.heap_advice import advise_latency
from regatta.models.gc.heap_measurements import heaps_of_answer

HEAPS = (80, 96, 128, 256, 512)


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    lines = ["collector,heap_mib,seconds,minheap_mib,pause_p99_ms,paused_seconds"]
    for collector, base, k, pause in (("serial", 2.05, 10, 40), ("parallel", 2.0, 30, 9)):
        for heap in HEAPS:
            for noise in (0.998, 1.0, 1.002):
                seconds = (base + k / (heap - 48)) * noise
                lines.append(f"{collector},{heap},{seconds:.5f},64,{pause * noise * 80 / heap:.3f},")
    path = tmp_path / "app.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(advise, ["heap", *map(str, arguments)], catch_exceptions=False)


def test_the_answer_comes_first(measured: Path, golden: Golden) -> None:
    done = run(measured, "--target-overhead", "10%")
    assert done.exit_code == 0
    golden("overhead", done.stdout)


def test_a_limit_of_pauses_chooses_a_measured_heap(measured: Path, golden: Golden) -> None:
    done = run(measured, "--latency", "10ms")
    assert done.exit_code == 0
    golden("latency", done.stdout)


def test_json_has_the_advice(measured: Path) -> None:
    found = json.loads(run(measured, "--target-overhead", "10", "--json").stdout)
    assert found["app"] == "app"
    assert found["advice"]["collector"] == "serial"
    # 2.05 + 10 / (h - 48) = 2.2
    assert found["advice"]["heap"]["heap_bytes"] / (1 << 20) == pytest.approx(115, rel=0.15)
    assert found["advice"]["heap"]["low"] < found["advice"]["heap"]["high"]
    assert found["advice"]["next"]["collector"] in ("serial", "parallel")


def test_json_has_named_ends_of_each_prediction_and_wait(measured: Path) -> None:
    overhead, latency = (
        json.loads(run(measured, *limit, "--json").stdout)["advice"]
        for limit in (("--target-overhead", "10"), ("--latency", "10ms"))
    )
    needed = ["heap_bytes", "low", "high", "level", "refused"]
    assert list(overhead["heap"]) == needed
    for one in (overhead["prediction"], overhead["rows"][0]["prediction"]):
        assert list(one) == ["heap_bytes", "seconds", "low", "high", "level", "measured", "refused"]
    assert overhead["overhead_low"] < overhead["overhead"] < overhead["overhead_high"]
    row = latency["rows"][0]
    assert row["low"] < row["wait_ms"] < row["high"]
    assert row["invocations"] == 3


def test_a_page_has_the_curves(measured: Path, tmp_path: Path) -> None:
    page = tmp_path / "pages" / "heap.html"
    done = run(measured, "--target-overhead", "10%", "--html", page)
    assert str(page) in done.stdout
    text = page.read_text(encoding="utf-8")
    assert "parallel" in text
    assert "serial" in text
    assert text.count("plotly") > 0


def test_only_g1_gives_notes_about_other_collectors(tmp_path: Path) -> None:
    path = tmp_path / "g1.csv"
    rows = ["collector,heap_mib,seconds,paused_seconds"]
    rows += [f"G1,{heap},{seconds},{seconds / 10}" for heap, seconds in ((64, 2.0), (64, 2.02), (256, 1.5))]
    path.write_text("\n".join(rows), encoding="utf-8")
    done = run(path, "--target-overhead", "5%", "--minheap", "32")
    assert done.stderr.count("note: ") == 5
    assert "measure it" in done.stderr


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("collector,heap\nG1,64\n", "app.csv"),
        ("collector,heap_mib,seconds\n", "app.csv"),
        ("collector,heap_mib,seconds\nG1,64,fast\n", "app.csv:2:seconds"),
        ("collector,heap_mib,seconds\nG1,0,1\n", "app.csv:2:heap_mib"),
        ("collector,heap_mib,seconds\n,64,1\n", "app.csv:2:collector"),
        ("collector,heap_mib,seconds,minheap_mib\nG1,64,1,65\n", "app.csv"),
        ("collector,heap_mib,seconds,minheap_mib\nG1,64,1,30\nG1,64,1,31\n", "app.csv:minheap_mib"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, text: str, where: str) -> None:
    path = tmp_path / "app.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        run(path, "--latency", "10ms")
    assert caught.value.problems[0].where.endswith(where)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "arguments", [("--latency", "5%"), ("--target-overhead", "0%"), ("--latency", "fast")]
)
def test_a_wrong_quantity_is_refused(measured: Path, arguments: tuple[str, str]) -> None:
    with pytest.raises(RegattaError) as caught:
        run(measured, *arguments)
    assert caught.value.problems[0].where == arguments[0]


def test_exactly_one_target_is_needed(measured: Path) -> None:
    assert run(measured).exit_code == 2
    assert run(measured, "--latency", "1ms", "--target-overhead", "5%").exit_code == 2


def test_a_missing_file_or_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegattaError):
        run(tmp_path / "none.csv", "--latency", "1ms")
    with pytest.raises(RegattaError):
        run("apps/h2", "--experiment", "none", "--results", tmp_path, "--latency", "1ms")


# Experiments


def test_an_answer_gives_one_point_per_collector_and_heap() -> None:
    answer = java_answer(runtimes=("temurin-21",), heaps=(1.5, 2.0, 4.0))
    found = heaps_of_answer(answer, "apps/h2")
    assert found.place.benchmark == "apps/h2:small"
    assert set(found.points) == {"serial", "parallel", "g1"}
    assert [len(points) for points in found.points.values()] == [3, 3, 3]
    assert found.minheap_bytes <= min(points[0].heap_bytes for points in found.points.values())
    assert set(found.curves()) == set(found.points)


def test_several_runtimes_are_not_mixed() -> None:
    with pytest.raises(SpecError):
        heaps_of_answer(java_answer(), "apps/h2")


def test_an_unknown_benchmark_lists_the_known_ones() -> None:
    with pytest.raises(SpecError) as caught:
        heaps_of_answer(java_answer(runtimes=("temurin-21",)), "apps/none")
    assert "apps/h2:small" in caught.value.problems[0].fix


def test_an_experiment_gives_the_same_kind_of_answer(tmp_path: Path) -> None:
    cells = [cell("g1", heap_factor=factor, heap_mib=int(32 * factor)) for factor in (1.5, 2.0, 4.0, 8.0)]
    lines = [
        record(one, number, [1e9 * (2 + 20 / (one["heap_mib"] - 22)) * (1 + number / 1000)], position=at)
        for number in range(4)
        for at, one in enumerate(cells)
    ]
    write_experiment(tmp_path / "heaps", cells, lines, 4)
    asked = ("apps/h2", "--experiment", "heaps", "--results", tmp_path, "--target-overhead", "10%", "--json")
    found = json.loads(run(*asked).stdout)
    # 20 / (h - 22) = 0.2
    needed = found["advice"]["heap"]
    assert needed["heap_bytes"] / (1 << 20) == pytest.approx(122, rel=0.2)
    assert needed["low"] < 122 * (1 << 20) < needed["high"]
    assert found["advice"]["rows"][0]["invocations"] == 4


# Profiles


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (("--target-overhead", "5%", "--profile", "p.json"), "--profile"),
        (("--latency", "5ms", "--profile", "p.json", "--on", "costs"), "--profile"),
        (("--target-overhead", "5%", "--on", "costs"), "--on"),
        (("--target-overhead", "5%", "--profile", "none.json", "--on", "costs"), "none.json"),
    ],
)
def test_a_prediction_needs_a_profile_costs_and_a_target(
    measured: Path, arguments: tuple[str, ...], where: str
) -> None:
    with pytest.raises(SpecError) as caught:
        run(measured, *arguments)
    assert caught.value.problems[0].where == where


def test_one_runtime_of_several_can_be_chosen() -> None:
    found = heaps_of_answer(java_answer(), "apps/h2", runtime="temurin-25")
    assert found.place.runtime == "temurin-25"
    assert found.place.host == "alpha"
    with pytest.raises(SpecError):
        heaps_of_answer(java_answer(), "apps/h2", runtime="graal")


def answer_with_waits(collector: str, waits_ms: dict[str, dict[int, float]]) -> Answer:
    """An answer with percentiles in each invocation: metric -> percentile -> ms; 0 is a value without a percentile."""
    answer = java_answer(runtimes=("temurin-21",), heaps=(2.0,))
    more = []
    for given in answer.cells:
        if given.place.collector == collector:
            for metric, values in waits_ms.items():
                for percentile, ms in values.items():
                    samples = tuple(
                        replace(one, value=ms * 1e6 * (1 + at)) for at, one in enumerate(given.samples)
                    )
                    parameters = {"percentile": percentile} if percentile else {}
                    more.append(replace(given, metric=metric, parameters=parameters, samples=samples))
    return replace(answer, cells=(*answer.cells, *more))


def test_waits_of_an_answer_are_the_longer_of_pauses_and_stalls() -> None:
    waits = {"gc_pause": {99: 1.0, 100: 9.0}, "gc_stall_count": {0: 14.0}, "gc_stall": {50: 2.0, 100: 29.0}}
    found = heaps_of_answer(answer_with_waits("g1", waits), "apps/h2")
    (point,) = found.points["g1"]
    count = len(point.seconds)
    assert list(point.pauses_ms) == pytest.approx([29.0 * (1 + at) for at in range(count)])
    assert found.stalls_ms["g1", point.heap_bytes] == pytest.approx(29.0 * (1 + count) / 2)


def test_with_fewer_than_100_pauses_the_longest_counts_and_without_a_stall_it_is_0() -> None:
    found = heaps_of_answer(
        answer_with_waits("g1", {"gc_pause": {50: 1.0, 100: 9.0}, "gc_stall_count": {0: 0.0}}), "apps/h2"
    )
    (point,) = found.points["g1"]
    assert list(point.pauses_ms) == pytest.approx([9.0 * (1 + at) for at in range(len(point.seconds))])
    assert found.stalls_ms["g1", point.heap_bytes] == 0


def test_stalls_of_a_concurrent_collector_are_unknown_unless_they_were_counted() -> None:
    answer = answer_with_waits("g1", {"gc_pause": {99: 1.0}})
    z = tuple(
        replace(cell, place=replace(cell.place, collector="z")) if cell.place.collector == "g1" else cell
        for cell in answer.cells
    )
    found = heaps_of_answer(replace(answer, cells=z), "apps/h2")
    assert math.isnan(found.stalls_ms["z", found.points["z"][0].heap_bytes])
    advice = advise_latency(found.points, 1e6, stalls_ms=found.stalls_ms)
    assert [row.meets for row in advice.rows] == ["open"]
    assert advice.chosen is None
