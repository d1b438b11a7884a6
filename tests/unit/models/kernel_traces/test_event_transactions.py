"""Transactions of small traces and what they use, against answers computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from helpers.hand_made_traces import (
    ALONE,
    DATABASE,
    DISK,
    DISK_B,
    IDLE_0,
    NET,
    OBJECTS,
    ONE,
    QUERY,
    T0,
    TWO,
    Events,
    call,
    job,
    jobs,
    measured,
    switch,
    traced,
    wake,
)
from helpers.synthetic_traces import write_trace
from regatta.models.kernel_traces.jobs import Jobs
from regatta.models.kernel_traces.measures import measure, metrics
from regatta.models.kernel_traces.model import NONE, Facts, Kind, Sleep
from regatta.models.kernel_traces.timeline import Timeline

# --- the ten steps ---


def uses(found: Jobs) -> list[tuple[int, int, int, int, int | None, int | None]]:
    return [
        (
            one.object,
            one.actor,
            one.transaction,
            one.request_ns - T0,
            None if one.accept_ns is None else one.accept_ns - T0,
            None if one.finish_ns is None else one.finish_ns - T0,
        )
        for one in found.uses
    ]


def disk(
    begin: int, end: int, actor: int, request: int, target: int = DISK, accept: int | None = None
) -> Events:
    return [
        job(Kind.REQUEST, begin, actor, target, request, value=512),
        job(Kind.ACCEPT, begin if accept is None else accept, actor, target, request),
        job(Kind.FINISH, end, NONE, target, request),
    ]


def test_objects_are_used_for_the_transaction_of_their_requester(tmp_path: Path) -> None:
    events = [
        *disk(50, 60, ONE, 1),
        job(Kind.ACCEPT, 100, ONE),
        *disk(150, 250, ONE, 2, accept=170),
        job(Kind.REQUEST, 300, ONE, DATABASE, 7),
        *disk(310, 320, QUERY, 3),
        job(Kind.ACCEPT, 350, QUERY, DATABASE, 7),
        *disk(400, 480, QUERY, 4),
        job(Kind.FINISH, 500, QUERY, DATABASE, 7),
        *disk(510, 530, QUERY, 5),
        job(Kind.REQUEST, 600, ONE, DISK, 6, value=512),
        job(Kind.FINISH, 700, ONE),
        job(Kind.ACCEPT, 750, ONE, DISK, 6),
        job(Kind.FINISH, 900, NONE, DISK, 6),
        *disk(910, 920, ONE, 8),
    ]
    found = jobs(tmp_path, events)
    assert uses(found) == [
        (DISK, ONE, NONE, 50, 50, 60),
        (DISK, ONE, 0, 150, 170, 250),
        (DISK, QUERY, NONE, 310, 310, 320),
        (DISK, QUERY, 0, 400, 400, 480),
        (DISK, QUERY, NONE, 510, 510, 530),
        # Asynchronous: it begins and ends after the transaction.
        (DISK, ONE, 0, 600, 750, 900),
        (DISK, ONE, NONE, 910, 910, 920),
    ]
    spans = [(one.accept_ns, one.finish_ns) for one in found.uses if one.transaction == 0]
    assert sum(end - begin for begin, end in spans if begin and end) == 80 + 80 + 150
    assert found.unmatched == 0


def test_a_process_that_is_asked_works_for_the_transaction_until_its_own_finish(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.REQUEST, 150, ONE, DATABASE, 7),
        job(Kind.FINISH, 200, ONE),
        job(Kind.ACCEPT, 250, QUERY, DATABASE, 7),
        *disk(300, 400, QUERY, 1),
        job(Kind.FINISH, 500, QUERY, DATABASE, 7),
        *disk(510, 530, QUERY, 2),
    ]
    assert [row[2] for row in uses(jobs(tmp_path, events))] == [0, NONE]


def test_a_process_goes_on_after_the_transaction_that_asked_it(tmp_path: Path) -> None:
    # Steps 4 and 6: the finish of the transaction removes only its own process from W.
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.REQUEST, 150, ONE, DATABASE, 7),
        job(Kind.ACCEPT, 160, QUERY, DATABASE, 7),
        job(Kind.FINISH, 200, ONE),
        *disk(300, 400, QUERY, 1),
        job(Kind.FINISH, 500, QUERY, DATABASE, 7),
        *disk(510, 530, QUERY, 2),
    ]
    assert [row[2] for row in uses(jobs(tmp_path, events))] == [0, NONE]


def test_a_process_that_is_asked_in_turn_works_for_the_same_transaction(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.REQUEST, 110, ONE, DATABASE, 1),
        job(Kind.ACCEPT, 120, QUERY, DATABASE, 1),
        job(Kind.REQUEST, 130, QUERY, TWO, 9),
        job(Kind.ACCEPT, 140, TWO, TWO, 9),
        *disk(150, 160, TWO, 1),
        job(Kind.FINISH, 170, TWO, TWO, 9),
        job(Kind.FINISH, 180, QUERY, DATABASE, 1),
        job(Kind.FINISH, 190, ONE),
    ]
    assert uses(jobs(tmp_path, events)) == [(DISK, TWO, 0, 150, 150, 160)]


def test_use_and_wait_add_up_by_equations_1_and_2(tmp_path: Path) -> None:
    events = [
        *disk(100, 200, ONE, 1, accept=130),
        *disk(110, 400, TWO, 2, accept=200),
        *disk(500, 600, ONE, 3),
        *disk(120, 180, ONE, 1, target=DISK_B),
        job(Kind.REQUEST, 700, ONE, DISK, 4, value=4096),
        job(Kind.REQUEST, 800, ONE, DISK, 5),
        job(Kind.ACCEPT, 900, ONE, DISK, 5),
    ]
    found = measured(tmp_path, events, 1000).usages
    one = found["sda"]
    assert one.used_ns == 70 + 200 + 100
    assert one.waited_ns == 30 + 90 + 0 + 100
    assert (one.uses, one.contended, one.incomplete, one.bytes) == (5, 3, 2, 3 * 512 + 4096)
    assert (found["sdb"].uses, found["sdb"].used_ns, found["sdb"].waited_ns) == (1, 60, 0)


# --- transactions ---


def test_response_is_from_request_to_finish_and_throughput_per_window(tmp_path: Path) -> None:
    events = [
        job(Kind.REQUEST, 50, NONE, request=1),
        job(Kind.REQUEST, 80, NONE, request=2),
        job(Kind.ACCEPT, 100, ONE, request=1),
        job(Kind.ACCEPT, 120, TWO, request=2),
        job(Kind.FINISH, 350, ONE, request=1),
        job(Kind.FINISH, 580, TWO, request=2),
        job(Kind.ACCEPT, 600, ONE, request=3),
        job(Kind.FINISH, 700, ONE, request=3),
    ]
    found = measured(tmp_path, events, 1000)
    assert found.responses.tolist() == [300, 500, 100]
    assert (found.transactions, found.response_ns) == (3, 300)
    assert found.throughput == pytest.approx(3 / 1000e-9)
    values = {row[0]: row[1] for row in metrics(found)}
    assert (values["event_transactions"], values["event_response"]) == (3, 300)


def test_a_trace_may_begin_at_time_zero(tmp_path: Path) -> None:
    events = [job(Kind.REQUEST, -T0, NONE), job(Kind.ACCEPT, 100 - T0, ONE), job(Kind.FINISH, 350 - T0, ONE)]
    trace = write_trace(tmp_path, events, OBJECTS, Facts(0, 1000, 2))
    assert measure(trace).responses.tolist() == [350]


def test_without_transactions_there_is_no_response(tmp_path: Path) -> None:
    found = measured(tmp_path, switch(100, IDLE_0, ONE), 1000)
    assert (found.transactions, found.response_ns, found.throughput, len(found.responses)) == (0, None, 0, 0)
    assert {row[0] for row in metrics(found)} == {"event_transactions", "event_lost", "event_cpu_busy"}


def test_missing_accepts_and_finishes_are_counted(tmp_path: Path) -> None:
    events = [
        job(Kind.FINISH, 50, ONE, request=1),
        job(Kind.ACCEPT, 100, ONE, request=2),
        job(Kind.FINISH, 200, ONE, request=2),
        job(Kind.FINISH, 300, NONE, DISK, 9),
        job(Kind.FINISH, 310, QUERY, DATABASE, 9),
        job(Kind.ACCEPT, 400, TWO, request=3),
        job(Kind.REQUEST, 500, NONE, request=4),
    ]
    trace = traced(tmp_path, events, 1000)
    found = measure(trace)
    assert (found.transactions, found.responses.tolist()) == (1, [100])
    assert Timeline(trace, tmp_path).jobs.unmatched == 3
    assert [remark.split()[0] for remark in found.remarks] == ["3", "1"]


def work(folder: Path, events: Events, actor: int) -> list[tuple[int, int]]:
    """Begins of the segments of a thread where it works for another transaction than before, with the transaction."""
    found: list[tuple[int, int]] = []
    rows = [
        (int(begin) - T0, int(at))
        for batch in Timeline(traced(folder, events, 1000), folder).batches()
        for one, begin, at in zip(batch.actor, batch.begin_ns, batch.transaction, strict=True)
        if one == actor
    ]
    for begin, at in sorted(rows, key=lambda row: row[0]):
        if not found or found[-1][1] != at:
            found.append((begin, at))
    return found


def test_nested_transactions_of_a_thread_return_to_the_outer_one(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE, request=1),
        job(Kind.ACCEPT, 200, ONE, request=2),
        job(Kind.FINISH, 300, ONE, request=2),
        job(Kind.FINISH, 400, ONE, request=1),
    ]
    assert work(tmp_path, events, ONE) == [(0, NONE), (100, 0), (200, 1), (300, 0), (400, NONE)]


def test_overlapping_transactions_of_a_thread_end_in_any_order(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE, request=1),
        job(Kind.ACCEPT, 200, ONE, request=2),
        job(Kind.FINISH, 300, ONE, request=1),
        job(Kind.FINISH, 400, ONE, request=2),
    ]
    assert work(tmp_path, events, ONE) == [(0, NONE), (100, 0), (200, 1), (400, NONE)]
    assert measured(tmp_path, events, 1000).responses.tolist() == [200, 200]


def test_a_transaction_that_another_thread_finishes_ends_for_both(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.WAIT, 200, ONE),
        job(Kind.ACCEPT, 300, TWO),
        job(Kind.FINISH, 400, TWO),
        *call(500, 600, ONE),
    ]
    assert work(tmp_path, events, ONE) == [(0, NONE), (100, 0), (200, NONE)]
    assert work(tmp_path, events, TWO) == [(0, NONE), (300, 0), (400, NONE)]
    assert measured(tmp_path, events, 1000).responses.tolist() == [300]


def test_a_transaction_that_another_thread_finishes_without_an_accept_ends(tmp_path: Path) -> None:
    events = [job(Kind.ACCEPT, 100, ONE), job(Kind.FINISH, 400, TWO), *call(500, 600, ONE)]
    assert work(tmp_path, events, ONE)[:2] == [(0, NONE), (100, 0)]
    assert work(tmp_path, events, ONE)[-1][1] == NONE


def test_a_transaction_that_is_accepted_twice_ends_once(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.ACCEPT, 200, ONE),
        job(Kind.FINISH, 300, ONE),
        *disk(400, 500, ONE, 1),
    ]
    assert work(tmp_path, events, ONE) == [(0, NONE), (100, 0), (300, NONE)]
    assert [row[2] for row in uses(jobs(tmp_path, events))] == [NONE]


def test_a_number_may_be_used_again_after_the_finish(tmp_path: Path) -> None:
    events = [
        event
        for begin in (100, 300, 500)
        for event in (job(Kind.ACCEPT, begin, ONE), job(Kind.FINISH, begin + 50, ONE))
    ]
    assert measured(tmp_path, events, 1000).responses.tolist() == [50, 50, 50]


def test_a_process_request_that_another_thread_finishes_ends_for_the_one_that_accepted_it(
    tmp_path: Path,
) -> None:
    events = [
        job(Kind.ACCEPT, 100, ONE),
        job(Kind.REQUEST, 110, ONE, DATABASE, 1),
        job(Kind.ACCEPT, 120, QUERY, DATABASE, 1),
        job(Kind.FINISH, 180, TWO, DATABASE, 1),
        *disk(200, 210, QUERY, 1),
        job(Kind.FINISH, 300, ONE),
    ]
    assert [row[2] for row in uses(jobs(tmp_path, events))] == [NONE]


# --- semi-busy-waiting ---


def herd(round_begin: int, servers: Sequence[int], worker: int, request: int) -> Events:
    """Figure 7: all servers are woken; one works, and the others go back to sleep at once."""
    events: Events = []
    for place, server in enumerate(servers):
        at = round_begin + 10 + 10 * place
        events += [wake(round_begin, server, NET), *switch(at, IDLE_0, server)]
        if server != worker:
            events += switch(at + 5, server, IDLE_0, Sleep.INTERRUPTIBLE)
        else:
            events += [
                job(Kind.ACCEPT, at + 1, server, request=request),
                job(Kind.FINISH, at + 4, server, request=request),
                *switch(at + 5, server, IDLE_0, Sleep.INTERRUPTIBLE),
            ]
    return events


def test_servers_that_are_woken_in_vain_wait_semi_busily(tmp_path: Path) -> None:
    servers = [ONE, TWO, ALONE]
    workers = [ONE, TWO, ALONE, TWO, TWO, ONE, ALONE]
    events = [event for at, worker in enumerate(workers) for event in herd(100 * at, servers, worker, at + 1)]
    # Wake-ups between the works of a server, less the one that is needed: ONE works in rounds 0 and 5, with wake-ups in rounds 1 to
    # 5; TWO in 1, 3 and 4; ALONE in 2 and 6.
    assert measured(tmp_path, events, 1000).unneeded_wakeups == (5 - 1) + (2 - 1) + (1 - 1) + (4 - 1)


def test_no_server_waits_semi_busily_if_only_the_worker_is_woken(tmp_path: Path) -> None:
    events = [
        event for at in range(6) for event in herd(100 * at, [(ONE, TWO)[at % 2]], (ONE, TWO)[at % 2], at + 1)
    ]
    assert measured(tmp_path, events, 1000).unneeded_wakeups == 0


def test_the_gap_after_the_last_of_nested_transactions_is_not_complete(tmp_path: Path) -> None:
    events = [
        job(Kind.ACCEPT, 10, ONE, request=1),
        job(Kind.ACCEPT, 20, ONE, request=2),
        job(Kind.FINISH, 30, ONE, request=2),
        job(Kind.FINISH, 40, ONE, request=1),
        *switch(50, ONE, IDLE_0, Sleep.INTERRUPTIBLE),
        *(
            event
            for at in range(100, 400, 100)
            for event in (wake(at, ONE, NET), *switch(at + 10, IDLE_0, ONE), *switch(at + 20, ONE, IDLE_0, Sleep.INTERRUPTIBLE))
        ),
    ]  # fmt: skip
    assert measured(tmp_path, events, 1000).unneeded_wakeups == 0
