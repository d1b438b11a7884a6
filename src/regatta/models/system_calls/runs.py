"""Runs of a command with and without a tracer, and windows of a running server."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from regatta.host.errors import RegattaError, VerificationError
from regatta.host.files import parse_json
from regatta.models.system_calls.gate import Finished, GatedCommand
from regatta.models.system_calls.processes import is_there, tree_of, user_ns
from regatta.models.system_calls.tools import NoTracer, Tracer
from regatta.models.vectors.calls import Seen, Tally

#: in a command: placeholder where the command itself starts a tracer
TRACER = "{tracer}"
#: number of trailing bytes of a command's output that are searched
_TAIL = 1 << 20
#: units of work at the ends of a window, relative to the window, below which no note is needed
_BESIDE = 0.01


@dataclass(frozen=True)
class Figure:
    """A number reported by a command in a one-line JSON object, in a file or in its output (`-`)."""

    file: str
    key: str


@dataclass(frozen=True)
class Figures:
    """Sources of the figures of a run. None: one unit of work, the clock, the kernel's accounting."""

    units: float | Figure
    elapsed_ns: Figure | None = None
    user_ns: Figure | None = None


@dataclass(frozen=True)
class Run:
    """One run or one window."""

    units: float
    elapsed_ns: float
    #: of the traced processes; None: unknown
    user_ns: float | None


def parse_figure(text: str) -> Figure:
    """Parse `FILE:key` or `-:key`.

    Raises:
        ValueError: the text has another form.
    """
    file, colon, key = text.rpartition(":")
    if not colon or not file or not key:
        raise ValueError(text)
    return Figure(file, key)


def read_figure(figure: Figure, printed: str) -> float:
    """Return the number from the last line that is a JSON object with that key.

    Raises:
        RegattaError: the key is missing, or its value is not a number of at least 0.
    """
    where = (
        f"{figure.file}:{figure.key}" if figure.file != "-" else f"{figure.key} in the output of the command"
    )
    if figure.file == "-":
        text = printed
    else:
        try:
            with Path(figure.file).open("rb") as file:
                text = _end_of(file)
        except OSError as error:
            raise RegattaError(where, "a file with a JSON object", error.strerror or str(error)) from error
    for line in reversed(text.splitlines()):
        try:
            value = parse_json(line, finite=False)
        except ValueError:
            continue
        if isinstance(value, dict) and figure.key in value:
            number = _number(value[figure.key])
            if not 0 <= number < math.inf:
                raise RegattaError(where, "a number of at least 0", repr(value[figure.key])[:60])
            return number
    raise RegattaError(
        where, f"a line with a JSON object that has `{figure.key}`", "none", "correct FILE:key"
    )


