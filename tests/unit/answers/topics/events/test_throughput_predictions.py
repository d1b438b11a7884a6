"""Throughput for other numbers of clients, from the demands of the traced cell with the most clients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.answer import answer_experiment
from regatta.answers.topics.events.model import predictions
from regatta.answers.topics.events.result import TracedCell
from regatta.answers.topics.events.topic import EVENTS

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
