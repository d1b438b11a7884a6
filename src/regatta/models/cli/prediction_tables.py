"""Predictions on a terminal: the answer, the ranking, and the contributions as bars and tables."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from regatta.cli.tables import plain_console, show
from regatta.host.printable import printable
from regatta.models.predict.figures import Pieces
from regatta.models.predict.runtimes import runtime_tables, speeds_of, speeds_table
from regatta.models.predict.tables import (
    EXPLAINED,
    KERNEL_CI,
    MEASURED_CI,
    changes_table,
    contribution_table,
    group_words,
    pairs_table,
    ranking_table,
    savings_tables,
    scale_of,
    speed_ups_table,
    throughput_table,
)

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.figures.section import Table
    from regatta.models.predict.forecast import ApplicationForecast, Forecast, SystemForecast

#: letters of the entries in a bar, with their colours; all other entries share one
_KEYS = {
    "a": "blue", "b": "red", "c": "green", "d": "magenta", "e": "yellow", "f": "cyan", "g": "bright_red",
    "h": "bright_blue", "i": "bright_green", "j": "bright_magenta", "k": "bright_yellow", "l": "bright_cyan",
}  # fmt: skip
_OTHERS, _USER = "+", "u"
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
    _show(console, speed_ups_table(found.speed_ups), title="Speed-up")
    for one in found.applications:
        _show(console, changes_table(one, found.changes))
    for one in found.applications:
        _show_bars(console, one)
    for one in found.applications:
        _show_contributions(console, one)
    if any(pair.verdict for one in found.applications for pair in one.pairs):
        _show(console, pairs_table(found.applications))
    for table in (speeds_table(speeds_of(found)), *runtime_tables(found)):
        _show(console, table, ("CI", MEASURED_CI))
    for one in found.applications:
        for table in savings_tables(one):
            _show(console, table)


def _show(console: Console, table: Table, omitted: Collection[str] = (), title: str = "") -> None:
    """Print a table; in a narrow terminal without the columns in `omitted`."""
    if console.width < _WIDE:
        table = table.of_columns(at for at, name in enumerate(table.columns) if name not in omitted)
    show(console, table.without_empty(), title)


def _known(one: ApplicationForecast) -> list[SystemForecast]:
    return [system for system in one.systems if system.elapsed.value > 0]


def _show_ranking(console: Console, one: ApplicationForecast) -> None:
    if not _known(one):
        return
    _show(console, ranking_table(one), (KERNEL_CI, MEASURED_CI, EXPLAINED))
    for words in group_words(one):
        console.print(f"  {printable(words)}")
    _show(console, throughput_table(one))


def _show_contributions(console: Console, one: ApplicationForecast) -> None:
    known = _known(one)
    shown = known if len(known) <= _TABLES_AT_MOST else [known[0], known[-1]]
    for system in shown:
        _show(console, contribution_table(one, system), ("CI",))
    if len(shown) < len(known):
        console.print(f"  fastest and slowest of {len(known)} systems; --json and --html include all")


def _show_bars(console: Console, one: ApplicationForecast) -> None:
    """Print one bar per system: each letter is an entry, repeated in proportion to its time."""
    from rich.text import Text

    known = _known(one)
    if not known:
        return
    pieces = Pieces.of(known, len(_KEYS))
    letters = [*list(_KEYS)[: len(pieces.names)], *([_OTHERS] if pieces.others else [])]
    letters += [_USER] if pieces.has_own_code else []
    styles = [_KEYS.get(letter, "bright_black") for letter in letters]
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
        at, drawn = 0.0, 0
        for letter, style, part in zip(letters, styles, pieces.times(system), strict=True):
            at += part
            # Ends are rounded, so that the bar has its exact length.
            size = round(at * width / longest) - drawn
            drawn += size
            bar.append(letter * size, style=style)
        bar.append(f"  {time}")
        console.print(bar, soft_wrap=True)
    legend = [
        Text.assemble((letter, style), f"={printable(label)}")
        for letter, style, label in zip(letters, styles, pieces.labels, strict=True)
    ]
    console.print(Text("  ").join(legend))
