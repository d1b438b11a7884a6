"""Shifts of a history as points."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.influx_server import InfluxServer
from regatta.answers.history.environment import EnvironmentChange
from regatta.answers.history.result import (
    History,
    LevelShift,
    PastExperiment,
    PastPoint,
    SeriesHistory,
    Track,
)
from regatta.answers.spine.parts import Place
from regatta.cli.history import _ingest as write
from regatta.host.errors import VerificationError
from regatta.host.values.experiment import Heap
from regatta.influx.history_points import history_points
from regatta.influx.points import ESTIMATE, TAGS
from regatta.stats.estimate import Interval

RATIO = Interval(10, 1.2, 1.1, 1.3, 0.95, "welch-log-t")


def series(place: str, *since: int) -> SeriesHistory:
    shifts = tuple(LevelShift(one, RATIO, 0.01, 2, 2, f"{place} is slower since {one}") for one in since)
    return SeriesHistory(
        title=place,
        place=Place("a host", "local", "apps/h2:small", "jdk-21", "g1", "compact", Heap(1.5, 48)),
        metric="elapsed",
        unit="ns",
        better="lower",
        parameters={"percentile": 99},
        points=(),
        shifts=shifts,
        replicates="experiments",
        autocorrelation=0.4,
        false_rate=0.04,
    )


def history_of(*started_utc_ns: int) -> History:
    experiments = tuple(
        PastExperiment(name, f"/r/{name}", name, {}, started, "startup")
        for name, started in zip(("one", "two", "three"), started_utc_ns, strict=True)
    )
    return History(experiments, (series("h2", 1, 2),), 0.95, ())


def test_shifts_that_the_database_refuses_are_told_and_fail(
    influx_server: InfluxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = influx_server.new_database()
    influx_server.query(f'CREATE RETENTION POLICY short ON "{database}" DURATION 1h REPLICATION 1 DEFAULT')
    monkeypatch.setenv("REGATTA_INFLUX", str(influx_server.write_settings(tmp_path, database)))
    with pytest.raises(VerificationError, match=r" 2 points .* 1 rejected"):
        write(history_of(1000, 2000, time.time_ns()))
    (kept,) = influx_server.query("SELECT count(n) FROM estimate WHERE kind = 'shift'", database)
    assert kept["values"][0][1] == 1


def test_shifts_replace_those_of_earlier_versions_which_were_events(
    influx_server: InfluxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = influx_server.new_database()
    monkeypatch.setenv("REGATTA_INFLUX", str(influx_server.write_settings(tmp_path, database)))
    for experiment, kind in (("one", "shift"), ("one", "stage"), ("other", "shift")):
        influx_server.write(f'event,experiment={experiment},host=none,kind={kind} text="x" 5', database)
    now_ns = time.time_ns()
    for _ in range(2):
        write(history_of(now_ns - 2, now_ns - 1, now_ns))
    kept = influx_server.query("SELECT count(text) FROM event GROUP BY experiment, kind", database)
    assert [tuple(one["tags"].values()) for one in kept] == [("one", "stage"), ("other", "shift")]
    (shifts,) = influx_server.query("SELECT count(n) FROM estimate WHERE kind = 'shift'", database)
    assert shifts["values"][0][1] == 2


def test_a_shift_is_an_estimate_of_the_first_experiment_after_it_when_that_began() -> None:
    experiments = tuple(
        PastExperiment(name, f"/r/{name}", name, {}, 1000 * number, "startup")
        for number, name in enumerate(("one", "two", "three"), start=1)
    )
    history = History(experiments, (series("h2", 1, 2), series("h2, also"), series("ecj", 1)), 0.95, ())
    points = list(history_points(history))
    assert [(point.tags[0], point.time_ns) for point in points] == [
        ("two", 2000),
        ("three", 3000),
        # It would take the place of the first one.
        ("two", 2001),
    ]
    assert dict(zip(TAGS[ESTIMATE], points[0].tags, strict=True)) == {
        "experiment": "two", "host": "a host", "platform": "local", "benchmark": "apps/h2:small", "runtime": "jdk-21",
        "collector": "g1", "modifiers": "compact", "heap": "1.5x", "metric": "elapsed", "unit": "ratio",
        "parameters": '{"percentile":99}', "kind": "shift", "baseline": "before",
    }  # fmt: skip
    fields = points[0].fields
    assert (fields["n"], fields["point"], fields["low"], fields["high"]) == (10, 1.2, 1.1, 1.3)
    assert (fields["label"], fields["p"]) == ("h2 is slower since 1", 0.01)
    assert fields["false_rate"] == 0.04
    assert "heap_mib" not in fields


def test_the_canary_and_values_at_one_speed_are_means_of_their_experiments() -> None:
    def means(*values: float) -> tuple[PastPoint, ...]:
        known = (Interval(10, value, value - 1, value + 1, 0.95, "t") for value in values)
        return tuple(PastPoint(number, 48, mean, ()) for number, mean in enumerate(known))

    track = Track(points=means(7, 8), shifts=(), replicates="invocations")
    program, canary = (replace(series(name), points=means(1, 2)) for name in ("h2", "canary"))
    both = (replace(program, at_one_speed=track), replace(canary, is_canary=True), replace(program))
    points = list(history_points(replace(history_of(1000, 2000, 3000), series=both)))
    kind, experiment, unit = (TAGS[ESTIMATE].index(name) for name in ("kind", "experiment", "unit"))
    assert [(one.tags[kind], one.tags[experiment], one.fields["point"]) for one in points] == [
        ("one-speed", "one", 7.0),
        ("one-speed", "two", 8.0),
        ("canary", "one", 1.0),
        ("canary", "two", 2.0),
    ]
    assert {one.tags[unit] for one in points} == {"ns"}
    assert points[0].time_ns == 1000


def test_shifts_of_the_host_and_changes_of_the_environment_are_other_kinds() -> None:
    one = series("h2", 1, 2)
    as_measured = (replace(one.shifts[0], cause="host"), replace(one.shifts[1], cause="program"))
    own = LevelShift(2, RATIO, 0.01, 2, 2, "h2 at one speed", "program")
    track = Track(points=(), shifts=(own,), replicates="experiments", false_rate=0.5)
    changes = (
        EnvironmentChange(1, "alpha", ("kernel: 6.2, before 6.1",)),
        EnvironmentChange(2, "", ("a", "b")),
    )
    history = replace(
        history_of(1000, 2000, 3000),
        series=(replace(one, shifts=as_measured, at_one_speed=track),),
        environment=changes,
    )
    points = list(history_points(history))
    kind, host = (TAGS[ESTIMATE].index(name) for name in ("kind", "host"))
    assert [
        (point.tags[kind], point.tags[host], point.time_ns, point.fields["label"]) for point in points
    ] == [
        ("shift", "a host", 3000, "h2 at one speed"),
        ("host-shift", "a host", 2000, "h2 is slower since 1"),
        ("environment", "alpha", 2000, "alpha: kernel: 6.2, before 6.1"),
        ("environment", "", 3000, "environment: a; b"),
    ]
    assert points[0].fields["false_rate"] == 0.5
    assert "point" not in points[-1].fields
