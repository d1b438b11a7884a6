"""The services of a user who has a cache of their own: started and ended by the command, asked as a client asks."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import select
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import pytest

from regatta.cli.main import main

HOME = Path(__file__).parents[3]
REGATTA = Path(sys.executable).with_name("regatta")
END_S = 300.0
POINT = "event,experiment=e,host=none,kind=plan planned=1i 1\n"


def run_here(words: tuple[str, ...], code: int, environment: Mapping[str, str]) -> str:
    """Run a command of Regatta's in this process, where it has been imported already.

    It must end with `code`. No settings of services but those of `environment` reach it. Returns what it said.
    """
    said = io.StringIO()
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GF_", "REGATTA_INFLUX"))}
    with (
        patch.dict(os.environ, {**kept, "REGATTA_HOME": str(HOME), **environment}, clear=True),
        patch.object(sys, "argv", ["regatta", *words]),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        pytest.raises(SystemExit) as ended,
    ):
        main()
    assert ended.value.code == code, said.getvalue()
    return said.getvalue()


def asked(port: object, path: str, account: tuple[str, str] | None, body: str) -> tuple[int, str]:
    """Send a request to InfluxDB, as an account (its password second) or nobody; returns the status and what it answers."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body.encode())
    if account is not None:
        request.add_header("Authorization", "Basic " + base64.b64encode(":".join(account).encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Services:
    """The services of a user who has a cache of their own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "services"
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("GF_", "REGATTA_INFLUX"))
        }
        self.environment = {**kept, "REGATTA_CACHE": str(folder), "REGATTA_HOME": str(HOME)}

    def start(self, *words: str, **environment: str) -> subprocess.Popen[str]:
        """Start the command."""
        return subprocess.Popen(
            [REGATTA, *words], env={**self.environment, **environment}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str, code: int = 0, **environment: str) -> str:
        """Run the command, which must end with `code`; returns what it said."""
        return run_here(words, code, {"REGATTA_CACHE": str(self.root.parent), **environment})

    def up(self, *words: str, **environment: str) -> str:
        """Start InfluxDB alone, on any port."""
        return self.run("up", "--no-grafana", *words, code=0, **environment)

    @property
    def state(self) -> dict[str, object]:
        """What is noted of influxd."""
        noted = json.loads((self.root / "influxdb.json").read_text())
        assert isinstance(noted, dict)
        return noted

    @property
    def pid(self) -> int:
        """Of influxd."""
        pid = self.state["pid"]
        assert isinstance(pid, int)
        return pid

    def kill(self) -> None:
        """Kill influxd, and wait until it and all that it has open are gone."""
        process = os.pidfd_open(self.pid)
        try:
            signal.pidfd_send_signal(process, signal.SIGKILL)
            assert select.select([process], [], [], END_S)[0]
        finally:
            os.close(process)

    def password(self, account: str) -> str:
        """As a user reads it."""
        return (self.root / "passwords" / account).read_text().strip()

    def ask(self, path: str, account: str | None, body: str, password: str | None = None) -> tuple[int, str]:
        """Send a request to InfluxDB; returns the status and what it answers."""
        who = None if account is None else (account, password or self.password(account))
        return asked(self.state["port"], path, who, body)

    def query(self, query: str, account: str | None, password: str | None = None) -> tuple[int, str]:
        """Ask InfluxQL."""
        return self.ask("/query?db=regatta", account, urllib.parse.urlencode({"q": query}), password)

    def write(self, account: str | None, line: str = POINT) -> int:
        """Write a point; returns the status."""
        return self.ask("/write?db=regatta", account, line)[0]

    def points(self) -> int:
        """How many points the reader sees."""
        status, body = self.query("SELECT count(planned) FROM event", "reader")
        assert status == 200, body
        series = json.loads(body)["results"][0].get("series", [])
        return int(series[0]["values"][0][1]) if series else 0

    def processes(self) -> list[int]:
        """Every process that works in the folder, and is not only waiting to be reaped."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                place = os.readlink(entry / "cwd")
            except OSError:
                continue
            if place.startswith(str(self.root)):
                found.append(int(entry.name))
        return found
