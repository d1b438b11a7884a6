"""Rate of `regatta ingest` into InfluxDB, compared with bare posting of the same prepared lines."""

from __future__ import annotations

import base64
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from command import run_command
from experiments import HOME, REGATTA, Unfit, environment
from rows import Row, say
from turns import take_turns

sys.path.insert(0, str(HOME / "tests"))
from helpers.synthetic_journal import cell, record, write_experiment

ITERATIONS = 500
COLLECTORS = ("serial", "parallel", "g1", "shenandoah", "z")
FACTORS = (1.25, 1.5, 2.0, 3.0)
MIB = 1 << 20
#: goal: at least three quarters of the rate of bare posting
SHARE = 0.75
MEMORY_MB = 200

#: Save the batches of an ingest: their concatenated bytes, and their sizes.
_READY = """\
import json, sys, threading
from pathlib import Path
from regatta.influx.responses import Refusals
from regatta.influx.ingesting import Ingest
from regatta.influx.settings import Settings
from regatta.store.folder import Folder

class Keeper:
    settings, refusals, stop = Settings(Path("ready"), "http://ready"), Refusals(), threading.Event()
    def __init__(self, file):
        self.file, self.sizes = file, []
    def write(self, blocks):
        self.sizes.append(self.file.write(b"".join(blocks)))

folder, place = Folder(Path(sys.argv[1])), Path(sys.argv[2])
with (place / "ready.lines").open("wb") as file:
    keeper = Keeper(file)
    work = Ingest(folder, keeper)
    for host in work.hosts():
        work.host(host)
(place / "ready.json").write_text(json.dumps({"sizes": keeper.sizes, "points": work.written.points}))
"""

#: post them, without other work
_BARE = """\
import http.client, json, sys, time
from pathlib import Path

place, port, path, authorization = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.stdin.read()
sizes = json.loads((place / "ready.json").read_text())["sizes"]
connection = http.client.HTTPConnection("127.0.0.1", port)
start = time.perf_counter()
with (place / "ready.lines").open("rb") as file:
    for size in sizes:
        connection.request("POST", path, file.read(size), {"Authorization": authorization})
        response = connection.getresponse()
        answer = response.read()
        assert response.status == 204, (response.status, answer)
print(time.perf_counter() - start)
"""


@dataclass
class _Influx:
    """The InfluxDB of this run."""

    place: Path
    url: str
    authorization: str

    def query(self, query: str) -> None:
        request = urllib.request.Request(
            f"{self.url}/query",
            urllib.parse.urlencode({"q": query}).encode(),
            {"Authorization": self.authorization},
        )
        urllib.request.urlopen(request, timeout=600).close()

    @contextmanager
    def database(self, name: str) -> Iterator[None]:
        """Yield settings of an empty database, and drop it afterwards."""
        self.query(f'CREATE DATABASE "{name}"')
        account = {"user": "admin", "password_file": str(_password(self.place))}
        settings = {"url": self.url, "database": name, "write": account}
        _settings(self.place).write_text(json.dumps(settings))
        yield
        self.query(f'DROP DATABASE "{name}"')


def _password(place: Path) -> Path:
    return place / "cache" / "services" / "passwords" / "admin"


def _settings(place: Path) -> Path:
    return place / "influx.yml"


def _run(place: Path, *command: str, stdin: str = "", influx: str = "") -> str:
    """Return the output of a command."""
    told = influx or str(_settings(place))
    own = {
        **environment(place),
        "REGATTA_CACHE": str(place / "cache"),
        "REGATTA_INFLUX": told,
    }
    done = subprocess.run(command, cwd=place, env=own, input=stdin, capture_output=True, text=True)
    if done.returncode:
        raise Unfit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def _influx(place: Path) -> Iterator[_Influx]:
    if not shutil.which("influxd"):
        raise Unfit("influxd: NOT INSTALLED; apt-get install influxdb")
    try:
        _run(place, REGATTA, "up", "--no-grafana", influx="none")
        settings = json.loads(_run(place, sys.executable, "-c", _WHERE))
        secret = _password(place).read_text().strip()
        pair = base64.b64encode(f"admin:{secret}".encode()).decode()
        yield _Influx(place, settings["url"], f"Basic {pair}")
    finally:
        _run(place, REGATTA, "down", "--delete", influx="none")


_WHERE = """\
import json
from regatta.influx.settings import read_settings
from regatta.services.folder import service_folder
print(json.dumps({"url": read_settings(service_folder().settings).url}))
"""


