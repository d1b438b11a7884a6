"""Measurements for a vector: runs or windows with the tracer, alternating with runs or windows without it."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regatta.host.errors import Problem, RegattaError, SpecError, VerificationError
from regatta.models.system_calls.application import About, Trace, application_vector, mean_of, ratio_of
from regatta.models.system_calls.java import (
    has_iterations,
    iteration_ns,
    profiler_jar,
    read_profile,
    tally_of,
    with_profiler,
)
from regatta.models.system_calls.java_configuration import (
    NamedJvm,
    check_flags,
    check_release,
    flags_of,
    named_jvm,
)
from regatta.models.system_calls.java_events import (
    Events,
    counted_of,
    events_agent,
    intervals_ns,
    parallelism_of,
    read_events,
    with_events,
    with_work_of_jvm,
    words_of,
)
from regatta.models.system_calls.java_samples import read_samples, share_words, with_recording
from regatta.models.system_calls.memory_waits import MemoryWaits
from regatta.models.system_calls.planned_command import PlannedCommand, reporting
from regatta.models.system_calls.processes import is_there
from regatta.models.system_calls.runs import (
    TRACER,
    Figure,
    Figures,
    Run,
    read_figure,
    run_command,
    run_driver,
    watch,
)
from regatta.models.system_calls.tools import NoTracer, make_tracer
from regatta.models.vectors.calls import CallTable
from regatta.models.vectors.values import ApplicationVector, Value
from regatta.spec.home import find_home
from regatta.spec.registries import read_registries

#: the tool that counts calls into system classes; it is no tracer, because the JVM itself loads it
JAVA = "java"
_PAIRS = 3
#: of the harness: pauses of the garbage collector
_PAUSES = "gc_time"
_ENDED = "process {} has ended: later windows are missing"


@dataclass(frozen=True)
class CountingRequest:
    """The request: options of the command line by name."""

    command: tuple[str, ...]
    figures: Mapping[str, Figure | None]
    output: Path | None
    tool: str
    name: str | None
    #: "": `iteration` for a program with Regatta's harness, else `run`
    per: str
    units: float | None
    benchmark: str
    pairs: int | None
    level: float
    pid: int | None
    for_s: float | None
    ready: Path | None
    tally: Path | None
    calls: Path | None
    #: with the profiler of Java: iterations of each run that are left out, and the name of this JVM in system vectors
    warmup: int = 0
    #: count what comes before the first of these iterations, as one unit of work
    startup: bool = False
    configuration: str = ""
    #: show what the command prints only if it fails
    quiet: bool = False
    #: of the experiment's cell that `command` is from
    cell: PlannedCommand | None = None
    #: of this machine, as in system vectors
    fingerprint: str = ""


@dataclass
class Measured:
    """Traces, and consecutive runs without and with the tracer."""

    traces: list[Trace] = field(default_factory=list)
    without: list[Run] = field(default_factory=list)
    traced: list[Run] = field(default_factory=list)
    #: sentences: requested measurements that were not possible
    notes: list[str] = field(default_factory=list)
    #: further provenance of the vector
    told: dict[str, str] = field(default_factory=dict)
    #: pauses of a garbage collector per unit, of each run without the profiler that knows them
    pauses_ns: list[float] = field(default_factory=list)
    #: threads that worked at the same time; None: unknown
    parallelism: float | None = None
    #: whether a unit of work is an iteration of a program with Regatta's harness
    of_iterations: bool = False
    #: of the runs without the tracer
    memory: MemoryWaits = field(default_factory=MemoryWaits)


class _Ended(Exception):
    """A signal requests the end."""


@contextlib.contextmanager
def ending(done: threading.Event | None) -> Iterator[None]:
    """Make SIGINT and SIGTERM set `done`. Without `done`, they abort the current work so that no process remains."""

    def heard(number: int, frame: object) -> None:
        if done is None:
            raise _Ended(signal.Signals(number).name)
        done.set()

    before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except _Ended as error:
        raise RegattaError("trace", "a complete trace", f"ended by {error}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def measure(wanted: CountingRequest, tool: str, table: CallTable) -> Measured:
    """Trace as requested.

    Raises:
        RegattaError: the command or the tracer fails, or calls were lost.
    """
    if wanted.pid is not None:
        return _windows(wanted, wanted.pid, tool, table)
    named = _named_jvm(wanted) if tool == JAVA else None
    jar = profiler_jar() if tool == JAVA else None
    pairs = _PAIRS if wanted.pairs is None else wanted.pairs
    measured = Measured()
    with ending(None):
        for index in range(max(pairs, 1)):
            # Alternate the order, so that drift affects both sides equally.
            for traced in ((False, True), (True, False))[index % 2]:
                if not traced and not pairs:
                    continue
                with contextlib.nullcontext() if traced else measured.memory.of_a_run():
                    if tool == JAVA:
                        _run_java(wanted, jar if traced else None, table, measured, named)
                    else:
                        _run(wanted, tool if traced else "none", table, measured)
        if tool == JAVA and wanted.output is not None:
            for name, run in (("events", _run_with_events), ("system_share", _run_sampled)):
                # The counts remain valid without what these runs add.
                try:
                    run(wanted, measured)
                except RegattaError as error:
                    measured.notes.append(f"{name} is unknown: {error}")
    measured.notes += measured.memory.notes
    return measured


def _run(wanted: CountingRequest, tool: str, table: CallTable, measured: Measured) -> None:
    units = wanted.figures["units_from"] or wanted.units or 1.0
    figures = Figures(units, wanted.figures["elapsed_from"], wanted.figures["user_time_from"])
    if TRACER in wanted.command:
        # In memory, under a name that the tracer can open, so that no file remains after a crash.
        with os.fdopen(os.memfd_create("tally.json")) as file:
            path = Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
            tracing = [
                sys.executable, "-m", "regatta", "trace", "os", "--pid", "{pid}", "--ready", "{ready}", "--tool", tool,
                "--tally", str(path), *(("--calls", str(wanted.calls.resolve())) if wanted.calls else ()),
            ]  # fmt: skip
            run, tally = run_driver(wanted.command, tracing, figures, path)
    else:
        run, tally = run_command(wanted.command, make_tracer(tool, table), figures, quiet=wanted.quiet)
    if tool == "none":
        measured.without.append(run)
    else:
        measured.traced.append(run)
        measured.traces.append(Trace(tally, run.units))


def _run_jvm(wanted: CountingRequest, command: Sequence[str], folder: Path) -> tuple[Run, Path]:
    """Run a JVM to its end. Return the run, and the file to which Regatta's harness reports, if it has one."""
    words, results = reporting(command, wanted.cell, folder)
    return run_command(words, NoTracer(), Figures(1.0), quiet=wanted.quiet)[0], results


