"""Record the events of the host around a command or a window of a process, in place of a tracer of system calls."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.host.events.recorder import Recorder
from regatta.host.values.events import Events
from regatta.models.system_calls.runs import TRACER, Figures, Run, run_command, watch
from regatta.models.system_calls.tools import NoTracer, Tracer
from regatta.models.system_calls.windows import ending
from regatta.models.vectors.calls import Tally


class EventTracer:
    """A `Tracer` that records the events of the whole host. It counts no calls: its tally is empty."""

    name = "events"

    def __init__(self, events: Events, folder: Path, root: int | None = None) -> None:
        self._recorder = Recorder(folder, events, root)

    def start(self, pid: int, gated: bool = False) -> None:
        """Begin to record.

        Raises:
            HostError: this host cannot record the events.
        """
        self._recorder.prepare()
        self._recorder.begin()

    def stop(self) -> Tally:
        """End the window, and write the files of the recorder.

        Raises:
            HostError: the trace cannot be written.
        """
        self._recorder.end()
        return Tally({})

    def kill(self) -> None:
        """End without a trace, unless it is written."""
        self._recorder.close()


@dataclass(frozen=True)
class Pairs:
    """Elapsed times of runs, in ns: with and without recording."""

    traced_ns: tuple[float, ...]
    without_ns: tuple[float, ...]


def record_command(
    command: Sequence[str], events: Events, folder: Path, pairs: int, own_command: Sequence[str]
) -> Pairs:
    """Run a command with the events recorded, and in pairs also without. The trace is that of the first recorded run.

    Args:
        command: the command. If one of its words is `{tracer}`, it starts `own_command` there.
        events: the recording.
        folder: for the files of the recorder.
        pairs: pairs of runs without and with recording, which alternate; 0: one recorded run.
        own_command: records a running process, `{pid}`, and reports to `{ready}`.

    Raises:
        RegattaError: the command fails, or this host cannot record the events.
    """
    traced: list[float] = []
    without: list[float] = []
    with ending(None):
        for index in range(max(pairs, 1)):
            for recorded in ((False, True), (True, False))[index % 2]:
                if not recorded and not pairs:
                    continue
                target = folder if not traced else folder / "repeated"
                target.mkdir(exist_ok=True)
                run = _run(command, events if recorded else None, target, own_command)
                (traced if recorded else without).append(run.elapsed_ns)
    return Pairs(tuple(traced), tuple(without))


def _run(command: Sequence[str], events: Events | None, folder: Path, own_command: Sequence[str]) -> Run:
    tracer: Tracer = NoTracer() if events is None else EventTracer(events, folder)
    if TRACER not in command:
        return run_command(command, tracer, Figures(1.0))[0]
    # Without a recording, the driver observes nothing, but does the same.
    other = [*own_command, "--record-into", str(folder)] if events is not None else _observing_nothing()
    words = [word for given in command for word in (other if given == TRACER else [given])]
    return run_command(words, NoTracer(), Figures(1.0))[0]


def _observing_nothing() -> list[str]:
    program = (
        "import pathlib, signal, sys; signal.signal(signal.SIGINT, lambda *_: sys.exit()); "
        "pathlib.Path(sys.argv[1]).touch(); signal.pause()"
    )
    return [sys.executable, "-c", program, "{ready}"]


def record_process(pid: int, events: Events, folder: Path, ready: Path | None) -> None:
    """Record the events of the host until the window ends, a signal comes, or a process ends.

    Args:
        pid: the process.
        events: the recording.
        folder: for the files of the recorder.
        ready: a file to create once recording has begun.

    Raises:
        RegattaError: this host cannot record the events.
    """
    done = threading.Event()
    tracer = EventTracer(events, folder, pid)
    try:
        with ending(None):
            tracer.start(pid)
        with ending(done):
            if ready is not None:
                ready.touch()
            watch(pid, tracer, None, done, events.after_s + events.for_s)
    finally:
        tracer.kill()