def _write_journal(folder: Path, points: int) -> None:
    """Write about this many values, in records of some hundred iterations."""
    generator = random.Random(1)
    cells = [cell(collector, heap_factor=factor) for collector in COLLECTORS for factor in FACTORS]
    records = points // ITERATIONS

    def made() -> Iterator[dict[str, Any]]:
        for number in range(records):
            values = [generator.gauss(1e6, 1e4) for _ in range(ITERATIONS)]
            yield record(
                cells[number % len(cells)], number // len(cells), values, position=number % len(cells)
            )

    write_experiment(folder, cells, made(), records // len(cells) + 1)


def _peak_mib(place: Path, folder: Path) -> tuple[float, float]:
    """Return the seconds of an ingest, and the peak memory of its process with interpreter and libraries."""
    own = {**environment(place), "REGATTA_INFLUX": str(_settings(place))}
    script = (
        "import atexit, re, sys\n"
        "from regatta.cli.main import main\n"
        "peak = lambda: re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]\n"
        "atexit.register(lambda: print(peak()))\n"
        "main()\n"
    )
    command = [sys.executable, "-c", script, "ingest", str(folder), "--no-estimates", "--json"]
    done = subprocess.run(command, cwd=place, env=own, capture_output=True, text=True)
    if done.returncode:
        raise Unfit(f"regatta ingest: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    told, peak = done.stdout.splitlines()
    return float(json.loads(told)["elapsed_s"]), int(peak) * 1024 / MIB


def _beside(place: Path, influx: _Influx, folder: Path, turns: int) -> Row:
    _run(place, sys.executable, "-c", _READY, str(folder), str(place))
    points = json.loads((place / "ready.json").read_text())["points"]
    numbers = count(1)

    def ours() -> float:
        shutil.rmtree(folder / "influx", ignore_errors=True)
        with influx.database(f"perf{next(numbers)}"):
            told = json.loads(_run(place, REGATTA, "ingest", str(folder), "--no-estimates", "--json"))
            _run(place, REGATTA, "ingest", str(folder), "--no-estimates", "--verify")
        if told["written"] != points:
            raise Unfit(f"expected {points} points, got {told['written']}")
        return float(told["elapsed_s"]) * 1e6 / points

    def bare() -> float:
        name = f"perf{next(numbers)}"
        with influx.database(name):
            path = f"/write?db={name}&precision=ns"
            port = str(urllib.parse.urlsplit(influx.url).port)
            said = _run(
                place, sys.executable, "-c", _BARE, str(place), port, path, stdin=influx.authorization
            )
        return float(said) * 1e6 / points

    found = take_turns({"ours": ours, "bare": bare}, turns)
    ratio = statistics.median(a / b for a, b in zip(found["ours"], found["bare"], strict=True))
    mine, theirs = statistics.median(found["ours"]), statistics.median(found["bare"])
    goal = f"at most, for {SHARE:.0%} of its rate"
    limit = mine / ratio / SHARE
    rates = {name: [round(1e6 / value) for value in values] for name, values in found.items()}
    return Row(
        f"a point of {points} into InfluxDB", "us", mine, theirs, "bare: POST of ready lines", goal, limit,
        ratio <= 1 / SHARE, ratio, {"points_per_s": rates},
    )  # fmt: skip


def measure_ingesting(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    few, many, turns = (10_000, 20_000, 1) if quick else (10**6, 10**7, 5)
    with _influx(place) as influx:
        say(f"{few} points, compared with bare posting")
        folder = place / "results" / "few"
        _write_journal(folder, few)
        rows = [_beside(place, influx, folder, turns)]
        say(f"memory at {few} and at {many} points")
        shutil.rmtree(folder / "influx")
        with influx.database("few"):
            _, small = _peak_mib(place, folder)
        shutil.rmtree(folder)
        folder = place / "results" / "many"
        _write_journal(folder, many)
        with influx.database("many"):
            elapsed_s, large = _peak_mib(place, folder)
    peer, limit = f"ours, {few} points", MEMORY_MB * 1e6 / MIB
    details = {"elapsed_s": elapsed_s, "points_per_s": round(many / elapsed_s), "cpus": os.cpu_count()}
    rows.append(
        Row(f"peak memory, {many} points", "MiB", large, small, peer, "at most", limit, large <= limit, None, details)
    )  # fmt: skip
    return rows


if __name__ == "__main__":
    sys.exit(run_command("How quickly a journal is in InfluxDB.", measure_ingesting))
