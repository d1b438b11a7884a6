import itertools
import json
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.line_protocol import split_line
from helpers.synthetic_journal import START_NS, cell, native, record
from regatta.host.errors import StoreError
from regatta.host.journal.record import decode_record, encode_record
from regatta.host.journal.record_shape import STATUSES
from regatta.host.values.cell import heap_text
from regatta.influx.journal import HostLabels, cell_label, read_labels
from regatta.influx.lines import encode, tag_text
from regatta.influx.points import ITERATION, make_point
from regatta.influx.records import PIECE_POINTS, RecordLines
from regatta.store.columns import canonical_json
from regatta.store.folder import Folder

CELLS = [cell(), cell("parallel", heap_factor=None), native('lm/lat_ctx:default size="a b"')]
LABELS = HostLabels({one["cell_id"]: cell_label(one) for one in CELLS}, 4)


def lines_of(records, segment=0, labels=LABELS, carry=0):
    """Lines of records one after another, as bytes."""
    maker = RecordLines(labels, segment, carry)
    return b"".join(piece.data for one in records for piece in maker.of(one))


def split(data):
    return [split_line(line + b"\n") for line in data.split(b"\n")[:-1]]


def as_written(one, sequence=0, segment=0):
    """A record as the journal gives it back."""
    return decode_record(encode_record({**one, "sequence": sequence, "segment": segment}))


def test_a_record_is_one_invocation_one_state_of_its_host_and_its_lines():
    one = as_written(
        record(
            CELLS[0],
            2,
            [[0, "elapsed", 5, "ns", 7, None], [0, "gc_pause", 1.25, "ns", None, {"percentile": 50}]],
        )
    )
    invocation, state, elapsed, pause = split(lines_of([one], segment=3))
    place = {"experiment": "made-up", "host": "alpha", "platform": "local"}
    of_cell = {
        "benchmark": "apps/h2:small",
        "runtime": "jdk-21",
        "collector": "g1",
        "modifiers": "none",
        "heap": "2x",
    }
    assert invocation[:2] == ("invocation", {**place, **of_cell, "status": "ok"})
    assert invocation[2]["started_utc_ns"] == one["started_utc_ns"]
    assert invocation[2]["label"] == CELLS[0]["label"]
    assert (invocation[2]["heap_factor"], invocation[2]["heap_mib"]) == (2.0, 64.0)
    assert json.loads(invocation[2]["cores"]) == [0, 1]
    assert state[:2] == ("host_state", place)
    assert elapsed == (
        "iteration",
        {**place, **of_cell, "metric": "elapsed", "unit": "ns", "parameters": "none", "status": "ok"},
        {"value": 5.0, "iteration": 0, "operations": 7, "segment": 0, "sequence": 0, "line": 0},
        one["started_utc_ns"] // 1000 * 1000 + 3,
    )
    assert pause[1]["parameters"] == '{"percentile":50}'
    assert pause[3] == elapsed[3] + 1000
    assert invocation[3] == state[3] == elapsed[3]


@pytest.mark.parametrize("status", STATUSES)
def test_whatever_its_status_a_record_is_never_left_out(status):
    one = as_written(
        record(CELLS[0], 0, [1.0] if status == "ok" else [], status=status, reason="of some kind")
    )
    invocation, state, *_ = split(lines_of([one]))
    assert invocation[1]["status"] == status
    assert invocation[2]["reason"] == "of some kind"
    assert state[2]["perturbed"] == (status == "perturbed")


def test_a_cell_that_no_plan_knows_is_written_as_unknown():
    one = as_written(record(cell("z"), 0, [1.0]))
    invocation, _, iteration = split(lines_of([one]))
    assert invocation[2]["label"] == invocation[2]["cell_id"]
    for name in ("benchmark", "runtime", "collector", "modifiers", "heap"):
        assert iteration[1][name] == "unknown"
    assert invocation[2]["cell_id"] == one["cell_id"]


def test_the_same_parameter_as_number_and_as_truth_is_two_series():
    rows = [[0, "latency", 1.0, "ns", None, {"a": given}] for given in (1, True, 1.0, "1")]
    found = [line[1]["parameters"] for line in split(lines_of([as_written(record(CELLS[0], 0, rows))]))[2:]]
    assert found == ['{"a":1}', '{"a":true}', '{"a":1.0}', '{"a":"1"}']


