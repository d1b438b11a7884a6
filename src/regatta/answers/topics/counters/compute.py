"""Collect the counters of every cell, and why a host lacks some."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from regatta.answers.spine.context import Context
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.stops import StopGroup
from regatta.answers.spine.words import counted
from regatta.host.journal.stopping import BY_COUNTERS
from regatta.host.values.counters import (
    ALL,
    INFO,
    METRIC_PREFIX,
    NAMES,
    OF_PROFILE,
    PER,
    PROFILE,
    RATIOS,
    SPACE,
    SPACES,
    SYMBOL,
    by_reason,
    split_metric,
)
from regatta.stats.estimate import Interval

#: Values of a counter that an interval of its mean needs at least.
ROUNDS_PER_GROUP = 2
#: derived value -> what it is called
_DERIVED = {
    name: name.replace("_per_1000_", " per 1,000 ").replace("_", " ").replace("ipc", "IPC") for name in RATIOS
}
#: place of each metric in a table; events of the processor's manual follow the other counters
#: the many functions of the kernel last
_NAMES = (*(name for name in NAMES if name != PROFILE), *reversed(OF_PROFILE), *RATIOS)
_ORDER = {name.replace("-", "_"): place for place, name in enumerate(_NAMES)}
_ASPECTS = {ALL: "user and kernel"}
_FIRST = ("", ALL, *SPACES)


@dataclass(frozen=True)
class Count:
    """The mean of a counter, or of a value derived from counters, over the invocations of a cell."""

    #: `context switches`, `instructions, user`
    name: str
    #: `invocation`, `iteration`, `operation`
    per: str
    metric: str
    #: `user`, `kernel`, `all`, or a function of the kernel; "" if nothing is counted separately
    aspect: str
    unit: str
    estimate: Interval


@dataclass(frozen=True)
class CountedCell:
    """A cell with counters."""

    cell_id: str
    place: Place
    counts: tuple[Count, ...]


@dataclass(frozen=True)
class Missing:
    """Counters that a host does not have, or not in some invocations, with the reason."""

    host: str
    reason: str
    counters: tuple[str, ...]
    invocations: int


@dataclass(frozen=True)
class FewRounds:
    """A host with fewer than `ROUNDS_PER_GROUP` rounds for each group of counters."""

    host: str
    groups: int
    rounds: int

    @property
    def needed(self) -> int:
        """Return the number of rounds that suffices."""
        return ROUNDS_PER_GROUP * self.groups


@dataclass(frozen=True)
class CounterAnswer:
    """The counters of an experiment; empty if no cell asks for some."""

    cells: tuple[CountedCell, ...] = ()
    missing: tuple[Missing, ...] = ()
    few_rounds: tuple[FewRounds, ...] = ()
    #: sentences on the hosts whose rounds followed from their groups
    decided: tuple[str, ...] = ()


def collect_counters(context: Context) -> CounterAnswer:
    """Return the means of all counters with their intervals, by cell in the order of the answer."""
    cells: dict[str, list[CellAnswer]] = defaultdict(list)
    for cell in context.cells:
        if cell.metric.startswith(METRIC_PREFIX):
            cells[f"{cell.place.host} {cell.cell_id}"].append(cell)
    found = tuple(
        CountedCell(many[0].cell_id, many[0].place, tuple(_counts(many))) for many in cells.values()
    )
    return CounterAnswer(
        found,
        tuple(_missing(context.connection)),
        tuple(_few_rounds(context.connection)),
        tuple(dict.fromkeys(_decided(context.stops.groups))),
    )


def _decided(groups: Iterable[StopGroup]) -> Iterator[str]:
    for group in groups:
        if group.rule["rule"] == BY_COUNTERS and group.decision is not None:
            rounds = counted(group.decision["needed"], "round")
            yield f"host {group.cells[0].place.host}: {rounds} ({group.decision['reason']})"


def _counts(cells: Sequence[CellAnswer]) -> list[Count]:
    """Return counters before derived values, and the spaces of each together."""
    found = []
    for cell in cells:
        name, per = split_metric(cell.metric)
        aspect = str(cell.parameters.get(SPACE, cell.parameters.get(SYMBOL, "")))
        of_space = f", {_ASPECTS.get(aspect, aspect)}" if SPACE in cell.parameters else ""
        symbol = f": {aspect}" if SYMBOL in cell.parameters else ""
        shown = _DERIVED.get(name, name.replace("_", " ")) + of_space + symbol
        place = (
            list(PER).index(per),
            name in _DERIVED,
            _ORDER.get(name, len(_ORDER)),
            name,
            # Sums first, then user and kernel, and functions by their time.
            _FIRST.index(aspect) if aspect in _FIRST else len(_FIRST),
            -cell.estimate.point if symbol else 0.0,
        )
        found.append((place, Count(shown, per, cell.metric, aspect, cell.unit, cell.estimate)))
    return [one for _, one in sorted(found, key=lambda pair: pair[0])]


def _few_rounds(connection: duckdb.DuckDBPyConnection) -> list[FewRounds]:
    """Return the hosts that counted some groups in too few rounds for an interval."""
    rows = connection.execute(
        f"select host, max(try_cast(json_extract(info, '$.{INFO}.groups') as integer)) as groups, "
        "count(distinct round) as rounds from last_attempts where status in ('ok', 'perturbed') "
        f"and try_cast(json_extract(info, '$.{INFO}.groups') as integer) is not null group by host order by host"
    ).fetchall()
    found = [FewRounds(host, groups, rounds) for host, groups, rounds in rows]
    return [one for one in found if one.groups > 1 and one.rounds < one.needed]


def _missing(connection: duckdb.DuckDBPyConnection) -> list[Missing]:
    """Return each host's reasons, with the counters that lack a value for it, most counters first."""
    rows = connection.execute(
        f"select host, json_extract(info, '$.{INFO}.missing') as missing, count(*) from last_attempts "
        "where status in ('ok', 'perturbed') and missing is not null group by all order by all"
    ).fetchall()
    names: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    invocations: dict[tuple[str, str], int] = defaultdict(int)
    for host, text, count in rows:
        told = json.loads(text)
        for why, lacking in by_reason(told if isinstance(told, dict) else {}).items():
            invocations[host, why] += count
            names[host, why].update(dict.fromkeys(lacking))
    return [
        Missing(host, why, tuple(found), invocations[host, why])
        for (host, why), found in sorted(names.items(), key=lambda one: (one[0][0], -len(one[1]), one[0][1]))
    ]
