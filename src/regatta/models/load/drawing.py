"""Draw sessions from a model, or take those of a log as they are, and write them for the web driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from regatta.host.errors import RegattaError
from regatta.host.files import write_output
from regatta.models.load.distributions import Distribution
from regatta.models.load.logs import Read
from regatta.models.load.model import RequestModel
from regatta.models.load.visits import KINDS
from regatta.stats.estimate import Floats

Ints = NDArray[np.int64]
#: version of the file of sessions, see benchmarks/web/README.md
HEADER = "regatta-sessions 1"
#: in the file: added to the kind of a request that begins a view
VIEW = 8
#: equally likely latencies that stand for a distribution, in a file of sessions; the longest that the driver takes
_LATENCIES, _MOST_LATENCY_US = 1000, 600_000_000
#: A server's files have at least this many bytes, and no more than it serves in minutes.
_LEAST_BYTES, _MOST_BYTES = 1, 1 << 30


_SHARES = (np.arange(_LATENCIES) + 0.5) / _LATENCIES


@dataclass(frozen=True)
class Drawn:
    """Sessions with their requests, and the objects that they ask for.

    `begins_us`: planned begin of each session; -1: not planned. `lengths`: its number of requests. Of each request, in the order
    of sessions: `gaps_us` since the one before (0 for the first), `objects` (index), `kinds` (index of `KINDS`), `views` (whether it
    begins a view). `sizes`: bytes of each object. `private`: whether a proxy may not cache it. `latencies_us`: equally likely times
    that the server behind the proxy takes, ascending; empty: not known.
    """

    begins_us: Ints
    lengths: Ints
    gaps_us: Ints
    objects: Ints
    kinds: Ints
    views: NDArray[np.bool_]
    sizes: Ints
    private: NDArray[np.bool_]
    latencies_us: Ints

    @property
    def sent_bytes(self) -> Ints:
        """Return the bytes of the body that each request gets; 0 if not of an object."""
        return np.where(self.kinds == KINDS.index("ok"), self.sizes[self.objects], 0)


class Uniform:
    """Uniform random numbers. A seed gives the same ones with every version of Python and numpy.

    Source: `random` in Python's library reference, "Notes on Reproducibility".
    """

    def __init__(self, seed: int) -> None:
        self._next = Random(seed).random

    def random(self, count: int) -> Floats:
        """Return numbers from 0 to below 1."""
        return np.fromiter((self._next() for _ in range(count)), float, count)


def draw(model: RequestModel, sessions: int, random: Uniform, size_factor: float = 1.0) -> Drawn:
    """Draw sessions of a model, and the sizes of objects that it does not list.

    Times and sizes are whole, so the last digits of a mathematical library do not change them.

    Args:
        model: of a log.
        sessions: their number, >= 1.
        random: source of all choices.
        size_factor: multiplies the sizes of objects, > 0.
    """
    views_per_session = _whole(model.sessions.views, sessions, random)
    requests_per_view = _whole(model.sessions.requests, int(views_per_session.sum()), random)
    count = int(requests_per_view.sum())
    lengths = np.add.reduceat(requests_per_view, np.cumsum(views_per_session) - views_per_session)
    view_begins = np.cumsum(requests_per_view) - requests_per_view
    session_begins = np.cumsum(lengths) - lengths
    views = np.zeros(count, dtype=bool)
    views[view_begins] = True
    gaps_s = np.zeros(count)
    for distribution, chosen in ((model.sessions.gaps, ~views), (model.sessions.thinking, views)):
        if distribution is not None:
            gaps_s[chosen] = distribution.quantile(random.random(int(chosen.sum())))
    # A pause ends a view exactly where it is longer than that of the model.
    limits = (
        np.where(views, model.sessions.think_s, 0.0),
        np.where(views, model.sessions.idle_s, model.sessions.think_s),
    )
    gaps_s = np.clip(gaps_s, *limits)
    gaps_s[session_begins] = 0.0
    shares, sizes = _site(model, random)
    objects = _chosen(shares, count, random)
    named = np.array([KINDS.index(name) for name in model.kinds])
    kinds = named[_chosen(np.array(list(model.kinds.values())), count, random)]
    private = _private(model, objects, len(sizes), random)
    latency = model.proxy.origin_latency if model.proxy is not None else None
    return Drawn(
        np.full(sessions, -1),
        lengths,
        np.rint(1e6 * gaps_s).astype(np.int64),
        objects,
        _unconditional(kinds, private[objects]),
        views,
        np.rint(sizes * size_factor).clip(_LEAST_BYTES, _MOST_BYTES).astype(np.int64),
        private,
        np.zeros(0, dtype=np.int64) if latency is None else _whole_us(1e6 * latency.quantile(_SHARES)),
    )


def _private(model: RequestModel, objects: Ints, count: int, random: Uniform) -> NDArray[np.bool_]:
    """Choose objects at random, with up to the share of requests that bypass the cache."""
    private = np.zeros(count, dtype=bool)
    if model.proxy is None or model.proxy.uncacheable == 0:
        return private
    times = np.bincount(objects, minlength=count)
    left = model.proxy.uncacheable * len(objects)
    used = np.flatnonzero(times)
    for number in used[np.argsort(random.random(len(used)))]:
        if times[number] <= left:
            private[number] = True
            left -= times[number]
    return private


def _unconditional(kinds: Ints, private: NDArray[np.bool_]) -> Ints:
    """Return the kinds of requests; a client has no copy of an object that may not be cached."""
    return np.where(private & (kinds == KINDS.index("unmodified")), KINDS.index("ok"), kinds)


def _whole_us(values: Floats) -> Ints:
    return np.rint(values).clip(0, _MOST_LATENCY_US).astype(np.int64)


def _whole(distribution: Distribution, count: int, random: Uniform) -> Ints:
    return np.maximum(1, distribution.quantile(random.random(count))).astype(np.int64)


def _chosen(shares: Floats, count: int, random: Uniform) -> Ints:
    """Return that many indices, each one as often as its share."""
    cumulative = np.cumsum(shares)
    at = np.searchsorted(cumulative, random.random(count) * cumulative[-1], side="right")
    return np.asarray(at.clip(0, len(shares) - 1))


def _site(model: RequestModel, random: Uniform) -> tuple[Floats, Floats]:
    """Return share and size of every object. Within a stratum, shares follow the model's law of Zipf."""
    shares = [np.array([one.share for one in model.objects.popular])]
    sizes = [np.array([float(one.bytes) for one in model.objects.popular])]
    rank = len(model.objects.popular) + 1
    for stratum in model.objects.strata:
        ranks = np.arange(rank, rank + stratum.objects, dtype=float)
        law = ranks**-model.objects.zipf
        shares.append(stratum.share * (law / law.sum()))
        sizes.append(stratum.bytes.quantile(random.random(stratum.objects)))
        rank += stratum.objects
    return np.concatenate(shares), np.concatenate(sizes)


