"""Messages between two processes of the runner: one JSON object per line, over any pair of pipes."""

from __future__ import annotations

import json
import os
from typing import Any

from regatta.host.errors import HostError

#: results of 64 MiB in Base64, and the rest of a part
LONGEST_BYTES = 96 * 1024 * 1024
_CHUNK_BYTES = 1 << 16

Message = dict[str, Any]


class Ended(Exception):
    """The other side has ended."""


class Reader:
    """Reads messages from a descriptor that does not block."""

    def __init__(self, fd: int, where: str) -> None:
        self.fd = fd
        self.where = where
        self._parts: list[bytes] = []
        self._size = 0
        self._ready: list[bytes] = []
        os.set_blocking(fd, False)

    def next(self) -> Message | None:
        """Return the next message, or None if none has come completely.

        Raises:
            Ended: the other side has ended.
            HostError: it sends something else than messages.
        """
        while not self._ready:
            try:
                data = os.read(self.fd, _CHUNK_BYTES)
            except BlockingIOError:
                return None
            if not data:
                raise Ended
            *lines, rest = data.split(b"\n")
            for line in lines:
                self._ready.append(b"".join([*self._parts, line]))
                self._parts, self._size = [], 0
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > LONGEST_BYTES:
                raise self._wrong(f"more than {LONGEST_BYTES >> 20} MiB")
        line = self._ready.pop(0)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"{line[:200]!r}") from error
        if not isinstance(message, dict):
            raise self._wrong(f"{line[:200]!r}")
        return message

    def _wrong(self, got: str) -> HostError:
        return HostError(
            self.where,
            "messages, one JSON object per line",
            got,
            "use the same version of Regatta on both sides",
        )


def send(fd: int, message: Message) -> None:
    """Write one message completely.

    Raises:
        OSError: the other side has ended.
    """
    data = memoryview(json.dumps(message).encode() + b"\n")
    while data:
        data = data[os.write(fd, data) :]
