"""The InfluxDB of the tests: a real influxd on free ports of the loopback, authentication on, in a folder of its own.

`influx_server` is one server for all tests of a file: each test takes a database of its own (`new_database`) and
leaves the server as it found it. Who stops, kills or fills one takes `own_influx_server`, which is for one test.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

START_S = 180.0
STOP_S = 120.0

#: neither the well-known ports nor those of connections (net.ipv4.ip_local_port_range)
SERVER_PORTS = (10_000, 32_768)

#: what each account may do: all, WRITE, READ
ADMIN, WRITER, READER = "admin", "writer", "reader"

_CONFIGURATION = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc_port}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
  index-version = "{index}"
  query-log-enabled = false
  max-series-per-database = 0
  max-values-per-tag = 0
{data}
[coordinator]
[retention]
  enabled = true
  check-interval = "1s"
[monitor]
  store-enabled = false
[subscriber]
  enabled = false
[http]
  enabled = true
  bind-address = "127.0.0.1:{port}"
  auth-enabled = true
  log-enabled = false
{http}
"""


class InfluxServer:
    """One influxd with the accounts `admin`, `writer` and `reader`. Passwords hold what breaks careless quoting."""

    def __init__(self, folder: Path, *, http: str = "", data: str = "", index: str = "tsi1") -> None:
        """`folder`: where everything of it lies. `http`, `data`: further lines of these parts of its configuration."""
        self.folder = folder
        self.passwords = {name: f"{name}' \\\" pass:wörd" for name in (ADMIN, WRITER, READER)}
        self._parts = {"http": http, "data": data, "index": index}
        self._numbers = count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """What influxd says."""
        return self.folder / "influxd.log"

    @property
    def pid(self) -> int:
        """The process, while it runs."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, on the port it had where it had one, and wait until it answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        first = self.port == 0
        for _ in range(5):
            if first:
                self.port = free_port()
            if self._start_on_port():
                break
        else:
            last = self.log.read_text(errors="replace").strip().splitlines()[-3:]
            raise RuntimeError(f"influxd does not start: {' | '.join(last)}")
        if first:
            self._make_accounts()

    def _start_on_port(self) -> bool:
        configuration = self.folder / "influxd.conf"
        configuration.write_text(
            _CONFIGURATION.format(folder=self.folder, port=self.port, rpc_port=free_port(), **self._parts)
        )
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [influxd_program() or "influxd", "-config", str(configuration)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._answers():
                return True
            time.sleep(0.02)
        self.kill()
        return False

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/ping", timeout=5) as response:
                return bool(response.status == 204)
        except OSError:
            return False

    def _make_accounts(self) -> None:
        password = influx_string(self.passwords[ADMIN])
        self.query(f"CREATE USER {ADMIN} WITH PASSWORD {password} WITH ALL PRIVILEGES", user=None)
        for name in (WRITER, READER):
            self.query(f"CREATE USER {name} WITH PASSWORD {influx_string(self.passwords[name])}")
        self.make_database("regatta")

    def make_database(self, name: str) -> str:
        """Make a database that the writer may write and the reader may read; returns its name."""
        self.query(f'CREATE DATABASE "{name}"')
        self.query(f'GRANT WRITE ON "{name}" TO {WRITER}')
        self.query(f'GRANT READ ON "{name}" TO {READER}')
        return name

    def new_database(self) -> str:
        """An empty database that no other test has."""
        return self.make_database(f"test {next(self._numbers)}")

    def stop(self) -> None:
        """End it as a service manager does."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a loss of power does, but not while it creates the index of a shard.

        InfluxDB 1 writes the manifest of an index in place. Killed between two of these lines, it never opens the shard again
        and answers every write with "unexpected end of JSON input", which is not the fault that tests are about.
        """
        while self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)
            if all(_is_json(path) for path in self.folder.glob("data/*/*/*/index/*/MANIFEST")):
                break
            self._process.send_signal(signal.SIGCONT)
            time.sleep(0.001)
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def restart(self) -> None:
        """Stop it and start it on the same port, with the same data."""
        self.stop()
        self.start()

    def query(self, query: str, database: str = "", user: str | None = ADMIN, **parameters: str) -> Any:
        """Ask one statement (POST), which must succeed; returns its list of series (`name`, `tags`, `columns`, `values`)."""
        form = {"q": query, "db": database, "epoch": "ns", **parameters}
        request = urllib.request.Request(
            f"{self.url}/query", urllib.parse.urlencode(form).encode(), self._headers(user)
        )
        try:
            with urllib.request.urlopen(request, timeout=300) as response:
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.code} {error.read().decode(errors='replace')}") from error
        result = answer["results"][0]
        assert "error" not in result, f"{query}: {result['error']}"
        return result.get("series", [])

    def write(self, lines: str | bytes, database: str) -> None:
        """Write lines as they are, which must be taken."""
        data = lines.encode() if isinstance(lines, str) else lines
        parameters = urllib.parse.urlencode({"db": database, "precision": "ns"})
        request = urllib.request.Request(f"{self.url}/write?{parameters}", data, self._headers(WRITER))
        try:
            urllib.request.urlopen(request, timeout=300).close()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{error.code} {error.read().decode(errors='replace')}") from error

    def _headers(self, user: str | None) -> dict[str, str]:
        if user is None:
            return {}
        pair = f"{user}:{self.passwords[user]}".encode()
        return {"Authorization": "Basic " + base64.b64encode(pair).decode()}

    def counts(self, database: str) -> dict[str, int]:
        """How many points each series holds, by its key (`measurement,tag=value,...`), asked of the server directly."""
        counted: dict[str, int] = {}
        for (measurement,) in (
            row for one in self.query("SHOW MEASUREMENTS", database) for row in one["values"]
        ):
            # One by one: where fields of one name have different types, one of them would not be counted.
            for series in self.query(f'SELECT count(*) FROM "{measurement}" GROUP BY *', database):
                tags = "".join(f",{name}={value}" for name, value in sorted(series.get("tags", {}).items()))
                counted[series["name"] + tags] = max(value or 0 for value in series["values"][0][1:])
        return counted

    def write_settings(
        self, folder: Path, database: str, *, writer: str = WRITER, reader: str | None = ADMIN, url: str = "",
        **more: object,
    ) -> Path:  # fmt: skip
        """Write settings for `REGATTA_INFLUX` beside files with the passwords; returns the path of the settings."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in {writer, reader or writer}:
            file = folder / f"{name}.password"
            file.write_text(self.passwords[name] + "\n")
            file.chmod(0o600)
        settings = {
            "url": url or self.url,
            "database": database,
            "write": {"user": writer, "password_file": f"{writer}.password"},
            **({"read": {"user": reader, "password_file": f"{reader}.password"}} if reader else {}),
            **more,
        }
        path = folder / "influx.yml"
        path.write_text(json.dumps(settings, indent=1) + "\n")
        return path


