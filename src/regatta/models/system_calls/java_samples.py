"""Shares of an application's time, from samples of the JVM's flight recorder (JFR): system classes, and kinds of code."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from regatta.host.errors import RegattaError
from regatta.host.files import parse_json
from regatta.models.kernel_traces.jfr_recording import find_jfr
from regatta.stats.proportion import proportion_interval

_NATIVE = "jdk.NativeMethodSample"
_EVENTS = ("jdk.ExecutionSample", _NATIVE)
#: a thread that runs Java code less often than this, relative to the busiest one, mostly waits for others
_WORKS = 0.1
#: names of threads in the description
_LISTED = 5
#: the recorder's shortest period on every release
_SETTINGS = (
    '<configuration version="2.0">'
    + "".join(
        f'<event name="{name}"><setting name="enabled">true</setting><setting name="period">10 ms</setting></event>'
        for name in _EVENTS
    )
    + "</configuration>\n"
)
#: the loaders whose classes the profiler calls system classes, as the recorder names them
_BOOT = "bootstrap"
_PLATFORM = "jdk/internal/loader/ClassLoaders$PlatformClassLoader"


@dataclass(frozen=True)
class Sample:
    """The method that a thread ran: whether its class is a system class."""

    #: since 1970
    at_ns: int
    of_system: bool
    thread: str = ""
    #: whether the thread was in a native method, where it may wait
    native: bool = False
    #: how the method ran, as the recorder names it: `Interpreted`, `JIT compiled`, `Inlined`, `Native`; "" if it does not
    code: str = ""


def with_recording(command: Sequence[str], folder: Path) -> tuple[list[str], Path]:
    """Return the command of a JVM that samples its threads, and the recording that it writes when it ends.

    Args:
        command: `java` or another launcher that accepts the options of a JVM, with its arguments.
        folder: for the recording and its settings.
    """
    settings, recording = folder / "samples.jfc", folder / "samples.jfr"
    settings.write_text(_SETTINGS, encoding="utf-8")
    option = f"-XX:StartFlightRecording:filename={recording},settings={settings},dumponexit=true"
    return [command[0], option, *command[1:]], recording


def read_samples(recording: Path, java: str) -> list[Sample]:
    """Read a recording with the `jfr` of that JVM, or with the one on PATH.

    Raises:
        RegattaError: there is no recording, no `jfr`, or it cannot read the recording.
    """
    if not recording.exists():
        raise RegattaError("recording", "a file written by the JVM at its end", "none")
    wanted = [
        find_jfr(java),
        "print",
        "--json",
        "--stack-depth",
        "1",
        "--events",
        ",".join(_EVENTS),
        str(recording),
    ]
    done = subprocess.run(wanted, capture_output=True, text=True, check=False)
    try:
        events = parse_json(done.stdout, finite=False)["recording"]["events"]
        return [sample for event in events if (sample := _sample(event)) is not None]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        got = done.stderr.strip()[-200:] or repr(error)
        raise RegattaError("recording", "samples as `jfr print --json` writes them", got) from error


def _sample(event: Any) -> Sample | None:
    """Return the sample; None without a stack, or of a class whose loader the recorder has lost."""
    values = event["values"]
    frames = (values["stackTrace"] or {}).get("frames")
    if not frames:
        return None
    loader = frames[0]["method"]["type"]["classLoader"]
    if loader is None:
        return None
    kind = loader["type"]
    of_system = loader["name"] == _BOOT if kind is None else kind["name"] == _PLATFORM
    at_ns = round(datetime.fromisoformat(values["startTime"]).timestamp() * 1e9)
    thread = (values.get("sampledThread") or {}).get("javaName") or ""
    return Sample(at_ns, of_system, thread, event.get("type") == _NATIVE, frames[0].get("type") or "")


def share_words(
    samples: Sequence[Sample], intervals_ns: Sequence[tuple[int, int]], level: float
) -> tuple[str, str]:
    """Describe the share of the samples within the intervals that are of system classes, and those of each kind of code.

    Only samples of threads that do the work count. A thread that waits, such as for a connection, is in a native method of
    the system classes all the time.

    Args:
        samples: of one run.
        intervals_ns: start and end in ns since 1970.
        level: of the interval of the share, which treats samples as independent.

    Returns:
        the share of system classes, and the kinds of code, the most frequent first; "" if the recorder does not name them.

    Raises:
        RegattaError: no sample is within the intervals.
    """
    every = [one for one in samples if any(low <= one.at_ns <= high for low, high in intervals_ns)]
    running = Counter(one.thread for one in every if not one.native)
    least = _WORKS * max(running.values(), default=0)
    threads = {one.thread for one in every if running[one.thread] >= least}
    within = [one for one in every if one.thread in threads]
    if not within:
        fix = "run longer or more iterations"
        raise RegattaError("samples", "at least one in the counted iterations", "none", fix)
    share = proportion_interval(sum(one.of_system for one in within), len(within), level)
    ends = f"[{100 * share.low:.1f}, {100 * share.high:.1f}]"
    kinds = Counter(one.code for one in within if one.code)
    code = ", ".join(f"{kind} {100 * n / len(within):.1f} %" for kind, n in kinds.most_common())
    names = sorted(threads - {""})
    more = f" and {len(names) - _LISTED} others" if len(names) > _LISTED else ""
    of = f" of {', '.join(names[:_LISTED])}{more}" if names else ""
    waiting = len({one.thread for one in every} - threads)
    without = f", without {waiting} waiting thread{'s' if waiting > 1 else ''}" if waiting else ""
    return (
        f"{100 * share.point:.1f} % {ends} ({100 * level:g} % CI, {len(within)} samples{of}{without})",
        code,
    )
