"""The table of a request model: its distributions, and how close they are to the log."""

from __future__ import annotations

from regatta.figures.section import Table
from regatta.figures.text import ABSENT, show_quantity, significant
from regatta.models.load.distributions import Distribution
from regatta.models.load.model import Proxy, RequestModel


def part_table(model: RequestModel) -> Table:
    """Return one row per distribution of a model."""
    sessions = model.sessions
    rows = [
        _row("Views per session", "", sessions.views),
        _row("Requests per view", "", sessions.requests),
        _row("Time between requests of a view", "s", sessions.gaps),
        _row("Time between views", "s", sessions.thinking),
        *(
            _row(f"Size of objects {rank} to {rank + stratum.objects - 1}", "B", stratum.bytes)
            for rank, stratum in zip(_ranks(model), model.objects.strata, strict=True)
        ),
        _row("Time of an answer", "s", model.answer_times),
        (
            "Popularity of objects",
            f"Zipf, exponent {model.objects.zipf:g}",
            "",
            ABSENT,
            f"{model.objects.zipf_distance:.3f}",
        ),
    ]
    if model.proxy is not None:
        rows += _proxy_rows(model.proxy)
    if model.arrivals.dispersion is not None:
        rows.append(
            (
                "Sessions per minute, dispersion",
                "1 if independent",
                "",
                f"{model.arrivals.dispersion:.3g}",
                ABSENT,
            )
        )
    return Table(
        "",
        ("part of the model", "distribution", "n", "mean", "distance from the log"),
        [row for row in rows if row],
        frozenset((2, 3, 4)),
    )


def _proxy_rows(proxy: Proxy) -> list[tuple[str, ...]]:
    shares = (
        ("Hit ratio of the proxy", proxy.hit_ratio),
        ("Hit ratio of bytes", proxy.byte_hit_ratio),
        ("Requests that bypass the cache", proxy.uncacheable),
    )
    return [
        *((title, "share", f"{proxy.requests:,}", f"{share:.3f}", ABSENT) for title, share in shares),
        _row("Latency of the origin", "s", proxy.origin_latency),
    ]


def _ranks(model: RequestModel) -> list[int]:
    ranks = [len(model.objects.popular) + 1]
    for stratum in model.objects.strata:
        ranks.append(ranks[-1] + stratum.objects)
    return ranks[:-1]


def _row(title: str, unit: str, one: Distribution | None) -> tuple[str, ...]:
    if one is None:
        return ()
    mean = show_quantity(one.mean, unit) if unit else significant(one.mean, 3)
    parameters = ", ".join(f"{name} {value:.4g}" for name, value in one.parameters.items())
    return (
        title,
        f"{one.distribution}{', ' if parameters else ''}{parameters}",
        f"{one.n:,}",
        mean,
        f"{one.distance:.3f}",
    )
