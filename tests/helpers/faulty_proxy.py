"""A proxy on the loopback before InfluxDB that fails as networks and servers do, in a given order."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: every way to fail that passes; `pass` forwards, `hang` never answers
FAULTS = (
    "500", "503", "429", "400 of nobody", "400 of the database", "cut", "half", "lost answer", "late",
)  # fmt: skip
#: how long an answer takes that is late; a client gives up before
LATE_S = 3.0


class FaultyProxy(ThreadingHTTPServer):
    """Forwards to a port, unless its plan says otherwise; after the plan it forwards."""

    daemon_threads = True

    def __init__(self, port: int, plan: Iterable[str] = ()) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = port
        self.plan: Iterator[str] = iter(plan)
        #: what was done, and bodies that came
        self.done: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.retry_after = "0.05"
        #: set: what hangs goes on
        self.ended = threading.Event()
        #: further actions: what is answered then, as a success
        self.bodies: dict[str, bytes] = {}
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next_action(self) -> str:
        """What happens to this request."""
        with self._lock:
            action = next(self.plan, "pass")
            self.done[action] += 1
            return action

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def log_message(self, *arguments: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        action = self.server.next_action()
        self.server.headers.append(dict(self.headers))
        if action in ("500", "503"):
            self._answer(int(action), json.dumps({"error": f"made up {action}"}).encode())
        elif action == "429":
            self._answer(429, b'{"error":"too many"}', {"Retry-After": self.server.retry_after})
        elif action == "413":
            self._answer(413, b'{"error":"Request Entity Too Large"}')
        elif action in ("drip headers", "drip", "drip chunks"):
            self._drip(action)
        elif action in self.server.bodies:
            self._answer(200, self.server.bodies[action])
        elif action == "400 of nobody":
            self._answer(400, b"<html>Bad Request</html>")
        elif action == "400 of the database":
            self._answer(400, b'{"error":"partial write: made up dropped=1"}')
        elif action == "cut":
            self._cut()
        elif action == "half":
            self._half(body)
            self._cut()
        elif action == "hang":
            self.server.ended.wait()
            self._cut()
        elif action == "lost answer":
            self._forward(body)
            self._cut()
        else:
            if action == "late":
                time.sleep(LATE_S)
            status, answer, headers = self._forward(body)
            self._answer(status, answer, headers)

    def _forward(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=120)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            connection.request("POST", self.path, body, headers)
            response = connection.getresponse()
            return response.status, response.read(), {"Content-Type": response.headers["Content-Type"] or ""}
        except OSError:
            return 502, b"<html>Bad Gateway</html>", {}
        finally:
            connection.close()

    def _half(self, body: bytes) -> None:
        """The first half of a request, and then nobody is there any more."""
        with socket.create_connection(("127.0.0.1", self.server.target), timeout=30) as connection:
            head = [f"POST {self.path} HTTP/1.1", f"Host: 127.0.0.1:{self.server.target}"]
            head += [f"{name}: {value}" for name, value in self.headers.items() if name.lower() != "host"]
            connection.sendall("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body[: len(body) // 2])

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(0 if status == 204 else len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)

    def _drip(self, what: str) -> None:
        """A byte now and then, without end: every one of them is in time."""
        begin = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        kinds = {"drip headers": b"X: ", "drip": b"Content-Length: 9999\r\n\r\n{"}
        self.connection.sendall(begin + kinds.get(what, b"Transfer-Encoding: chunked\r\n\r\n"))
        try:
            while True:
                time.sleep(0.1)
                self.connection.sendall(b"1\r\n \r\n" if what == "drip chunks" else b"x")
        except OSError:
            self.close_connection = True

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def faulty_proxy(
    port: int, plan: Iterable[str] = (), tls: ssl.SSLContext | None = None
) -> Iterator[FaultyProxy]:
    """A proxy before a port, ended with the block. `tls`: it speaks TLS."""
    proxy = FaultyProxy(port, plan)
    if tls is not None:
        # Before the thread starts: for a moment, the socket has no descriptor that it could wait for.
        proxy.socket = tls.wrap_socket(proxy.socket, server_side=True)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.ended.set()
        proxy.shutdown()
        proxy.server_close()
        thread.join()
