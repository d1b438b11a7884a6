"""Each transaction of a trace: its response time and its uses of objects (the paper's section 3.3.1)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from regatta.host.files import scratch_folder
from regatta.models.kernel_traces.model import NONE, Trace
from regatta.models.kernel_traces.timeline import BATCH, State, Timeline

_USE = pa.struct(
    [("object", pa.string()), ("uses", pa.int64()), ("used_ns", pa.int64()), ("waited_ns", pa.int64())]
)
TRANSACTIONS = pa.schema(
    [
        ("transaction", pa.int64()),
        ("name", pa.string()),
        ("request", pa.int64()),
        ("thread", pa.string()),
        ("request_ns", pa.int64()),
        ("accept_ns", pa.int64()),
        ("finish_ns", pa.int64()),
        ("user_ns", pa.int64()),
        ("kernel_ns", pa.int64()),
        ("spin_ns", pa.int64()),
        ("interrupt_ns", pa.int64()),
        ("ready_ns", pa.int64()),
        ("asleep_ns", pa.int64()),
        ("uses", pa.list_(_USE)),
    ]
)
_STATES = {
    "user_ns": State.USER,
    "kernel_ns": State.KERNEL,
    "spin_ns": State.SPIN,
    "interrupt_ns": State.INTERRUPT,
    "ready_ns": State.READY,
    "asleep_ns": State.ASLEEP,
}


def transaction_table(trace: Trace, batch: int = BATCH) -> pa.Table:
    """Return one row per transaction, in order of their accepts.

    Times of states are those of all threads while they worked for the transaction: a thread works for the
    innermost one that it has accepted and not finished. Uses of locks, disks and the network belong to the
    transaction of their requester, even if they end after it. A use without a finish in the trace has no
    `used_ns`; kernel locks never have one.

    Args:
        trace: with scheduling events.
        batch: rows at once; the result does not depend on it.

    Source: Horikawa, A Framework for Performance Evaluation Based on Event Tracing (2000), ten steps of
    section 3.3.1.
    """
    with scratch_folder("regatta-events-") as scratch:
        timeline = Timeline(trace, scratch, batch)
        found = timeline.jobs.transactions
        width = len(State)
        spent = np.zeros(len(found) * width)
        for one in timeline.batches():
            mine = one.transaction != NONE
            places = one.transaction[mine] * width + one.state[mine]
            durations = (one.end_ns - one.begin_ns)[mine]
            # A sum in float64 is exact below 2^53 ns, which is 104 days.
            spent += np.bincount(places, weights=durations, minlength=len(spent))
    by_state = spent.reshape(-1, width).astype(np.int64)
    uses: list[dict[int, list[int]]] = [{} for _ in found]
    for use in timeline.jobs.uses:
        if use.transaction != NONE:
            sums = uses[use.transaction].setdefault(use.object, [0, 0, 0])
            sums[0] += 1
            if use.accept_ns is not None:
                sums[2] += use.accept_ns - use.request_ns
                if use.finish_ns is not None:
                    sums[1] += use.finish_ns - use.accept_ns
    columns: dict[str, object] = {
        "transaction": range(len(found)),
        "name": [timeline.names[one.object] for one in found],
        "request": [one.request for one in found],
        "thread": [timeline.names[one.actor] if one.actor >= 0 else None for one in found],
        "request_ns": [one.request_ns for one in found],
        "accept_ns": [one.accept_ns for one in found],
        "finish_ns": [one.finish_ns for one in found],
        **{name: by_state[:, state] for name, state in _STATES.items()},
        "uses": [
            [
                {"object": timeline.names[at], "uses": count, "used_ns": used, "waited_ns": waited}
                for at, (count, used, waited) in sorted(own.items())
            ]
            for own in uses
        ],
    }
    return pa.table(
        {field.name: pa.array(columns[field.name], field.type) for field in TRANSACTIONS}, schema=TRANSACTIONS
    )
