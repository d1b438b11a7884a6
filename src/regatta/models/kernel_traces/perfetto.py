"""Export of an event trace as a file for Perfetto, https://ui.perfetto.dev: scheduling, interrupts, slices and flows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regatta.host.errors import RegattaError
from regatta.host.files import written
from regatta.models.kernel_traces.model import EVENTS, Trace
from regatta.models.kernel_traces.perfetto_packets import Packets
from regatta.models.kernel_traces.perfetto_scheduling import Columns, Scheduling
from regatta.models.kernel_traces.perfetto_slices import Slices
from regatta.models.kernel_traces.perfetto_tracks import read_objects, write_process_tree

#: events in memory at once
_ROWS = 1 << 16


def export_perfetto(trace: Trace, path: Path, system_calls: bool = True) -> None:
    """Write a whole event trace as a Perfetto file, in one pass and with little memory.

    The file holds:
    - switches and wakings of all threads, per CPU;
    - interrupts, on a track per CPU;
    - functions, system calls and waiting for locks, on the track of their thread; a lock granted at once is no slice;
    - phases, on a track below that of their thread;
    - transactions and requests to disks and networks, on a track per object. Flows, numbered by `request`, connect
      the request, the start and the end of a transaction over threads;
    - the holding of locks, on a track per lock.

    Times are those of the trace, by the monotonic clock.

    Args:
        trace: an event trace.
        path: file to write, replaced as a whole.
        system_calls: whether system calls are slices; they make large files.

    Raises:
        RegattaError: the events are damaged, or the file cannot be written.
        OSError: a file cannot be read.

    Source: Perfetto, protos/perfetto/trace/trace_packet.proto, ftrace/ftrace_event_bundle.proto and
    track_event/track_event.proto.
    """
    # Here, so that other commands do not load the classes of all of Perfetto's messages.
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages

    objects = read_objects(trace.read_objects())
    with written(path) as temporary, temporary.open("wb") as file:
        packets = Packets(file, messages)
        _write_clocks(packets, trace)
        write_process_tree(packets, objects, trace.facts.begin_ns)
        scheduling = Scheduling(packets, objects)
        slices = Slices(packets, objects, system_calls)
        for events in _read(trace, len(objects)):
            scheduling.add(events)
            slices.add(events)
        scheduling.finish()
        slices.finish()
        packets.write()


def _write_clocks(packets: Packets, trace: Trace) -> None:
    """Declare the clock. Perfetto takes times of the scheduler for times since boot, so both clocks are one here."""
    messages, begin_ns = packets.messages, trace.facts.begin_ns
    snapshot = packets.add().clock_snapshot
    snapshot.primary_trace_clock = messages.BUILTIN_CLOCK_MONOTONIC
    snapshot.clocks.add(clock_id=messages.BUILTIN_CLOCK_MONOTONIC, timestamp=begin_ns)
    snapshot.clocks.add(clock_id=messages.BUILTIN_CLOCK_BOOTTIME, timestamp=begin_ns)
    if trace.facts.realtime_offset_ns is not None:
        realtime_ns = begin_ns + trace.facts.realtime_offset_ns
        snapshot.clocks.add(clock_id=messages.BUILTIN_CLOCK_REALTIME, timestamp=realtime_ns)


def _read(trace: Trace, objects: int) -> Iterator[Columns]:
    """Yield the columns of the events, piece by piece."""
    last_ns = 0
    try:
        with pq.ParquetFile(trace.events) as file:
            for batch in file.iter_batches(_ROWS, columns=EVENTS.names):
                events = {
                    name: batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64)
                    for name in EVENTS.names
                }
                times = events["time_ns"]
                if len(times) and np.diff(times, prepend=last_ns).min() < 0:
                    raise RegattaError(
                        str(trace.events), "events ordered by time", "a step back", "import it again"
                    )
                for name in ("actor", "object", "peer"):
                    if len(times) and not -1 <= events[name].min() <= events[name].max() < objects:
                        raise RegattaError(
                            str(trace.events), f"{objects} objects", f"others in {name}", "import it again"
                        )
                last_ns = int(times[-1]) if len(times) else last_ns
                yield events
    except pa.ArrowException as error:
        raise RegattaError(
            str(trace.events), "a Parquet file", str(error)[:200], "import it again"
        ) from error
