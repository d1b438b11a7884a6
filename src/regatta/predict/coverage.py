"""How much of an application's measured time its vector explains."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regatta.predict.sums import ratio, uncertain
from regatta.spec.vectors import SystemVector, Value

#: a vector that explains less leaves out most of what happens, and is warned of
LITTLE = 0.5
#: of a system's provenance: which part of the elapsed time of its costs the processor was there for what was measured
PROCESSOR_SHARE = "processor_share"
#: below this the costs are no processor time: others, or a quota, are in them
_OWN = 0.9


def shared_processor(system: SystemVector) -> str:
    """Why a system's costs do not compare with measured processor time; "" where they do, or nothing is told of it.

    Costs are elapsed time. Under a quota, or where client and server share a processor, that is more than the processor's.
    """
    try:
        share = float(system.provenance.get(PROCESSOR_SHARE, ""))
    except ValueError:
        return ""
    if not 0.0 < share < _OWN:
        return ""
    return (
        f"costs on {system.name} are elapsed time, for {100 * share:.0f} % of which the processor was there"
    )


@dataclass(frozen=True)
class Coverage:
    """The explained share of a measured time; above 1 where more is predicted than there is."""

    share: Value
    #: a sentence
    words: str
    #: why the prediction should not be trusted; "" where it explains enough
    warning: str = ""


def coverage(predicted: Value, measured: Value, what: str = "kernel time") -> Coverage:
    """Compare a predicted with a measured time of the same unit.

    Args:
        predicted: the part that the vector stands for, such as `Prediction.kernel`.
        measured: the same time as it was measured, such as `Measured.kernel`.
        what: what time it is, in words.
    """
    share = ratio(uncertain(predicted, "predicted"), uncertain(measured, "measured"))
    if not math.isfinite(share.value):
        reason = predicted.reason or measured.reason or "it was not measured"
        return Coverage(share, f"How much of the {what} the vector explains is not known: {reason}.")
    interval = (
        "" if math.isnan(share.low + share.high) else f" ({100 * share.low:.0f} to {100 * share.high:.0f})"
    )
    words = f"The vector explains {100 * share.value:.0f} %{interval} of the measured {what}."
    if share.low > 1.0:
        words += " It predicts more than there is."
    warning = ""
    if share.value < LITTLE:
        warning = (
            f"The vector explains only {100 * share.value:.0f} % of the measured {what}: what it says of rank and ratio may not hold"
            " for the rest. Calls without a primitive, or costs that rise under load, may be missing."
        )
    return Coverage(share, words, warning)
