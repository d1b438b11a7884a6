"""Compare two loads, each from a log or from a model: distributions of their parts, popularity, and kinds of requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regatta.models.load.drawing import Drawn, Uniform, draw
from regatta.models.load.logs import Read
from regatta.models.load.model import HOURS, RequestModel
from regatta.models.load.visits import KINDS
from regatta.stats.estimate import NAN, Floats
from regatta.stats.two_samples import Distance, clustered_distance

#: A distance up to this is small: at no value do the shares of requests differ by more.
SMALL = 0.05
#: Sessions of a log that is shorter than this many idle pauses are cut off by its ends.
_LEAST_IDLES = 2.0
#: of the sessions of a log that are compared, about
_MOST_REQUESTS = 1_000_000

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Load:
    """The requests of a log, or those drawn from a model, in the order of sessions and times.

    Of each request: `sessions` (number), `gaps_s` since the one before in the session (NaN for its first), `views` (whether it begins
    a view), `bytes` of its answer, `kinds` (index of `KINDS`), `objects` (number), `origin_s`: time that the
    server behind a proxy took (NaN: not asked, or not known). `seconds`: from begin to end; infinite for a
    model. `by_hour`: rate of sessions in each hour of the day, relative to the mean.
    """

    name: str
    sessions: Ints
    gaps_s: Floats
    views: NDArray[np.bool_]
    bytes: Floats
    kinds: Ints
    objects: Ints
    origin_s: Floats
    seconds: float
    by_hour: tuple[float | None, ...]


def of_log(name: str, read: Read, model: RequestModel) -> Load:
    """Return the load of a log: all its sessions, or of many, every second, third ...

    Args:
        name: of the log.
        read: of `read_logs`; `divide` has made its table `visits`.
        model: of the log.
    """
    every = 1 + model.source.requests // _MOST_REQUESTS
    rows = read.database.execute(
        f"""
        select session, cast(gap_us as double) / 1e6 as gap, view, case when kind = 'ok' then bytes else 0 end as bytes,
          list_position([{", ".join(f"'{kind}'" for kind in KINDS)}], kind) - 1 as kind, dense_rank() over (order by object) - 1 as object,
          cast(origin_us as double) / 1e6 as took
        from visits where session % {every} = 0 order by session, at_us, rowid
        """
    ).fetchnumpy()
    gaps = rows["gap"]
    return Load(
        name,
        np.asarray(rows["session"], dtype=np.int64),
        np.ma.filled(np.ma.asarray(gaps, dtype=float), NAN),
        np.asarray(rows["view"], dtype=bool),
        np.asarray(rows["bytes"], dtype=float),
        np.asarray(rows["kind"], dtype=np.int64),
        np.asarray(rows["object"], dtype=np.int64),
        np.ma.filled(np.ma.asarray(rows["took"], dtype=float), NAN),
        model.source.seconds,
        tuple(model.arrivals.by_hour),
    )


def of_model(name: str, model: RequestModel, sessions: int, random: np.random.Generator) -> Load:
    """Return the load of sessions that are drawn from a model."""
    drawn = draw(model, sessions, Uniform(int(random.integers(1 << 62))))
    load = of_drawn(name, drawn, tuple(model.arrivals.by_hour))
    if not len(drawn.latencies_us):
        return load
    # Which request is a hit depends on the cache; the latencies do not depend on it.
    took = random.choice(drawn.latencies_us, len(drawn.objects)) / 1e6
    hit = random.random(len(took)) < (model.proxy.hit_ratio if model.proxy is not None else 0.0)
    return replace(load, origin_s=np.where(hit, NAN, took))


def of_drawn(name: str, drawn: Drawn, by_hour: tuple[float | None, ...] = (None,) * HOURS) -> Load:
    """Return the load of sessions that were drawn."""
    sessions = np.repeat(np.arange(len(drawn.lengths)), drawn.lengths)
    gaps = drawn.gaps_us / 1e6
    gaps[np.cumsum(drawn.lengths) - drawn.lengths] = NAN
    return Load(
        name, sessions, gaps, drawn.views, drawn.sent_bytes.astype(float), drawn.kinds, drawn.objects, np.full(len(gaps), NAN),
        float("inf"), by_hour
    )  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A part of a load: its values and the session of each. `of_sessions`: whether the ends of a short log cut it off."""

    title: str
    unit: str
    of_sessions: bool
    values: Callable[[Load], tuple[Floats, Ints]]


