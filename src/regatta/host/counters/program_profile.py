"""Sample which functions a program executes, in all its processes and threads, in user space and in the kernel.

Each sample has the chain of calls, as far as frame pointers lead. Names of compiled Java methods are those that the JVM writes with
`-XX:+DumpPerfMapAtExit`. What was sampled within an iteration is apart from the rest, if the program marks its iterations.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import os
import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from regatta.host.counters.profile import FREQUENCY_HZ, Sampled, Sampling
from regatta.host.values.counters import PROFILE_FILE, PROGRAM_PROFILE, metric_of
from regatta.host.values.record import Iteration

VERSION = 1
#: number of the window of samples outside of iterations
OUTSIDE = -1
#: thread, process/thread, time; a line of an event about tasks continues
_HEAD = re.compile(rb"(.{1,40}?)\s+(\d+)/(\d+)\s+(\d+)\.(\d{9}):\s*(PERF_RECORD_.*)?")
#: the same without its chain of calls, in one line with its address, function and file
_FLAT = re.compile(rb".{1,40}?\s+\d+/(\d+)\s+(\d+)\.(\d{9}):\s+[0-9a-f]+ (.+) \((.*)\)\s*")
_FORK = re.compile(rb"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
_FRAME = re.compile(rb"\s+[0-9a-f]+ (.+) \((.*)\)\s*")
_UNKNOWN = "[unknown]"
#: how perf calls memory with compiled code
_JIT = re.compile(r"perf-\d+\.map|\[JIT\].*|anon|//anon")
#: threads of a pool have numbers
_NUMBER = re.compile(r"[-#:/ ]?\d+$")
#: where a JVM writes the names of compiled methods, whatever TMPDIR is
_MAP = "/tmp/perf-{pid}.map"
#: characters of the name of a function: those of C++ can have thousands
_LONGEST_NAME = 200
#: thread, and time in ns
Sample = tuple[int, int]
#: sample without a chain of calls -> its window, and the name of its thread
Chainless = dict[Sample, tuple[int, str]]
_FIELDS = ("-F", "comm,pid,tid,time,ip,sym,dso", "--ns", "--no-inline")


class ProgramProfile(Sampling):
    """Samples of one program."""

    def __init__(self, results_file: str) -> None:
        """Start perf; see `Sampling`."""
        super().__init__(results_file, ["-k", "CLOCK_MONOTONIC"])

    def read(self, sampled: Sampled) -> tuple[list[Iteration], dict[str, str]]:
        """Return the time of all samples, and the stacks as JSON in `PROFILE_FILE`; see `Sampling.read`.

        The JSON has `v`; `hz`, samples per s of processor time; `windows`, iteration -> its duration in s; `stacks`, a list of window
        (`OUTSIDE` for none), number of samples, and frames joined by `;`. The first frame is the name of the thread without its
        number, each other one is `function (file)`, from the outermost to the innermost.
        """
        processes, ever = {sampled.program}, {sampled.program}
        chainless: Chainless = {}
        try:
            with self.script(*_FIELDS, "--show-task-events") as lines:
                stacks = stacks_of(lines, processes, sampled.windows, chainless, ever)
            if chainless:
                with self.script(*_FIELDS, "-G") as lines:
                    add_innermost(stacks, lines, chainless)
        finally:
            for pid in ever:
                _remove_map(pid)
        text = json.dumps(
            {
                "v": VERSION,
                "hz": FREQUENCY_HZ,
                "windows": {str(n): (end - begin) / 1e9 for n, (begin, end) in sampled.windows.items()},
                "stacks": [[window, count, frames] for (window, frames), count in sorted(stacks.items())],
            }
        )
        sampled_s = sum(stacks.values()) / FREQUENCY_HZ
        return [[0, metric_of(PROGRAM_PROFILE), sampled_s, "s", None, None]], {PROFILE_FILE: text}


def stacks_of(
    lines: Iterable[bytes],
    processes: set[int],
    windows: Mapping[int, tuple[int, int]],
    chainless: Chainless,
    ever: set[int],
) -> Tally[tuple[int, str]]:
    """Return (window, frames) -> number of samples; see `ProgramProfile.read`.

    Args:
        lines: output of `perf script -F comm,pid,tid,time,ip,sym,dso --ns --show-task-events`, in order of time.
        processes: those of the program; their children are added, and what another program starts with a number again is removed.
        windows: of the iterations.
        chainless: samples whose chain perf drops, because compiled code uses the frame pointer for something else, are added here.
        ever: all processes that the program had are added here.
    """
    begins = sorted((begin, end, number) for number, (begin, end) in windows.items())
    starts = [begin for begin, _, _ in begins]
    found: Tally[tuple[int, str]] = Tally()
    for sample, thread, chain in _samples(lines, processes, ever):
        at_ns, name = sample[1], _NUMBER.sub("", thread)
        place = bisect.bisect_right(starts, at_ns) - 1
        window = begins[place][2] if place >= 0 and at_ns <= begins[place][1] else OUTSIDE
        if chain:
            found[window, ";".join([name, *reversed(chain)])] += 1
        else:
            chainless[sample] = window, name
    return found


def add_innermost(stacks: Tally[tuple[int, str]], lines: Iterable[bytes], chainless: Chainless) -> None:
    """Add the samples without a chain, with their innermost frame alone.

    Args:
        stacks: from `stacks_of`.
        lines: output of `perf script -F comm,pid,tid,time,ip,sym,dso --ns -G`.
        chainless: as `stacks_of` left it; it is emptied.
    """
    for line in lines:
        if match := _FLAT.fullmatch(line.rstrip(b"\n")):
            found = chainless.pop((int(match[1]), int(match[2]) * 10**9 + int(match[3])), None)
            if found is not None:
                window, name = found
                stacks[window, f"{name};{_frame(match[4], match[5])}"] += 1
    for window, name in chainless.values():
        stacks[window, f"{name};{_frame(_UNKNOWN.encode(), b'')}"] += 1
    chainless.clear()


def _samples(
    lines: Iterable[bytes], processes: set[int], ever: set[int]
) -> Iterator[tuple[Sample, str, list[str]]]:
    """Yield each sample of processes and their children: name of its thread, and frames, innermost first."""
    first = frozenset(processes)
    current: tuple[Sample, str, list[str]] | None = None
    for line in lines:
        if match := _FRAME.fullmatch(line):
            if current is not None:
                current[2].append(_frame(match[1], match[2]))
        elif match := _HEAD.fullmatch(line.rstrip(b"\n")):
            if current is not None:
                yield current
            current = None
            if match[6] is None:
                if int(match[2]) in processes:
                    current = (int(match[3]), int(match[4]) * 10**9 + int(match[5])), _text(match[1]), []
            elif fork := _FORK.match(match[6]):
                child, parent = int(fork[1]), int(fork[2])
                if parent in processes:
                    processes.add(child)
                    ever.add(child)
                elif child != parent and child not in first:
                    processes.discard(child)
    if current is not None:
        yield current


def _frame(symbol: bytes, file: bytes) -> str:
    name = _text(symbol)
    of = os.path.basename(_text(file)) or _UNKNOWN
    return f"{name} ({'[JIT]' if _JIT.fullmatch(of) else of})"


def _text(data: bytes) -> str:
    text = data.decode("utf-8", "replace").strip().replace(";", ":")
    return "".join(c if c.isprintable() else "?" for c in text)[:_LONGEST_NAME]


def _remove_map(pid: int) -> None:
    """Remove the names of compiled methods of a JVM that has ended."""
    path = Path(_MAP.format(pid=pid))
    with contextlib.suppress(OSError):
        if path.lstat().st_uid == os.geteuid() and not Path(f"/proc/{pid}").exists():
            path.unlink()
