"""From journals of scalable benchmarks to what is said of load."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.scaling_experiment import FACTS, bandwidth_rows, latency_rows, write_scaling_experiment
from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.load.compute import Aspect, LoadCurve
from regatta.answers.topics.load.topic import LOAD

ROUNDS = 12
Rows = Callable[[int, int], list[list[Any]]]


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answer_experiment(write_scaling_experiment(tmp_path_factory.mktemp("scaling") / "made-up"))


def curve(answer: Answer, program: str, aspect: Aspect = "each", **parameters: Any) -> LoadCurve:
    (found,) = [
        one
        for one in LOAD.of(answer).curves
        if (one.program, one.aspect) == (program, aspect) and parameters.items() <= one.parameters.items()
    ]
    return found


def answered(
    folder: Path,
    labels: Sequence[tuple[str, int]],
    rows: Rows,
    rounds: int = ROUNDS,
    together: bool = False,
    metric: str = "latency",
    **facts: Any,
) -> Answer:
    """One cell a label and load; `together`: they share their blocks."""
    cells = [native(label, metric=metric) for label, _ in labels]
    records = [
        record(cells[i], r, rows(load, r), block=0 if together else i, position=i)
        for r in range(rounds)
        for i, (_, load) in enumerate(labels)
    ]
    return answer_experiment(write_experiment(folder, cells, records, rounds, **facts))


def noisy(value: Callable[[int], float], seed: int = 3, noise: float = 0.01) -> Rows:
    rng = np.random.default_rng(seed)

    def rows(load: int, _: int) -> list[list[Any]]:
        return [[0, "latency", value(load) * math.exp(rng.normal(0, noise)), "ns", None, {"parallel": load}]]

    return rows


def crossed(*loads: int, program: str = "lat_x") -> list[tuple[str, int]]:
    return [(f"lm/{program}:default parallel={load}", load) for load in loads]


def test_points_are_means_of_the_load_with_the_intervals_of_the_table(answer: Answer) -> None:
    found = curve(answer, "lat_syscall", call="read")
    assert [point.parallel for point in found.points] == [1, 2, 3, 4]
    assert "parallel" not in found.parameters
    for point in found.points:
        (cell,) = [
            c
            for c in answer.cells
            if c.cell_id == point.cell_id and c.metric == "latency" and c.parameters.get("call") == "read"
        ]
        assert point.estimate == cell.estimate
        assert point.values == tuple(sample.value for sample in cell.samples)


def test_throughput_of_a_latency_is_the_rate_of_all_processes_over_that_of_one(answer: Answer) -> None:
    points = curve(answer, "lat_syscall", call="null").points
    assert points[0].throughput is None
    for point, expected in zip(points[1:], (2.0, 2.0, 2.0), strict=True):
        assert point.throughput is not None
        assert point.throughput.low < expected < point.throughput.high
        assert point.throughput.point == pytest.approx(expected, rel=0.02)
        assert point.throughput.high - point.throughput.low < 0.1


def test_one_process_alone_is_the_whole_system_the_fastest_and_the_slowest(answer: Answer) -> None:
    alone = curve(answer, "stream", kernel="copy").points[0]
    for aspect in ("system", "fastest", "slowest"):
        found = curve(answer, "stream", aspect, kernel="copy")  # type: ignore[arg-type]
        assert found.points[0].values == alone.values
        assert [point.parallel for point in found.points] == [1, 2, 3, 4]
    together = curve(answer, "stream", "system", kernel="copy").points[1]
    assert together.throughput is not None
    assert together.throughput.point == pytest.approx(1.8, rel=0.02)
    assert curve(answer, "stream", kernel="copy").points[1].throughput is None
    fastest = curve(answer, "stream", "fastest", kernel="copy").points
    assert fastest[3].estimate.point == pytest.approx(1.1 * 17000 * 1.8 / 4, rel=0.02)


def test_sentences_count_the_series_that_change_and_name_those_with_several_modes(
    answer: Answer, golden: Golden
) -> None:
    words = answer.findings["load"]
    golden("changes-and-modes", "\n".join(words))


def test_the_table_says_between_which_loads_a_series_changes(answer: Answer) -> None:
    changes = next(table for table in LOAD.tables_of(View(answer)) if table.title.startswith("Changes"))
    rows = {(row[0], row[1], row[3]): row for row in changes.rows}
    assert changes.columns[-1] == "change"
    assert rows["lat_syscall", "call null", "1 to 2"][-1].startswith("no ")
    assert rows["lat_syscall", "call null", "1 to 3"][-1] == "higher"


def test_the_load_is_read_from_the_series_and_not_from_the_label(tmp_path: Path) -> None:
    labels = [("lm/lat_x:default parallel=9", 1), ("lm/lat_x:default parallel=8", 2)]
    found = answered(tmp_path, labels, noisy(lambda load: 100.0 * load))
    assert [p.parallel for p in curve(found, "lat_x").points] == [1, 2]


def test_a_program_that_walks_through_the_loads_by_itself_is_a_curve_of_one_cell(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)

    def rows(_: int, __: int) -> list[list[Any]]:
        return [row for load in (1, 2, 4) for row in latency_rows(load, rng, 100.0)]

    found = answered(tmp_path, [("lm/lat_x:default", 0)], rows)
    assert [p.parallel for p in curve(found, "lat_x").points] == [1, 2, 4]
    assert {step.ratio.method for step in curve(found, "lat_x").steps} == {"paired-log-t"}


def test_two_sizes_of_a_program_are_two_curves_that_are_told_apart(tmp_path: Path) -> None:
    labels = [(f"lm/lat_x:{size} parallel={load}", load) for size in ("quick", "default") for load in (1, 2)]
    found = answered(tmp_path, labels, noisy(lambda load: 100.0))
    assert {one.program for one in LOAD.of(found).curves} == {"lat_x:quick", "lat_x:default"}


def test_sizes_with_one_load_each_are_never_mixed_into_one_curve(tmp_path: Path) -> None:
    labels = [("lm/lat_x:quick parallel=1", 1), ("lm/lat_x:default parallel=2", 2)]
    found = answered(tmp_path, labels, noisy(lambda load: 100.0))
    assert LOAD.of(found).curves == ()
    assert LOAD.of(found).cpus == {}
    assert "load" not in found.findings


def test_loads_are_paired_where_they_share_blocks_and_apart_where_they_do_not(tmp_path: Path) -> None:
    apart = answered(tmp_path / "apart", crossed(1, 2), noisy(lambda load: 100.0 * load))
    paired = answered(tmp_path / "paired", crossed(1, 2), noisy(lambda load: 100.0 * load), together=True)
    assert [step.ratio.method for step in curve(apart, "lat_x").steps] == ["welch-log"]
    assert [step.ratio.method for step in curve(paired, "lat_x").steps] == ["paired-log-t"]


def test_a_slow_rise_is_found_against_the_last_load_that_differs(tmp_path: Path) -> None:
    """Each load costs 1 % more than the one before, which a spread of 2 % hides between neighbours and not over four of them."""

    def rows(load: int, r: int) -> list[list[Any]]:
        value = 100 * 1.01**load * (1 + 0.02 * (-1) ** r)
        return [[0, "latency", value, "ns", None, {"parallel": load}]]

    found = answered(tmp_path, crossed(1, 2, 3, 4, 5), rows, rounds=10)
    steps = curve(found, "lat_x").steps
    assert [(step.over, step.load, step.verdict) for step in steps[:2]] == [(1, 2, "open"), (1, 3, "open")]
    assert any((step.over, step.verdict) == (1, "up") for step in steps[2:])


def test_equal_loads_are_rarely_called_different(tmp_path: Path) -> None:
    """40 series of pure noise with four loads: 240 comparisons, of which 12 would differ without Holm."""
    rng = np.random.default_rng(11)

    def rows(load: int, _: int) -> list[list[Any]]:
        return [
            [0, "latency", math.exp(rng.normal(5, 0.02)), "ns", None, {"call": f"c{i}", "parallel": load}]
            for i in range(40)
        ]

    found = answered(tmp_path, crossed(1, 2, 3, 4), rows, rounds=8)
    verdicts = [step.verdict for one in LOAD.of(found).curves for step in one.steps]
    assert len(verdicts) == 120
    assert set(verdicts) <= {"open", "same"}


def test_one_invocation_compares_nothing_and_says_so(tmp_path: Path, golden: Golden) -> None:
    found = answered(tmp_path, crossed(1, 2), noisy(lambda load: 100.0), rounds=1)
    (only,) = LOAD.of(found).curves
    assert [step.verdict for step in only.steps] == ["unknown"]
    assert math.isnan(only.points[0].estimate.low)
    golden("not-comparable", "\n".join(found.findings["load"]))


def test_an_interval_that_excludes_nothing_is_told_with_its_ends(tmp_path: Path, golden: Golden) -> None:
    found = answered(tmp_path, crossed(1, 2), noisy(lambda load: 100.0, noise=0.5), rounds=3)
    (words,) = found.findings["load"]
    # Generators of numpy do not promise the same numbers in later versions.
    golden("interval-that-excludes-nothing", re.sub(r"\d+\.\d+", "N", words))
    (step,) = LOAD.of(found).curves[0].steps
    assert step.ratio.low < 1 < step.ratio.high


def test_cpus_are_those_the_processes_could_use_before_those_of_the_host(tmp_path: Path) -> None:
    # The records say that CPUs 0 and 1 were allowed, the facts that there are 8.
    facts = {"host_facts": {"alpha": {**FACTS, "cpus": "8"}}}
    found = answered(tmp_path, crossed(1, 2), noisy(lambda load: 100.0), **facts)
    assert LOAD.of(found).cpus == {"alpha": 2}


def test_more_of_a_bandwidth_is_better_whichever_process_it_is_of(answer: Answer) -> None:
    better = {cell.metric: cell.better for cell in answer.cells}
    assert better["bandwidth_system"] == better["bandwidth_fastest"] == "higher"
    assert better["latency_slowest"] == "lower"


def test_loads_that_are_no_numbers_of_processes_are_no_loads(tmp_path: Path) -> None:
    def rows(load: int, _: int) -> list[list[Any]]:
        return [
            [0, "latency", 5.0 + load, "ns", None, {"kind": i, "parallel": bad}]
            for i, bad in enumerate((True, "2", 1.5, 0))
        ]

    found = answered(tmp_path, crossed(1, 2), rows)
    assert LOAD.of(found).curves == ()


def test_the_document_holds_every_point_and_step_and_no_sample(answer: Answer) -> None:
    document = json.loads(json.dumps(document_of(answer)["scaling"], allow_nan=False))
    assert len(document["curves"]) == len(LOAD.of(answer).curves)
    first = document["curves"][0]
    assert set(first["points"][0]) == {"parallel", "cell_id", "estimate", "throughput"}
    assert {step["verdict"] for one in document["curves"] for step in one["steps"]} <= {
        "up",
        "down",
        "same",
        "open",
    }


def test_a_bandwidth_that_falls_is_said_to_fall(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)

    def rows(load: int, _: int) -> Iterator[list[Any]]:
        return bandwidth_rows(load, rng, 1000.0 if load < 4 else 400.0)

    found = answered(
        tmp_path, crossed(1, 2, 4, program="bw_x"), lambda load, r: list(rows(load, r)), metric="bandwidth"
    )
    (words,) = found.findings["load"]
    assert re.search(r"1 to 2 processes: 1\.(79|8\d?)\d* \[.*?\], higher", words)
    assert re.search(r"2 to 4 processes: 0\.(39|40)\d* \[.*?\], lower", words)
    assert curve(found, "bw_x", "system").points[2].estimate.point == pytest.approx(720, rel=0.02)
