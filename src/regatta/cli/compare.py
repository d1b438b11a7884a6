"""`regatta compare FILE.csv`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option
from regatta.cli.tables import plain_console, show, show_table
from regatta.host.foreign import foreign
from regatta.host.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.answers.compare.compute import ForeignAnswer, PairAnswer
    from regatta.stats.estimate import Interval

_TEXT = ("group", "a", "b", "source", "method", "reason")
#: significant digits in tables; `--json` has all
_DIGITS = 6


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--value", required=True, metavar="COL", help="Column of the measured values.")
@click.option("--by", required=True, metavar="COL", help="Column of the groups to compare.")
@click.option(
    "--block",
    metavar="COL",
    help="Column of the block (a round, a day, a host). Values of one block are paired, and each factor is tested within"
    " or between blocks.",
)
@click.option(
    "--factors",
    default="",
    metavar="COL,COL",
    help="Columns of several factors, analyzed with all interactions.",
)
@click.option(
    "--counts",
    is_flag=True,
    help="The values are exact counts, such as instructions or bytes: groups that do not vary have an exact ratio.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)
@click.option(
    "--type",
    "kind",
    type=click.Choice(["1", "2", "3"]),
    default="2",
    show_default=True,
    help="Type of the sums of squares with several factors.",
)
@click.option(
    "--method",
    type=click.Choice(["regatta", "georges2007"]),
    default="regatta",
    show_default=True,
    help="`regatta`: ratios from logarithms, paired by block. `georges2007`: differences of means, and Tukey.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of the bootstrap."
)
@json_option
def compare(
    file: Path,
    value: str,
    by: str,
    block: str | None,
    factors: str,
    counts: bool,
    level: float,
    kind: str,
    method: str,
    seed: int,
    as_json: bool,
) -> None:
    """Compare groups of measurements made elsewhere. FILE is CSV with column names in the first line."""
    from regatta.answers.compare.compute import answer_foreign
    from regatta.answers.compare.table import read_foreign

    names = [name.strip() for name in factors.split(",") if name.strip()]
    with foreign(file, "a CSV file"):
        table = read_foreign(file, value, by, block, names, counts)
    answer = answer_foreign(table, level, method, int(kind), seed)
    if as_json:
        from regatta.answers.compare.document import document_of_comparison

        click.echo(json.dumps(document_of_comparison(answer), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        _show(answer)


def _show(answer: ForeignAnswer) -> None:
    from regatta.answers.compare.words import foreign_sentences, simultaneous_method
    from regatta.figures.text import show_percent

    console, table = plain_console(), answer.table
    for sentence in foreign_sentences(answer):
        console.print(f"• {printable(sentence)}")
    level = show_percent(answer.level)
    _show_means(console, answer, level)
    _show_pairs(console, "Unpaired differences a - b (Welch), ratio a / b", answer.welch, level)
    if table.block:
        title = f"Paired differences a - b by {printable(table.block.column)}, ratio a / b"
        _show_pairs(console, title, answer.paired, level, paired=True)
    _show_anova(console, answer)
    title = f"Simultaneous differences a - b ({printable(simultaneous_method(answer))}), ratio a / b"
    _show_pairs(console, title, answer.simultaneous, level, paired=table.block is not None, p="adj. p")
    console.print()
    console.print(
        printable(
            f"{table.value} by {table.by.column}: {len(table.values)} values in {table.rows} rows of {table.file}"
        )
    )
    _show_notes(answer)


def _show_means(console: Console, answer: ForeignAnswer, level: str) -> None:
    from regatta.answers.spine.methods import method_name

    rows = []
    for name, mean in answer.means.items():
        interval, median, bca = mean.interval, answer.medians[name], answer.bca[name]
        why = "; ".join(dict.fromkeys(r for r in (interval.reason, median.reason, bca.reason) if r))
        rows.append(
            (
                name, str(interval.n), _number(interval.point), _number(mean.deviation), _interval(interval),
                method_name(interval.method),
                _interval(bca), _number(median.point), _interval(median), why,
            )
        )  # fmt: skip
    header = (
        "group", "n", "mean", "sd", f"{level} CI", "method", f"BCa (seed {answer.seed})", "median", "median CI", "reason",
    )  # fmt: skip
    show_table(console, "Groups", header, rows, _TEXT)


def _show_pairs(
    console: Console,
    title: str,
    pairs: tuple[PairAnswer, ...],
    level: str,
    paired: bool = False,
    p: str = "p",
) -> None:
    from regatta.figures.text import show_p

    rows = []
    for pair in pairs:
        interval = pair.difference.interval
        rows.append(
            (
                pair.a, pair.b, str(interval.n) if paired else "", _number(interval.point), _interval(interval),
                _number(pair.difference.df), show_p(pair.difference.p), _number(pair.ratio.point), _interval(pair.ratio),
                interval.reason or pair.ratio.reason,
            )
        )  # fmt: skip
    header = (
        "a", "b", "blocks", "a - b", f"{level} CI", "df", p, "ratio", "ratio CI", "reason",
    )  # fmt: skip
    show_table(console, title, header, rows, _TEXT)


def _show_anova(console: Console, answer: ForeignAnswer) -> None:
    from regatta.answers.kit.anova_table import anova_table
    from regatta.answers.spine.methods import method_name
    from regatta.figures.text import show_p

    fit, several = answer.anova, answer.factorial
    if fit is not None:
        source = f"{answer.table.by.column} after blocks" if answer.table.block else answer.table.by.column
        row = (
            source, str(fit.df_between), str(fit.df_error), _number(fit.f), show_p(fit.p), method_name(fit.method), fit.reason,
        )  # fmt: skip
        header = ("source", "df", "error df", "F", "p", "method", "reason")
        show_table(console, "ANOVA", header, [row], _TEXT)
    if several is not None:
        title = f"ANOVA, type {several.kind}"
        show(console, anova_table(title, several, several.reason).without_empty())


def _show_notes(answer: ForeignAnswer) -> None:
    notes = list(answer.notes)
    few = [name for name, interval in answer.bca.items() if interval.n < 30 and not math.isnan(interval.low)]
    if few:
        notes.append(
            "BCa coverage is below nominal for small n: of 95 % about 84 % at n = 5, 89 % at 10, 94 % at 30"
        )
    for note in notes:
        click.echo(f"note: {printable(note)}", err=True)


def _number(value: float) -> str:
    """Format with `_DIGITS` digits; infinite degrees of freedom mean the normal distribution."""
    from regatta.figures.text import show_brief

    return "z" if math.isinf(value) else show_brief(value, _DIGITS)


def _interval(interval: Interval) -> str:
    """Format both ends with as many decimals as three digits of the half-width need; `exact` for counts without variance."""
    if interval.is_exact:
        return "exact"
    low, high = interval.low, interval.high
    half = (high - low) / 2
    if not (half > 0.0 and math.isfinite(half)) or max(abs(low), abs(high)) >= 10**9:
        return "" if math.isnan(low) else f"[{_number(low)}, {_number(high)}]"
    decimals = max(0, 2 - math.floor(math.log10(half)))
    return f"[{low:.{decimals}f}, {high:.{decimals}f}]" if decimals <= 9 else f"[{low:.9g}, {high:.9g}]"
