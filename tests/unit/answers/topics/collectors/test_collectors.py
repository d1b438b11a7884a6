"""From journals with pauses and requests to what is said of collectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, native, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.collectors.compute import Overhead
from regatta.answers.topics.collectors.topic import COLLECTORS

MS = 1e6
ROUNDS = 12
#: collector -> (what the program costs under it, ms; pauses, ms) in a heap of 2 x minheap
COSTS = {"serial": (800.0, 200.0), "g1": (900.0, 60.0), "z": (1000.0, 1.0)}


def rows(cost_ms: float, paused_ms: float | None, factor: float) -> list[list[Any]]:
    """What an invocation of one iteration reports; `factor` is its noise, of pauses a little more."""
    paused = (paused_ms or 0.0) * factor**1.5
    total = cost_ms * factor + paused
    made = [
        [0, "elapsed", total * MS, "ns", None, None],
        [0, "cpu", 2 * total * MS, "ns", None, None],
    ]
    if paused_ms is not None:
        made.append([0, "gc_time", paused * MS, "ns", None, None])
        for percentile, share in ((50, 0.01), (100, 0.1)):
            made.append([0, "gc_pause", paused_ms * share * MS, "ns", None, {"percentile": percentile}])
    return made


def answered(
    folder: Path, cells: list[dict[str, Any]], costs: dict[str, Any], rounds: int = ROUNDS, **facts: Any
) -> Answer:
    """Each cell costs what its collector does, a little less in a larger heap, with noise."""
    rng = np.random.default_rng(5)
    records = []
    for r in range(rounds):
        common = math.exp(rng.normal(0, 0.03))
        for i, one in enumerate(cells):
            cost, paused = costs[one["collector"]]
            factor = common * math.exp(rng.normal(0, 0.004))
            heap = one["heap_factor"] or 2.0
            made = rows(cost, None if paused is None else paused * 2 / heap, factor)
            records.append(record(one, r, made, position=i))
    return answer_experiment(write_experiment(folder, cells, records, rounds, **facts))


def overhead(answer: Answer, collector: str, heap: float = 2.0, resource: str = "wall") -> Overhead:
    (found,) = [
        o
        for o in COLLECTORS.of(answer).overheads
        if (o.place.collector, o.place.heap.factor, o.resource) == (collector, heap, resource)
    ]
    return found


def test_each_collector_stands_over_the_distilled_cost(tmp_path: Path) -> None:
    answer = answered(tmp_path, [cell(name) for name in COSTS], COSTS)
    (wall, cpu) = COLLECTORS.of(answer).distilled
    assert (wall.resource, wall.collector, wall.heap.factor) == ("wall", "serial", 2.0)
    assert wall.cost.point == pytest.approx(0.8, rel=0.05)
    # Processor time: 2000 less the 200 in which at least one thread collected.
    assert cpu.cost.point == pytest.approx(1.8, rel=0.05)
    for name, expected in {"serial": 1000 / 800, "g1": 960 / 800, "z": 1001 / 800}.items():
        found = overhead(answer, name).ratio
        assert found.point == pytest.approx(expected, rel=0.01)
        assert found.low < found.point < found.high
        assert found.n == ROUNDS
    assert overhead(answer, "g1", resource="cpu").ratio.point == pytest.approx(1920 / 1800, rel=0.01)


def test_the_distilled_cost_is_the_smallest_over_all_heaps(tmp_path: Path) -> None:
    cells = [
        cell(name, heap_factor=heap, heap_mib=int(32 * heap)) for heap in (1.0, 2.0, 6.0) for name in COSTS
    ]
    answer = answered(tmp_path, cells, COSTS)
    assert COLLECTORS.of(answer).distilled[0].collector == "serial"
    assert overhead(answer, "serial", 1.0).ratio.point == pytest.approx(1200 / 800, rel=0.01)
    assert overhead(answer, "serial", 6.0).ratio.point == pytest.approx((800 + 200 / 3) / 800, rel=0.01)


def test_the_sentences_say_at_least_and_where(tmp_path: Path, golden: Golden) -> None:
    answer = answered(tmp_path, [cell(name) for name in COSTS], COSTS)
    time, processors, pauses = answer.findings["collectors"]
    assert time.index(" g1 ") < time.index(" z ") < time.index(" serial ")
    golden("overhead-in-time", time)
    golden("overhead-in-processor-time", processors)
    golden("pauses", pauses)


def test_where_no_overhead_is_shown_the_sentence_promises_no_upper_bound(
    tmp_path: Path, golden: Golden
) -> None:
    costs = {"serial": (800.0, 0.0), "g1": (800.0, 0.0), "z": (1000.0, 0.0)}
    answer = answered(tmp_path, [cell(name) for name in costs], costs)
    words = answer.findings["collectors"][0]
    golden("overhead-that-is-not-significant", words)
    assert "at most" not in words


def test_of_many_heaps_one_is_in_the_sentences(tmp_path: Path) -> None:
    heaps = [1 + 0.5 * i for i in range(11)]
    cells = [cell(name, heap_factor=heap, heap_mib=int(32 * heap)) for heap in heaps for name in COSTS]
    answer = answered(tmp_path, cells, COSTS, rounds=6)
    (time,) = [words for words in answer.findings["collectors"] if "(time)" in words]
    assert time.startswith("h2, 2x minheap: ")


def test_a_collector_without_values_is_undefined_and_the_others_are_answered(tmp_path: Path) -> None:
    cells = [cell(name) for name in COSTS]
    rng = np.random.default_rng(1)
    records = [
        record(one, r, rows(*COSTS[one["collector"]], math.exp(rng.normal(0, 0.01))), position=i)
        if one["collector"] != "z"
        else record(one, r, [], position=i, status="oom", reason="java.lang.OutOfMemoryError")
        for r in range(ROUNDS)
        for i, one in enumerate(cells)
    ]
    answer = answer_experiment(write_experiment(tmp_path, cells, records, ROUNDS))
    z = overhead(answer, "z").ratio
    assert math.isnan(z.point)
    assert z.reason == "no values"
    assert overhead(answer, "g1").ratio.point == pytest.approx(1.2, rel=0.02)
    assert " z " not in " ".join(answer.findings["collectors"])


def test_a_few_rounds_give_points_without_intervals_and_no_sentence(tmp_path: Path) -> None:
    answer = answered(tmp_path, [cell(name) for name in COSTS], COSTS, rounds=3)
    found = overhead(answer, "g1").ratio
    assert (math.isnan(found.low), found.reason) == (True, "fewer than 5 rounds")
    assert found.point == pytest.approx(1.2, rel=0.02)
    assert not [words for words in answer.findings["collectors"] if "overhead" in words]


@pytest.mark.parametrize("paused", [None, 0.0])
def test_programs_that_tell_no_pauses_have_no_overheads(tmp_path: Path, paused: float | None) -> None:
    costs = {name: (cost, paused) for name, (cost, _) in COSTS.items()}
    answer = answered(tmp_path, [cell(name) for name in costs], costs)
    # A collector that never paused (0) is no unknown: its whole time may be the program's own.
    assert bool(COLLECTORS.of(answer).overheads) == (paused is not None)


def test_native_programs_and_single_cells_have_no_overheads(tmp_path: Path) -> None:
    cells = [native(), cell("g1")]
    records = [
        record(one, r, rows(100, 10, 1.0), position=i) for r in range(6) for i, one in enumerate(cells)
    ]
    answer = answer_experiment(write_experiment(tmp_path, cells, records, 6))
    assert COLLECTORS.of(answer).overheads == ()
    assert "collectors" not in answer.findings


def test_the_document_is_json_with_null_for_what_is_undefined(tmp_path: Path) -> None:
    answer = answered(tmp_path, [cell(name) for name in COSTS], COSTS, rounds=2)
    found = document_of(answer)["overheads"]
    assert {"cell_id", "collector", "resource", "ratio", "heap_factor"} <= set(found["overheads"][0])
    assert found["overheads"][0]["ratio"]["low"] is None
    assert found["distilled"][0]["cost"]["reason"] == "fewer than 5 rounds"


def test_the_same_records_give_the_same_answer(tmp_path: Path) -> None:
    a = answered(tmp_path / "a", [cell(name) for name in COSTS], COSTS)
    b = answered(tmp_path / "b", [cell(name) for name in COSTS], COSTS)
    assert COLLECTORS.of(a) == COLLECTORS.of(b)


@pytest.mark.parametrize("method", ["cov", "changepoints"])
def test_where_the_steady_state_is_found_pauses_are_taken_from_its_iterations(
    tmp_path: Path, method: str
) -> None:
    """The window is that of the elapsed time, for a metric with parameters too."""
    rng = np.random.default_rng(2)
    cells = [cell("serial"), cell("g1")]
    records = []
    for r in range(3):
        for i, one in enumerate(cells):
            made = []
            for iteration in range(40):
                slow = max(1.0, 3.0 - 0.2 * iteration)
                value = 1e9 * slow * math.exp(rng.normal(0, 0.001))
                made.append([iteration, "elapsed", value, "ns", None, None])
                made.append([iteration, "gc_pause", 1e6 * slow, "ns", None, {"percentile": 100}])
            records.append(record(one, r, made, position=i))
    answer = answer_experiment(write_experiment(tmp_path, cells, records, 3, method=method))
    pauses = [c for c in answer.cells if c.metric == "gc_pause"]
    assert len(pauses) == 2
    for found in pauses:
        assert [s.value for s in found.samples] == pytest.approx([1e6] * 3)


def test_latency_is_spoken_of_simple_and_metered(tmp_path: Path, golden: Golden) -> None:
    cells = [cell("serial"), cell("g1")]
    records = []
    for r in range(4):
        for i, one in enumerate(cells):
            made = rows(100, 10, 1.0 + 0.01 * r)
            for kind, window, value in (("simple", None, 1.5), ("metered", "100 ms", 7.0 + i)):
                parameters = {"kind": kind, "percentile": 99} | ({"window": window} if window else {})
                made.append([0, "latency", value * MS, "ns", None, parameters])
            records.append(record(one, r, made, position=i))
    answer = answer_experiment(write_experiment(tmp_path, cells, records, 4))
    golden("latency", answer.findings["collectors"][-1])
