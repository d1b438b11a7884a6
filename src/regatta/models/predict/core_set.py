"""Rank the primitives of applications by their time on a system, and choose the fewest that explain most.

Source: X. Zhang, "Application-Specific Benchmarking", PhD thesis, Harvard University, 2001, section 4.4: a
core set of methods is "a subset that gives good but not perfect coverage", a tradeoff between simplicity and
accuracy.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from regatta.answers.spine.words import counted, listed
from regatta.figures.section import Table
from regatta.figures.text import show_brief, show_percent, show_quantity, show_share
from regatta.host.errors import RegattaError
from regatta.models.predict.mixing import normalized
from regatta.models.predict.prediction import predict
from regatta.models.predict.predictions import RequestedApplication
from regatta.models.predict.tables import CALLS
from regatta.models.system_calls.counting import UNKNOWN_RULE
from regatta.models.vectors.sums import at_level
from regatta.models.vectors.values import ApplicationVector, Contribution, SystemVector

OTHERS = "others"
#: the last one of a shortened list is `and 14 others 15624`
_CALL = re.compile(r"(?:and \d+ (?=others ))?(.+) (\d+)")


@dataclass(frozen=True)
class Calls:
    """Calls or methods that count as a primitive; `rule`: why, if it only approximates them, else ""."""

    calls: tuple[str, ...]
    rule: str


@dataclass(frozen=True)
class RankedPrimitive:
    """A primitive with its share of the time in primitives, 0 to 1."""

    primitive: str
    core: bool
    #: over the applications, which weigh the same
    mean: float
    #: mean share of this and all previous ones
    cumulative: float
    #: application -> share
    shares: Mapping[str, float]
    calls: tuple[Calls, ...]


@dataclass(frozen=True)
class Counts:
    """Something without a known cost: application -> its count per unit of work."""

    #: `others`: calls that a vector does not list
    name: str
    counts: Mapping[str, float]


@dataclass(frozen=True)
class RankedApplication:
    """One application. `time_ns`: in primitives with a cost, per unit of work."""

    name: str
    per: str
    time_ns: float
    #: share of this time in the core set, 0 to 1
    explained: float
    #: share of its calls that no rule converts to a primitive, 0 to 1; NaN if unknown
    without_rule: float = math.nan
    #: the primitive as which these calls are counted nevertheless, with a cost that is too low; "": they
    #: count as nothing
    counted_as: str = ""


@dataclass(frozen=True)
class CoreSet:
    """The primitives of some applications on a system: the core set, then the others, by their mean share."""

    system: str
    #: requested share of the time of each application, above 0 to 1
    share: float
    applications: tuple[RankedApplication, ...]
    primitives: tuple[RankedPrimitive, ...]
    #: primitives of the applications without a cost on the system
    without_cost: tuple[Counts, ...] = ()
    #: calls that no rule converts to a primitive; vectors list only the most frequent
    without_rule: tuple[Counts, ...] = ()

    @property
    def core(self) -> tuple[RankedPrimitive, ...]:
        """Return the members of the core set."""
        return tuple(one for one in self.primitives if one.core)

    @property
    def rest(self) -> tuple[RankedPrimitive, ...]:
        """Return the primitives outside the core set."""
        return tuple(one for one in self.primitives if not one.core)


def core_set(
    applications: Sequence[RequestedApplication], system: SystemVector, share: float = 0.9
) -> CoreSet:
    """Rank primitives, and find the smallest set that explains a share of each application's time in primitives.

    Of several smallest sets, it is the one whose members have the highest ranks. Times are the products of
    values; their intervals have no effect. Primitives without a cost are excluded from all times.

    Args:
        applications: at least one, with unique names; each weighs the same.
        system: their costs.
        share: above 0, at most 1.

    Raises:
        RegattaError: the share is out of range, an application has no time on the system, or an error of
        `predict`.
    """
    if not 0.0 < share <= 1.0:
        raise RegattaError("--share", "a share above 0 and at most 1", f"{share:g}", "0.9")
    predictions = {
        one.vector.name: predict(at_level(one.vector, system.level), system) for one in applications
    }
    times = {name: _times(found.contributions) for name, found in predictions.items()}
    totals = {name: math.fsum(of.values()) for name, of in times.items()}
    for name, total in totals.items():
        if not total > 0.0:
            expected = f"a cost on {system.name} above 0 for a primitive that {name} uses"
            raise RegattaError(f"application {name}", expected, "none", "measure its primitives there")
    shares = {
        primitive: {name: times[name].get(primitive, 0.0) / total for name, total in totals.items()}
        for primitive in sorted({primitive for of in times.values() for primitive in of})
    }
    means = {primitive: math.fsum(of.values()) / len(totals) for primitive, of in shares.items()}
    order = sorted(means, key=lambda primitive: (-means[primitive], primitive))
    core = _smallest([primitive for primitive in order if means[primitive] > 0.0], shares, share)
    order.sort(key=lambda primitive: primitive not in core)
    calls = _calls(row for found in predictions.values() for row in found.contributions)
    ranked = []
    for at, primitive in enumerate(order):
        sums = (means[primitive], math.fsum(means[other] for other in order[: at + 1]))
        ranked.append(
            RankedPrimitive(primitive, primitive in core, *sums, shares[primitive], calls[primitive])
        )
    ranked_applications = []
    for one in applications:
        name, per = one.vector.name, one.vector.per
        explained = math.fsum(shares[primitive][name] for primitive in core)
        without_rule = (_share_without_rule(one), _counted_as(one.vector))
        ranked_applications.append(RankedApplication(name, per, totals[name], explained, *without_rule))
    return CoreSet(
        system.name,
        share,
        tuple(ranked_applications),
        tuple(ranked),
        _counts({name: _of_missing(found.contributions) for name, found in predictions.items()}),
        _counts({one.vector.name: _without_rule(one) for one in applications}),
    )


def _times(rows: Iterable[Contribution]) -> dict[str, float]:
    """Return primitive -> time in ns over all its entries, of those that are used and have a cost."""
    found: dict[str, float] = defaultdict(float)
    for row in rows:
        if math.isfinite(row.cost.value) and math.isfinite(row.time.value):
            found[row.primitive] += row.time.value
    return found


def _calls(rows: Iterable[Contribution]) -> dict[str, tuple[Calls, ...]]:
    """Return primitive -> the calls behind it, by rule."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        found[row.primitive][row.rule] |= {*row.stands_for}
    return {
        primitive: tuple(Calls(tuple(sorted(calls)), rule) for rule, calls in sorted(of.items()) if calls)
        for primitive, of in found.items()
    }


