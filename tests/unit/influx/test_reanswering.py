"""An experiment that is answered again, of the same records: the database has the new answer, and nothing of the old one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.faulty_proxy import faulty_proxy
from helpers.influx_ingests import ingest
from helpers.influx_server import InfluxServer
from helpers.synthetic_journal import cell, native, record, write_facts, write_journal, write_plan
from regatta.host.errors import StoreError
from regatta.influx.client import Client, Unreachable
from regatta.influx.replacing import drop_answer
from regatta.influx.settings import read_settings

CELLS = [cell("g1"), cell("serial"), {**native("lm/lat_pipe:default"), "metric": "elapsed"}]


def write_rounds(folder: Path, rounds: int, discarded: int = 0, **facts: Any) -> Path:
    write_plan(folder, CELLS, rounds, discarded_rounds=discarded)
    write_facts(folder, **facts)
    records = [
        record(one, r, [1e6 + r + p], position=p) for r in range(rounds) for p, one in enumerate(CELLS)
    ]
    write_journal(folder, records)
    return folder


def written(server: InfluxServer, database: str) -> dict[str, list[Any]]:
    """All points of the answer, with whatever tags and fields they have."""
    return {
        one: [
            (series["tags"], {name: value for name, value in zip(series["columns"], row, strict=True) if value is not None})
            for series in server.query(f"SELECT * FROM {one} GROUP BY *", database)
            for row in series["values"]
        ]
        for one in ("estimate", "vector")
    }  # fmt: skip


@pytest.mark.parametrize(
    "before",
    [{"baseline": {"collector": "serial"}}, {"baseline": {"collector": "g1"}}],
    ids=["another baseline", "an interval that is none any more"],
)
def test_an_answer_leaves_nothing_of_an_earlier_one_of_the_same_records(
    influx_server: InfluxServer, tmp_path: Path, before: dict[str, Any]
) -> None:
    folder = tmp_path / "made-up"
    found = []
    # One round that counts is no interval.
    after = {"discarded": 2, "baseline": {"collector": "g1"}}
    for name, answers in (("twice", (before, after)), ("once", (after,))):
        database = influx_server.new_database()
        settings = influx_server.write_settings(tmp_path / name, database)
        for facts in answers:
            write_rounds(folder, 3, **facts)
            said = ingest(folder, settings, estimates=True)
            assert said.code == 0, said.err
        found.append(written(influx_server, database))
    assert found[0] == found[1]
    assert found[0]["estimate"]
    assert found[0]["vector"]


def test_answers_of_fewer_records_stay_and_those_of_other_experiments_too(
    influx_server: InfluxServer, tmp_path: Path
) -> None:
    database = influx_server.new_database()
    settings = influx_server.write_settings(tmp_path / "settings", database)
    client = Client(read_settings(settings))
    times = [1000, 1001, 1999, 2000, 999]
    for name in ("made-up", "other"):
        client.write([f"estimate,experiment={name} n=1i {time}\n".encode() for time in times])
    # No answer has it.
    client.write([b"estimate,experiment=made-up,kind=shift n=2i 1000\n"])
    # With other alternatives it is wrong.
    client.write([b"estimate,experiment=made-up,kind=platform-rank n=3i 500\n"])
    drop_answer(client, "made-up", 1000, pytest.fail)
    left = {
        series["tags"]["experiment"]: [row[0] for row in series["values"]]
        for series in influx_server.query("SELECT n FROM estimate GROUP BY experiment", database)
    }
    assert left == {"made-up": [999, 1000, 2000], "other": sorted(times)}


def test_a_database_that_does_not_delete_is_told_of_and_written_all_the_same(
    influx_server: InfluxServer, tmp_path: Path
) -> None:
    database = influx_server.new_database()
    said: list[str] = []
    with faulty_proxy(influx_server.port, ["refuses"]) as proxy:
        proxy.bodies["refuses"] = b'{"results":[{"statement_id":0,"error":"DELETE is not supported"}]}'
        settings = influx_server.write_settings(tmp_path / "settings", database, url=proxy.url)
        drop_answer(Client(read_settings(settings)), "made-up", 1000, said.append)
    assert len(said) == 1
    assert "DELETE is not supported" in said[0]


def test_a_database_that_does_not_answer_is_no_database_that_does_not_delete(
    influx_server: InfluxServer, tmp_path: Path
) -> None:
    settings = influx_server.write_settings(tmp_path / "settings", "absent", url="http://127.0.0.1:9")
    with pytest.raises(Unreachable) as raised:
        drop_answer(Client(read_settings(settings), patience_s=0.2), "made-up", 1000, pytest.fail)
    assert isinstance(raised.value, StoreError)
