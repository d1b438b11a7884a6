"""Files of sessions for the web driver, and the server's log of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers import in_process

GET, HEAD, CONDITIONAL, MISSING = range(4)
NEW_VIEW = 8
#: by the kind of a request
METHODS = ("GET", "HEAD", "GET", "GET")
STATUSES = (200, 200, 304, 404)
MISSING_BYTES = len("There is no such file.\n")

#: gap in microseconds, object, kind
Request = tuple[int, int, int]


@dataclass(frozen=True)
class Session:
    start_us: int
    requests: Sequence[Request]


def sessions_text(object_bytes: Sequence[int], sessions: Sequence[Session]) -> str:
    lines = ["regatta-sessions 1", f"objects {len(object_bytes)}", *map(str, object_bytes)]
    lines.append(f"sessions {len(sessions)}")
    for session in sessions:
        lines.append(f"{session.start_us} {len(session.requests)}")
        lines += [f"{gap} {number} {kind}" for gap, number, kind in session.requests]
    return "\n".join(lines) + "\n"


def write_sessions(path: Path, object_bytes: Sequence[int], sessions: Sequence[Session]) -> Path:
    path.write_text(sessions_text(object_bytes, sessions))
    return path


def shop_sessions(directory: Path) -> Path:
    """The sessions that the suite `web` draws from the model of the example shop."""
    path = directory / "shop.sessions"
    model = Path(__file__).parents[3] / "configs/loads/shop.yml"
    words = ("model", "sessions", str(model), "-o", str(path), "--sessions", "1000")
    done = in_process.regatta(*words, cwd=directory)
    assert done.returncode == 0, done.stderr
    return path


def path_of(number: int, kind: int = GET) -> str:
    """How a request names an object."""
    return f"/f/{number // 1000}/{number}" + (".missing" if kind == MISSING else "")


@dataclass(frozen=True)
class Logged:
    """A line of the server's log."""

    visit: int
    method: str
    path: str
    status: int
    #: of the body
    bytes: int


_LINE = re.compile(
    r'"(GET|HEAD) (\S+) HTTP/1\.1" (\d+) (\d+|-) "-" "s(\d+)" (?:\d+|\d+\.\d{3}) (?:\d{16}|\d+\.\d{3})$'
)


def logged(path: Path) -> list[Logged]:
    """All lines but those of the start of the server; each has the duration of the request and an exact time."""
    found = []
    for line in path.read_text().splitlines():
        if "GET /nonce " in line:
            continue
        matched = _LINE.search(line)
        assert matched, line
        method, name, status, size, visit = matched.groups()
        found.append(Logged(int(visit), method, name, int(status), 0 if size == "-" else int(size)))
    return found
