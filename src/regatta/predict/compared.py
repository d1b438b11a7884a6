"""Whether systems are ordered right: the predicted order of pairs beside the measured one.

A pair that differs significantly as measured is `right` or `wrong` where the prediction tells it apart, `open` where it cannot.
An open pair is not a right one, whichever way its values happen to lie.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from regatta.predict.forecast import Verdict
from regatta.predict.ranking import rank
from regatta.predict.sums import Sum, ratio, uncertain
from regatta.predict.times import TracedOn
from regatta.spec.vectors import ApplicationVector, SystemVector, Value

#: the times that are both predicted and measured
Compared = Literal["kernel", "elapsed"]


@dataclass(frozen=True)
class Comparison:
    """How well an application's systems are ordered."""

    quantity: Compared
    #: system -> its predicted time, in ns
    times: Mapping[str, Sum]
    #: of each two systems that were measured
    verdicts: Mapping[frozenset[str], Verdict]

    @property
    def ranked_right(self) -> bool:
        """Whether every pair that differs significantly is told apart, and ordered right, and there is one."""
        judged = [verdict for verdict in self.verdicts.values() if verdict in ("right", "wrong", "open")]
        return bool(judged) and set(judged) == {"right"}


def compared(
    application: ApplicationVector,
    systems: Sequence[SystemVector],
    measured: Mapping[str, Value],
    what: Compared = "kernel",
    differ: Mapping[frozenset[str], bool] | None = None,
    traced_on: TracedOn | None = None,
) -> Comparison:
    """Compare predictions with measurements.

    Args:
        application: its vector.
        systems: those that were not measured are left out.
        measured: system -> its time for the same unit of work, in ns.
        what: time in the kernel, or elapsed with the user time.
        differ: of pairs of names, whether their measured times differ significantly, where a better test than that of the intervals was
            made (of blocks); of the others the interval of the ratio says it.
        traced_on: with `elapsed`, where the user time was measured.

    Raises:
        RegattaError: what `rank` refuses.
    """
    real = {
        name: uncertain(time, ("measured", name))
        for name, time in measured.items()
        if math.isfinite(time.value) and time.value > 0.0
    }
    known = [system for system in systems if system.name in real]
    if not known:
        return Comparison(what, {}, {})
    ranking = rank(application, known, what, traced_on)
    order = [name for name in ranking.systems if math.isfinite(ranking.times[name].value)]
    verdicts: dict[frozenset[str], Verdict] = {}
    for first, second in combinations(order, 2):
        pair = frozenset((first, second))
        verdicts[pair] = _verdict(
            ratio(ranking.times[second], ranking.times[first]),
            ratio(real[second], real[first]),
            (differ or {}).get(pair),
        )
    return Comparison(what, ranking.times, verdicts)


def _verdict(predicted: Value, measured: Value, differs: bool | None) -> Verdict:
    """Of the ratios of the second system's times to the first's."""
    if differs is None:
        if math.isnan(measured.low):
            return "unknown"
        differs = measured.low > 1.0 or measured.high < 1.0
    if not differs:
        return "same"
    if math.isnan(predicted.value):
        return "unknown"
    if not predicted.low > 1.0:
        return "open"
    return "right" if measured.value > 1.0 else "wrong"
