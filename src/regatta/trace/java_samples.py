"""The share of an application's time in system classes, from samples of the JVM's flight recorder (JFR)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError, RegattaError
from regatta.stats.proportion import proportion_interval

_EVENTS = ("jdk.ExecutionSample", "jdk.NativeMethodSample")
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
    found = shutil.which(java)
    beside = Path(found).resolve().with_name("jfr") if found else None
    tool = str(beside) if beside and beside.is_file() else shutil.which("jfr")
    if tool is None:
        raise HostError("jfr", "the tool next to java, or on PATH", "none", "install a JDK")
    wanted = [tool, "print", "--json", "--stack-depth", "1", "--events", ",".join(_EVENTS), str(recording)]
    done = subprocess.run(wanted, capture_output=True, text=True, check=False)
    try:
        events = json.loads(done.stdout)["recording"]["events"]
        return [sample for event in events if (sample := _sample(event["values"])) is not None]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        got = done.stderr.strip()[-200:] or repr(error)
        raise RegattaError("recording", "samples as `jfr print --json` writes them", got) from error


def _sample(values: Any) -> Sample | None:
    """Return the sample; None without a stack, or of a class whose loader the recorder has lost."""
    frames = (values["stackTrace"] or {}).get("frames")
    loader = frames[0]["method"]["type"]["classLoader"] if frames else None
    if loader is None:
        return None
    kind = loader["type"]
    of_system = loader["name"] == _BOOT if kind is None else kind["name"] == _PLATFORM
    return Sample(round(datetime.fromisoformat(values["startTime"]).timestamp() * 1e9), of_system)


def share_words(samples: Sequence[Sample], intervals_ns: Sequence[tuple[int, int]], level: float) -> str:
    """Describe the share of the samples within the intervals that are of system classes.

    Args:
        samples: of one run.
        intervals_ns: start and end in ns since 1970.
        level: of the interval of the share, which treats samples as independent.

    Raises:
        RegattaError: no sample is within the intervals.
    """
    within = [one.of_system for one in samples if any(low <= one.at_ns <= high for low, high in intervals_ns)]
    if not within:
        fix = "run longer or more iterations"
        raise RegattaError("samples", "at least one in the counted iterations", "none", fix)
    share = proportion_interval(sum(within), len(within), level)
    ends = f"[{100 * share.low:.1f}, {100 * share.high:.1f}]"
    return f"{100 * share.point:.1f} % {ends} ({level:.0%} CI, {len(within)} samples)"
