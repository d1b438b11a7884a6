"""Calls of an application into Java's system classes, counted by the profiler (benchmarks/java/profiler)."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, TypeVar

from regatta.host.errors import RegattaError
from regatta.host.files import parse_json, read_bounded
from regatta.host.ready.builds import build
from regatta.host.values.experiment import Build
from regatta.host.values.from_json import value_from_json
from regatta.models.vectors.calls import CallTable, Seen, Tally, size_class
from regatta.spec.home import find_home

_BUILD = Build(
    "profiler",
    "benchmarks/java",
    ("mvn", "-q", "-B", "-pl", "profiler", "-am", "package"),
    {"jar": "profiler/target/regatta-profiler.jar"},
    ("mvn", "javac"),
)
T = TypeVar("T")

_VERSION = 1
_MOST_BYTES = 64 << 20
_ITERATION = re.compile(r"iteration \d+")


class _Calls(TypedDict):
    method: str
    calls: list[int]


class _MethodLine(_Calls, total=False):
    unit: str
    amount: list[int]


@dataclass(frozen=True)
class Profile:
    """The file of the profiler; benchmarks/java/README.md describes its keys. All lists of a method are over `windows`."""

    profile: int
    java: str
    windows: list[str]
    methods: list[_MethodLine]
    threads: dict[str, int]
    not_profiled: dict[str, str]


def profiler_jar() -> Path:
    """Build the profiler, unless it is cached.

    Raises:
        HostError: Maven or javac is missing, or the build fails.
    """
    return Path(build(_BUILD, find_home())["jar"].path)


def with_profiler(command: Sequence[str], jar: Path, profile: Path) -> list[str]:
    """Return the command of a JVM with the profiler as its first option.

    Args:
        command: `java` or another launcher that accepts the options of a JVM, with its arguments.
        jar: the profiler.
        profile: file that the JVM writes when it ends.
    """
    return [command[0], f"-javaagent:{jar}={profile}", *command[1:]]


def iteration_ns(results: Path, warmup: int, metric: str = "elapsed") -> float | None:
    """Return the mean elapsed time of the iterations after warm-up, in ns; None for a program without the harness.

    Args:
        results: lines of the harness.
        warmup: iterations to leave out, from the first.
        metric: another time, such as `gc_time`; None if the harness does not report it.

    Raises:
        RegattaError: the file has another form, or no iteration is left.
    """
    if not results.exists():
        return None
    elapsed = []
    try:
        for text in read_bounded(results, _MOST_BYTES).decode().splitlines():
            line = parse_json(text)
            if line.get("metric") == metric and line["iteration"] >= warmup:
                elapsed.append(float(line["value"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RegattaError("results of the harness", "lines of the protocol", repr(error)) from error
    if not elapsed and metric != "elapsed":
        return None
    if not elapsed:
        raise _all_left_out(warmup)
    return math.fsum(elapsed) / len(elapsed)


def _all_left_out(warmup: int) -> RegattaError:
    return RegattaError(
        "--warmup",
        "fewer than the iterations of the run",
        str(warmup),
        "run more iterations, or leave out fewer",
    )


def read_of_jvm(kind: type[T], path: Path, where: str) -> T:
    """Read a JSON file that an agent in the JVM wrote at its end.

    Args:
        kind: the dataclass of its keys.
        path: the file.
        where: its name in errors.

    Raises:
        RegattaError: the JVM has not written it, or it has another shape.
    """
    try:
        text = read_bounded(path, _MOST_BYTES)
    except OSError as error:
        raise RegattaError(
            where,
            "a file written by the JVM at its end",
            error.strerror or str(error),
            f"start a JVM (`java ...`) that exits normally; a killed or halted JVM writes no {where}",
        ) from error
    try:
        told = parse_json(text)
    except ValueError as error:
        raise RegattaError(where, "JSON", str(error)) from error
    return value_from_json(kind, told, where)


def read_profile(path: Path) -> Profile:
    """Read the file of the profiler.

    Raises:
        RegattaError: the JVM has not written it, or it has another shape.
    """
    profile = read_of_jvm(Profile, path, "profile")
    lists = [line["calls"] for line in profile.methods]
    lists += [line["amount"] for line in profile.methods if "amount" in line]
    check_lists("profile", profile.profile, lists, profile.windows)
    return profile


def check_lists(where: str, version: int, lists: Iterable[Sequence[int]], windows: Sequence[str]) -> None:
    """Check that a file of an agent has the known version, and a value of each list for each window.

    Raises:
        RegattaError: it has not.
    """
    lengths = set(map(len, lists))
    if version != _VERSION or not lengths <= {len(windows)}:
        got = f"version {version} with lists of {sorted(lengths)} for {len(windows)} windows"
        raise RegattaError(where, f"version {_VERSION}, and a value for each window", got)


def has_iterations(windows: Sequence[str]) -> bool:
    """Return whether parts of a run are iterations of Regatta's harness; `windows`: their names."""
    return any(map(_ITERATION.fullmatch, windows))


