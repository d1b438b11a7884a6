"""Fit the model of a log: arrivals, sessions, objects, and kinds of requests."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import duckdb
import numpy as np
from scipy import optimize

from regatta.host.errors import RegattaError
from regatta.models.load.distributions import Distribution, fit
from regatta.models.load.logs import Read
from regatta.models.load.model import (
    HOURS,
    Arrivals,
    Objects,
    Popular,
    Proxy,
    RequestModel,
    Sessions,
    Source,
    Stratum,
)
from regatta.models.load.visits import Pauses
from regatta.stats.estimate import Floats

#: objects that the model lists, each on a line
LISTED = 100
#: A stratum begins at this multiple of the first rank of the one before.
_WIDTH = 10
_DIGITS = 4
#: Of more values, as many are drawn: their distribution function has an error of at most 0.002.
_MOST_VALUES = 500_000
#: fewer minutes than these have no dispersion
_LEAST_MINUTES = 60


def fit_model(read: Read, pauses: Pauses, names: bool = False) -> RequestModel:
    """Return the model of a log.

    Args:
        read: of `read_logs`; `divide` has made the table `visits`.
        pauses: of the sessions and views.
        names: whether the model has the paths of the listed objects.
    """
    database = read.database
    kinds = _shares(database, "kind")
    begin, end, sessions, queries = database.execute(
        "select min(at_us), max(at_us), max(session), avg(cast(query as integer)) from visits"
    ).fetchall()[0]
    clients = database.execute("select count(distinct client) from requests").fetchall()[0][0]
    seconds = (end - begin) / 1e6
    broken: dict[str, int] = {}
    for one in read.broken:
        broken[one.reason] = broken.get(one.reason, 0) + one.count
    return RequestModel(
        kind="requests",
        source=Source(
            requests=read.requests,
            lines=read.lines,
            broken=broken,
            begin=datetime.fromtimestamp(begin // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S"),
            seconds=_rounded(seconds),
            sessions=int(sessions),
            clients=clients,
            time_resolution_s=read.resolution_us / 1e6,
        ),
        arrivals=_arrivals(database, begin, end, int(sessions)),
        sessions=_sessions(database, pauses),
        objects=_objects(database, names),
        kinds=kinds,  # type: ignore[arg-type]
        methods=_shares(database, "method"),
        queries=_rounded(queries),
        answer_times=_times(database, "duration_us", "duration_us is not null"),
        proxy=_proxy(database),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _shares(database: duckdb.DuckDBPyConnection, column: str) -> dict[str, float]:
    rows = database.execute(f"select {column}, count(*) from visits group by 1 order by 2 desc, 1").fetchall()
    total = sum(count for _, count in rows)
    return {name: float(f"{count / total:.6g}") for name, count in rows}


def _arrivals(database: duckdb.DuckDBPyConnection, begin: int, end: int, sessions: int) -> Arrivals:
    """Count begins of sessions by hour of the day, and per minute."""
    seconds = max((end - begin) / 1e6, 1.0)
    minutes = np.zeros(int((end - begin) // 60_000_000) + 1)
    for minute, count in database.execute(
        f"select (at_us - {begin}) // 60000000, count(*) from visits where gap_us is null group by 1"
    ).fetchall():
        minutes[int(minute)] = count
    hours = ((begin // 60_000_000 + np.arange(len(minutes))) // 60) % HOURS
    mean = minutes.mean()
    by_hour = [
        _rounded(float(minutes[hours == hour].mean() / mean)) if (hours == hour).any() else None
        for hour in range(HOURS)
    ]
    # The first and the last minute are not whole.
    whole, of = minutes[1:-1], (begin // 60_000_000 + np.arange(len(minutes))[1:-1]) // 60
    of = of - of[:1]
    expected = (np.bincount(of, whole) / np.bincount(of))[of] if len(whole) >= _LEAST_MINUTES else np.zeros(0)
    used = expected > 0
    dispersion = None
    if used.any():
        degrees = used.sum() - len(np.unique(of[used]))
        dispersion = _rounded(
            float(((whole[used] - expected[used]) ** 2 / expected[used]).sum() / max(degrees, 1))
        )
    return Arrivals(sessions_per_s=_rounded(sessions / seconds), by_hour=by_hour, dispersion=dispersion)


def _sessions(database: duckdb.DuckDBPyConnection, pauses: Pauses) -> Sessions:
    views = _counted(database, "select count(*) filter (view) as number from visits group by session")
    per_view = _counted(database, "select count(*) as number from visits group by view_number")
    return Sessions(
        idle_s=pauses.idle_s,
        think_s=pauses.think_s,
        views=views,
        requests=per_view,
        gaps=_times(database, "gap_us", "not view"),
        thinking=_times(database, "gap_us", "view and gap_us is not null"),
    )


def _counted(database: duckdb.DuckDBPyConnection, numbers: str) -> Distribution:
    found = database.execute(f"select number, count(*) as times from ({numbers}) group by 1").fetchnumpy()
    return fit(np.asarray(found["number"], dtype=float), np.asarray(found["times"]), whole=True)


def _times(database: duckdb.DuckDBPyConnection, column: str, where: str) -> Distribution | None:
    """Return the distribution of times in s; None without any."""
    count, mean = database.execute(f"select count(*), avg({column}) from visits where {where}").fetchall()[0]
    if not count:
        return None
    drawn = f"using sample reservoir({_MOST_VALUES} rows) repeatable (1)" if count > _MOST_VALUES else ""
    found = database.execute(
        f"select us from (select {column} as us from visits where {where}) {drawn}"
    ).fetchnumpy()["us"]
    # Of a clock of whole microseconds, 0 is anything below half of one.
    fitted = fit(np.maximum(np.asarray(found, dtype=np.float64), 0.25) / 1e6)
    return fitted.model_copy(update={"n": count, "mean": _rounded(mean / 1e6)})


def _proxy(database: duckdb.DuckDBPyConnection) -> Proxy | None:
    """Return what the log says of a cache; None if it says nothing."""
    count, hits, bypassed, hit_bytes, all_bytes = database.execute(
        """
        select count(*), count(*) filter (cache = 'hit'), count(*) filter (cache = 'bypass'),
          coalesce(sum(bytes) filter (cache = 'hit'), 0), coalesce(sum(bytes), 0) from visits where cache is not null
        """
    ).fetchall()[0]
    if not count:
        return None
    return Proxy(
        requests=count,
        hit_ratio=float(f"{hits / count:.6g}"),
        byte_hit_ratio=float(f"{hit_bytes / all_bytes:.6g}") if all_bytes else 0.0,
        uncacheable=float(f"{bypassed / count:.6g}"),
        origin_latency=_times(database, "origin_us", "origin_us is not null"),
    )


def _objects(database: duckdb.DuckDBPyConnection, names: bool) -> Objects:
    """Return the objects in the order of their requests, with the sizes of whole answers."""
    found = database.execute(
        f"""
        select count(*) as times, cast(median(bytes) filter (kind = 'ok' and status = 200) as bigint) as size,
          {"any_value(path)" if names else "''"} as path
        from visits where kind <> 'missing' group by object having size is not null order by times desc, object
        """
    ).fetchnumpy()
    times, sizes = np.asarray(found["times"], dtype=float), np.asarray(found["size"], dtype=float)
    if not len(times):
        raise RegattaError("the log", "an answer with status 200", "none")
    shares = times / times.sum()
    popular = [
        Popular(share=float(f"{share:.6g}"), bytes=int(size), path=str(path or "")[:4096])
        for share, size, path in zip(shares[:LISTED], sizes, found["path"], strict=False)
    ]
    strata = []
    first = LISTED
    while first < len(times):
        last = min(len(times), first * _WIDTH)
        strata.append(
            Stratum(
                objects=last - first,
                share=float(f"{shares[first:last].sum():.6g}"),
                bytes=fit(np.maximum(sizes[first:last], 0.0)),
            )
        )
        first = last
    exponent, distance = fit_zipf(times)
    return Objects(zipf=_rounded(exponent), zipf_distance=_rounded(distance), popular=popular, strata=strata)


def fit_zipf(times: Floats) -> tuple[float, float]:
    """Return the exponent of Zipf's law with the largest likelihood, and the distance of its cumulative shares, 0 to 1.

    Args:
        times: requests of each object, descending.

    Source: Clauset, Shalizi and Newman, Power-Law Distributions in Empirical Data (2009), for a finite number of objects.
    """
    if len(times) < 2:
        return 0.0, 0.0
    logs = np.log(np.arange(1, len(times) + 1))
    shares = times / times.sum()
    mean_log = float((shares * logs).sum())

    def loss(exponent: float) -> float:
        return exponent * mean_log + math.log(np.exp(-exponent * logs).sum())

    found = optimize.minimize_scalar(loss, bounds=(0.0, 10.0), method="bounded", options={"xatol": 1e-6})
    law = np.exp(-float(found.x) * logs)
    return float(found.x), float(np.abs(np.cumsum(law / law.sum()) - np.cumsum(shares)).max())
