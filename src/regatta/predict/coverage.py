"""How much of an application's measured time its vector explains."""

from __future__ import annotations

import math

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


def coverage(predicted: Value, measured: Value) -> tuple[str, str]:
    """Say which part of the measured time in the kernel a vector explains: above 1 where more is predicted than there is.

    Args:
        predicted: the part that the vector stands for (`Prediction.kernel`).
        measured: the same time as it was measured, in the same unit.

    Returns:
        a sentence; and why the prediction should not be trusted, "" where it explains enough.
    """
    share = ratio(uncertain(predicted, "predicted"), uncertain(measured, "measured"))
    if not math.isfinite(share.value):
        reason = predicted.reason or measured.reason or "it was not measured"
        return f"How much of the kernel time the vector explains is not known: {reason}.", ""
    percent = f"{100 * share.value:.0f} %"
    interval = (
        "" if math.isnan(share.low + share.high) else f" ({100 * share.low:.0f} to {100 * share.high:.0f})"
    )
    words = f"The vector explains {percent}{interval} of the measured kernel time."
    if share.low > 1.0:
        words += " It predicts more than there is."
    warning = ""
    if share.value < LITTLE:
        warning = (
            f"The vector explains only {percent} of the measured kernel time: what it says of rank and ratio may not hold"
            " for the rest. Calls without a primitive, or costs that rise under load, may be missing."
        )
    return words, warning
