"""What is said aloud of load: from which number of processes on an operation costs more, and how far a bandwidth grows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from regatta.answers.topics.load.compute import LoadCurve, LoadStep, Scaling
from regatta.answers.words import bound_words, counted, listed
from regatta.figures.text import parameter_text
from regatta.host.journal.modes import modes_in

#: from so many latencies on, how many of them rise is said first
_OVERVIEW_FROM = 6
#: more settings of one program than this are counted, not listed
_FEW = 6
#: `regatta.host.journal.modes`
_MODES_CHANCE = "1.5 %"
#: an interval that reaches this ratio, or its inverse, excludes nothing of interest
_VAGUE = 2.0
_FLAT = ("same", "open")


def scaling_words(scaling: Scaling, theta_percent: float) -> tuple[str, ...]:
    """Sentences on the curves that have steps, in the order of the plan; those of one program that fare alike in one.

    Args:
        scaling: see `regatta.answers.topics.load.compute`.
        theta_percent: changes below it do not matter.
    """
    spoken = [curve for curve in scaling.curves if curve.steps]
    known = [curve for curve in spoken if any(step.verdict != "unknown" for step in curve.steps)]
    teller = _Teller(scaling, theta_percent)
    groups: dict[tuple[object, ...], list[LoadCurve]] = {}
    for curve in known:
        groups.setdefault((*_place(curve), curve.aspect, _pattern(curve)), []).append(curve)
    sentences = [*teller.overview(known), *(teller.alike(many) for many in groups.values()), *teller.modes()]
    if len(known) < len(spoken):
        sentences.append(
            f"of {len(spoken)} series {len(spoken) - len(known)} cannot be compared between loads: "
            "an interval needs two invocations or more, and spread among them"
        )
    return tuple(sentences)


def curves_name(curves: Sequence[LoadCurve]) -> str:
    """`lat_select (descriptors 100)`, `lat_syscall (call null, read and stat)`, `lat_usleep (20 settings of call and requested_us)`."""
    first = curves[0].parameters
    names = sorted({name for curve in curves for name in curve.parameters})
    varying = [name for name in names if len({str(curve.parameters.get(name)) for curve in curves}) > 1]
    same = [f"{name} {parameter_text(name, first[name])}" for name in names if name not in varying]
    parts: list[str] = []
    if len(varying) == 1 and len(curves) <= _FEW:
        values = [parameter_text(varying[0], curve.parameters.get(varying[0], "")) for curve in curves]
        parts.append(f"{varying[0]} {listed(values)}")
    elif varying:
        parts.append(f"{len(curves)} settings of {listed(varying)}")
    given = ", ".join([*parts, *same])
    return f"{curves[0].program} ({given})" if given else curves[0].program


class _Teller:
    """Knows what the sentences have in common."""

    def __init__(self, scaling: Scaling, theta_percent: float) -> None:
        self._curves = scaling.curves
        self._cpus: Mapping[str, int] = scaling.cpus
        self._theta_percent = theta_percent
        self._hosts = {curve.place.host for curve in scaling.curves}
        places: dict[str, set[tuple[object, ...]]] = {}
        for curve in scaling.curves:
            places.setdefault(curve.program, set()).add(_place(curve)[2:])
        self._configured = {program for program, found in places.items() if len(found) > 1}

    def overview(self, known: Sequence[LoadCurve]) -> list[str]:
        """How many latencies rise, within the CPUs and beyond them."""
        sentences = []
        times = [curve for curve in known if curve.aspect == "each" and curve.better == "lower"]
        for host in dict.fromkeys(curve.place.host for curve in times):
            mine = [curve for curve in times if curve.place.host == host]
            cpus = self._cpus.get(host)
            if len(mine) < _OVERVIEW_FROM or cpus is None:
                continue
            parts: list[str] = []
            for inside, where in ((True, f"up to {processes_words(cpus)}"), (False, "more")):
                steps = [[s for s in curve.steps if (s.load <= cpus) == inside] for curve in mine]
                if any(steps):
                    rising = sum(any(step.verdict == "up" for step in some) for some in steps)
                    parts.append(f"{rising} rise with {where}" if not parts else f"{rising} with {where}")
            sentences.append(
                f"of {len(mine)} latencies, as far as is shown, {listed(parts)}, on {self.host(host)}"
            )
        return sentences

    def alike(self, curves: Sequence[LoadCurve]) -> str:
        """One sentence for curves of one program whose steps have the same verdicts."""
        first = curves[0]
        rows = zip(*(curve.steps for curve in curves), strict=True)
        runs = groupby(rows, lambda row: (row[0].over, _kind(row[0])))
        clauses = [self._clause(over, kind, list(run)) for (over, kind), run in runs]
        counts = sorted({point.estimate.n for curve in curves for point in curve.points})
        many = (
            counted(counts[0], "invocation")
            if len(counts) == 1
            else f"{counts[0]} to {counts[-1]} invocations"
        )
        what = " of all processes together" if first.aspect == "system" else ""
        within = f", {first.place.configuration}" if first.program in self._configured else ""
        return (
            f"{curves_name(curves)}{within}, {first.metric}{what}: {'; '.join(clauses)}; {many} each, on "
            f"{self.host(first.place.host)}"
        )

    def _clause(self, over: int, kind: str, rows: Sequence[tuple[LoadStep, ...]]) -> str:
        start = f"from {over} to {listed([str(row[0].load) for row in rows])} processes"
        steps = [step for row in rows for step in row]
        if kind == "unknown":
            return f"{start} nothing can be said"
        if kind in ("up", "down"):
            # A change makes its load the one that the next is compared with, so there is one row.
            return f"{start} it {'grows' if kind == 'up' else 'falls'} to {_times(steps)}"
        if all(step.verdict == "same" for step in steps):
            return f"{start} it changes by less than {self._theta_percent:g} % (each by itself)"
        if max(max(step.ratio.high, 1.0 / step.ratio.low) for step in steps) > _VAGUE:
            return f"{start} no change is shown, and even a large one is not excluded"
        return f"{start} no change is shown, {bound_words([step.ratio for step in steps])}"

    def modes(self) -> list[str]:
        """Loads at which bandwidths of the whole system fall into groups, as where placement differs between invocations."""
        found: dict[tuple[str, tuple[str, ...]], dict[tuple[object, ...], list[LoadCurve]]] = {}
        looked_at = sum(len(curve.points) for curve in self._curves if curve.aspect == "system")
        for curve in self._curves:
            if curve.aspect != "system":
                continue
            apart = tuple(
                str(point.parallel)
                for point in curve.points
                if min(point.values) > 0
                and modes_in([math.log(value) for value in point.values], self._theta_percent / 100.0)
            )
            if apart:
                found.setdefault((curve.place.host, apart), {}).setdefault(_place(curve), []).append(curve)
        return [
            f"the invocations fall into groups apart from each other, which chance alone makes of {_MODES_CHANCE} of normal "
            f"samples ({looked_at} were looked at), with {listed(loads)} processes in the bandwidth of all processes together of "
            f"{listed([curves_name(curves) for curves in places.values()])}, on {self.host(host)}"
            for (host, loads), places in found.items()
        ]

    def host(self, host: str) -> str:
        """`this host with 2 CPUs`."""
        name = "this host" if len(self._hosts) == 1 else f"host {host}"
        return f"{name} with {counted(self._cpus[host], 'CPU')}" if host in self._cpus else name


def _place(curve: LoadCurve) -> tuple[object, ...]:
    return curve.program, replace(curve.place, benchmark="")


def _kind(step: LoadStep) -> str:
    return "flat" if step.verdict in _FLAT else step.verdict


def _pattern(curve: LoadCurve) -> tuple[tuple[int, int, str], ...]:
    return tuple((step.over, step.load, _kind(step)) for step in curve.steps)


def processes_words(number: int) -> str:
    """`1 process`, `8 processes`."""
    return "1 process" if number == 1 else f"{number} processes"


def _times(steps: Sequence[LoadStep]) -> str:
    """`1.50 times (1.49 to 1.52)`; of several curves the least and the greatest."""
    decimals = _decimals(max(step.ratio.high - step.ratio.low for step in steps) / 2)
    points = [step.ratio.point for step in steps]
    if len(steps) == 1:
        ratio = steps[0].ratio
        return f"{ratio.point:.{decimals}f} times ({ratio.low:.{decimals}f} to {ratio.high:.{decimals}f})"
    low, high = f"{min(points):.{decimals}f}", f"{max(points):.{decimals}f}"
    return f"{low} times" if low == high else f"{low} to {high} times"


def _decimals(half_width: float) -> int:
    """Digits that the interval's width lets one speak of."""
    return min(4, max(1, -math.floor(math.log10(half_width)))) if half_width > 0 else 3