def _smallest(order: Sequence[str], shares: Mapping[str, Mapping[str, float]], share: float) -> set[str]:
    """Return the smallest set that explains the share in each application, to within 1e-6 (the solver)."""
    matrix = np.array([list(shares[primitive].values()) for primitive in order]).T
    # All ranks together add less than one primitive.
    costs = 1.0 + np.arange(len(order)) / len(order) ** 2
    constraints, exact = LinearConstraint(matrix, lb=share), {"mip_rel_gap": 0.0}
    whole = np.ones(len(order))
    found = milp(costs, integrality=whole, bounds=Bounds(0, 1), constraints=constraints, options=exact)
    return {primitive for primitive, chosen in zip(order, found.x, strict=True) if chosen > 0.5}


# Excluded parts


def _of_missing(rows: Iterable[Contribution]) -> dict[str, float]:
    """Return the primitives without a cost, with their counts."""
    found: dict[str, float] = defaultdict(float)
    for row in rows:
        if not math.isfinite(row.time.value):
            found[row.primitive] += row.count.value
    return found


def _counts(by_application: Mapping[str, Mapping[str, float]]) -> tuple[Counts, ...]:
    """Return one row per name, the most frequent first, the others last; units of work are not converted."""
    names = sorted({name for of in by_application.values() for name in of})
    found = [
        Counts(name, {application: of[name] for application, of in by_application.items() if name in of})
        for name in names
    ]
    return tuple(sorted(found, key=lambda one: (one.name == OTHERS, -max(one.counts.values()))))