def _flags(wanted: CountingRequest) -> list[str]:
    environment = os.environ if wanted.cell is None else wanted.cell.environment
    return flags_of(wanted.command, environment)


def _named_jvm(wanted: CountingRequest) -> NamedJvm | None:
    """Check the command against the configuration that it should have, before it runs. None without one, or from a cell."""
    if wanted.cell is not None:
        wanted.cell.check_files()
    if not wanted.configuration or wanted.cell is not None:
        return None
    problems: list[Problem] = []
    registries = read_registries(find_home(), problems)
    if problems:
        raise SpecError(problems)
    named = named_jvm(wanted.configuration, registries)
    check_flags(_flags(wanted), wanted.configuration, named)
    return named


def _run_java(
    wanted: CountingRequest, jar: Path | None, table: CallTable, measured: Measured, named: NamedJvm | None
) -> None:
    """Run a JVM, with the profiler if there is a `jar`. Without it, the harness reports the time of its iterations."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile.json"
        command = with_profiler(wanted.command, jar, profile) if jar else wanted.command
        run, results = _run_jvm(wanted, command, Path(folder))
        if jar is None:
            if wanted.startup:
                # It has no elapsed time of its own: the compilers work at the same time as the application.
                measured.without.append(replace(run, user_ns=None))
                return
            own_ns = iteration_ns(results, wanted.warmup)
            measured.without.append(replace(run, user_ns=run.elapsed_ns if own_ns is None else own_ns))
            pause_ns = iteration_ns(results, wanted.warmup, _PAUSES)
            measured.pauses_ns += [] if pause_ns is None else [pause_ns]
            return
        told = read_profile(profile)
        tally, units = tally_of(told, table, wanted.warmup, wanted.startup)
        measured.of_iterations = has_iterations(told.windows)
    if (
        named is not None
        and not named.is_started_by(wanted.command[0])
        and (note := check_release(told.java, wanted.configuration, named))
    ):
        measured.notes.append(note)
    measured.told |= {"jvm": told.java, "jvm_flags": " ".join(_flags(wanted))}
    measured.traced.append(run)
    measured.traces.append(Trace(tally, units))


def _run_with_events(wanted: CountingRequest, measured: Measured) -> None:
    """Run a JVM with the agent that counts events, without the profiler, which itself loads classes and is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        run, results, found, counted = _with_agent(wanted, wanted.command, Path(folder))
        elapsed_ns = iteration_ns(results, wanted.warmup) or run.elapsed_ns
        pause_ns = iteration_ns(results, wanted.warmup, _PAUSES) or 0.0
    measured.told |= words_of(found, counted, 1 if wanted.startup else len(counted))
    if wanted.startup:
        measured.traces = [
            replace(trace, tally=with_work_of_jvm(trace.tally, found, counted)) for trace in measured.traces
        ]
        return
    measured.parallelism = parallelism_of(found, counted, elapsed_ns, pause_ns)


