"""The topic of counters: what the kernel and the processor counted in each invocation, by configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from regatta.answers.kit.topic import Document, Topic, Words
from regatta.answers.kit.view import View
from regatta.answers.spine.words import listed
from regatta.answers.topics.counters.compute import (
    ROUNDS_PER_GROUP,
    Count,
    CountedCell,
    CounterAnswer,
    collect_counters,
)
from regatta.figures.section import Section, Table
from regatta.figures.text import ABSENT, choose_scale, joined, show_heap, show_interval, show_percent
from regatta.host.values.counters import OF_PROFILE, PER, metric_of

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
    places: dict[tuple[str, str], list[CountedCell]] = {}
    for cell in found.cells:
        places.setdefault((cell.place.host, cell.place.benchmark), []).append(cell)
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
