"""Combine traces of one application into its vector: counts per unit of work, with Student's interval over the traces."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

from regatta.models.system_calls.counting import Counted, Entry, count_calls
from regatta.models.vectors.calls import CallTable, Tally
from regatta.models.vectors.values import ApplicationVector, Count, Share, Value

ONE_TRACE = "one trace"
#: of the calls without a rule
_LISTED = 30


@dataclass(frozen=True)
class Trace:
    """Counts of one trace, and the units of work completed during it."""

    tally: Tally
    units: float


@dataclass(frozen=True)
class About:
    """Metadata of a vector."""

    name: str
    per: str
    benchmark: str = ""
    level: float = 0.95
    #: user time per unit of work, of each run without a tracer
    user_ns: tuple[float, ...] = ()


def mean_of(values: Sequence[float], level: float, alone: str = ONE_TRACE) -> Value:
    """Return the mean with Student's interval. A single value has no interval; `alone` is the reason."""
    mean, half = _student(values, level)
    if len(values) == 1:
        return Value(mean, mean, mean, 1, alone)
    return Value(mean, max(0.0, mean - half), mean + half, len(values))


def ratio_of(with_ns: Sequence[float], without_ns: Sequence[float], level: float) -> Value:
    """Return the geometric mean of the ratios of consecutive runs, with Student's interval of their logarithms."""
    logs = [math.log(a / b) for a, b in zip(with_ns, without_ns, strict=True)]
    mean, half = _student(logs, level)
    reason = "one pair of runs" if len(logs) == 1 else ""
    return Value(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs), reason)


def _student(values: Sequence[float], level: float) -> tuple[float, float]:
    """Return the mean and half the width of Student's interval; NaN for a single value."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return mean, math.nan
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return mean, float(stdtrit(n - 1, 0.5 + level / 2)) * spread / math.sqrt(n)


def application_vector(
    traces: Sequence[Trace], table: CallTable, about: About, provenance: Mapping[str, str]
) -> ApplicationVector:
    """Return the application vector.

    Args:
        traces: at least one, each of at least one unit of work.
        table: rules that map each call to a primitive.
        about: name and unit of work.
        provenance: as text; the metadata of the traces is added.
    """
    counted = [count_calls(trace.tally, table) for trace in traces]
    keys = sorted({key for one in counted for key in one.entries})
    made = [_count(key, counted, traces, about.level) for key in keys]
    counts = tuple(count for count, _ in made)
    varying = [
        " ".join(filter(None, (*key, argument)))
        for key, (_, argument) in zip(keys, made, strict=True)
        if argument
    ]
    told = dict(provenance) | _told(counted, traces) | {"varying_arguments": ", ".join(varying)}
    user = mean_of(about.user_ns, about.level, "one run") if about.user_ns else None
    return ApplicationVector(
        about.name, about.per, counts, about.level, user, "ns", about.benchmark, {k: v for k, v in told.items() if v}
    )  # fmt: skip


def _count(
    key: tuple[str, str], counted: Sequence[Counted], traces: Sequence[Trace], level: float
) -> tuple[Count, str]:
    """Return the entry, and the name of its argument if the argument determines the interval.

    The argument determines the interval if it varies more between traces than the number of calls.
    """
    entries = [one.entries.get(key, Entry()) for one in counted]
    units = [trace.units for trace in traces]
    number = mean_of([entry.count / of for entry, of in zip(entries, units, strict=True)], level)
    calls = sorted(set().union(*(entry.calls for entry in entries)))
    argument = next((entry.argument for entry in entries if entry.argument), "")
    shares = _shares(argument, entries, units) if argument else ()
    varying = ""
    if argument and _varies_more(amount := _amount(entries, units, level), number):
        number, varying = _as_uncertain_as(amount, number), argument
    primitive, rule = key
    only = dict(shares[0].arguments) if len(shares) == 1 else {}
    return Count(primitive, number, only, shares if len(shares) > 1 else (), tuple(calls), rule), varying


def _shares(argument: str, entries: Sequence[Entry], units: Sequence[float]) -> tuple[Share, ...]:
    """Return the mean sizes per unit of work over the traces: for each power of two its mean and its share of the calls."""
    sizes: dict[int, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for entry, of in zip(entries, units, strict=True):
        for size, (count, total) in entry.sizes.items():
            sizes[size] = (sizes[size][0] + count / of, sizes[size][1] + total / of)
    everything = math.fsum(count for count, _ in sizes.values())
    return tuple(
        Share({argument: total / count}, count / everything)
        for _, (count, total) in sorted(sizes.items())
        if count
    )


def _amount(entries: Sequence[Entry], units: Sequence[float], level: float) -> Value:
    """Return the sum of an argument over all calls, such as bytes, per unit of work."""
    totals = [math.fsum(total for _, total in entry.sizes.values()) for entry in entries]
    return mean_of([total / of for total, of in zip(totals, units, strict=True)], level)


def _varies_more(amount: Value, number: Value) -> bool:
    """Return whether the sum of an argument varies more than the number of calls, beyond the rounding of means."""
    return number.n > 1 and _relative(amount) > _relative(number) + 1e-9


def _as_uncertain_as(amount: Value, number: Value) -> Value:
    """Return the number of calls with the relative interval of the sum of their argument, which is wider.

    With a cost of f + p bytes, a trace of n calls and b bytes costs f n + p b. The deviation of a sum is at most the sum of the
    deviations. So Student's interval of the costs, relative to their mean, is at most as wide as the wider one of n and b. The
    wider interval therefore covers the cost for any f and p >= 0 of a system.
    """
    half = _relative(amount) * number.value
    return Value(number.value, max(0.0, number.value - half), number.value + half, number.n)


def _relative(number: Value) -> float:
    """Return half the relative width, from the upper half: the lower may be cut at 0."""
    return (number.high - number.value) / number.value if number.value else 0.0


def _frequent(calls: Mapping[str, int]) -> str:
    """Return the most frequent calls without a rule, and how many others there are."""
    listed = sorted(calls, key=lambda call: (-calls[call], call))
    told = [f"{call} {calls[call]}" for call in listed[:_LISTED]]
    rest = listed[_LISTED:]
    if rest:
        told.append(f"and {len(rest)} others {sum(calls[call] for call in rest)}")
    return ", ".join(told)


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
        "unknown": _frequent(unknown),
        "remarks": "; ".join(dict.fromkeys(remarks)),
    }
