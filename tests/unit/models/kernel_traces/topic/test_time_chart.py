"""The time chart of an event trace: rows, states, times, wake-ups, phases and transactions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.synthetic_traces import write_trace
from regatta.figures.axes import Figure
from regatta.host.errors import RegattaError
from regatta.models.kernel_traces.model import Facts, Kind, Trace
from regatta.models.kernel_traces.timeline import State
from regatta.models.kernel_traces.topic.chart import STATES, draw, write_chart
from regatta.models.kernel_traces.topic.window import MOST_THREADS, Wakeup, Window, median_window, opened

PROCESS, FIRST, SECOND, CLIENT, IDLE, NETWORK, READ, CONNECTION, PREPARE, ANSWER = range(10)
OBJECTS: list[dict[str, Any]] = [
    {"kind": "process", "name": "server", "pid": 10},
    {"kind": "thread", "name": "server", "parent": PROCESS, "pid": 10, "tid": 11},
    {"kind": "thread", "name": "server", "parent": PROCESS, "pid": 10, "tid": 12},
    {"kind": "thread", "name": "<client>", "pid": 20, "tid": 20},
    {"kind": "idle", "name": "idle/0"},
    {"kind": "network", "name": "softirq NET_RX"},
    {"kind": "system-call", "name": "read"},
    {"kind": "transaction", "name": "connection"},
    {"kind": "phase", "name": "1-prepare"},
    {"kind": "phase", "name": "2-answer"},
]
T0 = 5_000_000
EVENTS: list[dict[str, Any]] = [
    {"time_ns": 0, "kind": Kind.RESUME, "actor": FIRST},
    {"time_ns": 1000, "kind": Kind.ACCEPT, "actor": FIRST, "object": PREPARE},
    {"time_ns": 2000, "kind": Kind.ACCEPT, "actor": FIRST, "object": CONNECTION, "request": 7},
    {"time_ns": 3000, "kind": Kind.ACCEPT, "actor": FIRST, "object": READ},
    {"time_ns": 5000, "kind": Kind.FINISH, "actor": FIRST, "object": READ},
    {"time_ns": 6000, "kind": Kind.INTERRUPT, "actor": FIRST, "object": NETWORK},
    {"time_ns": 6500, "kind": Kind.WAKE, "actor": SECOND, "peer": NETWORK},
    {"time_ns": 7000, "kind": Kind.INTERRUPT_END, "actor": FIRST, "object": NETWORK},
    {"time_ns": 8000, "kind": Kind.ACCEPT, "actor": FIRST, "object": ANSWER},
    {"time_ns": 9000, "kind": Kind.WAKE, "actor": CLIENT, "peer": FIRST},
    {"time_ns": 10000, "kind": Kind.FINISH, "actor": FIRST, "object": CONNECTION, "request": 7},
    {"time_ns": 11000, "kind": Kind.SLEEP, "actor": FIRST},
    {"time_ns": 11000, "kind": Kind.RESUME, "actor": SECOND},
    {"time_ns": 12000, "kind": Kind.SLEEP, "actor": SECOND},
    {"time_ns": 12000, "kind": Kind.RESUME, "actor": CLIENT},
    {"time_ns": 20000, "kind": Kind.SLEEP, "actor": CLIENT},
    {"time_ns": 20000, "kind": Kind.RESUME, "actor": IDLE},
]
BEGIN, END = T0 + 1500, T0 + 11500


def choose_window(trace: Trace) -> tuple[int, int]:
    with opened(trace) as charted:
        return charted.around(charted.median())


def time_chart(trace: Trace, begin_ns: int, end_ns: int) -> Figure:
    with opened(trace) as charted:
        return draw(charted.window(begin_ns, end_ns))


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    events = [{**one, "time_ns": T0 + one["time_ns"], "kind": int(one["kind"])} for one in EVENTS]
    return write_trace(tmp_path / "trace", events, OBJECTS, Facts(T0, T0 + 30000, 1, host="alpha"))


def read_window(trace: Trace, begin_ns: int, end_ns: int) -> Window:
    with opened(trace) as charted:
        return charted.window(begin_ns, end_ns)


def bars(figure: Figure, name: str) -> list[tuple[float, float, float]]:
    """Row, begin and length in us of the bars of a name."""
    return [
        (row, begin, length)
        for one in figure.traces
        if one["name"] == name
        for row, begin, length in zip(one["y"], one["base"], one["x"], strict=True)
    ]


def points(figure: Figure, name: str) -> list[float]:
    return [x for one in figure.traces if one["name"] == name for x in one["x"]]


def test_the_window_is_around_the_transaction_with_the_median_response_time(trace: Trace) -> None:
    assert choose_window(trace) == (T0 + 2000 - 800, T0 + 10000 + 800)


def test_of_an_even_number_of_transactions_the_faster_median_is_chosen(tmp_path: Path) -> None:
    events = [
        {"time_ns": time, "kind": int(kind), "actor": FIRST, "object": CONNECTION, "request": number}
        for number, (accept, finish) in enumerate([(0, 900), (1000, 1100), (2000, 2300), (3000, 3500)])
        for time, kind in ((accept, Kind.ACCEPT), (finish, Kind.FINISH))
    ]
    trace = write_trace(tmp_path / "trace", events, OBJECTS, Facts(0, 4000, 1))
    assert choose_window(trace) == (1970, 2330)


def test_a_trace_without_transactions_has_a_window_at_its_begin(tmp_path: Path) -> None:
    assert choose_window(write_trace(tmp_path / "trace", [], OBJECTS, Facts(5, 50, 1))) == (5, 50)
    assert choose_window(write_trace(tmp_path / "long", [], OBJECTS, Facts(5, 10**9, 1))) == (5, 10_000_005)


def test_servers_come_first_and_cpus_last(trace: Trace) -> None:
    figure = time_chart(trace, BEGIN, END)
    axis = figure.layout["yaxis"]
    assert axis["ticktext"] == ["server 11", "server 12", "&lt;client&gt; 20", "CPU 0"]
    assert axis["tickvals"] == [0, 1, 2, 3]
    assert figure.layout["xaxis"]["range"] == [0, 10]


def test_each_state_has_its_colour_and_its_times_from_the_begin_of_the_window(trace: Trace) -> None:
    figure = time_chart(trace, BEGIN, END)
    assert bars(figure, "user") == [(0, 0, 1.5), (0, 3.5, 1.0), (0, 5.5, 4.0), (1, 9.5, 0.5)]
    assert bars(figure, "kernel") == [(0, 1.5, 2.0)]
    assert bars(figure, "interrupt") == [(0, 4.5, 1.0)]
    assert bars(figure, STATES[State.READY][0]) == [(1, 5.0, 4.5), (2, 7.5, 2.5)]
    assert bars(figure, "asleep") == [(0, 9.5, 0.5), (1, 0, 5.0), (2, 0, 7.5)]
    by_name = {name: colour for name, colour, _ in STATES.values()}
    drawn = {one["name"]: one["marker"]["color"] for one in figure.traces if one["name"] in by_name}
    assert drawn == {name: by_name[name] for name in drawn}
    assert len(set(drawn.values())) == 5


def test_a_cpu_shows_the_threads_that_it_runs_and_its_interrupts(trace: Trace) -> None:
    window = read_window(trace, BEGIN, END)
    assert [(one.begin_ns - BEGIN, one.end_ns - BEGIN, one.object) for one in window.cpus[0]] == [
        (0, 9500, FIRST),
        (9500, 10000, SECOND),
    ]
    assert [(one.begin_ns - T0, one.end_ns - T0, one.object) for one in window.interrupts[0]] == [
        (6000, 7000, NETWORK)
    ]
    idle = read_window(trace, T0 + 19000, T0 + 29000)
    assert [(one.begin_ns - T0, one.end_ns - T0, one.object) for one in idle.cpus[0]] == [
        (19000, 20000, CLIENT)
    ]


def test_wakeups_lead_from_the_waker_to_the_woken(trace: Trace) -> None:
    figure = time_chart(trace, BEGIN, END)
    window = read_window(trace, BEGIN, END)
    assert window.wakeups == [
        Wakeup(T0 + 6500, SECOND, NETWORK, 0),
        Wakeup(T0 + 9000, CLIENT, FIRST, 0),
    ]
    (lines,) = [one for one in figure.traces if one["name"] == "from waker to woken"]
    # the first from the CPU of the interrupt, the second from the thread
    assert lines["x"] == [5.0, 5.0, None, 7.5, 7.5, None]
    assert lines["y"] == [3, 1, None, 0, 2, None]


def test_phases_and_transactions_are_marked_where_they_begin_and_end(trace: Trace) -> None:
    figure = time_chart(trace, BEGIN, END)
    assert points(figure, "phase") == [6.5]
    assert [one["text"] for one in figure.layout["annotations"]] == ["1-prepare", "2-answer"]
    assert points(figure, "accept") == [0.5]
    assert points(figure, "finish") == [8.5]
    assert points(figure, "transaction") == [0.5, 8.5, None]


def test_only_the_busiest_threads_have_a_row(tmp_path: Path) -> None:
    threads = [{"kind": "thread", "name": f"t{at}", "tid": at + 1} for at in range(MOST_THREADS + 3)]
    events = []
    time = 0
    for at in range(len(threads)):
        events.append({"time_ns": time, "kind": int(Kind.RESUME), "actor": at})
        time += 100 + at
        events.append({"time_ns": time, "kind": int(Kind.SLEEP), "actor": at})
    trace = write_trace(tmp_path / "trace", events, threads, Facts(0, time + 1, 1))
    window = read_window(trace, 0, time)
    assert len(window.rows) == MOST_THREADS
    assert window.left_out == 3
    assert [row.actor for row in window.rows] == list(range(MOST_THREADS + 2, 2, -1))


def test_a_chart_is_written_as_one_file(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "new" / "chart.html"
    write_chart(trace, path, transaction=7)
    page = path.read_text(encoding="utf-8")
    assert "server 11" in page
    assert "src=" not in page.partition("<script>")[0]
    write_chart(trace, path, begin_ns=0, end_ns=5000)
    assert '"range":[0,5.0]' in path.read_text(encoding="utf-8")


def test_a_window_outside_of_the_trace_and_an_unknown_transaction_are_refused(
    trace: Trace, tmp_path: Path
) -> None:
    with pytest.raises(RegattaError):
        write_chart(trace, tmp_path / "chart.html", begin_ns=40000)
    with pytest.raises(RegattaError) as caught:
        write_chart(trace, tmp_path / "chart.html", transaction=8)
    assert caught.value.problems[0].got == "8"


def test_the_window_of_a_recording_is_read_once(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = tmp_path / "journal" / "alpha" / "kept" / "i-a0"
    recording.mkdir(parents=True)
    (recording / "events.dat").write_bytes(b"")
    imported: list[Path] = []

    def fake(source: Path, _: Path) -> Trace:
        imported.append(source)
        return trace

    monkeypatch.setattr("regatta.models.kernel_traces.topic.window.import_recording", fake)
    first: tuple[Window, str] = median_window(recording, tmp_path / "charts")
    assert median_window(recording, tmp_path / "charts") == first
    assert imported == [recording]
    (tmp_path / "charts" / "alpha" / "i-a0.json").write_text("{")
    assert median_window(recording, tmp_path / "charts") == first
    assert len(imported) == 2
