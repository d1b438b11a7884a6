"""Traces become a vector: counts of one unit, their intervals, sizes, and what is said of them."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.models.predict.prediction import predict
from regatta.models.system_calls.application import About, Trace, application_vector, mean_of, ratio_of
from regatta.models.vectors.calls import Seen, Tally, read_calls
from regatta.models.vectors.files import read_vector, write_vector
from regatta.models.vectors.values import LinearCost, PrimitiveCost, SystemVector, Value

TABLE = read_calls(Path(__file__).parents[4] / "configs" / "primitives" / "os-calls.yml")


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


def _reads(count: int, size: int, units: float = 100) -> Trace:
    return Trace(
        Tally({Seen("read", "file", "some", size=size.bit_length() - 1): (count, count * size)}), units
    )


def test_traces_are_weighted_alike_however_long_they_were():
    for longer in (1, 10):
        traces = [_reads(100, 1024), _reads(100 * longer, 1 << 20, 100 * longer)]
        (count,) = application_vector(traces, TABLE, About("x", "request"), {}).counts
        assert count.count.value == 1
        assert [(share.arguments, share.share) for share in count.distribution] == [
            ({"bytes": 1024}, 0.5),
            ({"bytes": 1 << 20}, 0.5),
        ]


def test_what_varies_with_the_argument_between_traces_is_in_the_interval():
    traces = [_reads(100, 1024), _reads(100, 1 << 20)]
    vector = application_vector(traces, TABLE, About("x", "request"), {})
    assert vector.provenance["varying_arguments"] == "file_read bytes"
    cost = LinearCost("bytes", Value.exact(100), Value.exact(0.1))
    system = SystemVector("s", "ns", {"file_read": PrimitiveCost("operation", cost)})
    found = predict(vector, system).time
    alone = [100 + 0.1 * 1024, 100 + 0.1 * (1 << 20)]
    wanted = mean_of(alone, 0.95)
    assert (found.value, found.low) == (pytest.approx(sum(alone) / 2), 0)
    assert wanted.high <= found.high <= 1.01 * wanted.high


@given(
    st.lists(
        st.tuples(st.integers(1, 500), st.integers(1, 1 << 22), st.floats(1, 100)), min_size=2, max_size=5
    ),
    st.floats(0, 1e4, allow_subnormal=False),
    st.floats(0, 10, allow_subnormal=False),
)
def test_a_prediction_holds_students_interval_of_what_the_traces_take_whatever_the_line(
    told: list[tuple[int, int, float]], fixed: float, per: float
):
    vector = application_vector([_reads(*one) for one in told], TABLE, About("x", "request"), {})
    cost = LinearCost("bytes", Value.exact(fixed), Value.exact(per))
    found = predict(vector, SystemVector("s", "ns", {"file_read": PrimitiveCost("operation", cost)})).time
    wanted = mean_of([count / units * (fixed + per * size) for count, size, units in told], 0.95)
    assert found.value == pytest.approx(wanted.value)
    assert found.low <= wanted.low * (1 + 1e-6) + 1e-6
    assert found.high >= wanted.high * (1 - 1e-6)


def test_an_argument_that_does_not_vary_leaves_the_interval_of_the_count():
    steady = application_vector([_reads(100, 1024)] * 3, TABLE, About("x", "request"), {})
    assert "varying_arguments" not in steady.provenance
    assert (steady.counts[0].count.low, steady.counts[0].count.high) == (1, 1)
    traces = [_reads(count, 1024) for count in (90, 100, 110)]
    vector = application_vector(traces, TABLE, About("x", "request"), {})
    assert "varying_arguments" not in vector.provenance
    assert vector.counts[0].count == mean_of([0.9, 1.0, 1.1], 0.95)


def test_the_vector_can_be_written_and_read_and_says_what_it_does_not_know(tmp_path):
    seen = {
        Seen("bpf"): (3, 0),
        Seen("openat", ending="some"): (2, 0),
        Seen("close", "file"): (2, 0),
        Seen("poll", ending="some"): (5, 0),
        Seen("read", "file", "some", size=9): (2, 1200),
    }
    remark = "1 lines could not be read"
    traces = [Trace(Tally(seen, (remark,)), 4)] * 2
    about = About("web", "request", "web/apache-static", user_ns=(100.0, 120.0))
    vector = application_vector(traces, TABLE, about, {"tool": "strace"})
    write_vector(vector, tmp_path / "web.yml")
    again = read_vector(tmp_path / "web.yml")
    assert again == vector
    assert again.provenance["unknown"] == "bpf 6"
    assert again.provenance["remarks"] == remark
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