def _number(value: object) -> float:
    """Return a number, or NaN for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def run_command(
    command: Sequence[str], tracer: Tracer, figures: Figures, *, quiet: bool = False
) -> tuple[Run, Tally]:
    """Run a command to its end under a tracer, which may be `NoTracer`. With `quiet`, its output is shown only if it fails.

    Raises:
        RegattaError: the command cannot be run or fails, or the trace lost calls.
    """
    finished, printed, tally = _to_its_end(command, tracer, quiet)
    _check(command, finished)
    return _run(figures, printed, finished, finished.user_ns), tally


def run_driver(
    command: Sequence[str], tracing: Sequence[str], figures: Figures, path: Path
) -> tuple[Run, Tally]:
    """Run a command that starts the tracer itself, where its arguments contain `{tracer}`.

    Args:
        command: one of its arguments is `{tracer}`.
        tracing: the tracing command, with the part that the driver replaces.
        figures: sources of its figures.
        path: the file to which the tracing command writes its tally.
    """
    words: list[str] = []
    for word in command:
        words.extend(tracing if word == TRACER else [word])
    finished, printed, _ = _to_its_end(words, NoTracer())
    _check(command, finished)
    if not path.exists() or not path.stat().st_size:
        raise RegattaError(command[0], "a complete trace", "no trace written")
    return _run(figures, printed, finished, None), read_tally(path)


def _to_its_end(command: Sequence[str], tracer: Tracer, quiet: bool = False) -> tuple[Finished, str, Tally]:
    """Run a command. Return how it ended, the end of its output, and the tally of the tracer."""
    with tempfile.TemporaryFile() as output:
        gated = GatedCommand(command, output, with_errors=quiet)
        try:
            tracer.start(gated.pid, gated=True)
            gated.release()
            finished = gated.wait()
            tally = tracer.stop()
        finally:
            tracer.kill()
            gated.stop()
        if not quiet or finished.code:
            _show(output)
        printed = _end_of(output)
    return finished, printed, tally


def watch(
    pid: int,
    tracer: Tracer,
    units: Figure | None,
    done: threading.Event,
    for_s: float | None,
    before: float | None = None,
) -> tuple[Run, Tally]:
    """Trace a process and its descendants for a time, until `done`, or until the process ends.

    The window has the units between the end of attaching and the start of detaching. Calls are counted slightly longer at both
    ends. If many units complete meanwhile, the tally has a note.

    Args:
        pid: the process.
        tracer: already started; is stopped here.
        units: a counter of completed units of work.
        done: ends the window.
        for_s: maximum seconds.
        before: value of the counter before the tracer was started; None: not read.

    Returns:
        the window and the tally. The user time is None if the process ended during the window.
    """
    first = read_figure(units, "") if units else 0.0
    user_before = user_ns(tree_of(pid))
    began = time.monotonic_ns()
    while not done.wait(
        0.05 if for_s is None else max(0.0, min(0.05, for_s - (time.monotonic_ns() - began) / 1e9))
    ):
        if (for_s is not None and time.monotonic_ns() - began >= for_s * 1e9) or not is_there(pid):
            break
    elapsed = time.monotonic_ns() - began
    last = read_figure(units, "") if units else 0.0
    user_after = user_ns(tree_of(pid))
    # The user time of a process is lost when it exits, as is that of descendants that are not reaped.
    known = is_there(pid) and user_after >= user_before
    tally = tracer.stop()
    if units:
        # A process that has ended may have removed its counter.
        after = read_figure(units, "") if is_there(pid) else last
        beside = (first - before if before is not None else 0.0) + after - last
        tally = Tally(tally.seen, (*tally.remarks, *_units_beside(beside, last - first)))
    return Run(last - first, elapsed, user_after - user_before if known else None), tally


def _units_beside(beside: float, window: float) -> tuple[str, ...]:
    """Return a note on units completed while the tracer attached and detached, whose calls may be counted."""
    if beside <= _BESIDE * window:
        return ()
    return (
        f"{beside:g} units of work completed while the tracer attached and detached, {100 * beside / window:.1f} % of the "
        f"{window:g} in the window: counts can be too high by this share"
        if window
        else f"{beside:g} units of work completed while the tracer attached and detached, and none in the window",
    )


def _run(figures: Figures, printed: str, finished: Finished, user: float | None) -> Run:
    units = read_figure(figures.units, printed) if isinstance(figures.units, Figure) else figures.units
    if not units:
        raise RegattaError("units of work", "at least one per run", "0")
    elapsed = read_figure(figures.elapsed_ns, printed) if figures.elapsed_ns else float(finished.elapsed_ns)
    if not elapsed:
        raise RegattaError(
            "elapsed time", "more than 0 ns per run", "0", "set `--elapsed-from` to a key in ns"
        )
    if figures.user_ns:
        user = read_figure(figures.user_ns, printed)
    return Run(units, elapsed, user)


def _end_of(file: IO[bytes]) -> str:
    """Return the end of a file, for the figures."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL))
    return file.read(_TAIL).decode(errors="replace")


def _show(output: IO[bytes]) -> None:
    """Copy the output of a command to standard error."""
    output.seek(0)
    while chunk := output.read(1 << 16):
        sys.stderr.write(chunk.decode(errors="replace"))
    sys.stderr.flush()


def _check(command: Sequence[str], finished: Finished) -> None:
    if finished.code:
        got = f"exit code {finished.code}" if finished.code > 0 else f"signal {-finished.code}"
        raise VerificationError(" ".join(command)[:200], "a command that succeeds", got)


def write_tally(tally: Tally, path: Path) -> None:
    """Write a tally as JSON."""
    seen = [[s.call, s.kind, s.ending, s.turn, s.phase, s.size, n, b] for s, (n, b) in tally.seen.items()]
    path.write_text(json.dumps({"seen": seen, "remarks": list(tally.remarks)}))


def read_tally(path: Path) -> Tally:
    """Read a tally."""
    told = parse_json(path.read_bytes())
    seen = {Seen(*row[:6]): (int(row[6]), int(row[7])) for row in told["seen"]}
    return Tally(seen, tuple(told["remarks"]))
