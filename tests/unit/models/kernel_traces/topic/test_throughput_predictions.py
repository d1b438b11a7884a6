"""Throughput for other numbers of clients, from the demands of the traced cell with the most clients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.models.kernel_traces.record_measures import UNREADABLE
from regatta.models.kernel_traces.topic.compute import predictions
from regatta.models.kernel_traces.topic.result import TracedCell
from regatta.models.kernel_traces.topic.topic import EVENTS

BENCHMARK = "web/static:default acceptance={} connections={}"
#: ns at a CPU of the service and at that of the clients
CPU, CLIENT = 100_000.0, 50_000.0


def _rows(rate: float) -> list[list[Any]]:
    def demand(station: str, value: float) -> list[Any]:
        given = {"station": station, "servers": "1", "shared": "false"}
        return [0, "event_demand", value, "ns", None, given]

    counts = [
        [0, "event_transactions", 100.0, "1", None, None],
        [0, "event_throughput", rate, "ops/s", None, None],
    ]
    return [*counts, [0, "event_response", 9e5, "ns", None, None], demand("cpu", CPU), demand("cpu0", CLIENT)]


@pytest.fixture
def cells(tmp_path: Path) -> tuple[TracedCell, ...]:
    labels = [BENCHMARK.format("parallel", 1), BENCHMARK.format("parallel", 8), BENCHMARK.format("flock", 8)]
    planned = [native(label, modifiers="events-apache") for label in labels]
    records = [
        record(cell, round_, [[0, "elapsed", 150_000.0, "ns", None, None], *_rows(5_000.0 + at)], position=at)
        for round_ in range(2)
        for at, cell in enumerate(planned)
    ]
    return EVENTS.of(answer_experiment(write_experiment(tmp_path / "made-up", planned, records, 2))).cells


def test_cells_that_differ_in_clients_only_are_predicted_together(cells: tuple[TracedCell, ...]) -> None:
    found = predictions(cells)
    assert [one.clients for one in found] == [1, 8]
    alone, many = found
    assert alone.predicted == pytest.approx(1e9 / (CPU + CLIENT))
    assert alone.bound == pytest.approx(1e9 / (CPU + CLIENT))
    assert many.bound == pytest.approx(1e9 / CPU)
    assert alone.predicted < many.predicted < many.bound
    assert alone.traced.point == pytest.approx(5_000.0)


def test_without_demands_nothing_is_predicted(cells: tuple[TracedCell, ...]) -> None:
    assert predictions([replace(cell, demands=None) for cell in cells]) == ()


def test_a_trace_that_cannot_be_read_is_no_measured_invocation(tmp_path: Path) -> None:
    cell = native(BENCHMARK.format("flock", 8), modifiers="events-apache")
    elapsed = [0, "elapsed", 150_000.0, "ns", None, None]
    unreadable = [0, UNREADABLE, 1.0, "1", None, None]
    records = [record(cell, 0, [elapsed, *_rows(5_000.0)]), record(cell, 1, [elapsed, unreadable])]
    (found,) = EVENTS.of(answer_experiment(write_experiment(tmp_path / "made-up", [cell], records, 2))).cells
    assert (found.n, found.without_events) == (1, 1)
    assert found.rate.point == 5_000.0


def test_invocations_that_used_other_numbers_of_cpus_share_a_station(tmp_path: Path) -> None:
    cell = native(BENCHMARK.format("flock", 8), modifiers="events-apache")
    rows = [_rows(5_000.0), _rows(5_000.0)]
    for row in rows[1]:
        if row[1] == "event_demand" and row[5]["station"] == "cpu":
            row[5]["servers"] = "2"
    records = [
        record(cell, at, [[0, "elapsed", 150_000.0, "ns", None, None], *own]) for at, own in enumerate(rows)
    ]
    (found,) = EVENTS.of(answer_experiment(write_experiment(tmp_path / "made-up", [cell], records, 2))).cells
    assert found.demands is not None
    assert dict(zip(found.demands.names, found.demands.demands_ns.tolist(), strict=True)) == {
        "cpu": CPU,
        "cpu0": CLIENT,
    }
    assert found.demands.servers.tolist() == [2.0, 1.0]
