"""Latency of requests: simple, metered, and their bounded summary, with answers known by hand."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.host.adapters import ADAPTERS, Reported
from regatta.host.adapters.latency import (
    PERCENTILES,
    WINDOWS_NS,
    latency_rows,
    metered_latencies,
    percentiles,
    simple_latencies,
    smoothed_starts,
)
from regatta.host.adapters.result import RunOutput

MS = 1_000_000


def read(*lines: object) -> Reported:
    text = "\n".join(json.dumps(line) for line in lines)
    return ADAPTERS["regatta"](RunOutput(1, 1.0, 1.0, 1, text.encode(), "", b"", False), {})


def requests(starts: Any, ends: Any, iteration: Any = 0, **more: Any) -> dict[str, Any]:
    return {"iteration": iteration, "requests": {"start_ns": starts, "end_ns": ends}, **more}


def latencies(reported: Reported) -> dict[tuple[Any, ...], float]:
    return {
        (row[0], row[5]["kind"], row[5].get("window"), row[5]["percentile"]): row[2]
        for row in reported.iterations
        if row[1] == "latency"
    }


# One request a millisecond, each answered after half of one, but the third waits for a pause of 6 ms: the next three,
# which would have arrived at 3, 4 and 5 ms, start late.
STARTS = [0, 1 * MS, 2 * MS, 8 * MS, 9 * MS, 10 * MS]
ENDS = [MS // 2, 3 * MS // 2, 8 * MS, 17 * MS // 2, 19 * MS // 2, 21 * MS // 2]


def test_simple_latency_sees_one_slow_request() -> None:
    assert simple_latencies(STARTS, ENDS) == [MS / 2, MS / 2, 6 * MS, MS / 2, MS / 2, MS / 2]


def test_full_metering_spreads_the_starts_evenly_so_that_all_who_waited_count() -> None:
    assert smoothed_starts(STARTS, None) == [0, 2 * MS, 4 * MS, 6 * MS, 8 * MS, 10 * MS]
    # 8.5 - 6 and 9.5 - 8; the third starts before its even start, so its own start counts.
    assert metered_latencies(STARTS, ENDS, None) == [
        MS / 2,
        MS / 2,
        6 * MS,
        2.5 * MS,
        1.5 * MS,
        MS / 2,
    ]


def test_a_window_takes_the_mean_of_its_neighbours_and_fewer_at_the_ends() -> None:
    # 6 requests in 10 ms are 1 each 2 ms: a window of 4 ms holds one neighbour on each side.
    even = smoothed_starts(STARTS, 4 * MS)
    assert even == pytest.approx([0, MS, 11 / 3 * MS, 19 / 3 * MS, 9 * MS, 10 * MS])
    assert metered_latencies(STARTS, ENDS, 4 * MS) == pytest.approx(
        [MS / 2, MS / 2, 6 * MS, (8.5 - 19 / 3) * MS, MS / 2, MS / 2]
    )


_starts = st.lists(st.integers(0, 2**62), min_size=1, max_size=40).map(sorted)
_windows = st.none() | st.integers(0, 2**62)
_moderate = st.lists(st.integers(0, 10**12), min_size=1, max_size=40).map(sorted)


@given(_starts, _windows)
def test_metered_latency_is_never_below_simple_latency(starts: list[int], window: int | None) -> None:
    ends = [start + 1000 for start in starts]
    simple = simple_latencies(starts, ends)
    assert all(m >= s for m, s in zip(metered_latencies(starts, ends, window), simple, strict=True))


@given(_moderate, _windows)
def test_smoothed_starts_ascend_and_stay_between_the_first_and_the_last(
    starts: list[int], window: int | None
) -> None:
    even = smoothed_starts(starts, window)
    slack = 1e-3  # rounding of times of up to 1000 s
    assert len(even) == len(starts)
    assert all(b >= a - slack for a, b in pairwise(even))
    assert even[0] == pytest.approx(starts[0], abs=slack)
    assert even[-1] == pytest.approx(starts[-1], abs=slack)


@given(st.integers(1, 10**9), st.integers(1, 60), _windows)
def test_even_arrivals_are_metered_as_they_are(gap: int, n: int, window: int | None) -> None:
    starts = [gap * i for i in range(n)]
    assert smoothed_starts(starts, window) == pytest.approx(starts, abs=1e-3)


@given(_moderate, st.integers(0, 10**12), _windows)
def test_latency_does_not_depend_on_the_clocks_zero(
    starts: list[int], shift: int, window: int | None
) -> None:
    ends = [start + 500 for start in starts]
    moved = metered_latencies([s + shift for s in starts], [e + shift for e in ends], window)
    assert moved == pytest.approx(metered_latencies(starts, ends, window), abs=1e-2)


@given(_moderate)
def test_a_window_of_nothing_meters_nothing(starts: list[int]) -> None:
    ends = [start + 7 for start in starts]
    assert metered_latencies(starts, ends, 0) == simple_latencies(starts, ends)


def test_percentiles_are_nearest_ranks_and_need_requests_enough() -> None:
    assert dict(percentiles(range(1, 1001))) == {50: 500, 90: 900, 99: 990, 99.9: 999, 100: 1000}
    assert dict(percentiles(range(1, 1000))) == {50: 500, 90: 900, 99: 990, 100: 999}
    assert dict(percentiles([5])) == {50: 5, 100: 5}
    assert dict(percentiles([])) == {}


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**6)), max_size=200))
def test_the_summary_is_bounded_ascends_and_does_not_depend_on_the_order(
    pairs: list[tuple[int, int]],
) -> None:
    starts, ends = [s for s, _ in pairs], [s + d for s, d in pairs]
    rows = list(latency_rows(starts, ends))
    assert len(rows) <= len(PERCENTILES) * (1 + len(WINDOWS_NS))
    assert all(value > 0 for value, _ in rows)
    for kind in {(p["kind"], p.get("window")) for _, p in rows}:
        values = [v for v, p in rows if (p["kind"], p.get("window")) == kind]
        assert values == sorted(values)
    assert list(latency_rows(starts[::-1], ends[::-1])) == rows


def test_times_with_more_digits_than_a_float_lose_none() -> None:
    late = 2**62
    moved = list(latency_rows([late + s for s in STARTS], [late + e for e in ENDS]))
    assert moved == list(latency_rows(STARTS, ENDS))


def test_requests_become_latencies_of_their_iteration_and_are_not_kept() -> None:
    elapsed = {"metric": "elapsed", "value": 1, "unit": "ns"}
    reported = read(
        {"iteration": 0, **elapsed},
        requests(STARTS[:3], ENDS[:3]),
        requests(STARTS[3:], ENDS[3:]),
        {"iteration": 1, **elapsed},
        requests([100], [130], iteration=1),
    )
    assert reported.error == ""
    found = latencies(reported)
    assert found[0, "simple", None, 50] == MS // 2
    assert found[0, "metered", "full", 100] == 6 * MS
    assert found[1, "simple", None, 100] == 30
    assert {row[3] for row in reported.iterations} == {"ns"}
    assert len(reported.iterations) < 20


def test_a_latency_below_the_clocks_resolution_is_no_number() -> None:
    reported = read(
        {"iteration": 0, "metric": "elapsed", "value": 1, "unit": "ns"}, requests([5, 9], [5, 12])
    )
    assert latencies(reported) == {(0, "simple", None, 100): 3} | {
        (0, "metered", name, 100): 3 for name, _ in WINDOWS_NS
    }


def test_requests_alone_are_a_result() -> None:
    assert read(requests([1], [2])).error == ""
    assert "no result" in read(requests([], [])).error


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (requests([1, 2], [3]), "start_ns has 2 values, end_ns 1"),
        (requests([5], [4]), "start_ns <= end_ns"),
        (requests([-1], [4]), "0 <= start_ns"),
        (requests([1.5], [4]), "0 <= start_ns"),
        (requests([True], [4]), "0 <= start_ns"),
        (requests([1], [2**63]), "start_ns <= end_ns"),
        (requests("1", [4]), "lists start_ns and end_ns"),
        (requests([1], [4], iteration=-1), "integer >= 0, got -1"),
        (requests([1], [4], unit="ns"), "only requests "),
        ({"iteration": 0, "requests": {"start_ns": []}}, "start_ns and end_ns"),
        ({"iteration": 0, "requests": [1]}, "an object"),
        ({"requests": {"start_ns": [], "end_ns": []}}, "iteration"),
    ],
)
def test_a_wrong_line_of_requests_is_named(line: dict[str, Any], words: str) -> None:
    assert words in read(line).error


def test_more_requests_than_can_be_held_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regatta.host.adapters.regatta_lines._MAXIMUM_REQUESTS", 3)
    assert read(requests([1, 2], [3, 4]), requests([1], [2], iteration=1)).error == ""
    assert "more than 3 requests" in read(requests([1, 2], [3, 4]), requests([1, 2], [2, 3])).error
