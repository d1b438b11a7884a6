"""Count the primitives of a web server in sessions: the application vector of a request model.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, sections 3.1.1 and 3.1.2.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from regatta.host.errors import RegattaError
from regatta.host.files import read_bounded
from regatta.host.foreign import foreign
from regatta.models.load.drawing import HEADER, VIEW, Drawn, Ints
from regatta.models.load.visits import KINDS
from regatta.models.vectors.values import ApplicationVector, Count, Share, Value
from regatta.spec.problems import shown_path

#: 10^6 requests take some 10 MiB
_MOST_BYTES = 64 << 20

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
        words = text.split()
    except (OSError, UnicodeDecodeError) as error:
        raise RegattaError(where, "a readable file of sessions", str(error)) from error
    if header.split() != HEADER.split():
        raise RegattaError(where, f"the first line `{HEADER}`", repr(header[:40]), "`regatta model sessions`")
    with foreign(path, "a complete file of sessions", "`regatta model sessions`"):
        return _parsed(words)


def _parsed(words: list[str]) -> Drawn:
    objects, at = _counted(words, 0, "objects")
    sizes = _numbers(words[at : at + objects])
    sessions, at = _counted(words, at + objects, "sessions")
    end = next((one for one in range(at, len(words)) if words[one].isalpha()), len(words))
    numbers = _numbers(words[at:end])
    begins, lengths, first = [], [], 0
    rows = []
    for _ in range(sessions):
        begin, length = (int(number) for number in numbers[first : first + 2])
        if length < 1:
            raise ValueError(f"a session with {length} requests")
        begins.append(begin)
        lengths.append(length)
        rows.append(numbers[first + 2 : first + 2 + 3 * length])
        first += 2 + 3 * length
    if first != len(numbers) or len(sizes) != objects or not sessions:
        raise ValueError(f"{len(numbers)} numbers of {sessions} sessions, {len(sizes)} of {objects} sizes")
    gaps, chosen, kinds = np.concatenate(rows).reshape(-1, 3).T
    views, kinds = kinds >= VIEW, kinds % VIEW
    if chosen.min() < 0 or chosen.max() >= objects or kinds.min() < 0 or kinds.max() >= len(KINDS):
        raise ValueError("a request of an unknown object or kind")
    private, end = _optional(words, end, "private")
    latencies, end = _optional(words, end, "latencies")
    if end != len(words):
        raise ValueError(f"{words[end]} after the sessions")
    is_private = np.zeros(objects, dtype=bool)
    is_private[private] = True
    return Drawn(
        np.array(begins), np.array(lengths), gaps, chosen, kinds, views, sizes, is_private, latencies
    )


def _optional(words: list[str], at: int, name: str) -> tuple[Ints, int]:
    """Return the numbers of a section that may be absent, and the place after it."""
    if words[at : at + 1] != [name]:
        return _numbers([]), at
    count, at = _counted(words, at, name)
    if len(words) < at + count:
        raise ValueError(f"{len(words) - at} of {count} numbers of {name}")
    return _numbers(words[at : at + count]), at + count


def _counted(words: list[str], at: int, name: str) -> tuple[int, int]:
    """Return the number after a name, and the place after it."""
    if words[at : at + 1] != [name]:
        raise ValueError(f"{' '.join(words[at : at + 1]) or 'the end'} instead of `{name}`")
    return int(words[at + 1]), at + 2


def _numbers(words: list[str]) -> Ints:
    return np.array(words, dtype=np.int64)
