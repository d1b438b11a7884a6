"""What calls count as: the table's rules, by hand."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.models.predict.prediction import predict
from regatta.models.system_calls.application import About, Trace, application_vector
from regatta.models.system_calls.counting import count_calls
from regatta.models.vectors.calls import (
    ENDINGS,
    EXEC_ALONE,
    FORK_ALONE,
    FORK_EXEC,
    FORK_FAULT,
    FORK_MAPPING,
    KINDS,
    PER_FORK,
    PHASES,
    PROCESS_CALLS,
    TURNS,
    Seen,
    Tally,
    read_calls,
)
from regatta.models.vectors.primitives import PrimitiveRule, read_primitives
from regatta.models.vectors.values import ConstantCost, LinearCost, PrimitiveCost, SystemVector, Value

PRIMITIVES = read_primitives(Path(__file__).parents[4] / "configs" / "primitives" / "os.yml").primitives
TABLE = read_calls(Path(__file__).parents[4] / "configs" / "primitives" / "os-calls.yml")


def counts(*seen):
    """(primitive, rule) -> count, of (Seen, count, bytes)."""
    counted = count_calls(Tally({alike: (count, size) for alike, count, size in seen}), TABLE)
    return {key: entry.count for key, entry in counted.entries.items()}


def test_a_request_for_a_static_file_is_what_the_thesis_counts():
    """Thesis, table 6-2: tcp_transfer 14712, tcp_connect 0.37, tcp_latency, mmap_read, open and close, fcntl, stat ..."""
    found = counts(
        (Seen("accept4", "tcp", "some"), 37, 0),
        (Seen("read", "tcp", "some", size=6), 100, 7000),
        (Seen("writev", "tcp", "some", "reply", size=13), 100, 1_471_200),
        (Seen("read", "tcp", "zero"), 37, 0),
        (Seen("shutdown", "tcp", "zero"), 37, 0),
        (Seen("close", "tcp", "zero"), 37, 0),
        (Seen("newfstatat", ending="zero"), 100, 0),
        (Seen("openat", ending="some"), 100, 0),
        (Seen("mmap", "file", "some", size=13), 100, 1_471_200),
        (Seen("munmap", ending="zero"), 100, 0),
        (Seen("close", "file", "zero"), 100, 0),
        (Seen("fcntl", ending="some"), 100, 0),
        (Seen("rt_sigaction", ending="zero"), 300, 0),
        (Seen("write", "file", "some", size=6), 100, 9000),
        (Seen("getpid", ending="some"), 700, 0),
    )
    assert found == {
        ("tcp_connect", ""): 37,
        ("tcp_latency", ""): 100,
        ("tcp_transfer", ""): 1_471_200,
        ("stat", ""): 100,
        ("open_close", ""): 100,
        ("mmap_read", "map-file"): 100,
        ("fcntl", ""): 100,
        ("signal_install", ""): 300,
        ("file_write", ""): 100,
        ("null_call", "light"): 700,
    }


def test_what_a_primitive_covers_is_limited_and_the_rest_is_counted():
    found = counts((Seen("openat", ending="some"), 10, 0), (Seen("close", "file", "zero"), 14, 0))
    assert found == {("open_close", ""): 10, ("null_call", "closed-else"): 4}


def test_the_end_of_a_pipe_with_more_calls_counts_and_bytes_once():
    read = (Seen("read", "fifo", "some", size=12), 4, 16384)
    write = (Seen("write", "fifo", "some", size=9), 32, 16384)
    assert counts(read, write) == {("pipe_call", ""): 32, ("pipe_read", ""): 16384}
    assert counts(read) == {("pipe_call", ""): 4, ("pipe_read", ""): 16384}


def test_a_connection_between_two_local_ends_counts_once():
    both = ((Seen("connect", "unix", "zero"), 5, 0), (Seen("accept4", "unix", "some"), 5, 0))
    assert counts(*both) == counts(both[0]) == counts(both[1]) == {("stream_connect", ""): 5}


def test_further_writes_and_sendfile_have_their_own_primitives():
    found = counts(
        (Seen("write", "tcp", "some", "further", size=6), 3, 300),
        (Seen("sendfile", "tcp", "some", "further", size=13), 2, 20000),
        (Seen("sendfile", "tcp", "some", "reply", size=13), 1, 10000),
    )
    assert found == {("tcp_send", ""): 5, ("tcp_transfer", ""): 300, ("tcp_sendfile", ""): 30000}


def test_a_process_takes_the_loaders_calls_and_more_libraries_stay():
    plain = [
        ("openat", "none", "some", 2),
        ("mmap", "file", "some", 5),
        ("mmap", "memory", "some", 3),
        ("mprotect", "none", "zero", 3),
    ]
    once = [(Seen(call, kind, ending, phase="loader"), count, 0) for call, kind, ending, count in plain]
    process = (Seen(FORK_EXEC, size=9), 1, 700)
    end = [(Seen("exit_group"), 1, 0), (Seen("wait4", ending="some"), 1, 0)]
    assert counts(process, *once, *end) == {("simple_process", ""): 1}
    more = [(seen, count * 2, size) for seen, count, size in once]
    assert counts(process, *more, *end) == {
        ("simple_process", ""): 1,
        ("open_close", ""): 2,
        ("mmap", "loader-maps-more"): 8,
        ("null_call", "light"): 3,
    }


def test_memory_of_the_forking_process_is_the_argument():
    counted = count_calls(
        Tally({Seen(FORK_EXEC, size=9): (2, 1400), Seen(FORK_ALONE, size=4): (1, 16)}), TABLE
    )
    entry = counted.entries["simple_process", ""]
    assert (entry.argument, entry.sizes) == ("resident_kib", {9: (2, 1400)})
    assert counted.entries["simple_process", "fork-without-exec"].count == 1


def test_what_the_parent_of_a_simple_process_has_itself_is_not_counted_again():
    processes = {Seen(FORK_EXEC): (3, 0), Seen(FORK_ALONE): (1, 0)}
    few = Tally({**processes, Seen(FORK_MAPPING): (120, 4), Seen(FORK_FAULT): (50, 3)})
    assert set(count_calls(few, TABLE).entries) == {
        ("simple_process", ""),
        ("simple_process", "fork-without-exec"),
    }
    more = Tally({**processes, Seen(FORK_MAPPING): (4 * 85, 4), Seen(FORK_FAULT): (3 * 39, 3)})
    found = {key: entry.count for key, entry in count_calls(more, TABLE).entries.items()}
    assert found["fork_mapping", ""] == pytest.approx(4 * (85 - 31))
    assert found["page_copy", "fork-faults"] == pytest.approx(3 * (39 - 18))


def test_processes_without_a_fork_that_copies_cover_nothing_of_those_with_one():
    without = {Seen(EXEC_ALONE): (1, 0), Seen(FORK_EXEC): (8, 0)}
    tally = Tally({**without, Seen(FORK_MAPPING): (2 * 85, 2), Seen(FORK_FAULT): (2 * 39, 2)})
    found = {key: entry.count for key, entry in count_calls(tally, TABLE).entries.items()}
    assert found["fork_mapping", ""] == pytest.approx(2 * (85 - 31))
    assert found["page_copy", "fork-faults"] == pytest.approx(2 * (39 - 18))


def test_a_table_without_a_rule_for_what_a_fork_has_leaves_it_out():
    old = replace(
        TABLE, rules={name: rule for name, rule in TABLE.rules.items() if not {*PER_FORK} & {*rule.calls}}
    )
    counted = count_calls(
        Tally({Seen(FORK_EXEC): (1, 0), Seen(FORK_MAPPING): (85, 1), Seen(FORK_FAULT): (39, 1)}), old
    )
    assert (set(counted.entries), counted.unknown) == ({("simple_process", "")}, {})


def test_calls_in_no_rule_are_named_and_counted():
    counted = count_calls(Tally({Seen("bpf", ending="some"): (7, 0), Seen("call_999"): (2, 0)}), TABLE)
    assert counted.unknown == {"bpf": 7, "call_999": 2}
    assert counted.entries["null_call", "unknown"].count == 9


def cost_of(rule: PrimitiveRule) -> PrimitiveCost:
    """A cost of the kind that the table of primitives makes; each part 1 ns."""
    one = Value.exact(1.0)
    if rule.cost.kind == "linear":
        return PrimitiveCost(rule.unit, LinearCost(rule.cost.arguments[0], one, one))
    assert rule.cost.kind in ("constant", "fixed", "per")
    return PrimitiveCost(rule.unit, ConstantCost(one))


SYSTEM = SystemVector("s", "ns", {name: cost_of(rule) for name, rule in PRIMITIVES.items()})


@pytest.mark.parametrize("name", TABLE.rules)
@pytest.mark.parametrize("size", [0, 700])
def test_what_each_rule_counts_can_be_predicted_where_every_primitive_is_measured(name, size):
    rule = TABLE.rules[name]
    size = max(size, rule.least_bytes)
    kinds, endings, turns = rule.on or ("none",), rule.result or ("some",), (rule.turn or "none",)
    seen = {
        Seen(call, kind, ending, turn, rule.phase or "program", max(size.bit_length() - 1, 0)): (3, 3 * size)
        for call in rule.calls
        for kind in kinds
        for ending in endings
        for turn in turns
    }
    vector = application_vector([Trace(Tally(seen), 1)], TABLE, About("a", "run"), {})
    assert rule.covered_by or name in {count.rule for count in vector.counts} or not rule.approximated
    prediction = predict(vector, SYSTEM)
    assert prediction.missing == ()
    # Nothing else is here that a covered call could be a part of; it is counted by a later rule.
    assert math.isfinite(prediction.time.value)
    assert prediction.time.value > 0 or size == 0


CALLS = sorted({call for rule in TABLE.rules.values() for call in rule.calls} | {"bpf"})
SEEN = st.builds(
    Seen,
    st.sampled_from(CALLS),
    st.sampled_from(KINDS),
    st.sampled_from(ENDINGS),
    st.sampled_from(TURNS),
    st.sampled_from(PHASES),
    st.integers(0, 31),
)


@given(st.dictionaries(SEEN, st.tuples(st.integers(1, 1000), st.integers(0, 10**9)), max_size=30))
def test_every_call_is_counted_covered_or_an_end_and_none_twice(seen):
    counted = count_calls(Tally(seen), TABLE)
    calls = sum(count for alike, (count, _) in seen.items())
    once = sum(
        entry.count
        for (primitive, rule), entry in counted.entries.items()
        # Those beside which another is counted for the same call, and those of two ends.
        if primitive
        not in (
            "tcp_transfer",
            "tcp_sendfile",
            "pipe_call",
            "pipe_read",
            "socket_call",
            "socket_rw",
            "stream_connect",
        )
        or (primitive == "stream_connect" and rule)
    )
    ends = _of(seen, lambda s: s.kind in ("fifo", "unix"))
    replies = _of(seen, lambda s: s.kind == "tcp" and s.turn == "reply")
    covered = sum(counted.covered.values())
    assert once + covered <= calls + 1e-6
    assert once + covered + ends + replies >= calls - 1e-6


def _of(seen, fits):
    return sum(count for alike, (count, _) in seen.items() if fits(alike))


@pytest.mark.parametrize("call", PROCESS_CALLS)
def test_what_processes_are_made_of_is_not_counted_among_the_calls(call):
    assert Tally({Seen(call): (3, 0), Seen("read"): (2, 0)}).calls == 2