def _run_sampled(wanted: CountingRequest, measured: Measured) -> None:
    """Run a JVM that samples its threads. The agent only reports when the iterations were."""
    with tempfile.TemporaryDirectory() as folder:
        command, recording = with_recording(wanted.command, Path(folder))
        try:
            _, _, found, counted = _with_agent(wanted, command, Path(folder), windows_only=True)
        except VerificationError as error:
            got = f"a failure with {command[1].partition(':filename')[0]}"
            raise RegattaError("samples", "a JVM with the flight recorder (JFR)", got) from error
        samples = read_samples(recording, wanted.command[0])
    shares = share_words(samples, intervals_ns(found, counted), wanted.level)
    measured.told["system_share"], measured.told["code"] = shares


def _with_agent(
    wanted: CountingRequest, command: Sequence[str], folder: Path, *, windows_only: bool = False
) -> tuple[Run, Path, Events, Sequence[int]]:
    """Run a JVM with the agent. Return the run, the file of the harness, the events, and the windows that count."""
    file = folder / "events.json"
    run, results = _run_jvm(
        wanted, with_events(command, events_agent(), file, windows_only=windows_only), folder
    )
    found = read_events(file)
    return run, results, found, counted_of(found, wanted.warmup, results.exists(), wanted.startup)


def _windows(wanted: CountingRequest, pid: int, tool: str, table: CallTable) -> Measured:
    """Measure windows of a running process. If its units are counted, windows without the tracer alternate."""
    done = threading.Event()
    counter = wanted.figures["units_from"]
    measured = Measured()
    order = [False, True, True, False] * ((wanted.pairs or 0) // 2) + [False, True] * (
        (wanted.pairs or 0) % 2
    )
    for traced in order or [True]:
        if measured.traces and not is_there(pid):
            measured.notes.append(_ENDED.format(pid))
            break
        tracer = make_tracer(tool if traced else "none", table)
        try:
            before = read_figure(counter, "") if counter else None
            with ending(None):
                tracer.start(pid)
            with ending(done):
                if wanted.ready is not None:
                    wanted.ready.touch()
                run, tally = watch(pid, tracer, counter, done, wanted.for_s, before)
        finally:
            tracer.kill()
        units = run.units if counter else wanted.units or 1.0
        if not units and measured.traces and not is_there(pid):
            # Earlier traces remain valid.
            measured.notes.append(_ENDED.format(pid))
            break
        if not units:
            raise RegattaError("units of work", "at least one per window", "0", "set a longer --for")
        run = Run(units, run.elapsed_ns, run.user_ns)
        if traced:
            measured.traced.append(run)
            measured.traces.append(Trace(tally, units))
        else:
            measured.without.append(run)
            if run.user_ns is None:
                measured.notes.append(
                    f"process {pid}, or a child of it, ended in a window without the tracer: its user time in that window is unknown"
                )
        if done.is_set():
            break
    if not measured.traces:
        raise RegattaError("trace", "at least one traced window", "none: ended before")
    return measured


