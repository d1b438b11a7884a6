"""A deadline for a whole request. A timeout per read does not end an answer that arrives byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection


class Deadline:
    """Cuts the newest connection of a pool when a request exceeds its time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        #: whether the deadline ended the last request
        self.passed = False
        self._socket: socket.socket | None = None

    def watch(self, pool: urllib3.PoolManager) -> None:
        """Track the connections that a pool opens from now on."""
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
        """Limit the time of the block.

        Raises:
            TimeoutError: the time was exceeded, and the block took the cut for the end of the answer.
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
                # Not the shutdown of TLS: it would change an object that another thread reads from.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
