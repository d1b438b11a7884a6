"""One row per transaction: states of its threads, and uses of objects that may end after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.scheduled_traces import Schedule
from helpers.synthetic_traces import write_trace
from regatta.models.kernel_traces.model import Facts, Kind, Trace
from regatta.models.kernel_traces.transactions import TRANSACTIONS, transaction_table


def _trace(folder: Path) -> Trace:
    """A thread serves two transactions; the disk request of the first one ends after it, during the second one."""
    made = Schedule()
    for kind, name in (("thread", "server"), ("transaction", "page"), ("disk", "sda"), ("lock", "cache")):
        made.object(kind, name)
    made.run(100, "server")
    made.add(110, Kind.ACCEPT, "server", object="page", request=1)
    made.add(120, Kind.REQUEST, "server", object="sda", request=7)
    made.add(130, Kind.ACCEPT, "server", object="sda", request=7)
    made.add(160, Kind.FINISH, "server", object="page", request=1)
    made.add(170, Kind.ACCEPT, "server", object="page", request=2)
    made.add(180, Kind.REQUEST, "server", object="cache", request=1)
    made.add(185, Kind.ACCEPT, "server", object="cache", request=1)
    made.add(190, Kind.FINISH, "server", object="sda", request=7)
    made.preempt(200, "server")
    made.run(230, "server")
    made.add(240, Kind.FINISH, "server", object="cache", request=1)
    made.add(250, Kind.FINISH, "server", object="page", request=2)
    made.sleep(260, "server")
    return write_trace(folder, made.events, made.objects, Facts(100, 300, 1))


@pytest.mark.parametrize("batch", [1, 3, 1 << 20])
def test_states_and_uses_belong_to_the_right_transaction(tmp_path: Path, batch: int) -> None:
    table = transaction_table(_trace(tmp_path), batch)
    assert table.schema == TRANSACTIONS
    first, second = table.to_pylist()
    assert (first["accept_ns"], first["finish_ns"], first["user_ns"], first["ready_ns"]) == (110, 160, 50, 0)
    assert first["uses"] == [{"object": "sda", "uses": 1, "used_ns": 60, "waited_ns": 10}]
    assert (second["accept_ns"], second["finish_ns"], second["user_ns"], second["ready_ns"]) == (
        170,
        250,
        50,
        30,
    )
    assert second["uses"] == [{"object": "cache", "uses": 1, "used_ns": 55, "waited_ns": 5}]
    assert {row["thread"] for row in (first, second)} == {"server"}


def test_a_trace_without_transactions_has_no_rows(tmp_path: Path) -> None:
    made = Schedule()
    made.object("thread", "server")
    made.run(0, "server").sleep(10, "server")
    trace = write_trace(tmp_path, made.events, made.objects, Facts(0, 20, 1))
    assert transaction_table(trace).num_rows == 0
