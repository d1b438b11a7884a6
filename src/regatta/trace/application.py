"""Several traces of one application become its vector: counts for one unit of work, with Student's interval over the traces."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

from regatta.model.calls import CallTable, Tally
from regatta.model.vectors import ApplicationVector, Count, Interval, Share
from regatta.trace.counting import Counted, Entry, count_calls

ONE_TRACE = "one trace"


@dataclass(frozen=True)
class Trace:
    """What one trace has seen, and how many units of work were done meanwhile."""

    tally: Tally
    units: float


@dataclass(frozen=True)
class About:
    """What a vector says of itself beside its counts."""

    name: str
    per: str
    benchmark: str = ""
    level: float = 0.95
    #: user time of one unit, of each run that was not traced
    user_ns: tuple[float, ...] = ()


def mean_of(values: Sequence[float], level: float) -> Interval:
    """The mean with Student's interval; of one value that value alone, with the reason."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, mean, mean, 1, ONE_TRACE)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = float(stdtrit(n - 1, 0.5 + level / 2)) * spread / math.sqrt(n)
    return Interval(mean, max(0.0, mean - half), mean + half, n)


def ratio_of(with_ns: Sequence[float], without_ns: Sequence[float], level: float) -> Interval:
    """Geometric mean of the ratios of runs that followed each other, with Student's interval of their logarithms."""
    logs = [math.log(a / b) for a, b in zip(with_ns, without_ns, strict=True)]
    if len(logs) == 1:
        value = math.exp(logs[0])
        return Interval(value, math.nan, math.nan, 1, "one pair of runs")
    mean = math.fsum(logs) / len(logs)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (len(logs) - 1))
    half = float(stdtrit(len(logs) - 1, 0.5 + level / 2)) * spread / math.sqrt(len(logs))
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))


def application_vector(
    traces: Sequence[Trace], table: CallTable, about: About, provenance: Mapping[str, str]
) -> ApplicationVector:
    """The vector.

    Args:
        traces: at least one, each of at least one unit of work.
        table: which primitive each call is counted as.
        about: name and unit of work.
        provenance: as text; what the traces say of themselves is added.
    """
    counted = [count_calls(trace.tally, table) for trace in traces]
    keys = sorted({key for one in counted for key in one.entries})
    counts = tuple(_count(key, counted, traces, about.level) for key in keys)
    told = dict(provenance) | _told(counted, traces)
    user = mean_of(about.user_ns, about.level) if about.user_ns else None
    return ApplicationVector(
        about.name, about.per, counts, about.level, user, "ns", about.benchmark, {k: v for k, v in told.items() if v}
    )  # fmt: skip


def _count(key: tuple[str, str], counted: Sequence[Counted], traces: Sequence[Trace], level: float) -> Count:
    entries = [one.entries.get(key, Entry()) for one in counted]
    per_unit = [entry.count / trace.units for entry, trace in zip(entries, traces, strict=True)]
    calls = sorted(set().union(*(entry.calls for entry in entries)))
    argument = next((entry.argument for entry in entries if entry.argument), "")
    shares = _shares(argument, entries) if argument else ()
    primitive, rule = key
    only = dict(shares[0].arguments) if len(shares) == 1 else {}
    return Count(
        primitive, mean_of(per_unit, level), only, shares if len(shares) > 1 else (), tuple(calls), rule
    )  # fmt: skip


def _shares(argument: str, entries: Sequence[Entry]) -> tuple[Share, ...]:
    """The sizes of all traces together: for each power of two its mean, with its part of the calls."""
    sizes: dict[int, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for entry in entries:
        for size, (count, total) in entry.sizes.items():
            sizes[size] = (sizes[size][0] + count, sizes[size][1] + total)
    everything = math.fsum(count for count, _ in sizes.values())
    return tuple(
        Share({argument: total / count}, count / everything)
        for _, (count, total) in sorted(sizes.items())
        if count
    )


def _told(counted: Sequence[Counted], traces: Sequence[Trace]) -> dict[str, str]:
    unknown: dict[str, int] = defaultdict(int)
    covered: dict[str, float] = defaultdict(float)
    for one in counted:
        for call, count in one.unknown.items():
            unknown[call] += count
        for rule, amount in one.covered.items():
            covered[rule] += amount
    remarks = [remark for trace in traces for remark in trace.tally.remarks]
    return {
        "traces": str(len(traces)),
        "units": " ".join(f"{trace.units:g}" for trace in traces),
        "calls": " ".join(str(trace.tally.calls) for trace in traces),
        "covered": ", ".join(f"{rule} {amount:g}" for rule, amount in sorted(covered.items())),
        "unknown": ", ".join(f"{call} {count}" for call, count in sorted(unknown.items())),
        "remarks": "; ".join(dict.fromkeys(remarks)),
    }
