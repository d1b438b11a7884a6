"""Times of programs with less memory and on another disk: from a made-up experiment and a trace worked by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from helpers.synthetic_journal import native, record, write_experiment
from regatta.figures.text import ABSENT
from regatta.host.errors import SpecError
from regatta.models.cli.predict_files import predict_files
from regatta.models.page_cache.cache import CacheCounts
from regatta.models.page_cache.operations import Kind, Operations, Recorder, read_operations, write_operations
from regatta.models.predict.file_tables import (
    as_document,
    file_sections,
    orders_table,
    sentences,
    times_table,
)
from regatta.models.predict.file_times import FileForecast, Order, counts_vector, forecast_files
from regatta.models.predict.tables import MEASURED_CI
from regatta.models.vectors.primitives import PrimitiveRule, PrimitiveTable
from regatta.models.vectors.values import Value

PAGE, MIB = 4096, 1 << 20
PAGES = 32 * MIB // PAGE
ROUNDS = 4
BASE_NS = 5e9
#: ns of a wait for one page, and of a page that is found
WAIT_NS, HIT_NS = {"none": 100_000.0, "tmpfs": 1_000.0}, 500.0
LIMITED = {"kind": "cgroup", "memory_mib": 16}


def rule(benchmark: str, operation: str, cost: Any) -> PrimitiveRule:
    series = {"suite": "lm", "benchmark": benchmark, "parameters": {"operation": operation}}
    return PrimitiveRule.model_validate({"unit": "operation", "series": series, "cost": cost})


TABLE = PrimitiveTable(
    {
        "disk_read": rule("lat_uncached", "read", "constant"),
        "disk_ahead": rule("lat_uncached", "ahead", "constant"),
        "disk_write": rule("lat_uncached", "write", "constant"),
        "file_read": rule("lat_file_io", "read", "constant"),
    },
    "table.yml",
)


def twice() -> Operations:
    """Reads all pages of a file twice, in order and without read-ahead; the process has 4 MiB for itself."""
    recorder = Recorder()
    recorder.file("/data/file", PAGES * PAGE)
    for row in range(2 * PAGES):
        recorder.add(row, Kind.READ, 0, handle=0, offset=row % PAGES * PAGE, bytes=PAGE)
    found = recorder.operations()
    return replace(found, facts=replace(found.facts, read_ahead_kib=0), memory=((0, 4 * MIB),))


def made(
    folder: Path,
    *,
    half_ns: float,
    tmpfs_ns: float,
    without: str = "",
    hits: tuple[str, ...] = ("none", "tmpfs"),
    more: str = "",
) -> Path:
    """An experiment with the program `files/twice` and the costs of two disks, each value with 1 % of noise.

    `without`: an operation without a cost; `hits`: disks with a cost of hits; `more`: another size of the program.
    """
    cells, records = [], []
    for modifiers, elapsed in (("none", BASE_NS), ("half", half_ns), ("tmpfs", tmpfs_ns)):
        own = {"environment": {"TMPDIR": "/dev/shm"}} if modifiers == "tmpfs" else {}
        own |= {"isolation": LIMITED} if modifiers == "half" else {}
        cells.append({**native("files/twice:default", modifiers=modifiers), **own})
        rows = [[["elapsed", elapsed, None]]]
        if modifiers != "half":
            costs = {"read": WAIT_NS[modifiers], "ahead": 1.0, "write": 10.0}
            cells.append({**native("lm/lat_uncached:default", metric="latency", modifiers=modifiers), **own})
            rows.append(
                [["latency", cost, {"operation": name}] for name, cost in costs.items() if name != without]
            )
        if modifiers in hits:
            cells.append({**native("lm/lat_file_io:default", metric="latency", modifiers=modifiers), **own})
            rows.append([["latency", HIT_NS, {"operation": "read"}]])
        if more:
            cells.append({**native(f"files/twice:{more}", modifiers=modifiers), **own})
            rows.append([["elapsed", elapsed, None]])
        for round in range(ROUNDS):
            noise = 1.0 + 0.01 * (round % 2)
            for at, (cell, values) in enumerate(zip(cells[-len(rows) :], rows, strict=True)):
                told = [
                    [0, metric, value * noise, "ns", 1, parameters] for metric, value, parameters in values
                ]
                records.append(record(cell, round, told, block=at))
    return write_experiment(folder, cells, records, ROUNDS, method="fixed")


def predicted(folder: Path, **times: Any) -> FileForecast:
    return forecast_files(made(folder, **times), {"files/twice": twice()}, TABLE)


def test_misses_that_a_limit_adds_are_added_to_the_measured_time(tmp_path: Path) -> None:
    found = predicted(tmp_path, half_ns=BASE_NS + PAGES * WAIT_NS["none"], tmpfs_ns=BASE_NS)
    base, half, tmpfs = found.times
    assert base.base
    assert (base.counts.waits, base.counts.read_hits) == (PAGES, PAGES)
    # 12 MiB are left for 32 MiB that are read in a cycle: the kernel's lists keep a part of them.
    assert PAGES < half.counts.waits <= 2 * PAGES
    more = half.counts.waits - PAGES
    # All values have the same noise, so their mean is 0.5 % higher.
    assert half.predicted.value == pytest.approx(1.005 * (BASE_NS + more * (WAIT_NS["none"] - HIT_NS)))
    assert half.predicted.low < half.predicted.value < half.predicted.high
    assert half.memory_mib == 16
    assert (half.disk, tmpfs.disk) == ("none", "tmpfs")
    less = PAGES * (WAIT_NS["none"] - WAIT_NS["tmpfs"])
    assert tmpfs.predicted.value == pytest.approx(1.005 * (BASE_NS - less))
    assert tmpfs.error == pytest.approx((BASE_NS - less) / BASE_NS - 1)


@pytest.mark.parametrize(
    ("tmpfs_ns", "verdict"), [(BASE_NS / 2, "right"), (BASE_NS * 2, "wrong"), (BASE_NS, "same")]
)
def test_the_order_of_two_disks_is_judged(tmpfs_ns: float, verdict: str, tmp_path: Path) -> None:
    found = predicted(tmp_path, half_ns=BASE_NS, tmpfs_ns=tmpfs_ns)
    (order,) = found.orders
    assert order.verdict == verdict
    assert order.disks == ("none", "tmpfs")
    assert f"1 {verdict}" in sentences(found)[-1]
    assert orders_table(found).rows[0][-1] == verdict


def test_a_prediction_that_cannot_tell_is_open() -> None:
    order = Order("files/a", "h", ("a", "b"), Value(1.1, 0.9, 1.3), Value(1.2, 1.1, 1.3))
    assert order.verdict == "open"


def test_a_disk_without_costs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="costs of disk_write"):
        predicted(tmp_path, half_ns=BASE_NS, tmpfs_ns=BASE_NS, without="write")


def test_a_benchmark_that_was_not_measured_is_an_error(tmp_path: Path) -> None:
    folder = made(tmp_path, half_ns=BASE_NS, tmpfs_ns=BASE_NS)
    with pytest.raises(SpecError, match="files/other"):
        forecast_files(folder, {"files/other": twice()}, TABLE)


def test_a_cost_that_one_disk_does_not_have_is_used_on_none(tmp_path: Path) -> None:
    found = predicted(tmp_path, half_ns=BASE_NS, tmpfs_ns=BASE_NS, hits=("none",))
    more = found.times[1].counts.waits - PAGES
    assert found.times[1].predicted.value == pytest.approx(1.005 * (BASE_NS + more * WAIT_NS["none"]))


def test_several_sizes_of_a_program_need_a_choice(tmp_path: Path) -> None:
    folder = made(tmp_path, half_ns=BASE_NS, tmpfs_ns=BASE_NS, more="small")
    with pytest.raises(SpecError, match="files/twice:small"):
        forecast_files(folder, {"files/twice": twice()}, TABLE)
    assert len(forecast_files(folder, {"files/twice:default": twice()}, TABLE).times) == 3


def test_counts_become_primitives_that_have_a_cost() -> None:
    counts = CacheCounts(
        read_hits=10, read_ahead_used=4, read_misses=3, read_ahead=7, waits=2, waited_pages=6, background_windows=1, syncs=5,
        writing_syncs=2, synced=8, pressed=1025, creates=3, unlinks=1,
    )  # fmt: skip
    known = ("disk_read", "disk_ahead", "disk_write", "file_read", "create")
    found = {
        one.primitive: (one.count.value, dict(one.arguments))
        for one in counts_vector("x", counts, known).counts
    }
    assert found == {
        "disk_read": (3, {"bytes": 2 * PAGE}),
        "disk_ahead": (4 * PAGE, {}),
        "disk_write": (4, {"bytes": 1033 / 4 * PAGE}),
        "file_read": (6, {"bytes": PAGE}),
        "create": (3, {}),
    }


def test_tables_figures_and_json_have_every_time(tmp_path: Path) -> None:
    found = predicted(tmp_path, half_ns=BASE_NS, tmpfs_ns=BASE_NS)
    assert [row[2:4] for row in times_table(found).rows] == [
        ("none", "no limit"),
        ("none", "16"),
        ("tmpfs", "no limit"),
    ]
    section = file_sections(found)[0]
    (figure,) = section.groups[0].figures
    assert [len(trace["x"]) for trace in figure.traces] == [3, 3]
    document = json.loads(json.dumps(as_document(found), allow_nan=False))
    assert [one["error"] is None for one in document["times"]] == [True, False, False]


def test_an_undefined_interval_is_not_shown_as_an_exact_number(tmp_path: Path) -> None:
    found = predicted(tmp_path, half_ns=BASE_NS, tmpfs_ns=BASE_NS)
    shown = []
    for low in (BASE_NS, math.nan):
        one = replace(found.times[1], measured=replace(found.times[1].measured, low=low, high=BASE_NS))
        table = times_table(replace(found, times=(found.times[0], one)))
        shown.append(table.rows[1][table.columns.index(MEASURED_CI)])
    assert shown == ["", ABSENT]


@pytest.mark.parametrize("given", ["files/twice", "files/twice=", "=trace"])
def test_an_application_needs_a_benchmark_and_a_trace(given: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="SUITE/BENCHMARK=TRACE"):
        CliRunner().invoke(predict_files, [given, "--on", str(tmp_path)], catch_exceptions=False)


def test_a_kept_trace_gives_the_same_counts(tmp_path: Path) -> None:
    write_operations(tmp_path / "trace", twice())
    again = read_operations(tmp_path / "trace")
    assert again.memory == ((0, 4 * MIB),)
    assert again.facts.read_ahead_kib == 0
