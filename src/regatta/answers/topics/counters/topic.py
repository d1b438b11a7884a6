"""The topic of counters: what the kernel and the processor counted in each invocation, by configuration."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import duckdb

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.context import Context
from regatta.answers.spine.groups import grouped
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.stops import StopGroup
from regatta.answers.spine.words import counted, listed
from regatta.figures.section import Section, Table
from regatta.figures.text import ABSENT, choose_scale, joined, show_heap, show_interval, show_percent
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
    metric_of,
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
        tuple(missing_counters(context.connection)),
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


def missing_counters(connection: duckdb.DuckDBPyConnection) -> list[Missing]:
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


#: Wider tables do not fit on a page.
_CELLS_AT_ONCE = 3
_MOST_COUNTERS, _MOST_FUNCTIONS = 200, 25


def counter_words(found: CounterAnswer) -> tuple[str, ...]:
    """Return one sentence for each host whose rounds follow from its groups or are too few, and for each reason why counters lack."""
    several = len({one.host for one in found.missing}) > 1
    return (
        *found.decided,
        *(
            f"host {one.host} counts in {one.groups} groups, one per round: {one.rounds} rounds are too few for intervals of all "
            f"counters; use at least {one.needed} (`each_counter: {ROUNDS_PER_GROUP}` in `invocations` ensures this on every host)"
            for one in found.few_rounds
        ),
        *(
            f"not available{f' on host {one.host}' if several else ''}: {listed(one.counters)} ({one.reason})"
            for one in found.missing
        ),
    )


def counter_tables(found: CounterAnswer, view: View) -> list[Table]:
    """Return the counters by row and the configurations by column, for each host and benchmark."""
    places = grouped(found.cells, lambda cell: (cell.place.host, cell.place.benchmark))
    kinds: list[tuple[str, Callable[[Count], bool], int]] = [
        *((f"Counters per {per}", partial(_is_counter, per=per), _MOST_COUNTERS) for per in PER),
        ("Kernel time per invocation, by function", _is_profile, _MOST_FUNCTIONS),
    ]
    return [
        _table(joined(title, benchmark, view.on_host(host)), many[at : at + _CELLS_AT_ONCE], wanted, most)
        for (host, benchmark), many in places.items()
        for title, wanted, most in kinds
        for at in range(0, len(many), _CELLS_AT_ONCE)
    ]


def _is_profile(one: Count) -> bool:
    return one.metric in map(metric_of, OF_PROFILE)


def _is_counter(one: Count, per: str) -> bool:
    return one.per == per and not _is_profile(one)


def _table(title: str, cells: Sequence[CountedCell], wanted: Callable[[Count], bool], most: int) -> Table:
    by_cell = [{(one.metric, one.aspect): one for one in cell.counts if wanted(one)} for cell in cells]
    names = {key: one.name for own in by_cell for key, one in own.items()}
    rows = []
    for key, name in list(names.items())[:most]:
        counts = [own.get(key) for own in by_cell]
        scale = choose_scale([one.estimate for one in counts if one], next(one.unit for one in counts if one))
        label = name if scale.unit in ("", "count", "ratio") else f"{name} ({scale.unit})"
        rows.append((label, *(show_interval(one.estimate, scale.show) if one else ABSENT for one in counts)))
    columns = ("counter", *(joined(cell.place.configuration, show_heap(cell.place.heap)) for cell in cells))
    return Table(title, columns, rows, frozenset(range(1, len(columns))))


def counter_section(found: CounterAnswer, view: View) -> Section | None:
    """Return the section; None without counters."""
    if not found.cells and not found.missing:
        return None
    return Section(
        "counters",
        words="Counts of all processes of an invocation, from its start to its end, or from the start to the end of an iteration that "
        "the program marks. Means over invocations with "
        f"{show_percent(view.answer.level)} confidence intervals. Counters that do not fit the processor at the same time are "
        "counted in different invocations; a ratio uses counts of the same invocation.",
    )


COUNTERS: Topic[CounterAnswer] = Topic(
    "counters",
    title="Counters",
    empty=CounterAnswer(),
    compute=collect_counters,
    words=Words(107, "Counters", lambda found, _: counter_words(found)),
    document=Document(87, "counters"),
    section=counter_section,
    tables=counter_tables,
    terminal=True,
)
