"""Keep the head and the tail of a process's output of any size."""

from __future__ import annotations

import base64
import hashlib
import os
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from regatta.host.values.record import Output

_CHUNK_BYTES = 65536
#: a few milliseconds, so that timeouts and signals are handled in between
_TURN_BYTES = 64 * _CHUNK_BYTES
#: more than any pipe holds
REST_BYTES = 1 << 30


class KeptOutput:
    """What is kept of an output."""

    def __init__(
        self, head: bytes = b"", tail: bytes = b"", total: int = 0, sha256: str | None = None
    ) -> None:
        self.total = total
        self._sha256 = sha256
        self._head = bytearray(head)
        self._tail = bytearray(tail)

    @property
    def sha256(self) -> str | None:
        """Return the digest of the complete output; None if it was not requested."""
        return self._sha256

    @property
    def cut(self) -> bool:
        """Return whether data between head and tail was dropped."""
        return self.total > len(self._head) + len(self._tail)

    @property
    def kept(self) -> bytes:
        """Return head and tail, with a mark where data was dropped."""
        if self.cut:
            dropped = self.total - len(self._head) - len(self._tail)
            return bytes(self._head) + b"\n[... %d bytes dropped ...]\n" % dropped + bytes(self._tail)
        return bytes(self._head + self._tail)

    def to_json(self) -> Output:
        """Return the record's `stdout` or `stderr`."""
        if not self.total:
            return {"bytes": 0, "head": ""}
        if not self.cut:
            return {"bytes": self.total, "head": _pack(self._head + self._tail)}
        return {"bytes": self.total, "head": _pack(self._head), "tail": _pack(self._tail)}

    @classmethod
    def from_json(cls, output: Mapping[str, Any], at_most: int, sha256: str | None) -> KeptOutput:
        """Return the output of a record's `stdout` or `stderr`.

        Args:
            output: from another machine.
            at_most: bytes of head and of tail.
            sha256: of the complete output; None: not requested.

        Raises:
            ValueError: it has another shape, or is longer.
        """
        total = output.get("bytes")
        if type(total) is not int or total < 0:
            raise ValueError("expected the number of bytes")
        head, tail = (_unpack(output.get(key, ""), at_most) for key in ("head", "tail"))
        return cls(head, tail, total, sha256)


class Capture(KeptOutput):
    """Drain the read end of a pipe and keep `cap_bytes`: half from the start, half from the end.

    The rest is counted, hashed if a digest is requested, and dropped, so a gigabyte of output uses no memory and no disk.
    """

    def __init__(
        self, fd: int, cap_bytes: int, hashed: bool, follow: Callable[[bytes], None] | None = None
    ) -> None:
        """Begin to drain.

        Args:
            fd: the read end.
            cap_bytes: how much to keep.
            hashed: whether the digest is wanted.
            follow: gets all data immediately.
        """
        super().__init__()
        self.fd = fd
        self._half = max(cap_bytes // 2, 1)
        self._hash = hashlib.sha256() if hashed else None
        self._follow = follow
        os.set_blocking(fd, False)

    def drain(self, at_most: int = _TURN_BYTES) -> bool:
        """Read the available data, at most `at_most` bytes. Return False at end of file."""
        end = self.total + at_most
        while self.total < end:
            try:
                chunk = os.read(self.fd, _CHUNK_BYTES)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._keep(chunk)
            if len(chunk) < _CHUNK_BYTES:
                return True
        return True

    def _keep(self, chunk: bytes) -> None:
        self.total += len(chunk)
        if self._follow is not None:
            self._follow(chunk)
        if self._hash is not None:
            self._hash.update(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail += chunk
            if len(self._tail) > self._half:
                del self._tail[: -self._half]

    @property
    def sha256(self) -> str | None:
        """Return the digest of the complete output; None if it was not requested."""
        return self._hash.hexdigest() if self._hash is not None else None


def _pack(data: bytearray) -> str:
    return base64.b64encode(zlib.compress(bytes(data), 1)).decode("ascii")


def _unpack(text: str, at_most: int) -> bytes:
    if not text:
        return b""
    try:
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(base64.b64decode(text, validate=True), at_most)
    except (zlib.error, TypeError) as error:
        raise ValueError(str(error)) from error
    if not unpacking.eof:
        raise ValueError(f"expected at most {at_most} bytes")
    return data
