"""Describe load: how many series change with more processes; with few series, each change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from regatta.answers.spine.groups import grouped
from regatta.answers.spine.words import counted, listed
from regatta.answers.topics.load.compute import LoadCurve, Scaling, Verdict
from regatta.figures.text import parameter_text, show_interval
from regatta.host.journal.modes import modes_in

#: with more series, only the table lists the changes
_FEW_SERIES = 3
#: more settings of one program are counted instead of listed
_FEW_SETTINGS = 6
#: see `regatta.host.journal.modes`
_MODES_CHANCE = "1.5 %"
#: verdict on a change between two loads -> its text
VERDICTS: dict[Verdict, str] = {
    "up": "higher",
    "down": "lower",
    "same": "no practically significant change",
    "open": "no significant change",
    "unknown": "undefined",
}


def scaling_words(scaling: Scaling, theta_percent: float) -> tuple[str, ...]:
    """Describe the curves with steps; the table has each change."""
    spoken = [curve for curve in scaling.curves if curve.steps]
    known = [curve for curve in spoken if any(step.verdict != "unknown" for step in curve.steps)]
    few = len(known) <= _FEW_SERIES
    sentences = [
        *(map(_changes, known) if few else _overview(known, scaling)),
        *_modes(scaling, theta_percent),
    ]
    if len(known) < len(spoken):
        sentences.append(
            f"loads not comparable in {len(spoken) - len(known)} of {len(spoken)} series: "
            "a confidence interval requires at least two invocations with different values"
        )
    return tuple(sentences)


def curves_name(curves: Sequence[LoadCurve]) -> str:
    """Return `lat_select (descriptors 100)`, `lat_syscall (call null, read and stat)`, or a number of settings."""
    first = curves[0].parameters
    names = sorted({name for curve in curves for name in curve.parameters})
    varying = [name for name in names if len({str(curve.parameters.get(name)) for curve in curves}) > 1]
    same = [f"{name} {parameter_text(name, first[name])}" for name in names if name not in varying]
    parts: list[str] = []
    if len(varying) == 1 and len(curves) <= _FEW_SETTINGS:
        values = [parameter_text(varying[0], curve.parameters.get(varying[0], "")) for curve in curves]
        parts.append(f"{varying[0]} {listed(values)}")
    elif varying:
        parts.append(f"{len(curves)} settings of {listed(varying)}")
    given = ", ".join([*parts, *same])
    return f"{curves[0].program} ({given})" if given else curves[0].program


def measure_words(curve: LoadCurve) -> str:
    """Return `latency` or `bandwidth of all processes together`."""
    return f"{curve.metric} of all processes together" if curve.aspect == "system" else curve.metric


def processes_words(number: int) -> str:
    """Return `1 process` or `8 processes`."""
    return "1 process" if number == 1 else f"{number} processes"


def _changes(curve: LoadCurve) -> str:
    """Return `lat_x, latency, native on alpha: 1 to 2 processes: 1.501 [1.490, 1.512], higher; 2 to 4 ...`."""
    steps = "; ".join(
        f"{step.over} to {step.load} processes: {show_interval(step.ratio)}, {VERDICTS[step.verdict]}"
        for step in curve.steps
    )
    where = f"{curve.place.configuration} on {curve.place.host}".strip()
    return f"{curves_name([curve])}, {measure_words(curve)}, {where}: {steps}"


def _overview(known: Sequence[LoadCurve], scaling: Scaling) -> list[str]:
    """Count the series of each host and measure that change within its CPUs, and beyond them."""
    groups = grouped(known, lambda curve: (curve.place.host, measure_words(curve)))
    sentences = []
    for (host, what), curves in groups.items():
        cpus = scaling.cpus.get(host)
        parts = []
        for inside in (True, False):
            steps = [[s for s in c.steps if (cpus is None or s.load <= cpus) == inside] for c in curves]
            if any(steps):
                up, down = (
                    sum(any(s.verdict == one for s in own) for own in steps) for one in ("up", "down")
                )
                limit = f"up to {processes_words(cpus)}" if inside and cpus else "more processes"
                parts.append(f"{limit}: {up} higher, {down} lower")
        on = f"{host} ({counted(cpus, 'CPU')})" if cpus else host
        sentences.append(f"{what} on {on}, significant changes in {len(curves)} series: {'; '.join(parts)}")
    return sentences


def _modes(scaling: Scaling, theta_percent: float) -> list[str]:
    """Report loads at which system bandwidths form groups, as when placement differs between invocations."""
    found: dict[tuple[str, tuple[str, ...]], dict[tuple[object, ...], list[LoadCurve]]] = {}
    system = [curve for curve in scaling.curves if curve.aspect == "system"]
    looked_at = sum(len(curve.points) for curve in system)
    for curve in system:
        apart = tuple(
            str(point.parallel)
            for point in curve.points
            if min(point.values) > 0
            and modes_in([math.log(value) for value in point.values], theta_percent / 100.0)
        )
        if apart:
            place = curve.program, replace(curve.place, benchmark="")
            found.setdefault((curve.place.host, apart), {}).setdefault(place, []).append(curve)
    return [
        f"bandwidth of all processes has several modes with {listed(loads)} processes on {host}: "
        f"{listed([curves_name(curves) for curves in places.values()])} (false positives: {_MODES_CHANCE} of normal samples; "
        f"{looked_at} samples tested)"
        for (host, loads), places in found.items()
    ]
