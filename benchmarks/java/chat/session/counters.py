"""Count hardware events of the server with `perf stat`: user and kernel separately, exactly in the windows.

One `perf stat` per window is attached, disabled, before any user connects: threads inherit the counters of their creator,
so that thousands of threads need no descriptor each. The server enables and disables them at the borders of the window
(`CounterSwitch`). Source: perf-stat(1), options -x, -D, -p and --control.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from processes import Failed, Family

#: metric -> event of perf
EVENTS = {
    "cycles": "cycles",
    "instructions": "instructions",
    "cache_references": "cache-references",
    "cache_misses": "cache-misses",
    "l1_dcache_loads": "L1-dcache-loads",
    "l1_dcache_misses": "L1-dcache-load-misses",
    "l1_icache_misses": "L1-icache-load-misses",
    "itlb_misses": "iTLB-load-misses",
    "dtlb_misses": "dTLB-load-misses",
    "branches": "branches",
    "branch_misses": "branch-misses",
}
#: space -> modifier of an event
SPACES = {"user": "u", "system": "k"}
#: derived metric -> (over, under)
RATIOS = {
    "cpi": ("cycles", "instructions"),
    "cache_miss_ratio": ("cache_misses", "cache_references"),
    "l1_dcache_miss_ratio": ("l1_dcache_misses", "l1_dcache_loads"),
    "l1_icache_misses_per_instruction": ("l1_icache_misses", "instructions"),
    "itlb_misses_per_instruction": ("itlb_misses", "instructions"),
    "dtlb_misses_per_instruction": ("dtlb_misses", "instructions"),
    "branches_per_instruction": ("branches", "instructions"),
    "branch_miss_ratio": ("branch_misses", "branches"),
}
#: The events of a ratio are counted in the same time slices: perf schedules a group on the counters as a whole.
#: Each group needs at most two counters besides the fixed ones for cycles and instructions.
Groups = Sequence[Sequence[str]]
GROUPS: Groups = (
    ("cycles", "instructions"),
    ("cache_references", "cache_misses"),
    ("l1_dcache_loads", "l1_dcache_misses"),
    ("instructions", "l1_icache_misses"),
    ("instructions", "itlb_misses", "dtlb_misses"),
    ("instructions", "branches", "branch_misses"),
)
#: A count over a smaller share of the time is mostly extrapolated.
LEAST_PERCENT = 20.0
_NONE = "none"
_ANSWER_S = 10.0
_TRY_S = 20.0
_UNKNOWN = {"<not supported>": "not supported", "<not counted>": "not counted"}


@dataclass
class Reading:
    """The output of one `perf stat`.

    `counts`: of each event, from the group that was counted longest. `together`: (index of a group, space) to the counts of its
    metrics, from the same time slices. `missing`: reason for a missing count. `least_percent`: smallest share of the time counted.
    """

    counts: dict[tuple[str, str], float] = field(default_factory=dict)
    together: dict[tuple[int, str], dict[str, float]] = field(default_factory=dict)
    missing: dict[tuple[str, str], str] = field(default_factory=dict)
    least_percent: float = 100.0


def parse_perf(text: str, groups: Groups = GROUPS) -> Reading:
    """Read the output of `perf stat -x,`: value, unit, event, time counted in ns, percentage of the time, and optional fields.

    Events of processors with two kinds of cores (`cpu_core/cycles/u`) are summed. Excluded are lines of other events, and events
    counted for less than `LEAST_PERCENT` of the time, because the rest would be extrapolated.

    Args:
        text: output of perf.
        groups: in the order of the perf command, the same for each space; a repeated event belongs to the next group that
            contains it.

    Raises:
        ValueError: a line of a known event lacks these fields.
    """
    reading = Reading()
    seen: dict[str, int] = {}
    found: dict[tuple[int, str, str], list[tuple[float, float]]] = {}
    for line in text.splitlines():
        fields = line.split(",")
        known = _known(fields[2]) if len(fields) > 2 and not line.startswith("#") else None
        if known is None:
            continue
        metric, space = known
        places = [place for place, group in enumerate(groups) if metric in group]
        time = seen[fields[2]] = seen.get(fields[2], -1) + 1
        if time >= len(places):
            raise ValueError(f"perf: expected {len(places)} lines of {fields[2]}, got {line!r:.120}")
        why = _UNKNOWN.get(fields[0])
        if why:
            reading.missing.setdefault(known, why)
            continue
        try:
            found.setdefault((places[time], space, metric), []).append((float(fields[0]), float(fields[4])))
        except (IndexError, ValueError):
            raise ValueError(f"perf: expected value,unit,event,ns,per cent · got {line!r:.120}") from None
    _take(found, reading)
    return reading


def _take(found: Mapping[tuple[int, str, str], list[tuple[float, float]]], reading: Reading) -> None:
    longest: dict[tuple[str, str], float] = {}
    for (place, space, metric), counts in found.items():
        # Each kind of core has a separate share of the time.
        percent = sum(share for _, share in counts)
        if percent < LEAST_PERCENT:
            reading.missing.setdefault(
                (metric, space), f"counted for less than {LEAST_PERCENT:g} % of the time"
            )
            continue
        count = sum(value for value, _ in counts)
        reading.together.setdefault((place, space), {})[metric] = count
        reading.least_percent = min(reading.least_percent, *(share for _, share in counts))
        if percent > longest.get((metric, space), 0.0):
            longest[metric, space] = percent
            reading.counts[metric, space] = count
    for known in reading.counts:
        # One kind of core may lack the event, or one group may never have been scheduled: use the available counts.
        reading.missing.pop(known, None)


def _known(event: str) -> tuple[str, str] | None:
    parts = event.split("/") if "/" in event else ["", *event.rsplit(":", 1)]
    if len(parts) != 3:
        return None
    metric = next((name for name, known in EVENTS.items() if known == parts[1]), None)
    space = next((name for name, modifier in SPACES.items() if modifier == parts[2]), None)
    return (metric, space) if metric and space else None


def values_of(reading: Reading, messages: float, connections: int) -> list[tuple[str, str, float, str]]:
    """Return metric, space, value and unit of the values derived from the counts of a window, without those that lack a count.

    Args:
        reading: of the window. A ratio uses one group: counts from other time slices would compare different work.
        messages: messages that the server received during counting.
        connections: number of users.
    """
    found = [(metric, space, value, "count") for (metric, space), value in sorted(reading.counts.items())]
    for name, (over, under) in RATIOS.items():
        pairs = {space: pair for space in SPACES if (pair := _pair(reading, space, over, under))}
        if len(pairs) == len(SPACES):
            pairs["all"] = (sum(a for a, _ in pairs.values()), sum(b for _, b in pairs.values()))
        found += [(name, space, a / b, "ratio") for space, (a, b) in pairs.items() if b]
    for metric in ("instructions", "cache_misses"):
        counts = {
            space: reading.counts[metric, space] for space in SPACES if (metric, space) in reading.counts
        }
        if len(counts) == len(SPACES):
            counts["all"] = sum(counts.values())
        for space, count in counts.items():
            found.append((f"{metric}_per_connection", space, count / connections, "count"))
            if messages:
                found.append((f"{metric}_per_message", space, count / messages, "count"))
    return found


def _pair(reading: Reading, space: str, over: str, under: str) -> tuple[float, float] | None:
    for (_, of), counts in reading.together.items():
        if of == space and over in counts and under in counts:
            return counts[over], counts[under]
    return None


def _fits(perf: str, events: Sequence[str]) -> bool:
    """Whether perf accepts these events as one group."""
    command = [perf, "stat", "-x,", "-e", "{" + ",".join(events) + "}", "--", "true"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _elsewhere(metric: str, place: int, groups: Sequence[Sequence[str]]) -> bool:
    """Whether a larger or an earlier group also contains the metric."""
    return any(
        metric in group and (len(group) > 1 or other < place)
        for other, group in enumerate(groups)
        if other != place
    )


def _is_of(line: str, space: str) -> bool:
    fields = line.split(",")
    known = _known(fields[2]) if len(fields) > 2 else None
    return known is not None and known[1] == space


@dataclass
class Counted:
    """The readings of all windows, in order."""

    readings: list[Reading] = field(default_factory=list)

    def lines(self, of_client: Sequence[Mapping[str, object]], connections: int) -> list[dict[str, object]]:
        """Return lines of docs/protocol.md, with the parameters of the client."""
        messages = {line["iteration"]: line for line in of_client if line.get("metric") == "messages_counted"}
        lines: list[dict[str, object]] = []
        for iteration, reading in enumerate(self.readings):
            line = messages[iteration]
            received, parameters = line["value"], line["parameters"]
            if not isinstance(received, (int, float)) or not isinstance(parameters, dict):
                raise Failed(f"expected messages of window {iteration}, got {line!r:.120}")
            for metric, space, value, unit in values_of(reading, received, connections):
                given = {**parameters, "space": space}
                lines.append(
                    {
                        "iteration": iteration,
                        "metric": metric,
                        "value": value,
                        "unit": unit,
                        "parameters": given,
                    }
                )
        return lines


class Counters:
    """The counters of a run."""

    def __init__(self, program: str, directory: Path, windows: int) -> None:
        """Query the events of this machine.

        Args:
            program: `perf` or a compatible program; `none`: no counters.
            directory: for the FIFOs.
            windows: number of windows.
        """
        self._windows = windows
        self._directory = directory
        self._told: dict[str, object] = {}
        self._events: list[str] = []
        #: space -> the groups that can be counted there
        self._groups: dict[str, Groups] = {}
        self._watching: list[subprocess.Popen[bytes]] = []
        self._perf = shutil.which(program) if program != _NONE else None
        if self._perf is None:
            self._told["all"] = "disabled by --perf none" if program == _NONE else f"no {program} on PATH"
            return
        for space in SPACES:
            self._ask(self._perf, space)
        if self._events:
            for window in range(windows):
                os.mkfifo(directory / f"control-{window}")
                os.mkfifo(directory / f"ack-{window}")

    @property
    def fifos(self) -> Path | None:
        """The directory of the FIFOs, for the server; None: no counters."""
        return self._directory if self._events else None

    def told(self) -> dict[str, object]:
        """Return event to reason if not counted, `counted` to the counted events, and the least share of time."""
        return self._told

    def attach(self, family: Family, pid: int) -> None:
        """Attach to a process, with counting disabled.

        Raises:
            Failed: perf does not count any more.
        """
        for window in range(self._windows if self._events else 0):
            output, errors = str(self._output(window)), self._directory / f"perf-{window}.err"
            fifos = f"fifo:{self._directory / f'control-{window}'},{self._directory / f'ack-{window}'}"
            command = [str(self._perf), "stat", "-x,", "-o", output, "-e", self._grouped()]
            command += ["-D", "-1", "--control", fifos, "-p", str(pid)]
            with errors.open("wb") as talk:
                child = family.start(command, subprocess.DEVNULL, errors=talk)
            self._watching.append(child)
            self._await(child, window)

    def collect(self) -> Counted:
        """End the counting and read the counts.

        Raises:
            Failed: the output of perf cannot be read.
        """
        counted = Counted()
        least = 100.0
        for window, child in enumerate(self._watching):
            child.send_signal(signal.SIGINT)
            try:
                child.wait(_ANSWER_S)
                reading = self._read(self._output(window).read_text(encoding="utf-8", errors="replace"))
            except (subprocess.TimeoutExpired, OSError, ValueError) as error:
                raise Failed(f"counters: {error}") from error
            least = min(least, reading.least_percent)
            for (metric, space), why in reading.missing.items():
                self._told[f"{EVENTS[metric]}:{SPACES[space]}"] = why
            counted.readings.append(reading)
        if counted.readings:
            self._told["counted"] = self._events
            self._told["least_percent_of_time"] = least
        return counted

    def _ask(self, perf: str, space: str) -> None:
        """Find the events that can be counted in a space, by running perf on a program that ends at once."""
        events = [f"{event}:{SPACES[space]}" for event in EVENTS.values()]
        command = [perf, "stat", "-x,", "-e", ",".join(events), "--", "true"]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TRY_S,
                check=False,
            )
            reading = parse_perf(done.stderr, [(metric,) for metric in EVENTS])
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            self._told[space] = f"not possible: {error}"
            return
        if done.returncode:
            words = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            self._told[space] = f"not possible: {words[-1]:.200}" if words else f"exit code {done.returncode}"
            return
        for metric, name in EVENTS.items():
            event = f"{name}:{SPACES[space]}"
            why = reading.missing.get((metric, space))
            # An event that is only "not counted" in such a short program is supported.
            if why == _UNKNOWN["<not supported>"] or (why is None and (metric, space) not in reading.counts):
                self._told[event] = "not supported"
            else:
                self._events.append(event)
        self._groups[space] = self._group(perf, space)

    def _group(self, perf: str, space: str) -> Groups:
        """Return the groups of supported events in a space; split a group that the processor cannot count at once."""
        groups: list[tuple[str, ...]] = []
        for group in GROUPS:
            names = {metric: f"{EVENTS[metric]}:{SPACES[space]}" for metric in group}
            kept = tuple(metric for metric, name in names.items() if name in self._events)
            if len(kept) > 1 and not _fits(perf, [names[metric] for metric in kept]):
                self._told[" with ".join(names[metric] for metric in kept)] = "not counted at the same time"
                groups += [(metric,) for metric in kept]
            else:
                groups.append(kept)
        # A single event that another group contains is counted there.
        return [g for i, g in enumerate(groups) if g and not (len(g) == 1 and _elsewhere(g[0], i, groups))]

    def _grouped(self) -> str:
        """Return the events in the syntax of perf: `{cycles:u,instructions:u},{...}`."""
        return ",".join(
            "{" + ",".join(f"{EVENTS[metric]}:{SPACES[space]}" for metric in group) + "}"
            for space, groups in self._groups.items()
            for group in groups
        )

    def _read(self, text: str) -> Reading:
        """Return the reading of all spaces, each with its own groups."""
        whole = Reading()
        for space, groups in self._groups.items():
            lines = [line for line in text.splitlines() if _is_of(line, space)]
            one = parse_perf("\n".join(lines), groups)
            whole.counts |= one.counts
            whole.together |= one.together
            whole.missing |= one.missing
            whole.least_percent = min(whole.least_percent, one.least_percent)
        return whole

    def _output(self, window: int) -> Path:
        return self._directory / f"counters-{window}.csv"

    def _await(self, child: subprocess.Popen[bytes], window: int) -> None:
        """Wait until perf responds to a command that has no effect."""
        control = os.open(self._directory / f"control-{window}", os.O_RDWR)
        ack = os.open(self._directory / f"ack-{window}", os.O_RDWR | os.O_NONBLOCK)
        try:
            os.write(control, b"disable\n")
            until = time.monotonic() + _ANSWER_S
            while not select.select([ack], [], [], 0.05)[0]:
                if child.poll() is not None or time.monotonic() > until:
                    words = (self._directory / f"perf-{window}.err").read_text(errors="replace").strip()
                    raise Failed(f"counters: perf does not respond to --control; its message: {words:.300}")
            # Its zero byte may arrive slightly later; the server skips it.
            os.read(ack, 64)
        finally:
            os.close(ack)
            os.close(control)
