"""Divide the requests of a log into sessions and views.

A session is a series of requests of one client without a long pause. A view is a part of it without a pause in which a person
thinks: a page and what it embeds.

Source: Barford and Crovella, Generating Representative Web Workloads for Network and Server Performance Evaluation (1998): a
pause of over one second separates pages.
"""

from __future__ import annotations

from dataclasses import dataclass

from regatta.models.load.logs import Read

#: a pause that ends a session, and one that ends a view, in seconds
IDLE_S, THINK_S = 1800.0, 1.0

#: What a request asks for, by its method and its answer. `ok` and `head` name an object; of `missing`, none exists.
KINDS = ("ok", "head", "unmodified", "missing")
_KIND = """
case when status = 304 then 'unmodified' when status >= 400 then 'missing' when method = 'HEAD' then 'head' else 'ok' end
"""
#: Requests of a log without fractions of seconds are spread over their second at random.
_SPREAD_US = "cast(hash(line) % 1000000 as bigint)"


@dataclass(frozen=True)
class Pauses:
    """The pauses, in seconds, that end a session (`idle_s`) and a view (`think_s`)."""

    idle_s: float = IDLE_S
    think_s: float = THINK_S


def divide(read: Read, pauses: Pauses) -> None:
    """Make the table `visits` of a database: one row per request of a log, in the order of clients and times.

    Columns: `session` and `view_number` (numbers of the session and of the view), `at_us` (begin of the request), `gap_us` (since the one
    before in the session; null for its first), `view` (whether a view begins), `object`, `kind` (of `KINDS`), `method`, `status`,
    `bytes`, `query`, `duration_us`, `cache`, `origin_us`, `path`.

    Args:
        read: of `read_logs`.
        pauses: that end sessions and views.
    """
    begin = "at_us - coalesce(duration_us, 0)" if read.at_end else "at_us"
    spread = _SPREAD_US if read.resolution_us > 1 else "0"
    # One sort; windows over all rows in their order need none.
    read.database.execute(
        f"""
        create or replace temp table ordered as
        select * exclude (line) replace ({begin} + {spread} as at_us) from requests order by client, {begin} + {spread}, line
        """
    )
    read.database.execute(
        f"""
        create or replace table visits as
        select sum(cast(gap_us is null as integer)) over (rows unbounded preceding) as session,
          sum(cast(view as integer)) over (rows unbounded preceding) as view_number, at_us, gap_us, view, object, {_KIND} as kind, method,
          status, bytes, query, duration_us, cache, origin_us, path
        from (
          select *, gap_us is null or gap_us > {1e6 * pauses.think_s} as view from (
            select *, case when client = previous and pause <= {1e6 * pauses.idle_s} then pause end as gap_us from (
              select *, lag(client) over () as previous, at_us - lag(at_us) over () as pause from ordered)))
        """
    )
    read.database.execute("drop table ordered")