def _without_rule(one: RequestedApplication) -> dict[str, float]:
    """Return the calls without a rule per unit of work."""
    found: dict[str, float] = defaultdict(float)
    for part, weight in normalized(one.mix):
        units = math.fsum(_numbers(part.provenance.get("units", "")))
        for call, count in _listed(part.provenance.get("unknown", "")):
            found[call] += weight * count / units if units else math.nan
    return found


def _share_without_rule(one: RequestedApplication) -> float:
    """Return the share of the calls without a rule; NaN if the vector does not say how many there were."""
    calls = 0.0
    for part, weight in normalized(one.mix):
        units = math.fsum(_numbers(part.provenance.get("units", "")))
        traced = math.fsum(_numbers(part.provenance.get("calls", "")))
        if not units or not traced:
            return math.nan
        calls += weight * traced / units
    return math.fsum(_without_rule(one).values()) / calls


def _counted_as(vector: ApplicationVector) -> str:
    return next((count.primitive for count in vector.counts if count.rule == UNKNOWN_RULE), "")


def _listed(text: str) -> list[tuple[str, int]]:
    """Return the calls of `unknown` in the provenance of a vector, with their number over all traces."""
    found = (_CALL.fullmatch(part) for part in text.split(", "))
    return [(match[1], int(match[2])) for match in found if match]


def _numbers(text: str) -> list[float]:
    """Return the numbers of a list such as `20000 20000`; none of another text."""
    try:
        return [float(part) for part in text.split()]
    except ValueError:
        return []


# Sentences and tables


CORE = "core set"
_SHARES = ("primitive", "mean", "cumulative")
_SHARES_OF_ONE = ("primitive", "share", "cumulative")
#: rows of a table in a terminal: of primitives, unless the core set is larger, and of calls
MOST_ROWS, MOST_CALLS = 20, 10


def core_sentences(found: CoreSet) -> tuple[str, ...]:
    """Return the answer: the core set, and the shares that it leaves out."""
    names = [one.name for one in found.applications]
    of_each = f"of {names[0]}" if len(names) == 1 else f"of each of {len(names)} applications"
    share = show_percent(found.share)
    explain = "explains" if len(found.core) == 1 else "explain"
    first = (
        f"{len(found.core)} of {counted(len(found.primitives), 'primitive')} {explain} at least {share} of "
        f"the time in primitives {of_each} on {found.system}: {listed([one.primitive for one in found.core])}"
    )
    if not found.rest:
        return (first,)
    left = f"outside the core set: {counted(len(found.rest), 'primitive')}"
    worst = min(found.applications, key=lambda one: one.explained)
    if len(names) == 1:
        return first, f"{left} with {show_share(1 - worst.explained)} of the time"
    mean = math.fsum(one.mean for one in found.rest)
    return (
        first,
        f"{left} with {show_share(mean)} of the time in the mean, at most {show_share(1 - worst.explained)} ({worst.name})",
    )


def core_warnings(found: CoreSet) -> Iterator[str]:
    """Yield a warning for each application of which some time is unknown."""
    for one in found.applications:
        if names := [row.name for row in found.without_cost if one.name in row.counts]:
            yield f"{one.name}: no cost of {listed(names)} on {found.system}. All shares exclude their time."
    for one in found.applications:
        if not any(one.name in row.counts for row in found.without_rule):
            continue
        share = f"{show_share(one.without_rule)} of the" if math.isfinite(one.without_rule) else "some"
        if one.counted_as:
            yield f"{one.name}: {share} calls have no rule and count as {one.counted_as}. Their time is a lower bound."
        else:
            yield f"{one.name}: {share} calls have no rule. All shares exclude their time."


