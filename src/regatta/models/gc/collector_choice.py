"""Choose between two collectors for a program that was measured with G1 only.

The profile of one collector seldom decides between two others. The rule therefore uses only what was equal in
nearly all other programs, and refuses in all other cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regatta.stats.intervals import t_quantile

#: G1 and the collectors of `OTHERS`, in the order of columns
COLLECTORS = ("G1", "Parallel", "Serial", "Shenandoah", "Z", "Zgen")
#: Run time with each collector / that with G1 at 2 x minheap, iterations 6 to 10; NaN if the program does not
#: complete. From 22 programs of DaCapo Chopin on OpenJDK 21 with 32 hardware threads
#: (github.com/dacapobench/dacapobench, commit 4e3de06, Apache License 2.0), rounded to 2 decimals.
RATIOS: Mapping[str, tuple[float, ...]] = {
    "avrora": (1.00, 1.00, 0.99, 1.00, math.nan, math.nan),
    "batik": (1.00, 1.14, 1.40, 1.01, 1.09, 1.22),
    "biojava": (1.00, 0.96, 0.96, 1.52, 22.52, 2.47),
    "cassandra": (1.00, 0.99, 1.13, 1.14, 1.76, 6.28),
    "eclipse": (1.00, 1.00, 1.10, 1.05, 1.12, 1.14),
    "fop": (1.00, 0.98, 1.03, 2.48, 3.31, 9.39),
    "graphchi": (1.00, 0.98, 1.03, 2.78, 1.27, 1.27),
    "h2": (1.00, 0.90, 1.56, 3.16, 5.22, 4.48),
    "h2o": (1.00, 1.14, 1.50, 2.99, 3.68, 9.15),
    "jme": (1.00, 1.00, 1.00, 1.01, 1.00, 1.01),
    "jython": (1.00, 0.88, 0.88, 2.60, 3.37, 3.16),
    "kafka": (1.00, 1.01, 1.02, 1.06, 1.01, 1.02),
    "luindex": (1.00, 0.94, 0.91, 1.64, 1.11, 1.10),
    "lusearch": (1.00, 0.94, 1.14, 20.42, math.nan, 9.36),
    "pmd": (1.00, 0.99, 2.27, 2.10, 5.93, 3.82),
    "spring": (1.00, 0.95, 1.19, 2.27, 11.85, 57.56),
    "sunflow": (1.00, 1.24, 1.81, 14.76, 3.04, 8.27),
    "tomcat": (1.00, 0.96, 1.04, 2.96, math.nan, math.nan),
    "tradebeans": (1.00, 0.93, 1.08, 1.42, 3.77, 26.25),
    "tradesoap": (1.00, 0.91, 1.03, 1.35, 5.82, math.nan),
    "xalan": (1.00, 0.65, 1.13, 13.42, math.nan, math.nan),
    "zxing": (1.00, 1.13, 1.05, 1.12, 1.10, 1.19),
}
#: Programs with a smaller share of pauses with G1 can differ little between collectors.
LEAST_PAUSE_SHARE = 0.02
#: Differences up to this factor do not count.
RELEVANT = 1.1
_LEAST_PROGRAMS = 5
#: Share of these programs that must agree: one of 22 must not decide.
AGREEMENT = 0.9
#: Confidence of the prediction interval of a new program that a decision needs, together with the agreement.
_LEVEL = 0.6


@dataclass(frozen=True)
class CollectorChoice:
    """The decision between two collectors."""

    #: "" if it is refused
    faster: str
    #: expected time of the first / time of the second
    ratio: float


def choose_collector(a: str, b: str, pause_share: float = math.nan, without: str = "") -> CollectorChoice:
    """Choose the faster of two collectors at 2 x minheap from the profile of G1.

    Args:
        a, b: names in COLLECTORS.
        pause_share: share of the run time in pauses with G1 at 2 x minheap, in [0, 1); NaN if unknown.
        without: a program whose ratios are not used, to predict it.

    Returns:
        A decision only if 90 % of the other programs that differ by more than 10 % agree, and the prediction
        interval for a new program, mean ± t · s · √(1 + 1/n) of the log ratios at 60 %, excludes 0; otherwise
        a refusal.

    Raises:
        ValueError: a collector is unknown.

    Source: prediction interval of one further value, Hahn and Meeker, "Statistical Intervals" (1991), section
    4.7.
    """
    for name in (a, b):
        if name not in COLLECTORS:
            raise ValueError(f"collector: expected one of {', '.join(COLLECTORS)} · got {name!r}")
    at_a, at_b = COLLECTORS.index(a), COLLECTORS.index(b)
    logs = np.array(
        [math.log(row[at_a] / row[at_b]) for program, row in RATIOS.items() if program != without]
    )
    logs = logs[np.isfinite(logs)]
    mean = float(logs.mean())
    ratio = math.exp(mean)
    relevant = logs[np.abs(logs) > math.log(RELEVANT)]
    agree = int((np.sign(relevant) == np.sign(mean)).sum())
    half = t_quantile(logs.size - 1, _LEVEL) * float(logs.std(ddof=1)) * math.sqrt(1 + 1 / logs.size)
    is_refused = (
        pause_share < LEAST_PAUSE_SHARE
        or relevant.size < _LEAST_PROGRAMS
        or agree < AGREEMENT * relevant.size
        or abs(mean) <= half
    )
    return CollectorChoice("" if is_refused else a if mean < 0 else b, ratio)
