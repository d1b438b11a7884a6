"""A deadline for a whole request: an answer that drips is in time with each of its bytes, and never ends."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection


class Deadline:
    """Cuts the newest connection of a pool where something takes too long."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        #: whether the deadline ended what was done last
        self.passed = False
        self._socket: socket.socket | None = None

    def watch(self, pool: urllib3.PoolManager) -> None:
        """Note the connections that a pool makes from now on."""
        deadline = self

        class Http(HTTPConnection):
            def connect(self) -> None:
                super().connect()
                deadline._socket = self.sock

        class Https(HTTPSConnection):
            def connect(self) -> None:
                super().connect()
                deadline._socket = self.sock

        class HttpPool(urllib3.HTTPConnectionPool):
            ConnectionCls: Any = Http

        class HttpsPool(urllib3.HTTPSConnectionPool):
            ConnectionCls: Any = Https

        pool.pool_classes_by_scheme = {"http": HttpPool, "https": HttpsPool}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count time within the block.

        Raises:
            TimeoutError: it was too long, and the block took the cut for the answer's end.
        """
        self.passed = False
        timer = threading.Timer(self.seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        if self.passed:
            raise TimeoutError

    def _cut(self) -> None:
        self.passed = True
        if self._socket is not None:
            with suppress(OSError):
                # Not that of TLS, which would change an object that another thread reads from.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
