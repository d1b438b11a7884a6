"""Keep a page small enough for a browser: fewer points, then fewer figures, and fewer rows of long tables. Its words say so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from regatta.figures.axes import Figure, Group, Trace
from regatta.figures.section import Section

#: JSON of all figures of a page; plotly itself has 5 MB, and the tables of a large experiment have some
LARGEST_BYTES = 6_000_000
#: maximum points of a trace, tried in this order; 200 still show the shape of a distribution
_MOST_POINTS = (1000, 200)
MOST_ROWS = 1000
#: arrays of a trace with one entry per point
_PER_POINT = ("x", "y", "hovertext")


def fit(sections: Sequence[Section], largest_bytes: int = LARGEST_BYTES, rest: str = "") -> list[Section]:
    """Return the sections with at most `MOST_ROWS` rows per table, and figures of at most about `largest_bytes` of JSON.

    A section with figures keeps at least one. Its words say what is left out, and then `rest`: where all of it is.
    """
    found = list(sections)
    for most in _MOST_POINTS:
        if sum(map(_bytes_of, found)) <= largest_bytes:
            break
        found = [_with_fewer_points(section, most) for section in sections]
    fitted = [_with_shorter_tables(section) for section in _with_fewer_figures(found, largest_bytes)]
    return [
        one if one == section else _with_words(one, rest)
        for one, section in zip(fitted, sections, strict=True)
    ]


def _figures(section: Section) -> list[Figure]:
    return [figure for group in section.groups for figure in group.figures]


def _bytes_of(section: Section) -> int:
    return sum(map(_bytes_of_figure, _figures(section)))


def _bytes_of_figure(figure: Figure) -> int:
    return len(json.dumps([figure.traces, figure.layout], separators=(",", ":")))


def _with_words(section: Section, words: str) -> Section:
    return replace(section, words=f"{section.words} {words}".strip())


def _with_fewer_points(section: Section, most: int) -> Section:
    """Thin the long traces of points and densities."""
    if not any(_too_long(trace, most) for figure in _figures(section) for trace in figure.traces):
        return section
    groups = [replace(group, figures=[_thinned(f, most) for f in group.figures]) for group in section.groups]
    words = f"Figures show about {most} points of each series, evenly chosen, with the extremes; numbers are of all points."
    return _with_words(replace(section, groups=groups), words)


def _thinned(figure: Figure, most: int) -> Figure:
    traces = [_thin(trace, most) if _too_long(trace, most) else trace for trace in figure.traces]
    return replace(figure, traces=traces)


def _too_long(trace: Trace, most: int) -> bool:
    """Return whether a trace shows more points than `most` as a cloud or a density: no curve, no bars, no intervals."""
    of_points = trace.get("type") == "scatter" and "markers" in trace.get("mode", "")
    own = [key for key in ("error_x", "error_y", "text", "customdata") if key in trace]
    own += [key for key, value in trace.get("marker", {}).items() if isinstance(value, list)]
    return (of_points or trace.get("type") == "violin") and not own and len(trace.get("x", ())) > most


def _thin(trace: Trace, most: int) -> Trace:
    count = len(trace["x"])
    if trace["type"] == "violin":
        # Quantiles have the same density.
        order = sorted(range(count), key=lambda at: trace["x"][at] or 0)
        kept = [order[at] for at in _evenly(count, most)]
    else:
        kept = sorted({*_evenly(count, most), *_extremes(trace["x"]), *_extremes(trace["y"])})
    return {**trace, **{key: [trace[key][at] for at in kept] for key in _PER_POINT if trace.get(key)}}


def _evenly(count: int, most: int) -> list[int]:
    return [round(number * (count - 1) / (most - 1)) for number in range(most)]


def _extremes(values: Sequence[float | None]) -> Iterable[int]:
    known = [at for at, value in enumerate(values) if value is not None]
    return {end(known, key=lambda at: values[at] or 0) for end in (min, max)} if known else ()


def _with_fewer_figures(sections: Sequence[Section], largest_bytes: int) -> list[Section]:
    """Share the bytes among the sections; what a small section does not need, larger ones get."""
    left, kept = largest_bytes, {}
    by_size = sorted(((_bytes_of(section), at) for at, section in enumerate(sections)))
    for number, (size, at) in enumerate(by_size):
        share = left // (len(by_size) - number)
        kept[at] = sections[at] if size <= share else _first_figures(sections[at], share)
        left -= min(size, share)
    return [kept[at] for at in range(len(sections))]


def _first_figures(section: Section, share: int) -> Section:
    groups: list[Group] = []
    for group in section.groups:
        figures: list[Figure] = []
        for figure in group.figures:
            share -= _bytes_of_figure(figure)
            if share >= 0 or not (groups or figures):
                figures.append(figure)
        if figures:
            groups.append(replace(group, figures=figures))
    shown, of = sum(len(group.figures) for group in groups), len(_figures(section))
    words = f"The page has {shown:,} of {of:,} figures."
    return _with_words(replace(section, groups=groups), words)


def _with_shorter_tables(section: Section) -> Section:
    long = [table for table in section.tables if len(table.rows) > MOST_ROWS]
    if not long:
        return section
    tables = [replace(table, rows=table.rows[:MOST_ROWS]) for table in section.tables]
    told = [f"{table.title or 'Table'}: first {MOST_ROWS:,} of {len(table.rows):,} rows." for table in long]
    return _with_words(replace(section, tables=tables), " ".join(told))
