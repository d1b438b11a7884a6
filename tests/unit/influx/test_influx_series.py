from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.cli.plan import series_of
from regatta.host.errors import SpecError
from regatta.influx.series import SeriesCount, estimate_series, measured_series
from regatta.store.folder import Folder


@dataclass
class _Benchmark:
    label: str = "apps/h2:small"
    adapter: str = "regatta"
    kind: str = "java"


@dataclass
class _Cell:
    cell_id: str
    host: str = "alpha"
    benchmark: _Benchmark = field(default_factory=_Benchmark)


def test_each_series_counts_once():
    counted = SeriesCount()
    for key in ("a,b=1", "a,b=2", "a,b=1", "a,b=\udcff"):
        counted.add(key)
    assert len(counted) == 3
    assert len(SeriesCount(counted.seen)) == 3


def test_series_grow_with_cells_and_with_what_was_measured():
    few = estimate_series([_Cell("a")], {}).series
    assert estimate_series([_Cell("a"), _Cell("b")], {}).series > few
    many = estimate_series([_Cell("a"), _Cell("b")], {("alpha", "a"): 500})
    # Both are of one benchmark: what the one reports the other does, too.
    assert many.series > 4 * 500
    assert (many.known_cells, many.cells) == (1, 2)
    assert estimate_series([_Cell("a", benchmark=_Benchmark(adapter="process"))], {}).series < few


def test_what_was_measured_is_counted_in_the_records(tmp_path):
    cells = [cell(), cell("parallel")]
    rows = [
        [i, metric, 1.0, "ns", None, given]
        for i in range(3)
        for metric, given in (("elapsed", None), ("p", {"a": 1}), ("p", {"a": 2}))
    ]
    write_experiment(tmp_path, cells, [record(cells[0], r, rows) for r in range(2)], 2)
    assert measured_series(Folder(tmp_path)) == {("alpha", cells[0]["cell_id"]): 3}


def test_nothing_is_made_where_nothing_is_recorded(tmp_path):
    assert measured_series(Folder(tmp_path / "none")) == {}
    assert not (tmp_path / "none").exists()


def test_a_plan_with_more_series_than_the_settings_allow_is_refused_with_the_reason(tmp_path, monkeypatch):
    ready = SimpleNamespace(folder=Folder(tmp_path / "none"), home=None, hosts=["alpha"])
    settings = tmp_path / "influx.yml"
    for limit in (10_000, 50):
        settings.write_text(f"url: http://127.0.0.1:1\nseries_limit: {limit}\n")
        monkeypatch.setenv("REGATTA_INFLUX", str(settings))
        if limit > 100:
            told = series_of(ready, [_Cell("a")])
            assert told == {
                "estimate": estimate_series([_Cell("a")], {}).series,
                "known_cells": 0,
                "limit": limit,
            }
        else:
            with pytest.raises(SpecError, match=r"influx.yml:2:series_limit.*at most 50 series.*of 1 cell"):
                series_of(ready, [_Cell("a")])
    monkeypatch.setenv("REGATTA_INFLUX", "none")
    assert series_of(ready, [_Cell("a")])["limit"] is None
