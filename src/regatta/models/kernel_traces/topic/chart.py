"""The time chart of a window of an event trace: threads and CPUs over time.

Source: Horikawa, A Framework for Performance Evaluation Based on Event Tracing (2000), figures 5 to 7.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.answers.spine.words import counted
from regatta.figures import axes
from regatta.figures.axes import Figure, Group, axis, layout
from regatta.figures.html import encoded, fill, number_figures, write_page
from regatta.figures.looks import LegendEntry, Look
from regatta.figures.section import Section
from regatta.figures.text import hover, joined, plot_text, shorten, show_quantity
from regatta.host.errors import RegattaError
from regatta.models.kernel_traces.model import NONE, Trace
from regatta.models.kernel_traces.timeline import State
from regatta.models.kernel_traces.topic.window import Part, Row, Span, Window, opened, transaction_words

#: state -> name, colour, and height of its bar in rows
STATES: dict[State, tuple[str, str, float]] = {
    State.USER: ("user", "@c0", 0.5),
    State.KERNEL: ("kernel", "@c5", 0.5),
    State.INTERRUPT: ("interrupt", "@c1", 0.5),
    State.SPIN: ("busy-wait", "@c3", 0.5),
    State.READY: ("waits for a CPU", "@c4", 0.18),
    State.ASLEEP: ("asleep", "@muted/0.5", 0.06),
}
_SERVER, _OTHER, _WAKE, _INTERRUPT = "@c2", "@c6", "@c7", STATES[State.INTERRUPT][1]
LEGEND = [
    *(
        LegendEntry(name, Look(colour.partition("/")[0], "square", "solid"))
        for name, colour, _ in STATES.values()
    ),
    LegendEntry("serving thread on a CPU", Look(_SERVER, "square", "solid")),
    LegendEntry("other thread on a CPU", Look(_OTHER, "square", "solid")),
    LegendEntry("transaction accepted", Look("@ink", "triangle-up", "solid")),
    LegendEntry("transaction finished", Look("@ink", "triangle-down", "solid")),
    LegendEntry("wake-up", Look(_WAKE, "circle", "solid")),
]
_ROW_PX, _FRAME_PX = 30, 70
#: Place and height of the threads and interrupts of a CPU's row, and places of transactions and phases in a
#: thread's row.
_THREAD_AT, _THREAD_HEIGHT, _INTERRUPT_AT, _INTERRUPT_HEIGHT = -0.08, 0.5, 0.26, 0.16
_TRANSACTION_AT, _PHASE_AT = 0.36, -0.34
_NAME_CHARACTERS = 22
#: Parts narrower than this share of the window have no label, and states narrower than a pixel join their
#: neighbour in a chart with many of them.
_LABEL_SHARE, _CHARACTER_SHARE, _PIXEL_SHARE = 0.03, 0.0075, 1 / 1500
_MOST_SPANS = 6000
#: With more wake-ups, their lines are faint and marks are small.
_MANY_WAKEUPS = 100
_LABEL_FONT = {"size": 9, "color": "@ink"}


def draw(window: Window) -> Figure:
    """Draw a window: one row per thread, then one per CPU."""
    return _Chart(window).figure()


def left_out_words(window: Window) -> str:
    """Return the number of threads that a chart does not show; "" for none."""
    return f"{counted(window.left_out, 'less busy thread')} not shown" if window.left_out else ""


@dataclass(frozen=True)
class _Bar:
    """A bar of a row, in us from the begin of the window."""

    row: float
    begin: float
    length: float
    text: str
    label: str = ""


class _Chart:
    def __init__(self, window: Window) -> None:
        self._w = window
        self._crowded = len(window.wakeups) > _MANY_WAKEUPS
        self._length = max(1, window.end_ns - window.begin_ns)
        self._row_of = {row.actor: at for at, row in enumerate(window.rows)}
        self._cpu_row = {cpu: len(window.rows) + at for at, cpu in enumerate(sorted(window.cpus))}
        self._servers = {row.actor for row in window.rows if row.server}
        self._names = {row.actor: row.name for row in window.rows}

    def figure(self) -> Figure:
        rows = [row.name for row in self._w.rows] + [f"CPU {cpu}" for cpu in sorted(self._w.cpus)]
        y = axis(
            range=[len(rows) - 0.4, -0.75],
            tickvals=list(range(len(rows))),
            ticktext=[plot_text(shorten(name, _NAME_CHARACTERS)) for name in rows],
            showgrid=False,
            fixedrange=True,
        )
        x = axis("time from the begin of the window (µs)", range=[0, self._us(self._w.end_ns)])
        traces = [*self._states(), *self._cpus(), *self._wakeups(), *self._transactions(), *self._phases()]
        return Figure("", _FRAME_PX + _ROW_PX * len(rows), traces, self._layout(x, y))

    def _layout(self, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
        between = len(self._w.rows) - 0.5
        line = {
            "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": between, "y1": between,
            "line": {"color": "@grid", "width": 1},
        }  # fmt: skip
        return layout(x, y, barmode="overlay", shapes=[line], annotations=self._labels(), dragmode="zoom")

    def _us(self, time_ns: int) -> float:
        return (time_ns - self._w.begin_ns) / 1000

    def _times(self, begin_ns: int, end_ns: int) -> str:
        at = f"{self._us(begin_ns):,.1f} to {self._us(end_ns):,.1f} µs"
        return f"{at} ({show_quantity(end_ns - begin_ns, 'ns')})"

    def _object(self, number: int) -> str:
        if number == NONE:
            return ""
        if number in self._names:
            return self._names[number]
        kind, name = self._w.kinds[number], self._w.names[number]
        return name if kind in ("thread", "idle") or name.startswith(kind) else f"{kind} {name}"

    def _states(self) -> Iterator[axes.Trace]:
        bars: dict[State, list[_Bar]] = defaultdict(list)
        many = sum(len(row.spans) for row in self._w.rows) > _MOST_SPANS
        for at, row in enumerate(self._w.rows):
            for span in self._visible(row.spans) if many else row.spans:
                if span.state in STATES:
                    bars[span.state].append(self._bar(at, row, span))
        for state, (name, colour, width) in STATES.items():
            if bars[state]:
                yield _bars(name, colour, width, bars[state])

    def _visible(self, spans: Sequence[Span]) -> Iterator[Span]:
        """Join spans that are narrower than a pixel to the longest of their neighbours."""
        least = self._length * _PIXEL_SHARE
        group: list[Span] = []
        for span in spans:
            group.append(span)
            if span.end_ns - group[0].begin_ns >= least:
                yield _joined(group)
                group = []
        if group:
            yield _joined(group)

    def _bar(self, at: int, row: Row, span: Span) -> _Bar:
        of = self._object(span.object)
        what = {
            State.INTERRUPT: of,
            State.SPIN: f"waits for {of}",
            State.ASLEEP: f"until {of}" if of else "",
        }.get(span.state, "")
        call = self._object(span.call) if span.call != NONE else ""
        on = f"on CPU {span.cpu}" if span.state in (State.USER, State.KERNEL, State.SPIN) else ""
        state = STATES[span.state][0]
        phase = next(
            (one.object for one in row.phases if one.begin_ns <= span.begin_ns and span.end_ns <= one.end_ns),
            NONE,
        )
        heading, times = f"{row.name}: {state} {on}".rstrip(), self._times(span.begin_ns, span.end_ns)
        text = hover(heading, what, call, self._object(phase), times)
        return _Bar(at, self._us(span.begin_ns), (span.end_ns - span.begin_ns) / 1000, text)

    def _cpus(self) -> Iterator[axes.Trace]:
        for server, colour in ((True, _SERVER), (False, _OTHER)):
            bars = [
                self._cpu_bar(cpu, part, _THREAD_AT)
                for cpu, parts in self._w.cpus.items()
                for part in parts
                if (part.object in self._servers) == server
            ]
            if bars:
                yield _bars("serving thread" if server else "other thread", colour, _THREAD_HEIGHT, bars)
        bars = [
            self._cpu_bar(cpu, part, _INTERRUPT_AT, label=False)
            for cpu, parts in self._w.interrupts.items()
            if cpu in self._cpu_row
            for part in parts
        ]
        if bars:
            yield _bars("interrupt on a CPU", _INTERRUPT, _INTERRUPT_HEIGHT, bars)

    def _cpu_bar(self, cpu: int, part: Part, place: float, label: bool = True) -> _Bar:
        name = self._object(part.object)
        text = hover(f"CPU {cpu}: {name}", self._times(part.begin_ns, part.end_ns))
        shown = name if label and self._fits(part, name) else ""
        length = (part.end_ns - part.begin_ns) / 1000
        return _Bar(self._cpu_row[cpu] + place, self._us(part.begin_ns), length, text, shown)

    def _fits(self, part: Part, label: str) -> bool:
        share = (part.end_ns - part.begin_ns) / self._length
        return share > max(_LABEL_SHARE, _CHARACTER_SHARE * len(label))

    def _wakeups(self) -> Iterator[axes.Trace]:
        """Yield thin lines from wakers, or CPUs of interrupts, to woken threads, with points at the woken."""
        xs: list[float | None] = []
        ys: list[float | None] = []
        points: list[tuple[float, float, str]] = []
        for one in self._w.wakeups:
            to = self._row_of[one.actor]
            source = self._row_of.get(one.cause, self._cpu_row.get(one.cpu))
            at = self._us(one.time_ns)
            by = self._object(one.cause) or "an unknown cause"
            points.append((at, to, hover(f"{self._names[one.actor]} is woken by {by}", f"{at:,.1f} µs")))
            if source is not None and source != to:
                xs += [at, at, None]
                ys += [source, to, None]
        if xs:
            yield _lines("from waker to woken", f"{_WAKE}/{0.1 if self._crowded else 0.45}", xs, ys)
        if points:
            yield _points("wake-up", "circle", _WAKE, 3 if self._crowded else 5, points)

    def _transactions(self) -> Iterator[axes.Trace]:
        accepted, finished = [], []
        xs: list[float | None] = []
        ys: list[float | None] = []
        for at, row in enumerate(self._w.rows):
            for part in row.transactions:
                name = f"{self._object(part.object)} {part.request}"
                xs += [self._us(part.begin_ns), self._us(part.end_ns), None]
                ys += [at + _TRANSACTION_AT, at + _TRANSACTION_AT, None]
                if part.opens:
                    text = hover(f"{row.name} accepts {name}", f"{self._us(part.begin_ns):,.1f} µs")
                    accepted.append((self._us(part.begin_ns), at + _TRANSACTION_AT, text))
                if part.closes:
                    text = hover(f"{row.name} finishes {name}", f"{self._us(part.end_ns):,.1f} µs")
                    finished.append((self._us(part.end_ns), at + _TRANSACTION_AT, text))
        if xs:
            yield _lines("transaction", "@ink", xs, ys)
        size = 5 if self._crowded else 9
        if accepted:
            yield _points("accept", "triangle-up", "@ink", size, accepted)
        if finished:
            yield _points("finish", "triangle-down", "@ink", size, finished)

    def _phases(self) -> Iterator[axes.Trace]:
        points = [
            (
                self._us(part.begin_ns),
                at + _PHASE_AT,
                hover(f"{row.name}: {self._object(part.object)}", self._times(part.begin_ns, part.end_ns)),
            )
            for at, row in enumerate(self._w.rows)
            for part in row.phases
            if part.opens
        ]
        if points:
            yield _points("phase", "line-ns-open", "@ink", 6, points)

    def _labels(self) -> list[dict[str, Any]]:
        return [
            {
                "x": self._us(part.begin_ns), "y": at - 0.26, "xanchor": "left", "yanchor": "bottom", "showarrow": False,
                "text": plot_text(self._w.names[part.object]), "font": _LABEL_FONT, "borderpad": 0, "xshift": 2,
            }
            for at, row in enumerate(self._w.rows)
            for part in row.phases
            if self._fits(part, self._w.names[part.object])
        ]  # fmt: skip


def _joined(group: Sequence[Span]) -> Span:
    longest = max(group, key=lambda one: one.end_ns - one.begin_ns)
    return Span(group[0].begin_ns, group[-1].end_ns, longest.state, longest.object, longest.call, longest.cpu)


def _bars(name: str, colour: str, width: float, bars: Sequence[_Bar]) -> axes.Trace:
    trace: axes.Trace = {
        "type": "bar", "orientation": "h", "name": name, "base": [round(one.begin, 3) for one in bars],
        "x": [round(one.length, 3) for one in bars], "y": [one.row for one in bars], "width": width,
        "marker": {"color": colour, "line": {"width": 0}}, "hoverinfo": "text", "hovertext": [one.text for one in bars],
    }  # fmt: skip
    if any(one.label for one in bars):
        trace |= {
            "text": [plot_text(one.label) for one in bars], "textposition": "inside", "insidetextanchor": "middle",
            "textangle": 0, "insidetextfont": {"size": 9, "color": "@paper"},
        }  # fmt: skip
    return trace


def _lines(name: str, colour: str, xs: list[float | None], ys: list[float | None]) -> axes.Trace:
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": xs, "y": ys, "hoverinfo": "skip",
        "line": {"color": colour, "width": 1},
    }  # fmt: skip


def _points(
    name: str, mark: str, colour: str, size: int, points: Sequence[tuple[float, float, str]]
) -> axes.Trace:
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": [round(x, 3) for x, _, _ in points],
        "y": [y for _, y, _ in points], "marker": {"symbol": mark, "color": colour, "size": size, "line": {"width": 1, "color": colour}},
        "hoverinfo": "text", "hovertext": [text for _, _, text in points], "cliponaxis": False,
    }  # fmt: skip


#: how to read a chart
WORDS = (
    "One row per thread, those that serve transactions first; a CPU's row shows the thread that it runs, and interrupts below it. Ticks "
    "and names above a row mark phases, lines below it transactions. Thin lines lead from the thread or CPU that wakes to the thread that is woken."
)


def write_chart(
    trace: Trace,
    path: Path,
    begin_ns: int | None = None,
    end_ns: int | None = None,
    transaction: int | None = None,
) -> None:
    """Write the time chart of a window as one self-contained HTML file.

    Args:
        trace: with scheduling events.
        path: the file to write, atomically; missing folders are created.
        begin_ns, end_ns: the window, in ns from the begin of the trace; default of one that is None: the
            window of the transaction, or the trace's begin or end if the other one is given.
        transaction: its number; default: the one with the median response time.

    Raises:
        RegattaError: no such transaction finished in the trace, or the window is empty.
        StoreError: the file cannot be written.
    """
    facts = trace.facts
    one = None
    with opened(trace) as charted:
        if begin_ns is None and end_ns is None:
            one = charted.median() if transaction is None else charted.transaction(transaction)
            first, last = charted.around(one)
        else:
            first = facts.begin_ns + max(0, begin_ns or 0)
            last = facts.end_ns if end_ns is None else min(facts.end_ns, facts.begin_ns + end_ns)
        if last <= first:
            raise RegattaError(
                str(trace.folder),
                f"a window within the {show_quantity(facts.end_ns - facts.begin_ns, 'ns', 6)} of the trace",
                f"{first - facts.begin_ns} to {last - facts.begin_ns} ns",
                "choose another window",
            )
        window = charted.window(first, last)
    at = show_quantity(first - facts.begin_ns, "ns", 6)
    section = Section(
        "chart",
        title="Time chart",
        words=WORDS,
        groups=[
            Group(
                "",
                [draw(window)],
                LEGEND,
                joined(transaction_words(one), left_out_words(window), *facts.remarks),
            )
        ],
    )
    title = joined(
        f"Event trace of {facts.host}" if facts.host else "Event trace",
        f"{show_quantity(last - first, 'ns')} from {at} on",
    )
    page = fill("sections.html.j2", [number_figures(section)], title=title, question="", sentences=())
    write_page(path, encoded(page))
