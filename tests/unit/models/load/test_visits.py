"""Requests become sessions and views: worked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.request_logs import AGENT, BEGIN_S, divided, line, rows
from regatta.models.load.logs import Read
from regatta.models.load.visits import Pauses, divide

S = 1_000_000
#: Times with fractions are not spread.
FRACTION_S = 0.125


def timed(*requests: tuple[float, str], **keys: Any) -> str:
    """JSON lines with fractions of seconds: time since BEGIN_S, client."""
    return "\n".join(
        json.dumps(
            {"ts": BEGIN_S + FRACTION_S + at, "remote_ip": client, "method": "GET", "uri": "/", "status": 200}
            | keys
        )
        for at, client in requests
    )


def by_session(read: Read) -> list[list[tuple[float, bool]]]:
    """Of each session: the begin of each request since BEGIN_S, and whether it begins a view."""
    found: dict[int, list[tuple[float, bool]]] = {}
    for session, at_us, view in rows(read, "session, at_us, view", "visits", "session, at_us, rowid"):
        found.setdefault(session, []).append((round(at_us / S - BEGIN_S - FRACTION_S, 6), view))
    return sorted(found.values())


def test_pauses_divide_the_requests_of_a_client(tmp_path: Path) -> None:
    text = timed((0, "a"), (0.5, "a"), (0.7, "b"), (1.5, "a"), (2.6, "a"), (12.6, "a"), (22.7, "a"))
    read = divided(tmp_path, text, pauses=Pauses(idle_s=10, think_s=1))
    assert by_session(read) == [
        [(0, True), (0.5, False), (1.5, False), (2.6, True), (12.6, True)],
        [(0.7, True)],
        [(22.7, True)],
    ]
    gaps = rows(read, "gap_us", "visits", "session, at_us")
    assert sorted(gaps, key=str) == sorted(
        [(None,), (500_000,), (S,), (1_100_000,), (10 * S,), (None,), (None,)], key=str
    )


def test_a_pause_of_just_the_limit_ends_nothing(tmp_path: Path) -> None:
    text = timed((0, "a"), (1, "a"), (11, "a"))
    (only,) = by_session(divided(tmp_path, text, pauses=Pauses(idle_s=10, think_s=1)))
    assert only == [(0, True), (1, False), (11, True)]


def test_a_client_is_an_address_with_its_program(tmp_path: Path) -> None:
    text = line(0) + line(1, agent="other") + line(2, "192.0.2.2") + line(3, "192.0.2.2")
    assert sorted(map(len, by_session(divided(tmp_path, text)))) == [1, 1, 2]
    assert AGENT != "other"


def test_a_time_at_the_end_of_a_request_becomes_that_of_its_begin(tmp_path: Path) -> None:
    text = timed((10, "a"), duration=4.5) + "\n" + timed((11, "a"), duration=0.5)
    (session,) = by_session(divided(tmp_path, text))
    assert session == [(5.5, True), (10.5, True)]


def test_of_apache_the_time_is_that_of_the_begin(tmp_path: Path) -> None:
    read = divided(tmp_path, line(10, more=" 4500000"))
    ((at_us, duration_us),) = rows(read, "at_us, duration_us", "visits", "at_us")
    assert (at_us // S - BEGIN_S, duration_us) == (10, 4_500_000)


def test_requests_are_sorted_by_their_begins(tmp_path: Path) -> None:
    read = divided(tmp_path, line(50) + line(0) + line(20))
    assert [int(at + FRACTION_S) for at, _ in by_session(read)[0]] == [0, 20, 50]


@settings(max_examples=5)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=1, max_size=40))
def test_requests_of_a_second_are_spread_within_it(
    tmp_path_factory: pytest.TempPathFactory, several: list[tuple[int, str]]
) -> None:
    text = "".join(line(at, client, f"/{number}") for number, (at, client) in enumerate(several))
    read = divided(tmp_path_factory.mktemp("spread"), text, names=True)
    found = rows(read, "at_us, path", "visits", "at_us, rowid")
    assert {path: at_us // S - BEGIN_S for at_us, path in found} == {
        f"/{number}": at for number, (at, _) in enumerate(several)
    }
    read.database.close()


def test_times_with_fractions_are_not_spread(tmp_path: Path) -> None:
    read = divided(tmp_path, timed((0, "a"), (0, "a"), (0.25, "a")))
    assert by_session(read) == [[(0, True), (0, False), (0.25, False)]]


def test_a_request_has_a_kind(tmp_path: Path) -> None:
    expected = [("GET", 200, "ok"), ("POST", 201, "ok"), ("GET", 301, "ok"), ("HEAD", 200, "head"), ("GET", 304, "unmodified"), ("HEAD", 304, "unmodified"), ("GET", 404, "missing"), ("HEAD", 404, "missing"), ("GET", 503, "missing")]  # fmt: skip
    text = "".join(line(at, method=method, status=status) for at, (method, status, _) in enumerate(expected))
    assert rows(divided(tmp_path, text), "kind", "visits", "at_us") == [(kind,) for *_, kind in expected]


def test_dividing_again_replaces_what_was_divided(tmp_path: Path) -> None:
    text = timed((0, "a"), (5, "a"))
    read = divided(tmp_path, text, pauses=Pauses(idle_s=2))
    assert len(by_session(read)) == 2
    divide(read, Pauses(idle_s=20))
    assert len(by_session(read)) == 1
