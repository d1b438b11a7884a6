"""Time of the dashboard queries, sent as by Grafana, compared with counting every point once."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from command import run_command
from experiments import HOME, REGATTA, Unfit, environment
from rows import Row, say

sys.path.insert(0, str(HOME))
sys.path.insert(0, str(HOME / "tests"))
from dashboards.asking import Board, Range, full_range
from dashboards.boards import documents

from helpers.influx_server import READER, InfluxServer, influxd_program
from helpers.synthetic_journal import cell, record, write_experiment

BENCHMARKS, COLLECTORS, FACTORS = (
    range(5),
    ("serial", "parallel", "g1", "shenandoah", "z"),
    (1.25, 1.5, 2.0, 3.0),
)
#: points per record: an invocation, a host state, and its iterations
POINTS_OF_A_RECORD = 5
LIMIT_S = 1.0


def _records(cells: list[dict[str, Any]], rounds: int, now_ns: int) -> Iterator[dict[str, Any]]:
    """Yield the records of some weeks of measuring until now, one invocation per second."""
    number, count = 0, rounds * len(cells)
    for r in range(rounds):
        for position, one in enumerate(cells):
            value = 1e9 + 1e7 * position + (7919 * number) % 1_000_003
            rows = [
                [0, "elapsed", value, "ns", None, None],
                [0, "cpu", 1.3 * value, "ns", None, None],
                [0, "gc_time", 0.1 * value, "ns", None, None],
            ]
            yield record(one, r, rows, position=position, started=now_ns - (count - number) * 10**9)
            number += 1


def _fill(place: Path, server: InfluxServer, points: int) -> None:
    cells = [
        cell(collector, benchmark=f"apps/b{number}:small", heap_factor=factor, heap_mib=int(64 * factor))
        for number in BENCHMARKS
        for collector in COLLECTORS
        for factor in FACTORS
    ]
    rounds = points // POINTS_OF_A_RECORD // len(cells)
    write_experiment(place / "made-up", cells, _records(cells, rounds, time.time_ns()), rounds)
    settings = server.write_settings(place, "regatta")
    own = {**environment(place), "REGATTA_INFLUX": str(settings)}
    done = subprocess.run(
        [REGATTA, "ingest", str(place / "made-up")], env=own, cwd=place, capture_output=True, text=True
    )
    if done.returncode:
        raise Unfit(f"regatta ingest: exit code {done.returncode}\n{done.stderr}")


def measure_boards(place: Path, quick: bool) -> list[Row]:
    """Return one row per dashboard."""
    if influxd_program() is None:
        raise Unfit("influxd: NOT INSTALLED; apt-get install influxdb")
    points, times = (10**5, 3) if quick else (10**6, 7)
    server = InfluxServer(place / "influxd")
    try:
        server.start()
        server.make_database("regatta")
        say(f"{points} points are made and ingested")
        _fill(place, server, points)

        def ask(text: str) -> list[Mapping[str, Any]]:
            return [{"tags": {}, **one} for one in server.query(text, "regatta", READER, epoch="ms")]

        return _rows(ask, full_range(ask), times, points)
    finally:
        server.kill()


def _rows(ask: Any, when: Range, times: int, points: int) -> list[Row]:
    costs: dict[str, list[float]] = {}
    counting = []
    panels: dict[str, int] = {}
    for turn in range(times):
        say(f"turn {turn + 1} of {times}")
        began = time.perf_counter()
        for measurement in ("iteration", "invocation", "host_state"):
            ask(f"SELECT count(*) FROM {measurement}")
        counting.append(time.perf_counter() - began)
        for document in documents():
            board = Board(document, ask, when)
            panels[board.name] = sum(bool(answer.found) for answer in board.panels())
            board.annotations()
            costs.setdefault(board.name, []).append(board.seconds)
    peer = statistics.median(counting)
    return [
        Row(
            f"{name}: {panels[name]} panels of {points:,} points",
            "s",
            statistics.median(spent),
            peer,
            "counting every field of every point",
            "at most",
            LIMIT_S,
            statistics.median(spent) <= LIMIT_S,
            details={"times_s": spent},
        )
        for name, spent in costs.items()
    ]


if __name__ == "__main__":
    sys.exit(run_command(__doc__, measure_boards))