def vector_of(wanted: CountingRequest, tool: str, table: CallTable, measured: Measured) -> ApplicationVector:
    """Return the vector of the measurements, with its provenance."""
    if not any(trace.tally.seen for trace in measured.traces):
        raise RegattaError("trace", "at least one call", "none", "set a longer --for, or add work")
    measured.notes += _unknown_of_a_jvm(measured) if tool == JAVA and not wanted.startup else []
    user = tuple(run.user_ns / run.units for run in measured.without if run.user_ns is not None)
    provenance = {
        **origin_of(wanted, tool),
        "overhead": overhead_words(measured, wanted.level),
        **table.provenance,
        **measured.told,
        "notes": "; ".join(dict.fromkeys(measured.notes)),
    }
    vector = application_vector(
        measured.traces, table, about_of(wanted, user, measured.of_iterations), provenance
    )
    if tool != JAVA:
        return vector
    pauses = mean_of(measured.pauses_ns, wanted.level, "one run") if measured.pauses_ns else None
    return replace(vector, pause_time=pauses, parallelism=measured.parallelism or 1.0)


def _unknown_of_a_jvm(measured: Measured) -> list[str]:
    notes = []
    if measured.parallelism is None:
        notes.append("the number of threads at work is unknown: predictions assume one")
    if measured.without and not measured.pauses_ns:
        notes.append(
            "pauses of the garbage collector are unknown: predictions treat them as code of the application"
        )
    return notes


def about_of(wanted: CountingRequest, user_ns: tuple[float, ...] = (), of_iterations: bool = False) -> About:
    """Return the metadata of the vector."""
    name = wanted.name or (Path(wanted.command[0]).name if wanted.command else f"process-{wanted.pid}")
    per = wanted.per or ("iteration" if of_iterations else "run")
    return About(name, per, wanted.benchmark, wanted.level, user_ns)


def origin_of(wanted: CountingRequest, tool: str) -> dict[str, str]:
    """Return the provenance of the vector that is known before a run."""
    kernel = os.uname()
    # An argument may be bytes that are not valid text.
    command = " ".join(wanted.command).encode(errors="backslashreplace").decode()
    return {
        "made_by": "regatta trace java" if tool == JAVA else "regatta trace os",
        "tool": tool,
        "command": command[:1000] or f"process {wanted.pid}",
        "host": f"{platform.node()}, {kernel.sysname} {kernel.release} {kernel.machine}",
        **({"fingerprint": wanted.fingerprint} if wanted.fingerprint else {}),
        **({"configuration": wanted.configuration} if wanted.configuration else {}),
        **({"experiment": wanted.cell.experiment, "heap": wanted.cell.heap} if wanted.cell else {}),
    }


def overhead_words(measured: Measured, level: float) -> str:
    """Describe how much longer a unit of work takes with the tracer."""
    if not measured.without:
        return "not measured"
    n = min(len(measured.traced), len(measured.without))
    with_ns, without_ns = (
        [run.elapsed_ns / run.units for run in runs[:n]] for runs in (measured.traced, measured.without)
    )
    return _ratio(ratio_of(with_ns, without_ns, level), level)


def _ratio(ratio: Value, level: float) -> str:
    if ratio.n == 1:
        return f"{ratio.value:.3g} times as long (one pair of runs)"
    return f"{ratio.value:.3g} times as long [{ratio.low:.3g}, {ratio.high:.3g}] ({100 * level:g} % CI, {ratio.n} pairs of runs)"