def influx_string(text: str) -> str:
    """A string of InfluxQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return True


def free_port() -> int:
    """A port of the loopback that nobody listens on now.

    It is below those that the kernel gives to connections, so that none of them has it when a server of the test starts
    again on its port.
    """
    while True:
        port = random.SystemRandom().randrange(*SERVER_PORTS)
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                return port


def influxd_program() -> str | None:
    """Where influxd is; None when it is not installed."""
    return shutil.which("influxd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/bin")


def need_influxd() -> None:
    """Skip the test, with the reason, on a machine that has no influxd."""
    if influxd_program() is None:
        pytest.skip("NOT TESTED: there is no `influxd` command (Debian: apt-get install influxdb)")


@pytest.fixture(scope="module")
def influx_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InfluxServer]:
    """A server for all tests of a file; no longer, for the runner's tests end every other child of their process."""
    need_influxd()
    with running(InfluxServer(tmp_path_factory.mktemp("influxd"))) as server:
        yield server


@pytest.fixture
def own_influx_server(tmp_path: Path) -> Iterator[InfluxServer]:
    """A server for this test alone, which may stop, kill and restart it."""
    need_influxd()
    with running(InfluxServer(tmp_path / "influxd")) as server:
        yield server


@contextmanager
def running(server: InfluxServer) -> Iterator[InfluxServer]:
    """Start a server and end it with the block."""
    try:
        server.start()
        yield server
    finally:
        server.kill()
