"""Short names and places of points."""

from __future__ import annotations

import json

import pytest

from regatta.influx.points import VECTOR, make_point
from regatta.influx.short_labels import configuration_text, differing, labelled_vectors, places, setting_text


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, ""),
        ({"operation": "add", "type": "double"}, "add double"),
        (
            {"size_bytes": 64 * 2**20, "stride_bytes": 64, "order": "random"},
            "random, 64 MiB, stride 64 bytes",
        ),
        ({"requested_us": 50}, "requested 50 µs"),
        ({"size_bytes": 108.86666666666666}, "108.867 bytes"),
        ({"resident": 643.0421333333334}, "resident 643.042"),
        ({"rate": 12345678.0}, "rate 12345678"),
        ({"percentile": 99}, "99th percentile"),
        ({"percentile": 99.9}, "99.9th percentile"),
        ({"percentile": 50}, "median"),
        ({"percentile": 100}, "maximum"),
    ],
)
def test_parameters_are_shown_without_json(parameters, text):
    assert setting_text(parameters) == text


def test_only_what_differs_is_shown():
    rows = [{"call": "read", "parallel": 1}, {"call": "write", "parallel": 1}]
    assert differing(rows) == {"call"}
    assert [setting_text(row, differing(rows)) for row in rows] == ["read", "write"]
    parts = {"runtime": "temurin-21", "collector": "g1", "modifiers": "", "heap": "1.5x"}
    assert configuration_text(parts, frozenset({"collector", "heap"})) == "g1 1.5x"
    assert configuration_text(parts, frozenset()) == "temurin-21 g1 1.5x"


def test_numbers_are_ordered_by_their_size():
    texts = ('{"size_bytes":131072}', '{"size_bytes":16384}', '{"size_bytes":1048576}')
    assert places((text, (text,)) for text in texts) == {texts[1]: 0, texts[0]: 1, texts[2]: 2}


def test_times_of_primitives_come_before_bandwidths():
    def point(primitive, unit):
        tags = ("e", "h", "p", "r", "system", primitive, "{}", unit, "", "")
        return make_point(VECTOR, tags, {"n": 1, "value": 1.0}, 0)

    points = [
        point("bw_mem", "MB/s"),
        point("lat_ctx", "ns"),
        point("bw_file", "MB/s"),
        point("lat_proc", "ns"),
    ]
    assert [one.fields["place"] for one in labelled_vectors(points)] == [3, 0, 2, 1]


def test_a_vector_has_a_number_if_its_only_parameter_that_differs_is_one():
    def point(primitive, **parameters):
        tags = ("e", "h", "p", "r", "system", primitive, json.dumps(parameters, sort_keys=True), "ns", "", "")
        return make_point(VECTOR, tags, {"n": 1, "value": 1.0}, 0)

    points = [point("lat_mem_rd", size_bytes=size, stride=64) for size in (1024, 4096)]
    points += [point("lat_ctx", processes=n, size_bytes=n * 1024) for n in (2, 8)]
    points += [point("lat_syscall", kind=kind) for kind in ("read", "write")]
    points.append(point("lat_proc"))
    found = [one.fields.get("number") for one in labelled_vectors(points)]
    assert found == [1024.0, 4096.0, None, None, None, None, None]
