"""`regatta ingest --verify`: a database of the same shape with anything else in it does not agree."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers.influx_ingests import Said, ingest, some_records, write_big_experiment
from helpers.influx_server import InfluxServer
from helpers.synthetic_journal import cell, record, write_experiment, write_journal
from regatta.influx.lines import escaped
from regatta.influx.points import TAGS


class Place:
    """An experiment in a database of its own."""

    def __init__(self, server: InfluxServer, tmp_path: Path) -> None:
        self.server = server
        self.database = server.new_database()
        self.folder = tmp_path / "made-up"
        self.settings = server.write_settings(tmp_path / "settings", self.database)

    def ingest(self, *options: str) -> Said:
        return ingest(self.folder, self.settings, *options)

    def differences(self) -> list[dict[str, Any]]:
        said = self.ingest("--verify", "--json")
        verified = json.loads(said.out)["verified"]
        assert (said.code == 0) == verified["holds"] == (not verified["differing"])
        assert verified["differing"] == len(verified["differences"])
        return list(verified["differences"])


@pytest.fixture
def place(influx_server: InfluxServer, tmp_path: Path) -> Place:
    return Place(influx_server, tmp_path)


@pytest.mark.parametrize(
    ("measurement", "change", "what"),
    [
        ("iteration", {"value": 1.001}, "sum(value)"),
        ("iteration", {"line": 2}, "sum(line)"),
        ("iteration", {"sequence": 2}, "sum(sequence)"),
        ("iteration", {"time": 1}, "last time"),
        ("invocation", {"elapsed_ns": 2}, "sum(elapsed_ns)"),
        ("invocation", {"started_utc_ns": 2}, "max(started_utc_ns)"),
        ("host_state", {"time": -1}, "first time"),
    ],
)
def test_one_point_that_was_changed_is_a_difference(
    place: Place, measurement: str, change: dict[str, float], what: str
) -> None:
    write_big_experiment(place.folder)
    assert place.ingest().code == 0
    assert place.differences() == []
    order = "ASC" if change.get("time", 1) < 0 else "DESC"
    # Neither the least nor the greatest value, so that only the sum can tell.
    middle = "value > 1000000 AND value < 1005000 AND" if "value" in change else ""
    (series,) = place.server.query(
        f"SELECT * FROM {measurement} WHERE {middle} host = 'alpha' ORDER BY time {order} LIMIT 1",
        place.database,
    )
    row = dict(zip(series["columns"], series["values"][0], strict=True))
    tags = ",".join(f"{name}={escaped(row[name])}" for name in TAGS[measurement])
    (name, by), key = *change.items(), f"{measurement},{tags}"
    if name == "time":
        conditions = " AND ".join(
            f"\"{one}\" = '{row[one]}'" for one in TAGS[measurement] if "'" not in row[one]
        )
        place.server.query(
            f"DELETE FROM {measurement} WHERE {conditions} AND time = {row['time']}", place.database
        )
        counted = "line=19i" if measurement == "iteration" else "perturbed=false"
        rest = f",value={row['value']},sequence={row['sequence']}i" if measurement == "iteration" else ""
        place.server.write(f"{key} {counted}{rest} {row['time'] + by}", place.database)
    else:
        field = f"{row[name] * by}" if name == "value" else f"{row[name] + by}i"
        place.server.write(f"{key} {name}={field} {row['time']}", place.database)
    (found,) = place.differences()
    assert found["what"] == what
    assert found["series"] == key
    assert what in place.ingest("--verify").out


def test_another_run_of_the_same_shape_does_not_agree(place: Place) -> None:
    write_big_experiment(place.folder)
    assert place.ingest().code == 0
    # Measured again under the same name while InfluxDB was down.
    shutil.rmtree(place.folder)
    write_big_experiment(place.folder, seed=2)
    said = place.ingest("--verify")
    assert said.code == 1
    assert re.search(r"invocation +120 in .* 120 in ", said.out)
    assert "position for alpha, beta" in said.out


def test_values_that_no_field_holds_and_sums_that_no_float_holds_agree(place: Place) -> None:
    cells = [cell("g1"), cell("serial")]
    odd = [-0.0, 1e308, 1.7e308, 10**400, 2**70, -5, 0.1, 5e-324]
    records = [record(cells[number % 2], number, odd) for number in range(4)]
    records[3] |= {"elapsed_ns": 2**63 - 1, "iterations": []}
    write_experiment(place.folder, cells, records, 8)
    write_journal(place.folder, some_records(random.Random(1), "alpha", 1, 10, 5), "alpha", 1)
    assert place.ingest().code == 0
    assert place.differences() == []
