"""Packets of a Perfetto file, and its threads, processes and tracks, from the objects of an event trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from regatta.models.kernel_traces.model import NONE

#: any number but 0; the file has one writer
_SEQUENCE = 1
#: packets in memory; some MB at most
_MOST_PACKETS = 4096
#: The identifier of a track is the kind of the track in the upper half, a number in the lower half.
_OBJECT, _PHASES, _INTERRUPTS, _LANE = (kind << 32 for kind in range(1, 5))


class Packets:
    """Writer of packets, piece by piece, so that memory does not grow with the file.

    A Perfetto file is one protobuf message `Trace`; concatenated messages are one message.
    """

    def __init__(self, file: BinaryIO, messages: Any) -> None:
        """Write to a file that is open for binary writing; `messages` is the module of Perfetto's classes."""
        self.messages = messages
        self._file = file
        self._clock = int(messages.BUILTIN_CLOCK_MONOTONIC)
        self._part = messages.Trace()
        self._count = 0

    def add(self, time_ns: int | None = None) -> Any:
        """Return a new packet, to be filled before the next call. `time_ns`: of the monotonic clock."""
        if self._count >= _MOST_PACKETS:
            self.write()
        self._count += 1
        packet = self._part.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        if time_ns is not None:
            packet.timestamp = time_ns
            packet.timestamp_clock_id = self._clock
        return packet

    def write(self) -> None:
        """Write the packets in memory. Raises OSError."""
        self._file.write(self._part.SerializeToString())
        # A new message: `Clear` would keep the memory of all packets so far.
        self._part = self.messages.Trace()
        self._count = 0


@dataclass(frozen=True)
class Objects:
    """The objects of a trace, as Perfetto needs them. Arrays have one more row, for "none": index -1.

    Perfetto knows threads by `tid`. A thread whose `tid` is unknown (0 or NONE) gets a number above all
    others; one whose process is unknown is a process.
    """

    kinds: list[str]
    names: list[str]
    tid: NDArray[np.int64]
    pid: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.kinds)


def read_objects(table: pa.Table) -> Objects:
    """Prepare the table of objects of a trace."""
    kinds = table["kind"].to_pylist()
    names = [name or "" for name in table["name"].to_pylist()]
    parent, pid, tid = (
        np.append(table[column].to_numpy().astype(np.int64), NONE) for column in ("parent", "pid", "tid")
    )
    kind = np.array([*kinds, "idle"])
    tid[kind == "idle"] = 0
    unknown = np.flatnonzero((kind == "thread") & (tid <= 0))
    tid[unknown] = 1 + max(0, int(tid.max()), int(pid.max())) + np.arange(len(unknown))
    pid = np.where(pid <= 0, pid[parent], pid)
    return Objects(kinds, names, tid, np.where((pid <= 0) | (kind == "idle"), tid, pid))


def write_process_tree(packets: Packets, objects: Objects, time_ns: int) -> None:
    """Write the names of all processes and threads."""
    tree = packets.add(time_ns).process_tree
    for kind, name, tid, pid in zip(
        objects.kinds, objects.names, objects.tid.tolist(), objects.pid.tolist(), strict=False
    ):
        if kind == "process" and pid > 0:
            tree.processes.add(pid=pid, cmdline=[name])
        elif kind == "thread":
            tree.threads.add(tid=tid, tgid=pid, name=name)


class Tracks:
    """Tracks are described when they are first used."""

    def __init__(self, packets: Packets, objects: Objects) -> None:
        """Describe tracks for `objects` in `packets`."""
        self._packets = packets
        self._objects = objects
        self._described: set[int] = set()
        self._lanes = 0

    def of(self, number: int) -> int:
        """Return the track of an object: that of a thread if it is one."""
        track = _OBJECT | number
        if track not in self._described:
            objects = self._objects
            if objects.kinds[number] in ("thread", "idle"):
                descriptor = self._describe(track)
                descriptor.thread.pid = int(objects.pid[number])
                descriptor.thread.tid = int(objects.tid[number])
                descriptor.thread.thread_name = objects.names[number]
            else:
                self._describe(track, objects.names[number])
        return track

    def of_phases(self, number: int) -> int:
        """Return the track of the phases of a thread: another one, because a phase can end within a call."""
        track = _PHASES | number
        if track not in self._described:
            parent = self.of(number)
            self._describe(track, "phases").parent_uuid = parent
        return track

    def of_interrupts(self, cpu: int) -> int:
        """Return the track of the interrupts of a CPU."""
        track = _INTERRUPTS | cpu
        if track not in self._described:
            self._describe(track, f"interrupts of CPU {cpu}")
        return track

    def new_lane(self, number: int) -> int:
        """Return a new track for slices of an object. Perfetto shows all of an object as one."""
        track = _LANE | self._lanes
        self._lanes += 1
        descriptor = self._describe(track, self._objects.names[number])
        descriptor.sibling_merge_behavior = descriptor.SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY
        descriptor.sibling_merge_key_int = number + 1
        return track

    def _describe(self, track: int, name: str = "") -> Any:
        self._described.add(track)
        descriptor = self._packets.add().track_descriptor
        descriptor.uuid = track
        if name:
            descriptor.name = name
        return descriptor