def shares_table(found: CoreSet, most: int = MOST_ROWS) -> Table:
    """List the primitives of the core set, their sum, a line, and the others, with their shares.

    Args:
        found: the core set, which is listed whole.
        most: rows, at least one of which is for others; the last one sums up those that do not fit.
    """
    names = [one.name for one in found.applications]
    columns = (*_SHARES, *names) if len(names) > 1 else _SHARES_OF_ONE
    rows = [_row(one, columns) for one in found.core]
    rows.append(_sum_of(CORE, found.core, columns))
    room = max(1, most - len(rows))
    shown = found.rest if len(found.rest) <= room else found.rest[: room - 1]
    below = [_row(one, columns) for one in shown]
    if hidden := found.rest[len(shown) :]:
        below.append(_sum_of(f"{len(hidden)} {OTHERS}", hidden, columns))
    times = [show_quantity(one.time_ns, "ns", 4) for one in found.applications]
    time = f"time per {_units(found)}"
    below.append((time, "", "", *times) if len(names) > 1 else (time, times[0], ""))
    widths = [max(map(len, column)) for column in zip(columns, *rows, *below, strict=True)]
    line = tuple("─" * width for width in widths)
    title = f"Shares of the time in primitives on {found.system}"
    return Table(title, columns, [*rows, line, *below], frozenset(range(1, len(columns))))


def _row(one: RankedPrimitive, columns: Sequence[str]) -> tuple[str, ...]:
    shares = [show_share(one.shares[name]) for name in columns[len(_SHARES) :]]
    return one.primitive, show_share(one.mean), show_share(one.cumulative), *shares


def _sum_of(name: str, rows: Sequence[RankedPrimitive], columns: Sequence[str]) -> tuple[str, ...]:
    shares = [show_share(math.fsum(one.shares[of] for one in rows)) for of in columns[len(_SHARES) :]]
    return name, show_share(math.fsum(one.mean for one in rows)), "", *shares


def core_tables(found: CoreSet) -> list[Table]:
    """Return the shares, the calls counted as the core set, and what has no cost or no rule."""
    rows = [(one.primitive, "; ".join(map(_calls_text, one.calls))) for one in found.core if one.calls]
    without_cost = f"Primitives without a cost on {found.system}"
    return [
        shares_table(found),
        Table("Calls counted as the core set", ("primitive", CALLS), rows),
        _counts_table(found, found.without_cost, without_cost, "primitive"),
        without_rule_table(found),
    ]


def _calls_text(one: Calls) -> str:
    calls = ", ".join(one.calls)
    return f"{calls} ({one.rule})" if one.rule else calls


def without_rule_table(found: CoreSet) -> Table:
    """List the most frequent calls without a rule."""
    return _counts_table(found, found.without_rule, "Calls without a rule", "call")


def _counts_table(found: CoreSet, rows: Sequence[Counts], title: str, what: str) -> Table:
    names = [one.name for one in found.applications]
    columns = (what, *(names if len(names) > 1 else ("count",)))
    shown = rows if len(rows) <= MOST_CALLS else rows[: MOST_CALLS - 1]
    texts = [(one.name, *(_count_text(one.counts.get(name, 0.0)) for name in names)) for one in shown]
    if hidden := rows[len(shown) :]:
        sums = (math.fsum(one.counts.get(name, 0.0) for one in hidden) for name in names)
        texts.append((OTHERS, *map(_count_text, sums)))
    return Table(f"{title}, per {_units(found)}", columns, texts, frozenset(range(1, len(columns))))


def _count_text(count: float) -> str:
    if not count:
        return ""
    return f"{count:,.0f}" if count >= 100.0 else show_brief(count)


def _units(found: CoreSet) -> str:
    """Return the units of work, as `request`, or `request or run`."""
    return " or ".join(dict.fromkeys(one.per for one in found.applications))
