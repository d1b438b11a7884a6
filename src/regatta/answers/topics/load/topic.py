"""The topic of load: every series with 1, 2, 4 ... parallel processes.

Source: Staelin, "lmbench: an extensible micro-benchmark suite", HPL-2004-213 (2004), figures 2 to 6 and 9 to 11.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import Any

from regatta.answers.kit.plain import plain
from regatta.answers.kit.topic import Document, Lead, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.words import counted
from regatta.answers.topics.load.compute import Aspect, LoadCurve, LoadPoint, Scaling, judge_scaling
from regatta.answers.topics.load.histograms import histograms
from regatta.answers.topics.load.words import VERDICTS, measure_words, processes_words, scaling_words
from regatta.figures.axes import Figure, Group
from regatta.figures.curves import Point
from regatta.figures.labelled import (
    MOST_LINES,
    Mark,
    NamedLine,
    estimate_point,
    labelled_figure,
    measured_axis,
    plain_quantity,
    time_quantity,
)
from regatta.figures.section import Section, Table
from regatta.figures.text import (
    ABSENT,
    joined,
    parameter_text,
    parameters_text,
    show_heap,
    show_interval,
    show_p,
    show_percent,
    show_quantity,
    show_ratio,
)
from regatta.host.units import UNITS

_PROCESS = (
    "lat_syscall lat_sig lat_proc lat_select lat_epoll lat_uring lat_io_uring lat_thread lat_sync lat_mutex lat_condition "
    "lat_futex lat_pmake"
)
_COMMUNICATION = (
    "lat_pipe lat_unix lat_tcp lat_udp lat_rpc lat_ctx lat_fifo lat_sem lat_fcntl lat_connect lat_unix_connect lat_http "
    "lat_cacheline lat_transfer"
)
#: title of a group -> its programs; other programs are in the group of their kind without programs
_TIMES = {
    "Process latencies": _PROCESS,
    "Communication latencies": _COMMUNICATION,
    "File latencies": "lat_fs lat_file_io lat_mmap lat_pagefault bw_file_rd bw_mmap_rd disk",
    "Memory latencies": "lat_mem_rd lat_dram_page tlb line par_mem",
    "Other latencies": "",
}
_BANDWIDTHS = {
    "Memory bandwidths, all processes together": "bw_mem bw_file_rd bw_mmap_rd lmdd",
    "Communication bandwidths, all processes together": "bw_pipe bw_unix bw_tcp",
    "STREAM bandwidths, all processes together": "stream",
    "Other bandwidths, all processes together": "",
}
_SEVERAL = "Other bandwidths of the median process"
_OTHER = "Other metrics"
_BEST = "Bandwidths of the fastest single process"
_SPREAD = "Bandwidth histograms, all processes together"
#: Thousands of rows make the page slow; the JSON contains all of them.
_ROWS = 300


def load_section(scaling: Scaling, view: View) -> Section | None:
    """Return figures by family of benchmarks, and the throughput of all processes; None without two loads."""
    if not scaling.curves:
        return None
    return Section(
        "load",
        words="Each series over the number of parallel processes. Latencies are those of the median process, bandwidths the sum over "
        f"all processes. Means over invocations; bars or bands are {show_percent(view.answer.level)} confidence intervals. The dotted "
        "line marks the number of CPUs; beyond it, processes wait for each other. Changes are significant after Holm's "
        "adjustment for all pairs of loads.",
        groups=_groups(scaling),
    )


def _groups(scaling: Scaling) -> list[Group]:
    groups = []
    by_family: dict[str, list[LoadCurve]] = {}
    there = {(_identity(curve), curve.aspect) for curve in scaling.curves}
    for curve in scaling.curves:
        if family := _family(curve, there):
            by_family.setdefault(family, []).append(curve)
    for family in (*_TIMES, *_BANDWIDTHS, _SEVERAL, _OTHER):
        if figures := _family_figures(by_family.get(family, []), scaling):
            groups.append(Group(family, figures))
    best = [curve for curve in scaling.curves if curve.aspect == "fastest" and curve.better == "higher"]
    if figures := _family_figures(_stream_first(best), scaling, apart=True):
        groups.append(Group(_BEST, figures))
    if figures := _histograms(scaling):
        groups.append(Group(_SPREAD, figures))
    return groups


def _family(curve: LoadCurve, there: Set[tuple[tuple[Any, ...], Aspect]]) -> str:
    """Return the group title of a curve, "" for none. `there`: existing curves, by identity and aspect."""
    dimension = UNITS.get(curve.unit, ("", 1.0))[0]
    program = curve.program.split(":", 1)[0]
    if dimension == "bandwidth":
        if curve.aspect == "system":
            return _in(program, _BANDWIDTHS)
        return _SEVERAL if curve.aspect == "each" and (_identity(curve), "system") not in there else ""
    if curve.aspect != "each":
        return "" if (_identity(curve), "each") in there else _OTHER
    return _in(program, _TIMES) if dimension == "time" else _OTHER


def _in(program: str, families: dict[str, str]) -> str:
    return next(
        (title for title, programs in families.items() if program in programs.split()), [*families][-1]
    )


def _identity(curve: LoadCurve) -> tuple[Any, ...]:
    return (*_where(curve), curve.program, curve.metric, parameters_text(curve.parameters))


def _where(curve: LoadCurve) -> tuple[Any, ...]:
    return curve.place.host, curve.place.configuration, curve.place.heap.factor, curve.place.heap.mib


def _family_figures(curves: Sequence[LoadCurve], scaling: Scaling, apart: bool = False) -> list[Figure]:
    """Return figures of at most `MOST_LINES` lines of one host, configuration and unit (and program, with `apart`)."""
    places: dict[tuple[Any, ...], dict[str, list[LoadCurve]]] = {}
    for curve in curves:
        place = (*_where(curve), UNITS.get(curve.unit, (curve.unit, 1.0))[0])
        places.setdefault(place, {}).setdefault(curve.program, []).append(curve)
    figures = []
    for programs in places.values():
        packs: list[list[LoadCurve]] = []
        for many in programs.values():
            parts = _even_parts(many)
            if not apart and packs and len(packs[-1]) + len(parts[0]) <= MOST_LINES and len(parts) == 1:
                packs[-1] += parts[0]
            else:
                packs += [list(part) for part in parts]
        figures += [figure for pack in packs if (figure := _load_figure(pack, scaling)) is not None]
    return figures


def _even_parts(curves: Sequence[LoadCurve]) -> list[Sequence[LoadCurve]]:
    """Split into the fewest parts of about equal size with at most `MOST_LINES` each."""
    count = -(-len(curves) // MOST_LINES)
    ends = [round(i * len(curves) / count) for i in range(count + 1)]
    return [curves[first:end] for first, end in pairwise(ends)]


def _load_figure(curves: Sequence[LoadCurve], scaling: Scaling) -> Figure | None:
    names = line_names(curves)
    time = UNITS.get(curves[0].unit, ("", 1.0))[0] == "time"
    unit = "ns" if time else curves[0].unit
    lines = [
        NamedLine(name, [_point(point, curve, unit) for point in curve.points])
        for name, curve in zip(names, curves, strict=True)
        if any(math.isfinite(point.estimate.point) for point in curve.points)
    ]
    if not lines:
        return None
    metric = curves[0].metric
    quantity = time_quantity(metric, lines) if time else plain_quantity(metric, unit, lines)
    cpus = scaling.cpus.get(curves[0].place.host)
    marks = [Mark(cpus, counted(cpus, "CPU"))] if cpus else []
    loads = sorted({point.parallel for curve in curves for point in curve.points})
    return labelled_figure(_title(curves, scaling), lines, load_axis(loads), quantity, marks)


def load_axis(loads: Sequence[int]) -> dict[str, Any]:
    """Return the axis of loads (ascending, at least two), with ticks at the measured loads."""
    return measured_axis("parallel processes", loads)


def _title(curves: Sequence[LoadCurve], scaling: Scaling) -> str:
    """Return the programs, and the other factors that distinguish this figure from its neighbours."""
    first = curves[0]
    programs = list(dict.fromkeys(curve.program for curve in curves))
    same = [
        f"{name} {parameter_text(name, value)}"
        for name, value in sorted(first.parameters.items())
        if len(programs) == 1 and all(curve.parameters.get(name) == value for curve in curves)
    ]
    return _place_title(", ".join([*programs, *same]), first, scaling)


def _place_title(what: str, curve: LoadCurve, scaling: Scaling) -> str:
    """Return the content, with configuration and host if there are several."""
    hosts = {other.place.host for other in scaling.curves}
    return joined(
        what,
        curve.place.configuration if _configured(scaling) else "",
        show_heap(curve.place.heap),
        f"on {curve.place.host}" if len(hosts) > 1 else "",
    )


def _configured(scaling: Scaling) -> bool:
    """Return whether there are several configurations, so that names are needed."""
    return len({_where(curve)[1:] for curve in scaling.curves}) > 1


def line_names(curves: Sequence[LoadCurve]) -> list[str]:
    """Return short names that are unique in a figure: `syscall read`, `select 100 descriptors`, `daxpy`."""
    programs = {curve.program for curve in curves}
    names = []
    for curve in curves:
        own = [other for other in curves if other.program == curve.program]
        told = [
            _value_text(name, value)
            for name, value in sorted(curve.parameters.items())
            if len({str(other.parameters.get(name)) for other in own}) > 1
        ]
        stem = curve.program.removeprefix("lat_").removeprefix("bw_")
        parts = [stem, *told] if len(programs) > 1 or not told else told
        names.append(" ".join(parts))
    return names


def _value_text(name: str, value: str | float | bool) -> str:
    """Return words and sizes without a name, other numbers with their name."""
    if isinstance(value, str) or name.endswith("bytes"):
        return parameter_text(name, value)
    unit = name.rpartition("_")[2]
    if unit in ("ns", "us", "ms") and not isinstance(value, bool):
        return show_quantity(value, unit, 6)
    return f"{name} {value}"


def _point(point: LoadPoint, curve: LoadCurve, unit: str) -> Point:
    together = point.throughput
    return estimate_point(
        point.parallel,
        point.estimate,
        curve.unit,
        f"{curve.program} {parameters_text(curve.parameters)}",
        _ASPECT_WORDS[curve.aspect],
        processes_words(point.parallel),
        f"throughput {show_ratio(together.point)} times that of one process" if together else "",
        shown=unit,
    )


_ASPECT_WORDS: dict[Aspect, str] = {
    "each": "",
    "system": "all processes together",
    "fastest": "the fastest process",
    "slowest": "the slowest process",
}


def _stream_first(curves: Sequence[LoadCurve]) -> list[LoadCurve]:
    """Sort the curves that the paper shows before the other bandwidths."""
    return sorted(curves, key=lambda curve: not curve.program.startswith("stream"))


def _histograms(scaling: Scaling) -> list[Figure]:
    curves = _stream_first([curve for curve in scaling.curves if curve.aspect == "system"])
    figures = []
    for curve in curves:
        name = ", ".join(part for part in (curve.program, parameters_text(curve.parameters)) if part)
        title = _place_title(name, curve, scaling)
        figures.append(histograms(title, curve, name, scaling.cpus.get(curve.place.host)))
    return [figure for figure in figures if figure is not None]


def load_tables(scaling: Scaling, view: View) -> list[Table]:
    """Return the throughput of all processes relative to one, and every change between loads."""
    configured = _configured(scaling)
    return [*_together_table(scaling, view, configured), _steps_table(scaling, view, configured)]


def _steps_table(scaling: Scaling, view: View, configured: bool) -> Table:
    """Return each load against the last one with a significant change."""
    columns = (
        *("host", "configuration", "benchmark", "series", "metric", "processes"),
        *(f"ratio, {show_percent(view.answer.level)} CI", "adj. p (Holm)", "change"),
    )
    rows = [
        (
            *_place_texts(curve, view, configured),
            measure_words(curve),
            f"{step.over} to {step.load}",
            show_interval(step.ratio),
            show_p(step.p_holm),
            VERDICTS[step.verdict],
        )
        for curve in scaling.curves
        for step in curve.steps
    ]
    return Table(f"Changes between loads{_first_of(rows)}", columns, rows[:_ROWS], frozenset({6, 7}))


def _place_texts(curve: LoadCurve, view: View, configured: bool) -> tuple[str, str, str, str]:
    """Return host and configuration (if there are several), benchmark and series."""
    return (
        view.host(curve.place.host),
        joined(curve.place.configuration, show_heap(curve.place.heap)) if configured else "",
        curve.program,
        parameters_text(curve.parameters),
    )


def _first_of(rows: Sequence[object]) -> str:
    return f", the first {_ROWS} of {len(rows)}" if len(rows) > _ROWS else ""


def _together_table(scaling: Scaling, view: View, configured: bool) -> list[Table]:
    """Return the throughput of all processes relative to that of one, one column per load."""
    curves = [curve for curve in scaling.curves if any(point.throughput for point in curve.points)]
    if not curves:
        return []
    loads = sorted({point.parallel for curve in curves for point in curve.points if point.throughput})
    known = {scaling.cpus.get(curve.place.host) for curve in curves}
    cpus = next(iter(known)) if len(known) == 1 else None
    columns = [
        *("host", "configuration", "benchmark", "series", "1 process"),
        *(f"{load} (> CPUs)" if cpus is not None and load > cpus else str(load) for load in loads),
    ]
    rows = []
    for curve in curves[:_ROWS]:
        at = {point.parallel: point for point in curve.points}
        rows.append(
            (
                *_place_texts(curve, view, configured),
                _alone(at.get(1), curve.unit),
                *(_together(at.get(load)) for load in loads),
            )
        )
    title = f"Throughput of all processes relative to one process{_first_of(curves)}"
    return [Table(title, tuple(columns), rows, frozenset(range(4, len(columns))))]


def _alone(point: LoadPoint | None, unit: str) -> str:
    if point is None or not math.isfinite(point.estimate.point):
        return ABSENT
    return show_quantity(point.estimate.point, unit, 4)


def _together(point: LoadPoint | None) -> str:
    ratio = point.throughput if point else None
    if ratio is None or not math.isfinite(ratio.point):
        return ABSENT
    return show_interval(ratio)


def _words(scaling: Scaling, context: Context) -> tuple[str, ...]:
    return scaling_words(scaling, context.facts.theta_percent)


def _document(scaling: Scaling) -> Any:
    """Return the document without the values of invocations."""
    found = plain(scaling)
    for number, curve in enumerate(found["curves"]):
        for point in curve["points"]:
            del point["values"]
        found["curves"][number] = {"host": curve["host"]} | curve
    return found


def _lead(scaling: Scaling, context: Context) -> Lead:
    cells = frozenset(point.cell_id for curve in scaling.curves for point in curve.points)
    return Lead(_words(scaling, context), cells=cells)


LOAD: Topic[Scaling] = Topic(
    "load",
    title="Scaling",
    empty=Scaling(),
    compute=judge_scaling,
    words=Words(90, "Load", _words),
    document=Document(80, "scaling", _document),
    section=load_section,
    tables=load_tables,
    lead=_lead,
)
