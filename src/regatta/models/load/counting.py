"""Count the primitives of a web server in sessions: the application vector of a request model.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, sections 3.1.1 and 3.1.2.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from regatta.host.errors import RegattaError
from regatta.host.files import read_bounded
from regatta.host.foreign import foreign
from regatta.models.load.drawing import HEADER, VIEW, Drawn
from regatta.models.load.visits import KINDS
from regatta.models.vectors.values import ApplicationVector, Count, Share, Value
from regatta.spec.problems import shown_path

#: 10^6 requests take some 10 MiB
_MOST_BYTES = 64 << 20

#: begin of a section of a file of sessions: its name, and the number of its entries
_SECTION = re.compile(r"^[ \t]*([a-z]+)[ \t]+(\d+)[ \t\r]*$", re.MULTILINE)
_SECTIONS = [
    ["objects", "sessions", *more] for more in ([], ["private"], ["latencies"], ["private", "latencies"])
]
#: in an application vector, the primitive of each kind of request, see configs/primitives/web.yml
PRIMITIVES = {"ok": "get", "head": "head", "unmodified": "unmodified", "missing": "missing"}
CONNECTION = "connection"
#: the benchmark whose requests and connections the vector has
BENCHMARK = "web/saturation"
#: The server closes a connection that is idle for longer (WEB_KEEP_ALIVE_S of the driver).
KEEP_ALIVE_S = 5
#: Bounds of the classes of sizes, in bytes. A cost that is linear between these is exact for the mean size of a class.
BOUNDS = tuple(4**power for power in range(4, 16))


def vector_of(drawn: Drawn, name: str, source: str = "") -> ApplicationVector:
    """Return how often a mean request of sessions uses each primitive of a web server.

    Counts are exact: they are those of these sessions. A connection is needed for each session, and after each pause for which the
    server does not keep it. The user time is 0, because a server does nothing that is not a part of a primitive.

    Args:
        drawn: at least one request.
        name: of the vector.
        source: of the sessions, for the provenance.
    """
    requests = len(drawn.kinds)
    counts = [
        Count(primitive, _exact(found / requests), {}, _sizes(drawn) if kind == "ok" else ())
        for number, (kind, primitive) in enumerate((kind, PRIMITIVES[kind]) for kind in KINDS)
        if (found := int(np.sum(drawn.kinds == number)))
    ]
    idle = drawn.views & (drawn.gaps_us > KEEP_ALIVE_S * 1_000_000)
    connections = len(drawn.lengths) + int(idle.sum())
    counts.append(Count(CONNECTION, _exact(connections / requests)))
    provenance = {
        "made_by": "regatta model vector",
        "sessions": source,
        "requests": str(requests),
        "bytes_per_request": f"{drawn.sent_bytes.mean():.6g}",
    }
    return ApplicationVector(
        name, "request", tuple(counts), user_time=_exact(0.0), benchmark=BENCHMARK, provenance=provenance
    )


def _exact(number: float) -> Value:
    return Value.exact(float(number))


def _sizes(drawn: Drawn) -> tuple[Share, ...]:
    """Return each class of sizes with its mean and its share of the requests that get an object."""
    sizes = drawn.sent_bytes[drawn.kinds == KINDS.index("ok")]
    classes = np.searchsorted(BOUNDS, sizes, side="right")
    return tuple(
        Share({"bytes": float(own.mean())}, len(own) / len(sizes))
        for own in (sizes[classes == number] for number in np.unique(classes))
    )


def read_sessions(path: Path) -> Drawn:
    """Read a file of sessions; benchmarks/web/README.md describes it.

    Raises:
        RegattaError: it cannot be read, or is no file of sessions.
    """
    where = shown_path(path)
    try:
        header, _, text = read_bounded(path, _MOST_BYTES).decode("ascii").partition("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RegattaError(where, "a readable file of sessions", str(error)) from error
    if header.split() != HEADER.split():
        raise RegattaError(where, f"the first line `{HEADER}`", repr(header[:40]), "`regatta model sessions`")
    with foreign(path, "a complete file of sessions", "`regatta model sessions`"):
        return _parsed(text)


def _parsed(text: str) -> Drawn:
    before, *parts = _SECTION.split(text)
    names = parts[::3]
    if before.strip() or names not in _SECTIONS:
        raise ValueError(f"the sections {', '.join(names) or 'none'}")
    counts = dict(zip(names, map(int, parts[1::3]), strict=True))
    numbers = {name: np.array(body.split(), np.int64) for name, body in zip(names, parts[2::3], strict=True)}
    for name in names:
        if name != "sessions" and len(numbers[name]) != counts[name]:
            raise ValueError(f"{len(numbers[name])} of {counts[name]} numbers of {name}")
    begins, lengths, rows = [], [], []
    at, given = 0, numbers["sessions"]
    for _ in range(counts["sessions"]):
        begin, length = (int(number) for number in given[at : at + 2])
        if length < 1:
            raise ValueError(f"a session with {length} requests")
        begins.append(begin)
        lengths.append(length)
        rows.append(given[at + 2 : at + 2 + 3 * length])
        at += 2 + 3 * length
    if at != len(given) or not rows:
        raise ValueError(f"{len(given)} numbers of {len(rows)} sessions")
    gaps, chosen, kinds = np.concatenate(rows).reshape(-1, 3).T
    views, kinds = kinds >= VIEW, kinds % VIEW
    if chosen.min() < 0 or chosen.max() >= counts["objects"] or kinds.min() < 0 or kinds.max() >= len(KINDS):
        raise ValueError("a request of an unknown object or kind")
    none = np.zeros(0, np.int64)
    private = np.zeros(counts["objects"], dtype=bool)
    private[numbers.get("private", none)] = True
    return Drawn(
        np.array(begins), np.array(lengths), gaps, chosen, kinds, views, numbers["objects"], private,
        numbers.get("latencies", none),
    )  # fmt: skip
