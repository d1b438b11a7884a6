"""Tables of a request model, and of two loads that are compared."""

from __future__ import annotations

import numpy as np

from regatta.figures.section import Table
from regatta.figures.text import ABSENT, show_percent, show_quantity, significant
from regatta.models.load.comparing import SMALL, Compared, Comparison
from regatta.models.load.distributions import Distribution
from regatta.models.load.model import RequestModel

WORDS = (
    "distance: largest difference of the two distribution functions (Kolmogorov and Smirnov). by chance: distance that two samples of "
    f"one load exceed in 5 % of cases; sessions are exchanged as a whole. small: at most {SMALL:g}."
)


def part_table(model: RequestModel) -> Table:
    """Return one row per distribution of a model, with its distance from the log."""
    sessions, objects, proxy = model.sessions, model.objects, model.proxy
    rows = _rows(
        ("Views per session", "", sessions.views),
        ("Requests per view", "", sessions.requests),
        ("Time between requests of a view", "s", sessions.gaps),
        ("Time between views", "s", sessions.thinking),
    )
    rank = len(objects.popular) + 1
    for stratum in objects.strata:
        rows += _rows((f"Size of objects {rank} to {rank + stratum.objects - 1}", "B", stratum.bytes))
        rank += stratum.objects
    rows += _rows(("Time of an answer", "s", model.answer_times))
    law = f"Zipf, exponent {objects.zipf:g}"
    rows.append(("Popularity of objects", law, "", ABSENT, f"{objects.zipf_distance:.3f}"))
    if proxy is not None:
        shares = {
            "Hit ratio of the proxy": proxy.hit_ratio,
            "Hit ratio of bytes": proxy.byte_hit_ratio,
            "Requests that bypass the cache": proxy.uncacheable,
        }
        n = f"{proxy.requests:,}"
        rows += [(title, "share", n, f"{share:.3f}", ABSENT) for title, share in shares.items()]
        rows += _rows(("Latency of the origin", "s", proxy.origin_latency))
    dispersion = model.arrivals.dispersion
    if dispersion is not None:
        title = "Sessions per minute, dispersion"
        rows.append((title, "1 if independent", "", f"{dispersion:.3g}", ABSENT))
    columns = ("part of the model", "distribution", "n", "mean", "distance from the log")
    return Table("", columns, rows, frozenset((2, 3, 4)))


def _rows(*parts: tuple[str, str, Distribution | None]) -> list[tuple[str, ...]]:
    """Return the rows of parts (title, unit and distribution), without those that a model lacks."""
    rows: list[tuple[str, ...]] = []
    for title, unit, one in parts:
        if one is not None:
            named = ", ".join(
                [one.distribution, *(f"{name} {value:.4g}" for name, value in one.parameters.items())]
            )
            rows.append((title, named, f"{one.n:,}", shown(one.mean, unit), f"{one.distance:.3f}"))
    return rows


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Return the tables of two loads: parts with their distances, and shares of kinds."""
    names = comparison.names
    of_both = (f"{statistic}, {name}" for statistic in ("median", "mean") for name in names)
    rows = [_compared(one) for one in comparison.parts]
    whole = (
        ("Popularity of objects", comparison.popularity_distance),
        ("Kinds of requests", comparison.kinds_distance),
    )
    for title, distance in whole:
        rows.append((title, *[ABSENT] * 4, f"{distance:.3f}", ABSENT, _verdict(distance)))
    kinds = [
        (name, *(show_percent(share, 3) for share in shares)) for name, shares in comparison.kinds.items()
    ]
    return [
        Table("", ("part", *of_both, "distance", "by chance", "verdict"), rows, frozenset(range(1, 7))),
        Table("Kinds of requests", ("kind", *names), kinds, frozenset((1, 2))),
    ]


def _compared(one: Compared) -> tuple[str, ...]:
    medians, means = (
        [shown(float(statistic(values)), one.part.unit) if len(values) else ABSENT for values in one.values]
        for statistic in (np.median, np.mean)
    )
    found = one.distance
    if found is None:
        judged = (ABSENT, ABSENT, f"not compared: {one.reason}")
    else:
        verdict = _verdict(found.distance) if found.shown else "no difference shown"
        judged = (f"{found.distance:.3f}", f"{found.chance:.3f}", verdict)
    return (one.part.title, *medians, *means, *judged)


def _verdict(distance: float) -> str:
    return "small difference" if distance <= SMALL else "different"


def shown(value: float, unit: str) -> str:
    """Return the text of a value; without a unit, it is a number."""
    return show_quantity(value, unit) if unit else significant(value, 3)
