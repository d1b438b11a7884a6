"""Traces become a vector: counts of one unit, their intervals, sizes, and what is said of them."""

import math
from pathlib import Path

import pytest

from regatta.model.calls import Seen, Tally
from regatta.spec.calls import read_calls
from regatta.spec.vector_files import read_vector, write_vector
from regatta.trace.application import About, Trace, application_vector, mean_of, ratio_of

TABLE = read_calls(Path(__file__).parents[3] / "configs" / "primitives" / "os-calls.yml")


def test_counts_of_several_traces_have_students_interval():
    traces = [Trace(Tally({Seen("fcntl"): (count, 0)}), 10) for count in (90, 100, 110)]
    (count,) = application_vector(traces, TABLE, About("x", "request"), {}).counts
    # t(0.975; 2) = 4.302653, s = 1, n = 3
    assert (count.primitive, count.count.value, count.count.n) == ("fcntl", 10.0, 3)
    assert count.count.low == pytest.approx(10 - 4.302653 / math.sqrt(3), abs=1e-6)
    assert count.count.high == pytest.approx(10 + 4.302653 / math.sqrt(3), abs=1e-6)


def test_one_trace_is_exact_and_says_why():
    (count,) = application_vector(
        [Trace(Tally({Seen("fcntl"): (7, 0)}), 2)], TABLE, About("x", "run"), {}
    ).counts
    assert (count.count.low, count.count.value, count.count.high, count.count.reason) == (
        3.5,
        3.5,
        3.5,
        "one trace",
    )


def test_a_call_that_one_of_the_traces_lacks_counts_nothing_there():
    traces = [Trace(Tally({Seen("fcntl"): (4, 0)}), 1), Trace(Tally({Seen("stat"): (4, 0)}), 1)]
    counts = application_vector(traces, TABLE, About("x", "run"), {}).counts
    assert {count.primitive: count.count.value for count in counts} == {"fcntl": 2, "stat": 2}


def test_sizes_of_one_power_of_two_are_their_mean_and_several_a_distribution():
    small, large = Seen("read", "file", "some", size=9), Seen("read", "file", "some", size=14)
    (one,) = application_vector([Trace(Tally({small: (4, 2400)}), 1)], TABLE, About("x", "run"), {}).counts
    assert (one.arguments, one.distribution) == ({"bytes": 600}, ())
    (two,) = application_vector(
        [Trace(Tally({small: (3, 1800), large: (1, 20000)}), 1)], TABLE, About("x", "run"), {}
    ).counts
    assert [(share.arguments, share.share) for share in two.distribution] == [
        ({"bytes": 600}, 0.75),
        ({"bytes": 20000}, 0.25),
    ]


def test_the_vector_can_be_written_and_read_and_says_what_it_does_not_know(tmp_path):
    seen = {
        Seen("bpf"): (3, 0),
        Seen("openat", ending="some"): (2, 0),
        Seen("close", "file"): (2, 0),
        Seen("poll", ending="some"): (5, 0),
        Seen("read", "file", "some", size=9): (2, 1200),
    }
    traces = [Trace(Tally(seen, ("1 lines could not be read",)), 4)] * 2
    about = About("web", "request", "web/apache-static", user_ns=(100.0, 120.0))
    vector = application_vector(traces, TABLE, about, {"tool": "strace"})
    write_vector(vector, tmp_path / "web.yml")
    again = read_vector(tmp_path / "web.yml")
    assert again == vector
    assert again.provenance["unknown"] == "bpf 6"
    assert again.provenance["remarks"] == "1 lines could not be read"
    assert again.provenance["covered"] == "close 4"
    by_key = {(count.primitive, count.rule): count for count in again.counts}
    assert by_key["null_call", "unknown"].stands_for == ("bpf",)
    assert by_key["switch", "waits"].stands_for == ("poll",)
    assert by_key["open_close", ""].stands_for == ("close", "openat")
    assert again.user_time.value == 110


def test_the_overhead_is_a_ratio_of_runs_in_turns():
    ratio = ratio_of([2.0, 8.0], [1.0, 1.0], 0.95)
    assert ratio.value == pytest.approx(4)
    # t(0.975; 1) = 12.7062, s of ln 2 and ln 8 = 0.980258
    assert math.log(ratio.high / ratio.value) == pytest.approx(12.7062 * 0.980258 / math.sqrt(2), rel=1e-5)
    assert math.isnan(ratio_of([2.0], [1.0], 0.95).low)
    assert mean_of([1.0, 1.0], 0.95).high == 1
