"""Predictions as points: counts, contributions and totals, written instead of those of before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from influx_server import InfluxServer
from served_experiment import as_home, write_served_experiment

from regatta.analysis.prediction_request import Asked, Request
from regatta.analysis.predictions import forecast_of
from regatta.analysis.vector_sources import Sources
from regatta.cli.main import cli
from regatta.influx.lines import encode
from regatta.influx.points import TAGS, VECTOR, Point
from regatta.influx.prediction_points import prediction_points

AT_NS = 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return as_home(write_served_experiment(tmp_path_factory.mktemp("served")))


def tags(point: Point) -> dict[str, str]:
    return dict(zip(TAGS[VECTOR], point.tags, strict=True))


def test_every_entry_total_and_count_is_a_point(home: Path) -> None:
    sources = Sources(home, home / "results")
    one = sources.application("apache-static")
    assert one is not None
    found = forecast_of(Request((Asked(one),), tuple(sources.systems("served"))))
    points = list(prediction_points(found, AT_NS))
    by_kind = {kind: [p for p in points if tags(p)["kind"] == kind] for kind in ("application", "prediction")}
    assert len(by_kind["application"]) == len(one.counts)
    assert len(by_kind["prediction"]) == 3 * (len(one.counts) + 3)
    for point in by_kind["application"]:
        assert (tags(point)["unit"], tags(point)["system"], tags(point)["host"]) == ("count", "", "")
    (light,) = (p for p in by_kind["application"] if tags(p)["primitive"] == "null_call")
    assert light.fields["rule"] == "times, getpid: light calls cost a null call"
    for row in found.applications[0].systems:
        own = [p for p in by_kind["prediction"] if tags(p)["system"] == row.system]
        assert {(tags(p)["experiment"], tags(p)["host"]) for p in own} == {
            ("made-up", row.provenance["host"])
        }
        entries = [p for p in own if tags(p)["primitive"]]
        assert sum(float(p.fields["value"]) for p in entries) == pytest.approx(row.prediction.time.value)
        assert sum(float(p.fields["share"]) for p in entries) == pytest.approx(1)
        totals = {
            json.loads(tags(p)["parameters"])["time"]: p.fields for p in own if not tags(p)["primitive"]
        }
        assert totals["elapsed"]["value"] == pytest.approx(
            float(totals["kernel"]["value"]) + float(totals["user"]["value"])
        )
        assert totals["elapsed"]["error"] == row.ratios["elapsed"].value - 1
        assert row.measured is not None
        assert totals["kernel"]["measured"] == row.measured.kernel.value
    ranks = {tags(p)["system"]: p.fields["rank"] for p in by_kind["prediction"] if "rank" in p.fields}
    assert ranks == {"alpha": 1, "beta": 2, "alpha-half-quota": 3}
    assert len({encode(point) for point in points}) == len(points)


def test_what_is_ingested_twice_is_there_once_and_of_the_newest_record(
    home: Path, influx_server: InfluxServer, tmp_path: Path
) -> None:
    database = influx_server.new_database()
    env = {"REGATTA_INFLUX": str(influx_server.write_settings(tmp_path, database)), "REGATTA_HOME": str(home)}
    for names in (["apache-static", "apache-cgi"], ["apache-static"]):
        arguments = ["predict", *names, "--on", "served", "--results", str(home / "results"), "--ingest"]
        done = CliRunner().invoke(cli, arguments, env=env)
        assert done.exit_code == 0, done.output
        assert "points of predictions written to" in done.stderr
    (counted,) = influx_server.query(
        "SELECT count(n) FROM vector WHERE application = 'apache-static'", database
    )
    assert counted["values"][0][1] == 11 + 3 * (11 + 3)
    (cgi,) = influx_server.query("SELECT count(n) FROM vector WHERE application = 'apache-cgi'", database)
    assert cgi["values"][0][1] == 12 + 3 * (12 + 3), "what was not asked for stays"
    records = [
        json.loads(line)["started_utc_ns"]
        for path in (home / "results" / "served" / "journal").glob("*/*.jsonl")
        for line in path.read_text().splitlines()
    ]
    (series,) = influx_server.query(
        "SELECT last(n) FROM vector WHERE application = 'apache-cgi'", database, epoch="ns"
    )
    assert series["values"][0][0] == max(records)