def counted_windows(windows: Sequence[str], warmup: int, startup: bool = False) -> Sequence[int]:
    """Return the places of the iterations after warm-up; without the harness, all of the run is one iteration.

    Args:
        windows: names of the parts of the run, in order.
        warmup: iterations to leave out, from the first.
        startup: return the places of everything before these iterations instead.

    Raises:
        RegattaError: no iteration is left, or the startup of a program without the harness is wanted.
    """
    iterations = [at for at, window in enumerate(windows) if _ITERATION.fullmatch(window)]
    if startup and not iterations:
        fix = "leave out --startup: the whole run is one unit of work, with its startup"
        raise RegattaError("--startup", "a program with Regatta's harness", "no iterations", fix)
    counted = iterations[warmup:] if iterations else range(len(windows))
    if not counted:
        raise _all_left_out(warmup)
    return range(counted[0]) if startup else counted


def tally_of(profile: Profile, table: CallTable, warmup: int, startup: bool = False) -> tuple[Tally, int]:
    """Return the calls of the iterations after warm-up and their number, or of the startup, which is one unit of work.

    A program without the harness has no iterations: all of its run is one.

    Args:
        profile: of one run.
        table: its rules say by which names methods are counted: with their descriptor, or all overloads together.
        warmup: iterations to leave out, from the first.
        startup: whether to count what comes before the iterations that count.

    Raises:
        RegattaError: as `counted_windows`.
    """
    counted = counted_windows(profile.windows, warmup, startup)
    by_descriptor = {call for rule in table.rules.values() for call in rule.calls if "(" in call}
    with_argument = {
        call
        for rule in table.rules.values()
        if any(one.argument for one in rule.counts)
        for call in rule.calls
    }
    seen: dict[Seen, tuple[int, int]] = defaultdict(lambda: (0, 0))
    known: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    unknown: dict[str, list[tuple[str, int]]] = defaultdict(list)

    def see(call: str, calls: int, amount: int) -> None:
        key = Seen(call, size=size_class(round(amount / calls)))
        seen[key] = (seen[key][0] + calls, seen[key][1] + amount)

    for line in profile.methods:
        calls = sum(line["calls"][at] for at in counted)
        if not calls:
            continue
        method = line["method"]
        call = method if method in by_descriptor else method.partition("(")[0]
        if "amount" not in line:
            unknown[call].append((method, calls))
            continue
        amount = sum(line["amount"][at] for at in counted)
        known[call] = (known[call][0] + calls, known[call][1] + amount)
        see(call, calls, amount)
    remarks = [f"{name} is not counted: {why}" for name, why in sorted(profile.not_profiled.items())]
    for call, overloads in unknown.items():
        for method, calls in overloads:
            # With nothing instead, an overload without an amount would make the mean of the others too small.
            mean = known[call][1] / known[call][0] if call in known else 0.0
            see(call, calls, round(calls * mean))
            if mean and call in with_argument:
                remarks.append(f"{calls} calls of {method} have the mean amount of its overloads")
    return Tally(dict(seen), tuple(remarks)), 1 if startup else len(counted)
