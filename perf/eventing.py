"""Cost of event traces: recording under full load, analysis and export, compared with DuckDB and perf."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from command import run_command
from experiments import HOME
from rows import Row, say
from turns import take_turns

from regatta.host.events.recorder import Recorder
from regatta.host.events.tracefs import missing_for_events
from regatta.host.values.events import Events, Probe
from regatta.models.kernel_traces.model import (
    EVENTS,
    EVENTS_FILE,
    NONE,
    OBJECTS,
    OBJECTS_FILE,
    Facts,
    Kind,
    write_facts,
)

EVENTS_OF = {False: 10_000_000, True: 200_000}
REQUESTS_OF = {False: 20_000, True: 500}
TURNS = {False: 7, True: 2}
BARE = "bare"
_CPUS, _THREADS = 2, 40
#: what each recording contains
RECORDINGS = {
    "scheduling": ("scheduling",),
    "and interrupts, disks": ("scheduling", "interrupts", "disks"),
    "and system calls, locks": ("scheduling", "interrupts", "disks", "system-calls", "kernel-locks"),
}
_PROBES = tuple(
    Probe(program, function, at, ("accept phase x",))
    for program, function, at in (
        ("apache2", "ap_process_connection", "entry"),
        ("apache2", "ap_lingering_close", "entry"),
        ("apache2", "ap_lingering_close", "return"),
        ("libapr-1.so.0", "apr_socket_accept", "entry"),
        ("libapr-1.so.0", "apr_socket_accept", "return"),
    )
)


_SERVED = (Kind.RESUME, Kind.ACCEPT, Kind.FINISH, Kind.INTERRUPT, Kind.INTERRUPT_END, Kind.ACCEPT, Kind.WAKE, Kind.FINISH,
           Kind.SLEEP)  # fmt: skip
_SWITCHES = (Kind.RESUME, Kind.SLEEP)
#: objects: after the threads and the idle one, a CPU, an interrupt and two system calls
_CPU, _INTERRUPT, _READ, _POLL = range(2 * _THREADS + 1, 2 * _THREADS + 5)
_OBJECTS = {
    Kind.RESUME: _CPU,
    Kind.SLEEP: _CPU,
    Kind.INTERRUPT: _INTERRUPT,
    Kind.INTERRUPT_END: _INTERRUPT,
    Kind.WAKE: NONE,
}


def synthetic(folder: Path, events: int, turn: Sequence[Kind]) -> None:
    """Write a trace in which threads take turns on each CPU, like those of a loaded server.

    Args:
        folder: empty.
        events: number of events, about.
        turn: events of a thread that gets the CPU.
    """
    folder.mkdir()
    rng = np.random.default_rng(1)
    turns = events // (len(turn) * _CPUS)
    calls = [_READ, _READ, _POLL, _POLL]
    objects = [_OBJECTS[kind] if kind in _OBJECTS else calls.pop(0) for kind in turn]
    parts = []
    for cpu in range(_CPUS):
        actors = np.repeat(rng.integers(0, _THREADS, turns) * _CPUS + cpu, len(turn))
        kinds = np.tile(np.array(turn, np.int64), turns)
        woken = rng.integers(0, _THREADS, len(kinds)) * _CPUS + cpu
        times = np.cumsum(rng.integers(200, 4000, len(kinds)))
        wake = kinds == Kind.WAKE
        whom = np.where(wake, woken, actors)
        parts.append(
            (
                times,
                kinds,
                np.full(len(kinds), cpu),
                whom,
                np.tile(objects, turns),
                np.where(wake, actors, NONE),
            )
        )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    columns += [np.zeros(len(order)), np.zeros(len(order))]
    arrays = [pa.array(column[order]).cast(one.type) for column, one in zip(columns, EVENTS, strict=True)]
    pq.write_table(
        pa.table(arrays, schema=EVENTS), folder / EVENTS_FILE, compression="zstd", row_group_size=1_000_000
    )
    named = [("thread", f"server{at}", 1000 + at) for at in range(2 * _THREADS + 1)]
    named += [
        ("cpu", "cpu", 0),
        ("network", "softirq NET_RX", 0),
        ("system-call", "read", 0),
        ("system-call", "poll", 0),
    ]
    rows = [
        {"id": at, "parent": NONE, "kind": kind, "name": name, "pid": pid, "tid": pid}
        for at, (kind, name, pid) in enumerate(named)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=OBJECTS), folder / OBJECTS_FILE)
    times = columns[0]
    write_facts(folder, Facts(int(times.min()), int(times.max()), _CPUS))


def _in_a_process(code: str, folder: Path) -> tuple[float, float]:
    """Return seconds and peak memory in MiB of a Python statement on a trace."""
    program = (
        "import json, sys, time\nfrom pathlib import Path\nfrom regatta.models.kernel_traces.model import open_trace\n"
        "trace = open_trace(Path(sys.argv[1]))\nbegan = time.monotonic()\n"
        f"{code}\nspent = time.monotonic() - began\n"
        # `ru_maxrss` would include the peak of the parent at the fork.
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "print(json.dumps([spent, int(status['VmHWM'].split()[0]) / 1024]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    spent, peak = json.loads(done.stdout)
    return float(spent), float(peak)


def analysis(place: Path, quick: bool) -> list[Row]:
    """Return rows on the analysis and the export of a synthetic trace; the peer is a sort of the same events in DuckDB."""
    folder = place / "synthetic"
    events = EVENTS_OF[quick]
    synthetic(folder, events, _SERVED)
    say(f"analysis of {events:,} events")
    spent, peak = _in_a_process(
        "from regatta.models.kernel_traces.measures import measure\nmeasure(trace)", folder
    )
    gaps = f"select time_ns - lag(time_ns) over (partition by actor order by time_ns) as gap from '{folder / EVENTS_FILE}'"
    alone, _ = _in_a_process(f'import duckdb\nduckdb.sql("select sum(gap) from ({gaps})").fetchall()', folder)
    say("export")
    switches = place / "switches"
    synthetic(switches, 2 * events, _SWITCHES)
    code = f"from regatta.models.kernel_traces.perfetto import export_perfetto\nexport_perfetto(trace, Path('{switches / 'trace.pftrace'}'))"
    exported, export_peak = _in_a_process(code, switches)
    scale = EVENTS_OF[False] / events
    window = "one window function of DuckDB"
    return [
        Row(f"analysis of {events:,} events", "s", spent, alone, window, "20 s for 10^7", 20.0, spent * scale <= 20, details={"peak_mib": peak}),
        Row("its memory", "MiB", peak, None, "NOT COMPARED: no peer measures the same", "2 GB", 1907.0, peak <= 1907),
        Row(f"export of {events:,} switches", "s", exported, None, "NOT COMPARED: no other program exports this format", "15 s for 10^7", 15.0,
            exported * scale <= 15, details={"peak_mib": export_peak}),
    ]  # fmt: skip


def recording(place: Path, quick: bool) -> list[Row]:
    """Return rows on Apache under full load with recordings, relative to the same load without."""
    missing = missing_for_events()
    if missing:
        say(f"recording: NOT MEASURED; expected {missing}")
        return []
    subprocess.run(["make", "-s", "-C", HOME / "benchmarks" / "web"], check=True)
    web = [
        str(HOME / "benchmarks" / "web" / "build" / "web"), "--server", "apache", "--servers", "50", "--acceptance", "parallel",
        "--connections", "50", "--persistent-percent", "0", "--requests", str(REQUESTS_OF[quick]), "--json",
    ]  # fmt: skip

    def bare(under: list[str] | None = None) -> float:
        done = subprocess.run([*(under or ()), *web], capture_output=True, text=True, check=True, cwd=place)
        told = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
        return float(told["elapsed_ns"]) / 1e3 / REQUESTS_OF[quick]

    def ours(events: Events) -> Callable[[], float]:
        def run() -> float:
            folder = place / "recording"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            with Recorder(folder, events) as recorder:
                recorder.prepare()
                recorder.begin()
                return bare()

        return run

    def peer() -> float:
        # The mount is seen by the peer only, and ends with it.
        mounting = 'mount -t tracefs nodev /sys/kernel/tracing; exec "$@"'
        words = [
            "unshare",
            "--mount",
            "sh",
            "-c",
            mounting,
            "sh",
            "perf",
            "record",
            "-a",
            "-q",
            "-o",
            str(place / "peer.data"),
        ]
        for event in ("sched_switch", "sched_waking", "sched_wakeup", "sched_process_fork"):
            words += ["-e", f"sched:{event}"]
        return bare([*words, "--"])

    contenders: dict[str, Callable[[], float]] = {BARE: bare}
    if shutil.which("perf") is None:
        say("perf: NOT INSTALLED; apt-get install linux-perf")
    else:
        contenders["scheduling by perf record"] = peer
    for name, groups in RECORDINGS.items():
        contenders[name] = ours(Events(groups, for_s=600, buffer_mib=256))
    contenders["and five probes"] = ours(
        Events(RECORDINGS["and interrupts, disks"], _PROBES, for_s=600, buffer_mib=256)
    )
    say("recording")
    found = take_turns(contenders, TURNS[quick])
    rows = []
    for name, values in found.items():
        if name == BARE:
            continue
        ratios = [value / alone for value, alone in zip(values, found[BARE], strict=True)]
        ratio = statistics.median(ratios)
        goal = ("2 % slower", 1.02, ratio <= 1.02) if name == "scheduling" else (None, None, None)
        rows.append(
            Row(f"request of Apache, {name}", "us", statistics.median(values), statistics.median(found[BARE]), BARE, *goal, ratio,
                {"ratios": [round(one, 3) for one in ratios]})
        )  # fmt: skip
    return rows


def measure(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    began = time.monotonic()
    rows = [*analysis(place, quick), *recording(place, quick)]
    say(f"{time.monotonic() - began:.0f} s")
    return rows


if __name__ == "__main__":
    sys.exit(run_command(__doc__ or "", measure))