def replayed(read: Read) -> Drawn:
    """Return the sessions of a log as they are, with their begins from the first one.

    Args:
        read: of `read_logs`; `divide` has made the table `visits`.

    Raises:
        RegattaError: no answer with status 200.
    """
    rows = read.database.execute(
        """
        with sizes as (
          select object, dense_rank() over (order by object) - 1 as number,
            cast(median(bytes) filter (kind = 'ok' and status = 200) as bigint) as size
          from visits group by object having size is not null)
        select session, at_us, coalesce(gap_us, 0) as gap_us, view, kind, coalesce(number, 0) as number
        from visits left join sizes using (object) where kind = 'missing' or number is not null order by session, at_us, visits.rowid
        """
    ).fetchnumpy()
    found = read.database.execute(
        """
        select cast(median(bytes) filter (kind = 'ok' and status = 200) as bigint) as size,
          coalesce(avg(cast(cache = 'bypass' as integer)), 0) > 0.5 as private
        from visits group by object having size is not null order by object
        """
    ).fetchnumpy()
    sizes, private = found["size"], np.asarray(found["private"], dtype=bool)
    if not len(sizes):
        raise RegattaError("the log", "an answer with status 200", "none")
    _, begins, lengths = np.unique(rows["session"], return_index=True, return_counts=True)
    at_us = np.asarray(rows["at_us"], dtype=np.int64)
    gaps = np.diff(at_us, prepend=at_us[:1])
    gaps[begins] = 0
    starts = at_us[begins] - at_us.min()
    order = np.argsort(starts, kind="stable")
    # In the order of the begins of sessions.
    pieces = np.concatenate([np.arange(begins[at], begins[at] + lengths[at]) for at in order])
    views = np.asarray(rows["view"], dtype=bool)
    views[begins] = True
    kinds = np.array([KINDS.index(str(kind)) for kind in rows["kind"]])
    objects = np.asarray(rows["number"], dtype=np.int64)
    took = read.database.execute("select origin_us from visits where origin_us is not null")
    took_us = np.asarray(took.fetchnumpy()["origin_us"], dtype=float)
    return Drawn(
        starts[order],
        lengths[order],
        gaps[pieces],
        objects[pieces],
        _unconditional(kinds, private[objects])[pieces],
        views[pieces],
        np.asarray(sizes, dtype=np.int64).clip(_LEAST_BYTES, _MOST_BYTES),
        private,
        _whole_us(np.quantile(took_us, _SHARES)) if len(took_us) else np.zeros(0, dtype=np.int64),
    )


