"""What InfluxDB 1, 2 and 3 answer when something is wrong, as their documentation and their sources have it."""

from __future__ import annotations

import email.utils
import json
import time

import pytest

from regatta.influx.responses import may_be_empty, message, reason, retry_after, shown


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # 1.x
        ({"error": "authorization failed"}, "authorization failed"),
        ({"error": "partial write: points beyond retention policy dropped=3"},
         "partial write: points beyond retention policy dropped=3"),
        # 2.x
        ({"code": "unauthorized", "message": "unauthorized access"}, "unauthorized access"),
        # 3.x
        ({"error": "partial write of line protocol occurred",
          "data": [{"original_line": "m v=", "line_number": 2, "error_message": "No fields were provided"}]},
         "partial write of line protocol occurred: No fields were provided"),
        ({"error": "a\n  b", "data": []}, "a b"),
    ],
)  # fmt: skip
def test_the_words_of_every_version_are_found(body: object, expected: str) -> None:
    assert message(json.dumps(body).encode()) == expected


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"3", b'"text"', b"null", b"{}", b'{"error":null}', b'{"status":"ok"}', b"\xff"],
)
def test_what_no_version_says_is_nobodys_word(body: bytes) -> None:
    assert message(body) is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("partial write: points beyond retention policy dropped=3", ("points beyond retention policy", 3)),
        ("partial write: unable to parse 'm v=': missing field value dropped=0",
         ("unable to parse 'm v=': missing field value", 0)),
        ("failure writing points to database: partial write: points beyond retention policy dropped=12",
         ("failure writing points to database: partial write: points beyond retention policy", 12)),
        ("unable to parse 'dropped=7'", ("unable to parse 'dropped=7'", 0)),
        ("database is required", ("database is required", 0)),
    ],
)  # fmt: skip
def test_the_reason_and_how_many_it_cost(said: str, expected: tuple[str, int]) -> None:
    assert reason(said) == expected


@pytest.mark.parametrize(
    ("header", "expected"), [
        (None, None), ("3", 3.0), ("0.25", 0.25), ("-1", 0.0), ("nan", None), ("inf", None), ("-inf", None), ("1e999", None),
        ("1e300", 86_400.0), ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0), ("soon", None), ("", None),
    ]
)  # fmt: skip
def test_how_long_to_wait(header: str | None, expected: float | None) -> None:
    assert retry_after(header) == expected


def test_how_long_to_wait_until_a_date() -> None:
    seconds = retry_after(email.utils.formatdate(time.time() + 100, usegmt=True))
    assert seconds is not None
    assert 60 < seconds <= 100
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_words_that_are_shown_are_short_and_steer_no_terminal() -> None:
    assert shown("a\x1b[2Jb\r\nc") == "a\\x1b[2Jb  c"
    assert len(shown("x" * 10_000)) < 600


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"X-Influxdb-Version": "1.6.7~rc0", "Content-Type": "application/json"}, False),
        ({"X-Influxdb-Version": "v2.7.1", "Content-Type": "application/json"}, False),
        ({"X-Influxdb-Version": "3.1.0"}, True),
        ({"Content-Type": "application/json"}, True),
        ({"Content-Type": "text/html"}, False),
        ({}, False),
    ],
)
def test_an_answer_without_a_document_is_one_of_no_rows_from_influxdb_3_alone(
    headers: dict[str, str], expected: bool
) -> None:
    assert may_be_empty(headers) == expected
