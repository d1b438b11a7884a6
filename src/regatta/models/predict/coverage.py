"""Compute how much of an application's measured time its vector explains."""

from __future__ import annotations

import math

from regatta.models.vectors.measured import PROCESSOR_SHARE
from regatta.models.vectors.sums import ratio, uncertain
from regatta.models.vectors.values import SystemVector, Value

#: a vector that explains less omits most of the time, and causes a warning
LITTLE = 0.5
#: below this share the costs include time of other processes or of a quota
_OWN = 0.9


def shared_processor(system: SystemVector) -> str:
    """Return why the costs of a system do not compare with measured processor time; "" if they do or the share is unknown.

    Costs are elapsed time. Under a quota, or where client and server share a processor, elapsed time exceeds processor time.
    """
    try:
        share = float(system.provenance.get(PROCESSOR_SHARE, ""))
    except ValueError:
        return ""
    if not 0.0 < share < _OWN:
        return ""
    return f"costs on {system.name} are elapsed times with the processor available for {100 * share:.0f} % of the time"


def coverage(predicted: Value, measured: Value) -> tuple[str, str]:
    """Describe which part of the measured kernel time a vector explains: above 1 if the prediction exceeds the measurement.

    Args:
        predicted: the part that the vector covers (`Prediction.kernel`).
        measured: the same time as measured, in the same unit.

    Returns:
        a sentence; and why the prediction is unreliable, "" if it explains enough.
    """
    share = ratio(uncertain(predicted, "predicted"), uncertain(measured, "measured"))
    if not math.isfinite(share.value):
        reason = predicted.reason or measured.reason or "not measured"
        return f"Explained kernel time: undefined ({reason}).", ""
    percent = f"{100 * share.value:.0f} %"
    interval = (
        "" if math.isnan(share.low + share.high) else f" [{100 * share.low:.0f}, {100 * share.high:.0f}]"
    )
    words = f"Explained: {percent}{interval} of the measured kernel time."
    if share.low > 1.0:
        words += " The prediction exceeds the measurement."
    warning = ""
    if share.value < LITTLE:
        warning = (
            f"The vector explains only {percent} of the measured kernel time. For the rest, rank and ratio are unknown."
            " Possible causes: calls without a primitive, or costs that rise under load."
        )
    return words, warning