def write_sessions(drawn: Drawn, path: Path) -> None:
    """Write the file of sessions for the web driver, atomically. benchmarks/web/README.md describes it.

    Objects that no request asks for are left out, so objects get other numbers.

    Raises:
        RegattaError: the file cannot be written.
    """
    used, numbers = np.unique(drawn.objects, return_inverse=True)
    rows = np.column_stack([drawn.gaps_us, numbers, drawn.kinds + VIEW * drawn.views])
    lines = [f"{gap} {number} {kind}" for gap, number, kind in rows.tolist()]
    parts = [
        HEADER, f"objects {len(used)}", *map(str, drawn.sizes[used].tolist()), f"sessions {len(drawn.lengths)}",
    ]  # fmt: skip
    at = 0
    for begin, length in zip(drawn.begins_us.tolist(), drawn.lengths.tolist(), strict=True):
        parts.append(f"{begin} {length}")
        parts += lines[at : at + length]
        at += length
    for name, values in (
        ("private", np.flatnonzero(drawn.private[used])),
        ("latencies", drawn.latencies_us),
    ):
        if len(values):
            parts += [f"{name} {len(values)}", *map(str, values.tolist())]
    write_output(path, "\n".join(parts) + "\n")


def joined(parts: Sequence[Drawn]) -> Drawn:
    """Return the sessions of several parts together; each part keeps its objects."""
    offsets = np.cumsum([0, *(len(part.sizes) for part in parts[:-1])])
    together = {
        one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Drawn)
    }
    objects = [part.objects + offset for part, offset in zip(parts, offsets, strict=True)]
    return Drawn(**together | {"objects": np.concatenate(objects), "latencies_us": _joined_latencies(parts)})


def _joined_latencies(parts: Sequence[Drawn]) -> Ints:
    """Return the latencies of all parts that have some, each with the weight of its requests."""
    known = [part for part in parts if len(part.latencies_us)]
    if len(known) <= 1:
        return known[0].latencies_us if known else np.zeros(0, dtype=np.int64)
    weights = np.concatenate(
        [np.full(len(part.latencies_us), len(part.objects) / len(part.latencies_us)) for part in known]
    )
    values = np.concatenate([part.latencies_us for part in known])
    return np.asarray(np.quantile(values, _SHARES, weights=weights, method="inverted_cdf"), dtype=np.int64)
