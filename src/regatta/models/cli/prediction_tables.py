"""Predictions on a terminal: the answer, the ranking, and the contributions as bars and tables."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from regatta.cli.tables import plain_console, show_table
from regatta.host.printable import printable
from regatta.models.predict.relative_speeds import speeds_of, speeds_table
from regatta.models.predict.runtime_tables import runtime_tables
from regatta.models.predict.tables import (
    CONTRIBUTIONS,
    EXPLAINED,
    INTERVALS,
    SAVINGS,
    changes_table,
    contribution_table,
    group_words,
    pairs_table,
    ranking_table,
    savings_table,
    scale_of,
    speed_ups_table,
    throughput_table,
)

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.figures.section import Table
    from regatta.models.predict.forecast import ApplicationForecast, Forecast, SystemForecast

#: letters of the entries in a bar; the last one stands for all others
_KEYS = "abcdefghijkl"
_OTHERS, _USER = "+", "u"
_COLOURS = ("blue", "red", "green", "magenta", "yellow", "cyan", "bright_red", "bright_blue", "bright_green",
            "bright_magenta", "bright_yellow", "bright_cyan")  # fmt: skip
_BAR_AT_MOST, _BAR_AT_LEAST = 100, 20
#: with more systems, only the fastest and the slowest get a table of contributions
_TABLES_AT_MOST = 4
#: minimum columns of the terminal for complete tables
_WIDE = 110


def show_forecast(found: Forecast) -> None:
    """Print a forecast, with the answer on the first screen."""
    console = plain_console()
    for sentence in found.sentences:
        console.print(f"• {printable(sentence)}")
    for warning in found.warnings:
        click.echo(f"warning: {printable(warning)}", err=True)
    for one in found.applications:
        _show_ranking(console, one)
    _show_speed_ups(console, found)
    for one in found.applications:
        _show(console, changes_table(one, found.changes), (), ("system", "note"))
    for one in found.applications:
        _show_bars(console, one)
    for one in found.applications:
        _show_contributions(console, one, found)
    _show_pairs(console, found)
    for table in (speeds_table(speeds_of(found)), *runtime_tables(found)):
        left = ("application", "system", "relative to", "primitive", "verdict")
        _show(console, table, ("CI", "measured CI"), left)
    for one in found.applications:
        _show_savings(console, one, found)


def _show_ranking(console: Console, one: ApplicationForecast) -> None:
    if not any(system.elapsed.value > 0 for system in one.systems):
        return
    table = ranking_table(one, f"{one.application.name}, per {one.application.per}")
    _show(console, table, (*INTERVALS, EXPLAINED), ("system",))
    for words in group_words(one):
        console.print(f"  {printable(words)}")
    _show(console, throughput_table(one), (), ("system",))


def _show_contributions(console: Console, one: ApplicationForecast, found: Forecast) -> None:
    known = [system for system in one.systems if system.elapsed.value > 0]
    shown = known if len(known) <= _TABLES_AT_MOST else [known[0], known[-1]]
    for system in shown:
        table = contribution_table(f"{one.application.name} on {system.system}", system)
        _show(console, table, ("CI",), ("primitive", "arguments", CONTRIBUTIONS[-1]))
    if len(shown) < len(known):
        console.print(f"  fastest and slowest of {len(known)} systems; --json and --html include all")


def _show(console: Console, table: Table, less: Collection[str], left: Collection[str]) -> None:
    """Print a table; in a narrow terminal without the columns in `less`."""
    used = table.of_columns(
        at for at, name in enumerate(table.columns) if console.width >= _WIDE or name not in less
    )
    show_table(console, table.title, used.columns, used.rows, left)


def _show_pairs(console: Console, found: Forecast) -> None:
    if any(pair.verdict for one in found.applications for pair in one.pairs):
        left = ("application", "faster", "slower", "time", "verdict")
        _show(console, pairs_table(found.applications), (), left)


def _show_speed_ups(console: Console, found: Forecast) -> None:
    _show(console, speed_ups_table(found.speed_ups, "Speed-up"), (), ("system", "replacement", "note"))


def _show_savings(console: Console, one: ApplicationForecast, found: Forecast) -> None:
    for system in one.systems:
        title = f"Possible savings for {one.application.name} on {system.system}"
        table = savings_table(one.savings.get(system.system, ()), title)
        _show(console, table, (), ("primitive", SAVINGS[-1]))


# Bars


def _show_bars(console: Console, one: ApplicationForecast) -> None:
    """Print one bar per system: each letter is an entry, repeated in proportion to its time."""
    from rich.text import Text

    known = [system for system in one.systems if system.elapsed.value > 0]
    if not known:
        return
    pieces = _Pieces(known)
    scale = scale_of(system.elapsed for system in known)
    names = max(len(printable(system.system)) for system in known)
    times = [scale.with_unit(system.elapsed.value) for system in known]
    room = console.width - names - max(map(len, times)) - 4
    width = max(_BAR_AT_LEAST, min(_BAR_AT_MOST, room))
    longest = max(system.elapsed.value for system in known)
    console.print()
    console.print(printable(f"Contributions to the time of {one.application.name}"), style="bold")
    for system, time in zip(known, times, strict=True):
        bar = Text(f"{printable(system.system):{names}}  ")
        for letter, size in pieces.of(system, width / longest):
            bar.append(letter * size, style=pieces.style(letter))
        bar.append(f"  {time}")
        console.print(bar, soft_wrap=True)
    legend = [
        Text.assemble((letter, pieces.style(letter)), f"={printable(name)}")
        for letter, name in pieces.names()
    ]
    console.print(Text("  ").join(legend))


class _Pieces:
    """Meaning of the letters in the bars."""

    def __init__(self, systems: Sequence[SystemForecast]) -> None:
        largest: dict[str, float] = {}
        for system in systems:
            for row in system.prediction.contributions:
                if math.isfinite(row.time.value):
                    largest[row.primitive] = largest.get(row.primitive, 0.0) + row.time.value
        self._order = sorted((name for name in largest if largest[name] > 0), key=lambda name: -largest[name])
        count = len(_KEYS) if len(self._order) <= len(_KEYS) else len(_KEYS) - 1
        self._letters = dict(zip(self._order[:count], _KEYS, strict=False))
        self._has_user = any(self._own(system) > 0 for system in systems)

    def names(self) -> list[tuple[str, str]]:
        """Return the letters and their meanings."""
        found = [(letter, name) for name, letter in self._letters.items()]
        if others := self._order[len(self._letters) :]:
            found.append((_OTHERS, ", ".join(others)))
        return [*found, (_USER, "application in user mode")] if self._has_user else found

    def style(self, letter: str) -> str:
        """Return the colour of a letter."""
        return _COLOURS[_KEYS.index(letter)] if letter in _KEYS else "bright_black"

    def of(self, system: SystemForecast, characters_a_ns: float) -> list[tuple[str, int]]:
        """Return letters and their counts; ends are rounded, so that the bar has its exact length."""
        times: dict[str, float] = {}
        for row in system.prediction.contributions:
            if math.isfinite(row.time.value):
                letter = self._letters.get(row.primitive, _OTHERS)
                times[letter] = times.get(letter, 0.0) + row.time.value
        times[_USER] = self._own(system)
        found, at, drawn = [], 0.0, 0
        for letter in (*_KEYS, _OTHERS, _USER):
            at += times.get(letter, 0.0)
            size = round(at * characters_a_ns) - drawn
            drawn += size
            found.append((letter, size))
        return found

    @staticmethod
    def _own(system: SystemForecast) -> float:
        own = system.elapsed.value - system.prediction.time.value
        return own if own > 1e-9 * system.elapsed.value else 0.0
