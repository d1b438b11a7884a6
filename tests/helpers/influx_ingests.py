"""Experiments to ingest, the command that does, and what both sides hold, asked without any code of the product."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

from helpers.influx_server import InfluxServer
from helpers.synthetic_journal import cell, native, record, write_facts, write_journal, write_plan
from regatta.cli.main import main
from regatta.host.journal.journal import journal_files

#: host, segment, sequence and line of a value: where it is in the journal
Place = tuple[str, int, int, int]

CELLS = [
    *(cell(collector, heap_factor=factor) for collector in ("g1", "parallel") for factor in (1.5, 2.0)),
    native("a suite/with, commas = and 'quotes' \"ünd\":small"),
]


def write_big_experiment(
    folder: Path, *, hosts: Sequence[str] = ("alpha", "beta"), segments: int = 2, records: int = 30,
    iterations: int = 20, started_ns: int | None = None, seed: int = 1,
) -> Path:  # fmt: skip
    """An experiment of `hosts` x `segments` journal files of `records` records each; values are never twice the same."""
    generator = random.Random(seed)
    write_facts(folder)
    for host in hosts:
        write_plan(folder, CELLS, segments * records, host)
        for segment in range(segments):
            write_journal(
                folder, some_records(generator, host, segment, records, iterations, started_ns), host, segment
            )
    return folder


def some_records(
    generator: random.Random,
    host: str,
    segment: int,
    records: int,
    iterations: int,
    started_ns: int | None = None,
) -> list[dict[str, Any]]:
    """Records of one journal file; every seventh failed."""
    return [
        {
            **record(
                CELLS[number % len(CELLS)],
                segment * records + number,
                [generator.gauss(1e6, 1e4) for _ in range(iterations)],
                host=host,
                status="failed" if number % 7 == 3 else "ok",
                started=None if started_ns is None else started_ns + number * 10**9,
            ),
            "segment": segment,
        }
        for number in range(records)
    ]


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str


def ingest(folder: Path, settings: Path, *options: str, estimates: bool = False) -> Said:
    """`regatta ingest FOLDER OPTIONS` in this process."""
    arguments = ["regatta", "ingest", str(folder), *options, *(() if estimates else ("--no-estimates",))]
    out, err = StringIO(), StringIO()
    with (
        mock.patch.object(sys, "argv", arguments),
        mock.patch.dict("os.environ", {"REGATTA_INFLUX": str(settings)}),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
            code: Any = 0
        except SystemExit as stopped:
            code = stopped.code
    return Said(int(code or 0), out.getvalue(), err.getvalue())


def journal_values(folder: Path) -> dict[Place, float]:
    """Every value of the journal by its place."""
    found = {}
    for path in journal_files(folder):
        for line in path.read_bytes().split(b"\n")[:-1]:
            one = json.loads(line)
            for number, row in enumerate(one["iterations"]):
                found[one["host"], one["segment"], one["sequence"], number] = float(row[2])
    return found


def database_values(server: InfluxServer, database: str) -> dict[Place, float]:
    """Every value of the database by its place; none may be there twice."""
    found: list[tuple[Place, float]] = []
    for series in server.query(
        "SELECT value, segment, sequence, line FROM iteration GROUP BY host", database
    ):
        host = series["tags"]["host"]
        for _, value, *place in series["values"]:
            # While a point is written, InfluxDB shows some of its fields before the others.
            if value is not None and None not in place:
                found.append(((host, *place), float(value)))
    assert len(found) == len(dict(found)), "a value is there twice"
    return dict(found)


def journal_statuses(folder: Path) -> Counter[tuple[str, str]]:
    """How many records each host and status have."""
    found: Counter[tuple[str, str]] = Counter()
    for path in journal_files(folder):
        for line in path.read_bytes().split(b"\n")[:-1]:
            one = json.loads(line)
            found[one["host"], one["status"]] += 1
    return found


def database_statuses(server: InfluxServer, database: str) -> Counter[tuple[str, str]]:
    """The same of the points of invocations."""
    asked = server.query("SELECT count(elapsed_ns) FROM invocation GROUP BY host, status", database)
    return Counter({(one["tags"]["host"], one["tags"]["status"]): one["values"][0][1] for one in asked})


def assert_all_there(server: InfluxServer, database: str, folder: Path, settings: Path) -> None:
    """Nothing is lost and nothing doubled: asked directly, and of the command, series by series."""
    assert database_values(server, database) == journal_values(folder)
    assert database_statuses(server, database) == journal_statuses(folder)
    verified = ingest(folder, settings, "--verify")
    assert verified.code == 0, verified.out + verified.err
    assert "journal and database agree in all" in verified.out