def test_parameters_in_another_order_are_the_same_series():
    rows = [[0, "latency", 1.0, "ns", None, given] for given in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    maker = RecordLines(LABELS, 0)
    list(maker.of(as_written(record(CELLS[0], 0, rows))))
    assert len(maker.series) == 3


numbers = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.sampled_from([-0.0, 2**63, 10**400, True, False, "1.5", None, 2**53 + 1]),
)
parameters = st.one_of(
    st.none(), st.just({}),
    st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(max_size=5)), max_size=3),
)  # fmt: skip
rows = st.tuples(
    st.integers(0, 2**64), st.sampled_from(["elapsed", "gc_pause", "é x,=\n"]), numbers, st.sampled_from(["ns", "MB/s"]),
    st.one_of(st.none(), st.integers(0, 2**64)), parameters,
).map(list)  # fmt: skip


@given(st.lists(rows, max_size=12))
def test_the_quick_way_writes_what_the_plain_way_does(given_rows):
    """Lines of iterations are put together for speed: every one of them is that of a point made with care."""
    one = {**record(CELLS[0], 0, given_rows), "sequence": 4}
    label = cell_label(CELLS[0])
    found = lines_of([one]).split(b"\n")[2:-1]
    wanted = []
    for number, (iteration, metric, value, unit, operations, own) in enumerate(given_rows):
        tags = (
            one["experiment"],
            one["host"],
            one["platform"],
            *label.tags,
            metric,
            unit,
            canonical_json(own),
            "ok",
        )
        fields = {
            "value": value,
            "iteration": iteration,
            "operations": operations,
            "segment": 0,
            "sequence": 4,
            "line": number,
        }
        wanted.append(encode(make_point(ITERATION, tags, fields, START_NS + number * 1000)))
    assert sorted(map(_parts, found)) == sorted(_parts(line[:-1]) for line in wanted)


def _parts(line):
    key, tags, fields, time = split_line(line + b"\n")
    return key, sorted(tags.items()), sorted((name, repr(value)) for name, value in fields.items()), time


#: a clock that goes on, stands still, or steps: from one record to the next, in ns
steps = st.one_of(
    st.just(0), st.integers(-5_000, 5_000), st.integers(-(10**13), 10**13), st.sampled_from([1, 999, 1000])
)
files = st.lists(st.lists(st.tuples(steps, st.integers(0, 4)), max_size=6), min_size=1, max_size=4)


def written(given_files):
    """Journal files of one host whose clock does what it likes."""
    now = START_NS
    found = []
    for segment, given_records in enumerate(given_files):
        own = []
        for sequence, (step, count) in enumerate(given_records):
            now += step
            one = record(CELLS[sequence % 2], sequence, [1.0] * count, started=now)
            own.append(as_written(one, sequence, segment))
        found.append(own)
    return found


@given(files)
def test_no_two_points_have_one_series_and_one_time_whatever_the_clock_does(given_files):
    found = [
        (line[0], tuple(line[1].items()), line[3])
        for segment, own in enumerate(written(given_files))
        for line in split(lines_of(own, segment))
    ]
    assert len(set(found)) == len(found)


@given(files, st.integers(0, 5))
def test_a_journal_read_in_pieces_gives_the_same_bytes(given_files, cut):
    for segment, own in enumerate(written(given_files)):
        first = RecordLines(LABELS, segment)
        before = b"".join(piece.data for one in own[:cut] for piece in first.of(one))
        assert before + lines_of(own[cut:], segment, carry=first.carry) == lines_of(own, segment)


def test_times_grow_within_a_file_and_their_last_digits_are_its_number():
    own = written([[(0, 3), (-(10**12), 0), (0, 2), (10**12, 1)]])[0]
    times = [line[3] for line in split(lines_of(own, 1234)) if line[0] != "host_state"]
    assert {time % 1000 for time in times} == {234}
    invocations = [line[3] for line in split(lines_of(own, 1234)) if line[0] == "invocation"]
    assert invocations == sorted(set(invocations))


@pytest.mark.parametrize("started", [None, -5, 2**70, "soon", 1.5])
def test_a_time_that_is_none_is_replaced_by_one_after_the_record_before(started):
    good = as_written(record(CELLS[0], 0, [1.0, 2.0]))
    odd = {**as_written(record(CELLS[0], 1, [1.0])), "started_utc_ns": started}
    times = [line[3] for line in split(lines_of([good, odd])) if line[0] == "iteration"]
    assert times[2] > times[1] > times[0]
    assert next(line[3] for line in split(lines_of([odd]))) == 0


