"""Predictions as points: counts, contributions and totals, written instead of those of before."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.influx_server import InfluxServer
from helpers.served_experiment import as_home, write_served_experiment
from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.cli.main import cli
from regatta.influx.lines import encode
from regatta.influx.points import TAGS, VECTOR, Point
from regatta.models.predict.points import prediction_points
from regatta.models.predict.prediction import predict, total_of, uses
from regatta.models.predict.predictions import Request, RequestedApplication, forecast_of
from regatta.models.vectors.sources import Sources, SystemSource
from regatta.models.vectors.values import (
    ApplicationVector,
    Count,
    PiecewiseCost,
    PrimitiveCost,
    Share,
    SystemVector,
    Value,
)

ROOT = Path(__file__).resolve().parents[4]
AT_NS = 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return as_home(write_served_experiment(tmp_path_factory.mktemp("served")))


def sized() -> PiecewiseCost:
    """Nothing up to 20 bytes, then 1 ns for each."""
    nothing, one = Value.exact(0.0), Value.exact(1.0)
    return PiecewiseCost("bytes", (20.0,), ((nothing, nothing), (Value.exact(-20.0), one)))


def tags(point: Point) -> dict[str, str]:
    return dict(zip(TAGS[VECTOR], point.tags, strict=True))


def test_every_entry_total_and_count_is_a_point(home: Path) -> None:
    sources = Sources(home, home / "results")
    one = sources.application("apache-static")
    assert one is not None
    found = forecast_of(Request((RequestedApplication(one),), tuple(sources.systems("served"))))
    points = list(prediction_points(found, AT_NS))
    by_kind = {kind: [p for p in points if tags(p)["kind"] == kind] for kind in ("application", "prediction")}
    assert len(by_kind["application"]) == len(one.counts)
    assert len(by_kind["prediction"]) == 3 * (len(one.counts) + 3)
    for point in by_kind["application"]:
        assert (tags(point)["unit"], tags(point)["system"], tags(point)["host"]) == ("count", "", "")
    (light,) = (p for p in by_kind["application"] if tags(p)["primitive"] == "null_call")
    rule = "light calls cost a null call"
    assert light.fields["rule"] == f"times, getpid: {rule}"
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


# Entries of one primitive with the same arguments


def points_of(application: ApplicationVector, *systems: SystemVector) -> list[Point]:
    sources = tuple(SystemSource(system, None) for system in systems)
    return list(prediction_points(forecast_of(Request((RequestedApplication(application),), sources)), AT_NS))


def entries_of(points: list[Point], kind: str) -> dict[tuple[str, str], dict[str, object]]:
    """The fields of each entry by primitive and parameters; no two points are of one series and all have one time."""
    own = [p for p in points if tags(p)["kind"] == kind and tags(p)["primitive"]]
    found = {(tags(p)["primitive"], tags(p)["parameters"]): dict(p.fields) for p in own}
    assert len(found) == len(own)
    assert {p.time_ns for p in own} == {AT_NS}
    return found


def ends(fields: dict[str, object]) -> list[object]:
    return [fields[name] for name in ("low", "value", "high")]


def told(number: Value) -> list[float]:
    return [number.low, number.value, number.high]


def test_entries_that_differ_in_their_rule_alone_are_one_series_that_holds_their_sum() -> None:
    system = system_of("s", null_call=constant(100.0, 90.0, 120.0), stat=constant(50.0))
    light = replace(count_of("null_call", 3, 2, 4), stands_for=("times",), rule="light")
    closed = replace(count_of("null_call", 5, 5, 7), stands_for=("close",), rule="closed-else")
    light, closed = (replace(one, count=replace(one.count, n=n)) for one, n in ((light, 5), (closed, 4)))
    application = application_of(light, closed, count_of("stat", 4))
    points = points_of(application, system)
    assert len(points) == 2 + 2 + 3

    counted = entries_of(points, "application")["null_call", ""]
    assert ends(counted) == pytest.approx([8 - 1, 8, 8 + math.hypot(1, 2)])
    assert counted["n"] == 4
    assert counted["rule"] == "times: light; close: closed-else"

    taken = entries_of(points, "prediction")["null_call", ""]
    # The cost's error moves both entries together.
    low, high = 800 - math.hypot(8 * 10, 100), 800 + math.hypot(8 * 20, 100, 200)
    assert ends(taken) == pytest.approx([low, 800, high])
    assert ends(taken) == pytest.approx(told(total_of(uses(application, system)[:2], "a", "s").interval()))
    assert (taken["cost"], taken["count"], taken["share"]) == (100, 8, pytest.approx(0.8))
    assert taken["rule"] == "times: light; close: closed-else"


def test_an_entry_that_counts_nothing_adds_nothing_and_hides_no_cost() -> None:
    system = system_of("s", stat=constant(50.0, 40.0, 60.0))
    nothing, some = count_of("stat", 0), replace(count_of("stat", 4), rule="path-asked")
    missing = (count_of("fcntl", 0), replace(count_of("fcntl", 0), rule="light"))
    taken = entries_of(points_of(application_of(nothing, some, *missing), system), "prediction")
    assert ends(taken["stat", ""]) == pytest.approx([160, 200, 240])
    assert taken["stat", ""]["cost"] == 50
    assert ends(taken["fcntl", ""]) == [0, 0, 0]


def test_entries_without_a_cost_say_so_in_their_sum_too() -> None:
    system = system_of("s", stat=constant(50.0))
    unknown = (count_of("fcntl", 2), replace(count_of("fcntl", 1), rule="light"))
    taken = entries_of(points_of(application_of(count_of("stat", 1), *unknown), system), "prediction")
    assert "value" not in taken["fcntl", ""]
    assert taken["fcntl", ""]["reason"] == "no cost on s"
    assert taken["fcntl", ""]["count"] == 3


def test_distributions_are_added_where_they_are_the_same_and_told_apart_where_only_their_means_are() -> None:
    system = system_of("s", file_read=PrimitiveCost("operation", sized()))

    def spread(value: float, rule: str, *sizes: float) -> Count:
        shares = tuple(Share({"bytes": size}, 0.5) for size in sizes)
        return Count("file_read", Value.exact(value), distribution=shares, rule=rule)

    application = application_of(
        spread(1, "a", 10, 30), spread(2, "b", 0, 40), spread(4, "c", 30, 10), count_of("file_read", 8, bytes=20)
    )  # fmt: skip
    points = points_of(application, system)
    counts, taken = (entries_of(points, kind) for kind in ("application", "prediction"))
    apart = (
        '{"arguments":2,"bytes":20.0}',
        '{"arguments":2,"bytes":20.0,"distribution":2}',
        '{"bytes":20}',
    )
    assert {of: fields["value"] for (_, of), fields in counts.items()} == dict(
        zip(apart, (5, 2, 8), strict=True)
    )
    # 0 up to 20 bytes, then 1 ns for each: half of 10, half of 20, and nothing
    assert {of: fields["value"] for (_, of), fields in taken.items()} == dict(
        zip(apart, (25, 20, 0), strict=True)
    )


def test_the_panels_show_all_that_a_traced_application_uses_and_takes() -> None:
    """The vectors of this repository, of which only the last of four entries of `null_call` was seen."""
    sources = Sources(ROOT, ROOT / "results")
    (source,) = sources.systems("emulated-aarch64")
    for name in ("apache-fastcgi", "apache-cgi", "apache-static"):
        application = sources.application(name)
        assert application is not None
        points = points_of(application, source.vector)
        found = predict(application, source.vector)
        counts, taken = (entries_of(points, kind) for kind in ("application", "prediction"))
        for primitive in {count.primitive for count in application.counts}:
            own = [count.count.value for count in application.counts if count.primitive == primitive]
            times = [row.time.value for row in found.contributions if row.primitive == primitive]
            shown = [float(str(fields["value"])) for (at, _), fields in counts.items() if at == primitive]
            assert sum(shown) == pytest.approx(sum(own))
            shown = [float(str(fields["value"])) for (at, _), fields in taken.items() if at == primitive]
            assert sum(shown) == pytest.approx(sum(times))
        assert sum(float(str(fields["share"])) for fields in taken.values()) == pytest.approx(1)
        if name == "apache-cgi":
            assert counts["null_call", ""]["value"] == pytest.approx(29.9333, rel=1e-5)


# What is measured beside


def test_without_a_user_time_the_primitives_are_the_whole_and_nothing_measured_is_beside_but_the_kernels(
    tmp_path: Path,
) -> None:
    home = as_home(write_served_experiment(tmp_path))
    sources = Sources(home, home / "results")
    one = sources.application("apache-static")
    assert one is not None
    application = replace(one, user_time=None)
    found = forecast_of(Request((RequestedApplication(application),), tuple(sources.systems("served"))))
    points = [
        p
        for p in prediction_points(found, AT_NS)
        if (tags(p)["kind"], tags(p)["primitive"]) == ("prediction", "")
    ]
    assert len(points) == 3 * 3
    beside = ("measured", "measured_low", "measured_high", "error")
    for row in found.applications[0].systems:
        totals = {
            json.loads(tags(p)["parameters"])["time"]: p.fields
            for p in points
            if tags(p)["system"] == row.system
        }
        assert set(totals) == {"primitives", "kernel", "user"}
        assert totals["primitives"]["value"] == row.prediction.time.value
        assert not set(beside) & {*totals["primitives"], *totals["user"]}
        assert row.measured is not None
        assert totals["kernel"]["measured"] == row.measured.kernel.value


def test_what_is_ingested_twice_is_there_once_and_of_the_newest_record(
    home: Path, influx_server: InfluxServer, tmp_path: Path
) -> None:
    database = influx_server.new_database()
    env = {"REGATTA_INFLUX": str(influx_server.write_settings(tmp_path, database)), "REGATTA_HOME": str(home)}
    for names in (["apache-static", "apache-cgi"], ["apache-static"]):
        arguments = ["predict", *names, "--on", "served", "--results", str(home / "results"), "--ingest"]
        done = CliRunner().invoke(cli, arguments, env=env)
        assert done.exit_code == 0, done.output
        assert "points of predictions written" in done.stderr
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
