import math
import struct
from itertools import count
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from helpers.line_protocol import split_line
from regatta.influx.lines import encode, identifier, quoted, series_key, tag_text
from regatta.influx.points import EVENT, FIELDS, ITERATION, LONGEST_TAG_BYTES, TAGS, Point, make_point

#: what breaks careless writers of line protocol, and databases that check their keys
HOSTILE = [
    "a b", "a,b", "a=b", 'a"b', "a'b", "a\\", "\\", "\\\\", "a\\,b", "a\\ b", "a\nb", "a\r\nb", "\n", "a\tb", "\x00", "\x7f",
    "%", "%2C", "%41", "100 %", "none", "ünïcode", "日本", "😀", "\u2028", "\u00a0x", "\ufffd", "\u202e", "é", "#", " ", " a ", ",", "=",
    '"', '"a,b=c d"', "a=1i 12", "x y=1 3\nz,q=1 v=2 4", "\\n", "\\\"", "'; DROP DATABASE \"x\"", "$1", "{\"k\":\"v, =\"}", "a" * 300, "é" * 900,
]  # fmt: skip

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.lists(st.sampled_from(HOSTILE), max_size=4).map("".join),
)
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 5e-324, 1.7976931348623157e308, 2.0**53 + 2, 0.1, 1e21, 1e-7, 1 / 3]),
)
integers = st.integers(-(2**63), 2**63 - 1)


def without_cut(tags):
    return [tag for tag in tags if len(tag.encode()) <= LONGEST_TAG_BYTES]


@given(texts)
def test_a_tag_is_read_back_as_it_was_given(text):
    held = tag_text(text)
    assert held.isprintable()
    assert "\\" not in held
    if without_cut([text]):
        assert unquote(held) == (text or "none")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(min_size=1))
def test_different_tags_stay_different(a, b):
    a, b = (text.encode("utf-8", "backslashreplace").decode() for text in (a, b))
    assert (tag_text(a) == tag_text(b)) == (a == b)


def test_tags_that_are_too_long_are_cut_and_stay_different():
    a, b = "é" * 5000 + "a", "é" * 5000 + "b"
    assert tag_text(a) != tag_text(b)
    assert len(tag_text("\n" * 100_000).encode()) <= 3 * LONGEST_TAG_BYTES
    point = make_point(EVENT, (a, "h", "k"), {"text": ""}, 1)
    assert split_line(encode(point))[2]["unheld"].count("é") == 5000


@given(st.tuples(texts, texts, texts), texts, integers, floats, st.integers(0, 2**62))
def test_a_line_says_what_its_point_says(tags, text, integer, number, time_ns):
    point = make_point(EVENT, tags, {"text": text, "segment": integer, "remaining_s": number}, time_ns)
    measurement, found, fields, time = split_line(encode(point))
    assert (measurement, fields, time) == (EVENT, dict(point.fields), time_ns)
    assert list(found) == list(TAGS[EVENT])
    assert list(found.values()) == [tag_text(tag) for tag in tags]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, b"segment=1i"),
        (0.1, b"remaining_s=0.1"),
        (1e22, b"remaining_s=1e+22"),
        (5e-324, b"remaining_s=5e-324"),
    ],
)
def test_integers_and_floats_are_written_to_the_last_digit(value, text):
    name = text.split(b"=")[0].decode()
    assert (
        encode(make_point(EVENT, ("e", "h", "k"), {name: value}, 7))
        == b"event,experiment=e,host=h,kind=k %b 7\n" % text
    )


def test_a_point_without_fields_or_with_one_of_another_measurement_is_none():
    with pytest.raises(ValueError, match="fields of event"):
        encode(Point(EVENT, ("e", "h", "k"), {}, 1))
    with pytest.raises(ValueError, match="value"):
        encode(Point(EVENT, ("e", "h", "k"), {"value": 1.0}, 1))
    with pytest.raises(ValueError, match="3 tags"):
        series_key(EVENT, ("e",))


_numbers = count(1)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(texts, texts, texts, floats, integers), min_size=1, max_size=40))
@example([(text, text, text, 1.5, -(2**63)) for text in HOSTILE])
def test_influxdb_gives_back_every_name_text_and_number(influx_server, rows):
    """One batch an example, whatever stands in tags and texts: a line that is taken for two, or for another, is seen here."""
    start = next(_numbers) * 1_000_000
    wanted = []
    lines = []
    for number, (experiment, kind, text, value, integer) in enumerate(rows, start):
        fields = {"text": text, "remaining_s": value, "segment": integer}
        point = make_point(EVENT, (experiment, "h", kind), fields, number)
        lines.append(encode(point))
        # An answer has no sign of 0.0: that is why `unheld` has it.
        held = [point.fields.get(name) for name in ("text", "segment", "unheld")]
        wanted.append([number, tag_text(experiment), tag_text(kind), *held, _bits(value or 0.0)])
        assert (value != 0 or math.copysign(1, value) > 0) or "-0.0" in point.fields["unheld"]
    influx_server.write(b"".join(lines), "regatta")
    found = influx_server.query(
        "SELECT experiment, kind, text, segment, unheld, remaining_s FROM event "
        f"WHERE time >= {start} AND time < {start + len(rows)}", "regatta",
    )  # fmt: skip
    got = [[*row[:-1], _bits(float(row[-1]))] for one in found for row in one["values"]]
    assert sorted(got, key=lambda row: row[0]) == wanted


def _bits(number):
    return struct.pack(">d", number)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(HOSTILE), st.sampled_from(HOSTILE))
def test_a_quoted_text_is_compared_as_it_is(influx_server, text, other):
    start = next(_numbers) * 1_000_000
    tags = (text, "h", "quoted")
    influx_server.write(encode(make_point(EVENT, tags, {"text": text}, start)), "regatta")
    where = f"FROM {identifier(EVENT)} WHERE time = {start}"
    query = f"SELECT {identifier('text')} {where} AND experiment = {quoted(tag_text(text))}"
    assert influx_server.query(query, "regatta")[0]["values"] == [[start, text]]
    if other != text:
        asked = f"SELECT text {where} AND experiment = {quoted(tag_text(other))}"
        assert not influx_server.query(asked, "regatta")


def test_numbers_of_an_iteration_are_floats_even_where_they_are_whole():
    tags = ("e", "h", "p", "b", "r", "c", "m", "2x", "elapsed", "ns", "", "ok")
    line = encode(make_point(ITERATION, tags, {"value": 3, "iteration": 0, "line": 0}, 5))
    assert b" value=3.0,iteration=0i,line=0i 5\n" in line
    assert b"parameters=none" in line
    assert FIELDS[ITERATION]["value"] is float
    assert math.isfinite(split_line(line)[2]["value"])