def test_a_record_with_very_many_lines_comes_in_pieces():
    one = as_written(
        record(CELLS[0], 0, [[k, "elapsed", k, "ns", None, None] for k in range(2 * PIECE_POINTS + 3)])
    )
    pieces = list(RecordLines(LABELS, 0).of(one))
    assert [piece.points for piece in pieces] == [PIECE_POINTS + 2, PIECE_POINTS, 3]
    assert [piece.data.count(b"\n") for piece in pieces] == [piece.points for piece in pieces]
    values = [line[2]["value"] for piece in pieces for line in split(piece.data) if line[0] == "iteration"]
    assert values == [float(k) for k in range(2 * PIECE_POINTS + 3)]


def test_shares_of_the_host_are_those_of_the_time_that_passed():
    before = {"load1": 0.5, "busy_s": 10.0, "steal_s": 1.0, "psi_cpu_some_us": 0, "psi_memory_some_us": 5, "psi_io_some_us": 0,
              "frequency_khz": 2_400_000, "temperature_mc": 51_500, "swap_pages": 7, "throttle_events": None}  # fmt: skip
    after = {
        **before,
        "load1": 9.0,
        "busy_s": 14.0,
        "steal_s": 1.5,
        "psi_cpu_some_us": 200_000,
        "psi_memory_some_us": 5,
        "swap_pages": 9,
    }
    one = {**record(CELLS[0], 0, []), "elapsed_ns": 2 * 10**9, "host_before": before, "host_after": after}
    state = split(lines_of([one]))[1][2]
    # 4 CPUs for 2 s are 8 s: 4 s of them busy, half a second stolen.
    assert state == {
        "load1": 0.5, "busy_percent": 50.0, "steal_percent": 6.25, "psi_cpu_percent": 10.0, "psi_memory_percent": 0.0,
        "psi_io_percent": 0.0, "frequency_mhz": 2400.0, "temperature_c": 51.5, "swap_pages": 2.0, "perturbed": False,
    }  # fmt: skip
    unknown = split(lines_of([one], labels=HostLabels()))[1][2]
    assert "busy_percent" not in unknown
    assert "psi_cpu_percent" in unknown


def test_a_host_that_tells_nothing_still_has_its_point():
    one = {**record(CELLS[0], 0, []), "host_before": None, "host_after": {}, "rusage": None, "elapsed_ns": 0}
    assert split(lines_of([one]))[1][2] == {"perturbed": False}


@pytest.mark.parametrize("wrong", [{"iterations": [[1, 2]]}, {"host_before": [1]}, {"iterations": 3}])
def test_what_is_no_record_is_told_with_its_place(wrong):
    with pytest.raises(StoreError, match=r"sequence 7.*docs/protocol.md"):
        lines_of([{**record(CELLS[0], 0, []), "sequence": 7, **wrong}])


@pytest.mark.parametrize(
    ("factor", "mib", "text"), [(1.5, 24, "1.5x"), (2.0, None, "2x"), (None, 64, "64MiB"), (None, None, "")]
)
def test_a_heap_is_told_as_its_factor_where_it_has_one(factor, mib, text):
    assert heap_text(factor, mib) == text


def test_plans_of_older_versions_and_broken_ones_are_read_as_far_as_they_go(tmp_path):
    folder = Folder(tmp_path)
    path = folder.host_plan("alpha") / "plan.json"
    assert read_labels(folder, "alpha") == HostLabels()
    path.parent.mkdir(parents=True)
    path.write_text("{")
    assert read_labels(folder, "alpha") == HostLabels()
    path.write_text(
        json.dumps({"host_fingerprint": {"cpus": "8"}, "cells": [{"cell_id": "a", "benchmark": "b"}, 3]})
    )
    labels = read_labels(folder, "alpha")
    assert labels.cpus == 8
    assert labels.cells["a"].tags == ("b", "", "", "", "")


def test_lone_surrogates_of_a_program_become_text_as_in_the_tables():
    one = as_written(record(CELLS[0], 0, [], status="failed", reason="a\udcffb"))
    assert split(lines_of([one]))[0][2]["reason"] == "a\\udcffb"
    assert tag_text("a\udcff") == "a%5Cudcff"


@settings(max_examples=20)
@given(st.randoms())
def test_series_are_counted_as_they_are_written(generator: random.Random):
    keys = set()
    maker = RecordLines(LABELS, 0)
    for number in range(20):
        metrics = generator.sample(["a", "b", "c"], 2)
        one = record(generator.choice(CELLS), number, [[0, m, math.pi, "ns", None, None] for m in metrics])
        data = b"".join(piece.data for piece in maker.of(one))
        keys |= {
            line.split(b" value=")[0].split(b" invocation_id=")[0].split(b" load1=")[0]
            for line in data.split(b"\n")[:-1]
        }
    assert len(maker.series) == len(keys)
    assert list(itertools.islice(keys, 1))
