"""Packets of a Perfetto trace file, written piece by piece, so that memory does not grow with the file."""

from __future__ import annotations

from typing import Any, BinaryIO

#: any number but 0; the file has one writer
_SEQUENCE = 1
#: packets in memory; some MB at most
_MOST_PACKETS = 4096


class Packets:
    """Writer of packets. A Perfetto file is one protobuf message `Trace`; concatenated messages are one message."""

    def __init__(self, file: BinaryIO, messages: Any) -> None:
        """Write to a file that is open for binary writing; `messages` is the module of Perfetto's classes."""
        self.messages = messages
        self._file = file
        self._clock = int(messages.BUILTIN_CLOCK_MONOTONIC)
        self._part = messages.Trace()
        self._count = 0

    def add(self, time_ns: int | None = None) -> Any:
        """Return a new packet, to be filled before the next call. `time_ns`: its time by the monotonic clock."""
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
