"""Access logs whose load is known: lines, files, and a generator that shares no code with the product."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from regatta.models.load.formats import LogFormat, parse_format
from regatta.models.load.logs import Read, read_logs
from regatta.models.load.visits import Pauses, divide

#: 2026-11-24T10:00:00Z
BEGIN_S = 1_795_514_400
AGENT = "Mozilla/5.0 (X11; Linux x86_64)"


def clf_time(at_s: float, hours: int = 0) -> str:
    """The time of a line, in a zone that is some hours ahead of UTC."""
    local = datetime.fromtimestamp(int(at_s), UTC) + timedelta(hours=hours)
    return local.strftime("%d/%b/%Y:%H:%M:%S ") + f"{hours:+03d}00"


def line(
    at_s: float = 0,
    client: str = "192.0.2.1",
    path: str = "/",
    status: int = 200,
    size: int | str = 100,
    *,
    method: str = "GET",
    user: str = "-",
    referer: str = "-",
    agent: str = AGENT,
    request: str | None = None,
    hours: int = 0,
    more: str = "",
) -> str:
    """A line of the Combined Log Format, some seconds after BEGIN_S."""
    asked = f"{method} {path} HTTP/1.1" if request is None else request
    return f'{client} - {user} [{clf_time(BEGIN_S + at_s, hours)}] "{asked}" {status} {size} "{referer}" "{agent}"{more}\n'


def read_text(
    folder: Path, *texts: str | bytes, given: str | LogFormat | None = None, names: bool = False
) -> Read:
    """Write texts to files `0.log`, `1.log` and so on, and read them."""
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{number}.log")
        paths[-1].write_bytes(text.encode() if isinstance(text, str) else text)
    scratch = tempfile.mkdtemp(dir=folder)
    return read_logs(paths, Path(scratch), parse_format(given) if isinstance(given, str) else given, names)


def divided(folder: Path, *texts: str | bytes, pauses: Pauses | None = None, **more: Any) -> Read:
    """Read texts, and divide their requests into sessions and views."""
    read = read_text(folder, *texts, **more)
    divide(read, pauses or Pauses())
    return read


def rows(read: Read, columns: str, table: str = "requests", order: str = "line") -> list[tuple[Any, ...]]:
    """Columns of a table, in an order."""
    return list(read.database.execute(f"select {columns} from {table} order by {order}").fetchall())


@dataclass(frozen=True)
class Known:
    """What a synthetic log is made of. Means and parameters are those of the distributions that are drawn."""

    sessions: int = 1500
    sessions_per_s: float = 0.05
    views: float = 4.0
    requests: float = 2.5
    think_mu: float = 2.5
    think_sigma: float = 0.6
    objects: int = 400
    zipf: float = 0.9
    size_mu: float = 9.0
    size_sigma: float = 1.2
    missing: float = 0.03
    unmodified: float = 0.05


def synthetic(known: Known, random: np.random.Generator) -> list[dict[str, Any]]:
    """Requests: Poisson sessions of geometrically many views, whose pages are Zipf's objects with lognormal sizes."""
    weights = np.arange(1, known.objects + 1) ** -known.zipf
    weights /= weights.sum()
    sizes = np.maximum(np.exp(random.normal(known.size_mu, known.size_sigma, known.objects)).astype(int), 1)
    found: list[dict[str, Any]] = []
    at_s = float(BEGIN_S)
    for session in range(known.sessions):
        at_s += random.exponential(1 / known.sessions_per_s)
        now = at_s
        for view in range(random.geometric(1 / known.views)):
            # A pause of a reader is longer than those within a view.
            now += 1.001 + np.exp(random.normal(known.think_mu, known.think_sigma)) if view else 0.0
            for request in range(random.geometric(1 / known.requests)):
                now += random.uniform(0.01, 0.2) if request else 0.0
                number = int(random.choice(known.objects, p=weights))
                kind = random.random()
                missing = kind < known.missing
                unmodified = not missing and kind < known.missing + known.unmodified
                found.append(
                    {
                        "ts": round(now, 6),
                        "client": f"10.{session >> 16}.{session >> 8 & 255}.{session & 255}",
                        "path": f"/gone/{session}" if missing else f"/secret/object-{number}.html",
                        "status": 404 if missing else 304 if unmodified else 200,
                        "size": 200 if missing else 0 if unmodified else int(sizes[number]),
                    }
                )
    return sorted(found, key=lambda one: one["ts"])


def as_json_lines(requests: Sequence[dict[str, Any]]) -> str:
    """JSON lines of nginx, with times of microseconds."""
    return "".join(
        f'{{"msec":"{one["ts"]:.6f}","remote_addr":"{one["client"]}","request":"GET {one["path"]} HTTP/1.1",'
        f'"status":"{one["status"]}","body_bytes_sent":"{one["size"]}","http_user_agent":"{AGENT}"}}\n'
        for one in requests
    )


def as_combined(requests: Sequence[dict[str, Any]]) -> str:
    """Lines of the Combined Log Format, with times of whole seconds."""
    return "".join(
        line(one["ts"] - BEGIN_S, one["client"], one["path"], one["status"], one["size"]) for one in requests
    )
