"""Adapters: what a workload left becomes a report, whatever it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regatta.host.adapters import ADAPTERS, Reported
from regatta.host.adapters.result import RunOutput
from regatta.host.journal.record import decode_line, encode_record
from regatta.host.journal.record_shape import shape_problem
from regatta.host.units import UNITS


def left(
    results: bytes | None = None, stdout: bytes = b"", refused: str = "", cut: bool = False
) -> RunOutput:
    return RunOutput(5_000_000, 0.25, 0.5, 1024, results, refused, stdout, cut)


def read(results: bytes | None, **other: Any) -> Reported:
    return ADAPTERS["regatta"](left(results, **other), {})


def line(**keys: Any) -> bytes:
    return json.dumps({"iteration": 0, "metric": "elapsed", "value": 1, "unit": "ns", **keys}).encode()


def assert_can_be_recorded(reported: Reported) -> None:
    record = {"v": 1, "iterations": reported.iterations, "digests": reported.digests, "info": reported.info}
    assert shape_problem(decode_line(encode_record({**record, "reason": reported.error})), needed=()) == ""


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_KEYS = (
    "iteration",
    "metric",
    "value",
    "unit",
    "operations",
    "parameters",
    "digest",
    "info",
    "error",
    "requests",
)
_almost = st.dictionaries(
    st.sampled_from(_KEYS),
    _json | st.sampled_from(["elapsed", "ns", "ab" * 32, 0, 10**400, {"a": 1e308}, {"a": {"b": 10**30}}]),
    max_size=6,
)


@given(st.binary(max_size=300))
@example(b"\xff\xfe{\x00}\x00")
@example(b"[" * 100_000)
@example(b'{"info": ' * 50_000)
@example(b"1" * 100_000)
def test_any_bytes_give_a_report(noise: bytes) -> None:
    assert_can_be_recorded(read(noise))


@given(st.lists(_almost.map(lambda value: json.dumps(value).encode()), max_size=3))
@example([b'{"info": {"x": 1e999}}'])
@example([b'{"info": {"x": -Infinity}}'])
@example([line(value=10**400)])
@example([line(parameters={"a": 10**400})])
def test_lines_that_are_almost_right_give_a_report(lines: list[bytes]) -> None:
    assert_can_be_recorded(read(b"\n".join(lines)))


@given(st.integers(1, 1200))
def test_info_of_any_depth_gives_a_report(depth: int) -> None:
    reported = read(b'{"info": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n" + line())
    assert_can_be_recorded(reported)
    assert bool(reported.error) == (depth > 16)


_parameters = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True),
    st.text(max_size=5) | st.booleans() | st.integers(-(2**63), 2**63 - 1),
    min_size=1,
    max_size=3,
)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**63 - 1),
            st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**63 - 1),
            st.sampled_from(sorted(UNITS)),
            st.none() | st.integers(1, 2**63 - 1),
            st.none() | _parameters,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_lines_as_the_protocol_says_are_read_as_they_are(rows: list[tuple[Any, ...]]) -> None:
    keys = ("iteration", "value", "unit", "operations", "parameters")
    reported = read(b"\n".join(line(**dict(zip(keys, row, strict=True))) for row in rows) + b"\n")
    assert reported.error == ""
    assert reported.iterations == [[row[0], "elapsed", *row[1:]] for row in rows]


WRONG = {
    "not JSON": (b"elapsed 5", "line 1 of the results"),
    "not an object": (b"[1]", "not an object"),
    "an unknown key": (line(iterations=1), "unknown key 'iterations'"),
    "a metric in capitals": (line(metric="Elapsed"), "lower-case"),
    "a value in words": (line(value="5"), "finite number"),
    "a truth for a value": (line(value=True), "finite number"),
    "no unit of ours": (line(unit="parsec"), "one of ns, us"),
    "an iteration below 0": (line(iteration=-1), ">= 0, got -1"),
    "half an iteration": (line(iteration=0.5), "integer >= 0, got 0.5"),
    "no operation": (line(operations=0), ">= 1, got 0"),
    "no parameters": (line(parameters={}), "parameters must be"),
    "a list for a parameter": (line(parameters={"a": [1]}), "parameter 'a'"),
    "half a digest": (b'{"digest": "abc"}', "64 hexadecimal"),
    "none of the shapes": (b"{}", " metric, requests, digest, info "),
}


@pytest.mark.parametrize(("text", "words"), WRONG.values(), ids=WRONG)
def test_the_first_wrong_line_is_named(text: bytes, words: str) -> None:
    assert words in read(text).error
    assert read(line() + b"\n\n" + text).error.startswith("line 3 of the results")


def test_what_the_workload_calls_wrong_is_wrong_and_the_rest_is_kept() -> None:
    reported = read(b'{"error": "differs"}\n{"error": "again"}\n{"info": {"a": 1}}\n' + line())
    assert (reported.error, reported.info, len(reported.iterations)) == (
        "the workload reports: differs",
        {"a": 1},
        1,
    )


def test_too_much_info_is_refused_and_dropped() -> None:
    reported = read(line() + b"\n" + json.dumps({"info": {"x": "y" * 70_000}}).encode())
    assert "65536 bytes" in reported.error
    assert reported.info == {}


def test_no_file_and_a_refused_file_say_so() -> None:
    assert read(None).error.startswith("no result")
    assert read(None, refused="expected a plain file").error == "expected a plain file"
    assert read(b"").error.startswith("no result")


def test_a_program_that_knows_nothing_of_regatta_is_measured_from_outside() -> None:
    assert ADAPTERS["process"](left(b"ignored"), {}).iterations == [
        [0, "elapsed", 5_000_000, "ns", None, None],
        [0, "user", 0.25, "s", None, None],
        [0, "system", 0.5, "s", None, None],
        [0, "max_rss", 1024, "KiB", None, None],
    ]


@given(
    st.binary(max_size=200),
    st.sampled_from([r"(?P<value>\S+)", r"(?P<metric>\w+) (?P<value>\d+)(?P<unit>\w*)"]),
)
def test_any_output_gives_a_report(stdout: bytes, pattern: str) -> None:
    assert_can_be_recorded(ADAPTERS["regex"](left(stdout=stdout), {"pattern": pattern}))


def test_a_pattern_reads_metrics_values_and_units() -> None:
    pattern = r"^(?P<metric>\w+): (?P<value>[0-9.]+) (?P<unit>\w+)$"
    reported = ADAPTERS["regex"](
        left(stdout=b"copy: 1.5 us\nscale: 2 ms\ncopy: 3 us\n"), {"pattern": pattern}
    )
    assert [row[:4] for row in reported.iterations] == [
        [0, "copy", 1.5, "us"],
        [0, "scale", 2.0, "ms"],
        [1, "copy", 3.0, "us"],
    ]


def test_cut_output_is_not_searched() -> None:
    assert "output_kib" in ADAPTERS["regex"](left(stdout=b"1", cut=True), {"pattern": "(?P<value>1)"}).error
