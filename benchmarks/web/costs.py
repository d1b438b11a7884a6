"""Measure the primitives of a web server: the processor time of each kind of request, and of a connection.

The primitives predict the highest throughput of a server under a request model (docs/request-models.md). The command after `--`
is that of the driver `web`, without its sessions. It runs once for each point, with sessions that have only this primitive:

    python3 costs.py --bytes 1024,16384,262144 -- build/web --server nginx --users 64

Only the standard library is used, because this program runs on the measured host. It waits while the driver runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: of requests that do not get the object
_BYTES = 1024
#: Objects of one point: many, because a server seldom sends the same one twice in a row, but quickly written.
_MOST_OBJECTS, _MOST_SITE_BYTES = 1000, 16 << 20
#: requests of a file of sessions
_REQUESTS = 20_000
#: requests per connection where the connection has no weight
_PERSISTENT = 1000
#: kinds of requests in a file of sessions (README.md), and the mark of a new view
_GET, _VIEW = 0, 8
_KINDS = {"head": 1, "unmodified": 2, "missing": 3}


class Point(NamedTuple):
    """One load: requests of one kind for objects of one size, and the parameters of its results."""

    parameters: dict[str, Any]
    kind: int
    size: int
    per_connection: int = _PERSISTENT


def points(sizes: list[int]) -> Iterator[Point]:
    """Yield the loads of all primitives."""
    for size in sizes:
        yield Point({"operation": "get", "bytes": size}, _GET, size)
    for name, kind in _KINDS.items():
        yield Point({"operation": name}, kind, _BYTES)
    for count in (_PERSISTENT, 4, 1):
        yield Point({"operation": "connect", "connections": 1 / count}, _GET, _BYTES, count)


def sessions_text(point: Point) -> str:
    """Return the file of sessions of a load."""
    objects = max(1, min(_MOST_OBJECTS, _MOST_SITE_BYTES // point.size))
    sessions = _REQUESTS // point.per_connection
    chosen = random.Random(1)
    lines = ["regatta-sessions 1", f"objects {objects}", *[str(point.size)] * objects, f"sessions {sessions}"]
    for _ in range(sessions):
        lines.append(f"-1 {point.per_connection}")
        lines += [
            f"0 {chosen.randrange(objects)} {point.kind + (0 if at else _VIEW)}"
            for at in range(point.per_connection)
        ]
    return "\n".join(lines) + "\n"


def measure(point: Point, driver: list[str], folder: Path) -> list[dict[str, Any]]:
    """Run the driver with one load and return its lines of results.

    Raises:
        subprocess.CalledProcessError: the driver failed; its own lines of results say why.
    """
    sessions, results = folder / "sessions", folder / "results"
    sessions.write_text(sessions_text(point))
    results.unlink(missing_ok=True)
    command = [*driver, "--sessions", str(sessions), "--loop", "closed"]
    environment = {**os.environ, "REGATTA_RESULTS": str(results)}
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)
    found = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, command, found)
    return found


def reported(point: Point, lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the results of a point: the cost, its share in user mode, and how busy the server was."""
    values = {
        line["metric"]: line["value"] for line in lines if "metric" in line and "parameters" not in line
    }
    shares = {"user_share": values["user_time"] / values["cpu_time"], "server_share": values["server_share"]}
    for metric, value, unit in (
        ("cpu_time", values["cpu_time"], "ns"),
        *((name, share, "ratio") for name, share in shares.items()),
    ):
        yield {"iteration": 0, "metric": metric, "value": value, "unit": unit, "parameters": point.parameters}


def write(lines: list[dict[str, Any]]) -> None:
    """Append lines to the results of this program, or print them."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path = os.environ.get("REGATTA_RESULTS")
    if path is None:
        sys.stdout.write(text)
        return
    with open(path, "a", encoding="utf-8") as results:
        results.write(text)


def sizes_of(text: str) -> list[int]:
    """Return the sizes in a list such as `1024,16384`: at least two, ascending, from 1 byte to 16 MiB."""
    sizes = [int(word) for word in text.split(",")]
    if len(sizes) < 2 or sizes != sorted(set(sizes)) or not 1 <= sizes[0] <= sizes[-1] <= _MOST_SITE_BYTES:
        raise ValueError(text)
    return sizes


def main(arguments: list[str] | None = None) -> int:
    """Measure all points."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    expected = f"two or more ascending sizes from 1 to {_MOST_SITE_BYTES}, separated by commas"
    parser.add_argument("--bytes", required=True, type=sizes_of, help=f"sizes of objects: {expected}")
    parser.add_argument("driver", nargs="+", help="command of the driver, after --")
    given = parser.parse_args(arguments)
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="costs-", dir=".") as folder:
        for point in points(given.bytes):
            try:
                found = measure(point, given.driver, Path(folder))
            except subprocess.CalledProcessError as error:
                write([line for line in error.output if "error" in line])
                print(f"costs: {point.parameters}: the driver failed", file=sys.stderr)
                return 1
            if not lines:
                lines += [line for line in found if "info" in line]
            lines += reported(point, found)
    write(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