def _sizes(load: Load) -> tuple[Floats, Ints]:
    chosen = load.kinds == KINDS.index("ok")
    return load.bytes[chosen], load.sessions[chosen]


def _gaps(load: Load, thinking: bool) -> tuple[Floats, Ints]:
    chosen = ~np.isnan(load.gaps_s) & (load.views == thinking)
    return load.gaps_s[chosen], load.sessions[chosen]


def _per_view(load: Load) -> tuple[Floats, Ints]:
    begins = np.flatnonzero(load.views)
    return np.diff(begins, append=len(load.views)).astype(float), load.sessions[begins]


def _per_session(load: Load) -> tuple[Floats, Ints]:
    sessions, numbers = np.unique(load.sessions, return_inverse=True)
    return np.bincount(numbers, weights=load.views).astype(float), sessions


def _origin(load: Load) -> tuple[Floats, Ints]:
    chosen = ~np.isnan(load.origin_s)
    return load.origin_s[chosen], load.sessions[chosen]


PARTS = (
    Part("Size of answers", "B", False, _sizes),
    Part("Requests per view", "", False, _per_view),
    Part("Time between requests of a view", "s", False, lambda load: _gaps(load, thinking=False)),
    Part("Views per session", "", True, _per_session),
    Part("Time between views", "s", True, lambda load: _gaps(load, thinking=True)),
)
#: compared only if a load has it
ORIGIN = Part("Latency of the origin", "s", False, _origin)


@dataclass(frozen=True)
class Compared:
    """A part of two loads. `distance` is None with a `reason`."""

    part: Part
    values: tuple[Floats, Floats]
    distance: Distance | None
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """Two loads: their parts; `popularity`: cumulative shares of objects by rank, with their largest difference; `kinds`: shares."""

    names: tuple[str, str]
    parts: Sequence[Compared]
    popularity: tuple[Floats, Floats]
    popularity_distance: float
    kinds: dict[str, tuple[float, float]]
    kinds_distance: float
    by_hour: tuple[tuple[float | None, ...], tuple[float | None, ...]]


def compare_loads(first: Load, second: Load, idle_s: float, random: np.random.Generator) -> Comparison:
    """Compare two loads.

    Args:
        first, second: the loads.
        idle_s: pause that ends a session; logs shorter than two of them cut sessions off.
        random: source of random divisions.
    """
    cut = min(first.seconds, second.seconds) < _LEAST_IDLES * idle_s
    proxied = any(not np.isnan(one.origin_s).all() for one in (first, second))
    parts = [
        _compared(part, first, second, cut, random) for part in (*PARTS, *((ORIGIN,) if proxied else ()))
    ]
    shares = [_by_rank(one, min(len(first.objects), len(second.objects)), random) for one in (first, second)]
    longest = max(len(one) for one in shares)
    padded = [np.pad(one, (0, longest - len(one)), constant_values=1.0) for one in shares]
    kinds = {
        name: (float((first.kinds == at).mean()), float((second.kinds == at).mean()))
        for at, name in enumerate(KINDS)
    }
    return Comparison(
        (first.name, second.name),
        parts,
        (shares[0], shares[1]),
        float(np.abs(padded[0] - padded[1]).max()),
        {name: both for name, both in kinds.items() if max(both) > 0},
        sum(abs(a - b) for a, b in kinds.values()) / 2,
        (first.by_hour, second.by_hour),
    )


def _compared(part: Part, first: Load, second: Load, cut: bool, random: np.random.Generator) -> Compared:
    both = (part.values(first), part.values(second))
    values = (both[0][0], both[1][0])
    if not len(values[0]) or not len(values[1]):
        return Compared(part, values, None, "no values")
    if part.of_sessions and cut:
        return Compared(part, values, None, "the ends of a short log cut sessions off")
    return Compared(part, values, clustered_distance(both[0], both[1], random))


def _by_rank(load: Load, count: int, random: np.random.Generator) -> Floats:
    """Return the cumulative shares of the objects in `count` requests: with more requests, more rare objects are seen."""
    asked = load.objects[load.kinds != KINDS.index("missing")]
    chosen = random.choice(asked, min(count, len(asked)), replace=False) if len(asked) > count else asked
    times = np.sort(np.unique(chosen, return_counts=True)[1])[::-1]
    return np.asarray(np.cumsum(times) / max(times.sum(), 1))
