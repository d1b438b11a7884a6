"""A window of a timeline has the segments of the whole timeline."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.synthetic_traces import write_trace
from regatta.host.errors import RegattaError
from regatta.models.kernel_traces.model import KERNEL_LOCKS, Facts, Kind, Trace
from regatta.models.kernel_traces.timeline import Batch, Timeline

OBJECTS: list[dict[str, Any]] = [
    *({"kind": "thread", "name": f"t{at}", "tid": 100 + at} for at in range(3)),
    {"kind": "idle", "name": "idle/0"},
    {"kind": "network", "name": "NET_RX"},
    {"kind": "timer", "name": "TIMER"},
    {"kind": "system-call", "name": "read"},
    {"kind": "system-call", "name": "write"},
    {"kind": "function", "name": "f"},
    {"kind": "phase", "name": "1"},
    {"kind": "phase", "name": "2"},
    {"kind": "lock", "name": "mutex"},
    {"kind": "lock", "name": KERNEL_LOCKS},
    {"kind": "transaction", "name": "connection"},
]
END = 4_000_000


def random_trace(folder: Path, seed: int) -> Trace:
    """Events of any kind in any order: more than a real trace has."""
    rng = np.random.default_rng(seed)
    events = []
    for time in np.sort(rng.integers(0, END, 600)).tolist():
        kind = Kind(int(rng.integers(Kind.WAKE, Kind.WAIT + 1)))
        scheduling = kind <= Kind.SLEEP
        interrupt = kind in (Kind.INTERRUPT, Kind.INTERRUPT_END)
        target = int(rng.integers(4, 6)) if interrupt else int(rng.integers(6, len(OBJECTS)))
        events.append(
            {
                "time_ns": time,
                "kind": int(kind),
                "cpu": int(rng.integers(0, 2)),
                "actor": int(rng.integers(0, 4)),
                "value": int(rng.integers(0, 2)),
                **({"peer": int(rng.integers(0, 6))} if scheduling else {"object": target}),
            }
        )
    return write_trace(folder, events, OBJECTS, Facts(0, END, 2))


def segments(batches: Iterable[Batch], begin: int, end: int) -> list[tuple[int, ...]]:
    """Segments in a window, clipped; what begins one is known only of those that begin inside."""
    found = []
    for batch in batches:
        columns = (
            batch.actor, batch.begin_ns, batch.end_ns, batch.state, batch.object, batch.cpu, batch.call, batch.phase,
            batch.transaction, batch.last,
        )  # fmt: skip
        for actor, first, last, *rest in zip(*(column.tolist() for column in columns), strict=True):
            if first < end and last > begin and last > first:
                found.append((actor, max(first, begin), min(last, end), *rest))
    return sorted(found)


@pytest.mark.parametrize("seed", range(8))
def test_a_window_has_the_segments_of_the_whole_timeline(tmp_path: Path, seed: int) -> None:
    timeline = Timeline(random_trace(tmp_path / "trace", seed), tmp_path, batch=97)
    for begin, end in ((0, 500_000), (1_000_000, 1_200_000), (3_500_000, END)):
        whole = segments(timeline.batches(), begin, end)
        assert segments(timeline.window([0, 1, 2, 3], begin, end), begin, end) == whole
        assert whole


def test_a_window_has_only_the_threads_that_are_asked_for(tmp_path: Path) -> None:
    timeline = Timeline(random_trace(tmp_path / "trace", 1), tmp_path)
    found = [actor for batch in timeline.window([2], 0, END) for actor in batch.actor.tolist()]
    assert set(found) == {2}


def test_events_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "trace", 1)
    content = bytearray(trace.events.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[footer : footer + 20] = b"\xff" * 20
    trace.events.write_bytes(content)
    with pytest.raises(RegattaError, match=r"events\.parquet"):
        Timeline(trace, tmp_path)
