"""The highest load that meets a target: its value in a round, over rounds, and what the page and the document show of it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from helpers.golden import Golden
from helpers.synthetic_answers import java_answer
from helpers.synthetic_journal import cell, native, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.report.page import render
from regatta.answers.report.registry import sections_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.capacity.compute import Bound, Capacity
from regatta.answers.topics.capacity.topic import CAPACITY
from regatta.stats.crossing import crossing

RATES = (2000, 4000, 8000)
TARGET = {
    "parameter": "rate",
    "metric": "latency",
    "parameters": {"percentile": 99},
    "at_most": 8,
    "unit": "ms",
}
NGINX = "web/nginx-model:default"

#: latency in ms; None: the program ends well without the percentile
Measured = float | None | Literal["failed", "perturbed", "absent"]


def record_of(of: dict[str, Any], round: int, position: int, rate: int, measured: Measured) -> dict[str, Any]:
    rows: list[list[Any]] = [[0, "latency", 5e5, "ns", None, {"percentile": 50, "rate": rate}]]
    if measured == "failed":
        return record(of, round, [], position=position, status="failed", reason="exit code 1")
    status = "ok"
    if measured == "perturbed":
        measured, status = 100.0, "perturbed"
    if isinstance(measured, float):
        rows.append([0, "latency", measured * 1e6, "ns", None, {"percentile": 99, "rate": rate}])
    return record(of, round, rows, position=position, status=status)


def written(
    directory: Path,
    rounds: Sequence[Sequence[Measured]],
    *,
    rates: Sequence[int] = RATES,
    targets: Sequence[dict[str, Any]] = (TARGET,),
    discarded_rounds: int = 0,
) -> Path:
    """An experiment with one series. `rounds`: of each round, what is measured at each rate."""
    cells = [native(f"{NGINX} rate={rate}", metric="latency") for rate in rates]
    records = [
        record_of(cells[position], number, position, rates[position], measured)
        for number, own in enumerate(rounds)
        for position, measured in enumerate(own)
        if measured != "absent"
    ]
    return write_experiment(
        directory / "made-up", cells, records, len(rounds), discarded_rounds, method="fixed", capacity=targets
    )


def capacities(answer: Answer) -> tuple[Capacity, ...]:
    return CAPACITY.of(answer).found


def only(directory: Path, rounds: Sequence[Sequence[Measured]], **options: Any) -> Capacity:
    (found,) = capacities(answer_experiment(written(directory, rounds, **options)))
    return found


def test_the_answer_has_the_crossing_of_the_curve_over_rounds(tmp_path: Path) -> None:
    rounds: list[tuple[Measured, ...]] = [(1.0, 4.0, 16.0), (1.1, 4.5, 16.5), (1.05, 4.2, 16.1)]
    found = only(tmp_path, rounds)
    wanted = crossing(RATES, [(1.0, 4.0, 16.0), (1.1, 4.5, 16.5), (1.05, 4.2, 16.1)], 8.0).estimate
    assert (found.estimate.point, found.estimate.low) == pytest.approx((wanted.point, wanted.low))
    assert found.estimate.high == pytest.approx(wanted.high)
    assert 4000 < found.estimate.low < found.estimate.high < 8000
    assert found.estimate.n == 3
    assert found.bound is None
    assert [(point.load, point.met) for point in found.points] == [(2000, 3), (4000, 3), (8000, 0)]
    assert found.points[0].estimate.point == pytest.approx(1.05e6)


def test_one_round_has_no_interval(tmp_path: Path) -> None:
    found = only(tmp_path, [(1.0, 4.0, 16.0)])
    assert 4000 < found.estimate.point < 8000
    assert math.isnan(found.estimate.low)
    assert found.estimate.reason


@pytest.mark.parametrize(
    ("rounds", "bound"),
    [
        ([(1.0, 2.0, 4.0), (1.0, 2.0, 4.0)], Bound(8000, None)),
        ([(9.0, 9.0, 9.0), ("failed", 1.0, 1.0)], Bound(None, 2000)),
        ([(1.0, 4.0, "failed"), (1.0, 4.0, None)], Bound(4000, 8000)),
        ([(1.0, 1.0, 1.0), (9.0, 9.0, 9.0)], None),
    ],
)
def test_without_an_interval_there_are_at_most_bounds(
    tmp_path: Path, rounds: list[tuple[Measured, ...]], bound: Bound | None
) -> None:
    found = only(tmp_path, rounds)
    assert math.isnan(found.estimate.point)
    assert found.estimate.reason
    assert found.estimate.n == 2
    assert found.bound == bound


@pytest.mark.parametrize("without", ["failed", None])
def test_an_invocation_without_a_value_does_not_meet_the_target(tmp_path: Path, without: Measured) -> None:
    found = only(tmp_path, [(1.0, 4.0, 16.0), (1.1, without, 17.0), (1.2, 4.1, 18.0)])
    assert [(point.met, point.failed) for point in found.points] == [(3, 0), (2, 1), (0, 0)]
    values = [(1.0, 4.0, 16.0), (1.1, 8.0, 17.0), (1.2, 4.1, 18.0)]
    wanted = crossing(RATES, values, 8.0)
    assert (found.estimate.reason, found.bound) == (wanted.estimate.reason, Bound(wanted.low, wanted.high))


@pytest.mark.parametrize("unusable", ["perturbed", "absent"])
def test_rounds_without_a_usable_invocation_are_excluded(tmp_path: Path, unusable: Measured) -> None:
    found = only(tmp_path, [(1.0, 4.0, 16.0), (unusable, 4.0, 16.0), (1.0, 4.0, unusable), (1.1, 4.4, 16.0)])
    assert found.incomplete_rounds == 2
    assert found.estimate.n == 2
    assert only(tmp_path / "other", [(1.0, 4.0, 16.0), (1.1, 4.4, 16.0)]).estimate == found.estimate


def test_a_series_with_perturbed_rounds_only_has_no_capacity(tmp_path: Path) -> None:
    found = only(tmp_path, [(1.0, "perturbed", 16.0)])
    assert math.isnan(found.estimate.point)
    assert found.bound is None
    assert found.incomplete_rounds == 1


def test_discarded_rounds_do_not_count(tmp_path: Path) -> None:
    found = only(tmp_path, [(9.0, 9.0, 9.0), (1.0, 4.0, 16.0)], discarded_rounds=1)
    assert (found.estimate.n, found.incomplete_rounds) == (1, 0)
    assert 4000 < found.estimate.point < 8000


def test_a_load_that_is_not_measured_yet_is_left_out(tmp_path: Path) -> None:
    found = only(tmp_path, [(1.0, "absent", 64.0)] * 2)
    assert [point.load for point in found.points] == [2000, 8000]
    assert found.estimate.point == pytest.approx(5000)


def test_loads_ascend_as_numbers(tmp_path: Path) -> None:
    found = only(tmp_path, [(16.0, 1.0, 4.0)], rates=(3000, 900, 2000))
    assert [point.load for point in found.points] == [900, 2000, 3000]
    assert 2000 < found.estimate.point < 3000


@pytest.mark.parametrize(
    "target",
    [
        {**TARGET, "metric": "latencies"},
        {**TARGET, "parameters": {"percentile": 98}},
        {**TARGET, "unit": "MiB"},
        {**TARGET, "parameters": {}},
    ],
    ids=["metric", "parameters", "unit", "several"],
)
def test_a_target_that_cannot_be_judged_has_a_reason(tmp_path: Path, target: dict[str, Any]) -> None:
    answer = answer_experiment(written(tmp_path, [(1.0, 4.0, 16.0)] * 2, targets=[target]))
    (found,) = capacities(answer)
    assert math.isnan(found.estimate.point)
    assert found.estimate.reason
    assert (found.bound, found.estimate.n) == (None, 0)
    assert found.estimate.reason in answer.findings["capacity"][0]
    assert 'id="capacity"' in render(answer)


def test_reasons_name_what_was_measured(tmp_path: Path) -> None:
    def reason(name: str, **changes: Any) -> str:
        return only(tmp_path / name, [(1.0, 4.0, 16.0)] * 2, targets=[TARGET | changes]).estimate.reason

    assert "latencies" in reason("metric", metric="latencies")
    assert {"ns", "MiB"} <= set(reason("unit", unit="MiB").replace(",", "").split())
    assert {"50;", "99"} <= set(reason("several", parameters={}).split())


def test_a_target_in_another_unit_is_the_same(tmp_path: Path) -> None:
    rounds = [(1.0, 4.0, 16.0), (1.1, 4.1, 16.0), (1.2, 4.0, 15.0)]
    targets = [TARGET, TARGET | {"at_most": 0.008, "unit": "s"}]
    in_ms, in_s = capacities(answer_experiment(written(tmp_path, rounds, targets=targets)))
    assert in_ms.estimate == in_s.estimate
    assert 4000 < in_ms.estimate.low < 8000


def test_configurations_and_heaps_are_series_of_their_own(tmp_path: Path) -> None:
    cells, records = [], []
    for place, (collector, factor) in enumerate([("g1", 2.0), ("g1", 4.0), ("z", 2.0)]):
        for rate in RATES:
            label = f"web/model:default rate={rate} threads=2"
            cells.append(
                cell(collector, benchmark=label, heap_factor=factor, heap_mib=rate + place, metric="latency")
            )
            records += [
                record_of(cells[-1], number, len(cells), rate, (place + 1) * rate / 2000.0)
                for number in range(2)
            ]
    answer = answer_experiment(
        write_experiment(tmp_path / "made-up", cells, records, 2, method="fixed", capacity=[TARGET])
    )
    found = capacities(answer)
    assert [(one.place.collector, one.place.heap.factor) for one in found] == [("g1", 2), ("g1", 4), ("z", 2)]
    assert {one.place.benchmark for one in found} == {"web/model:default threads=2"}
    # Each of the heaps of a factor has another size.
    assert {one.place.heap.mib for one in found} == {None}
    assert [one.bound for one in found] == [Bound(8000, None), Bound(8000, None), None]
    assert len({one.name for one in found}) == 3


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    rounds: list[tuple[Measured, ...]] = [
        (1.0, 4.0, 16.0),
        (1.1, 4.2, 16.0),
        (1.0, 4.1, 17.0),
        (1.0, 4.0, None),
        (1.0, "perturbed", 16.0),
    ]
    targets = [TARGET, TARGET | {"at_most": 40}, TARGET | {"at_most": 0.5}]
    return answer_experiment(written(tmp_path_factory.mktemp("capacity"), rounds, targets=targets))


def test_sentences(answer: Answer, golden: Golden) -> None:
    golden("first", "\n".join(answer.headline))
    golden("findings", "\n".join(answer.findings["capacity"]))


def test_many_series_are_summarized(tmp_path: Path, golden: Golden) -> None:
    targets = [TARGET]
    cells, records = [], []
    for place in range(8):
        for rate in RATES:
            cells.append(native(f"web/model:default kind={place} rate={rate}", metric="latency"))
            values: list[Measured] = [rate * (place + 1.0 + 0.1 * number) / 2000.0 for number in range(3)]
            records += [
                record_of(cells[-1], number, len(cells), rate, value) for number, value in enumerate(values)
            ]
    folder = write_experiment(tmp_path / "made-up", cells, records, 3, method="fixed", capacity=targets)
    many = answer_experiment(folder)
    golden("many", "\n".join(many.headline))
    assert len(many.findings["capacity"]) == 8


def test_the_table_has_a_row_for_each_target(answer: Answer) -> None:
    (table,) = CAPACITY.tables_of(View(answer))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["capacity"] for row in rows] == ["5,349", "at least 4,000", "below 2,000"]
    assert rows[0]["95 % CI"].startswith("[")
    assert {row["load"] for row in rows} == {"rate"}
    assert {row["rounds"] for row in rows} == {"4"}
    assert rows[0]["loads (rounds met)"] == "2,000 (4), 4,000 (4), 8,000 (0)"


def test_the_figure_has_the_target_and_the_capacity(answer: Answer) -> None:
    section = CAPACITY.section_of(View(answer))
    assert section is not None
    found = [figure for group in section.groups for figure in group.figures]
    assert len(found) == 3
    figure = found[0]
    (line,) = (trace for trace in figure.traces if trace["mode"] == "lines+markers")
    assert line["x"] == list(RATES)
    assert line["y"][0] == pytest.approx(1.02e6)
    (target,) = (trace for trace in figure.traces if trace["line"].get("dash") == "dash")
    assert target["y"] == [8e6, 8e6]
    capacity = capacities(answer)[0].estimate.point
    assert capacity in [shape["x0"] for shape in figure.layout["shapes"]]
    low, high = figure.layout["yaxis"]["range"]
    assert low < math.log10(8e6) < high


def test_the_page_and_the_document_have_the_capacity(answer: Answer) -> None:
    page = render(answer)
    assert 'id="capacity"' in page
    document = json.loads(json.dumps(document_of(answer), allow_nan=False))
    first, second, _ = document["capacity"]
    assert first["target"] == TARGET
    assert first["estimate"]["point"] == capacities(answer)[0].estimate.point
    assert first["bound"] is None
    assert (first["host"], first["benchmark"], first["incomplete_rounds"]) == ("alpha", NGINX, 1)
    assert [point["load"] for point in first["points"]] == list(RATES)
    assert second["estimate"]["point"] is None
    assert second["bound"] == {"low": 4000.0, "high": None}


def test_an_experiment_without_a_target_has_no_such_topic() -> None:
    other = java_answer(n=3)
    assert CAPACITY.section_of(View(other)) is None
    assert "capacity" not in {topic.anchor for topic in sections_of(View(other))}


def test_a_plan_of_an_older_version_has_no_target(tmp_path: Path) -> None:
    folder = written(tmp_path, [(1.0, 4.0, 16.0)])
    path = folder / "plan" / "experiment.json"
    plan = json.loads(path.read_text())
    del plan["experiment"]["capacity"]
    path.write_text(json.dumps(plan))
    assert capacities(answer_experiment(folder)) == ()
