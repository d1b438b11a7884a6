"""`regatta analyze EXPERIMENT`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import experiment_argument, json_option, results_option
from regatta.cli.store import database_progress
from regatta.cli.tables import screen_width
from regatta.host.printable import printable
from regatta.store.folder import find_folder

if TYPE_CHECKING:
    from regatta.answers.spine.result import Answer
    from regatta.host.values.levels import Levels

#: Longer topics do not fit in a terminal.
_SENTENCES_AT_MOST = 24


@click.command()
@experiment_argument
@results_option
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="FACTOR=NAME",
    help="Baseline instead of the one of the spec: collector=serial, runtime=..., modifiers=..., heap=1.5x, benchmark=..., parameters.NAME=..., platform=... Repeatable.",
)
@json_option
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="Print CSV: one row per cell, comparison (single and simultaneous), pair of a family and suite.",
)
@click.option(
    "--method",
    default="regatta",
    show_default=True,
    metavar="NAME",
    help="`regatta`: ratios from logarithms, paired by block. `georges2007`: unpaired differences of means.",
)
@click.option(
    "--hosts",
    type=click.Choice(["fixed", "random"]),
    default="fixed",
    show_default=True,
    help="Scope of statements over several hosts: `fixed`, these hosts; `random`, hosts like these.",
)
@click.option(
    "--all", "show_all", is_flag=True, help="Show all tables and findings, not only the first screen."
)
@click.option("--all-metrics", is_flag=True, help="Like --all, with every metric in the table of cells.")
@click.option(
    "--outliers",
    "show_outliers",
    is_flag=True,
    help="Like --all, with outliers: each comparison without them, and with perturbed invocations.",
)
@click.option(
    "--anova-type",
    type=click.Choice(["1", "2", "3"]),
    default="2",
    show_default=True,
    help="Type of the sums of squares in the ANOVA over all factors, in each stratum.",
)
def analyze(
    experiment: str,
    results: Path,
    baselines: Sequence[str],
    as_json: bool,
    as_csv: bool,
    method: str,
    hosts: str,
    show_all: bool,
    all_metrics: bool,
    show_outliers: bool,
    anova_type: str,
) -> None:
    """Show the answer of EXPERIMENT (a name or a directory): conclusions, comparisons and failures on one screen."""
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    baseline = _baseline(baselines)
    everything = show_all or all_metrics or show_outliers
    in_full = as_json or as_csv or everything

    folder = find_folder(experiment, results)
    kept = None
    if (baselines, method, hosts, anova_type) == ((), "regatta", "fixed", "2") and not in_full:
        from regatta.cli.kept_screen import KeptScreen

        kept = KeptScreen(folder, screen_width(), folder.report.exists())
        if screen := kept.find():
            screen.show()
            return
    from regatta.answers.report.answer import answer_experiment

    with database_progress() as progress:
        answer = answer_experiment(
            folder.path,
            baseline,
            progress,
            method,
            random_hosts=hosts == "random",
            anova_type=int(anova_type),
            slow=in_full,
        )
    if as_json:
        click.echo(json_of(answer))
    elif as_csv:
        print_csv(answer)
    elif everything:
        _show(answer, all_metrics, {"outliers"} if show_outliers else ())
    elif kept is not None:
        kept.keep(answer).show()
    else:
        from regatta.cli.first_screen import screen_of

        screen_of(answer, str(folder.report) if folder.report.exists() else "", screen_width()).show()


def json_of(answer: Answer) -> str:
    """Return the answer as JSON."""
    from regatta.answers.report.documents import document_of

    return json.dumps(document_of(answer), indent=1, allow_nan=False)


def print_csv(answer: Answer) -> None:
    """Print one row per cell, comparison (single and simultaneous), pair of a family and suite."""
    from regatta.answers.report.documents import COLUMNS, rows_of

    writer = csv.DictWriter(sys.stdout, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows_of(answer))


def _baseline(given: Iterable[str]) -> Levels | None:
    from regatta.host.values.levels import FACTORS, PARAMETERS

    values: dict[str, str] = {}
    for text in given:
        factor, _, name = text.partition("=")
        if (factor not in FACTORS and not factor.startswith(PARAMETERS)) or not name:
            raise click.BadParameter(
                f"expected FACTOR=NAME with a factor of {', '.join(FACTORS)}, {PARAMETERS}NAME · got {text!r}",
                param_hint="--baseline",
            )
        values[factor] = name
    return values or None


def _show(answer: Answer, all_metrics: bool, asked: Collection[str]) -> None:
    """Print the answer. `asked`: keys of topics whose tables are shown on request only."""
    from regatta.answers.kit.view import View
    from regatta.answers.report import registry
    from regatta.answers.report.cell_table import tables_of, texts_of
    from regatta.answers.report.summary import failures_table, impossible_table
    from regatta.cli.tables import plain_console, show

    console = plain_console()
    console.print(printable(f"{answer.experiment}: {answer.question}".rstrip(": ")), style="bold")
    console.print(
        f"{answer.recorded} of {answer.planned} planned invocations recorded, seed {answer.seed}, {answer.order}"
    )
    console.print()
    for sentence in answer.headline:
        console.print(f"• {printable(sentence)}")
    if not answer.headline:
        console.print("No measurements yet.")
    view = View(answer)
    show(console, texts_of(tables_of(view, None if all_metrics else view.compared), answer.level))
    for topic in registry.TOPICS:
        if topic.terminal or topic.key in asked:
            tables = [table for table in topic.tables_of(view) if not table.detail]
            for table in tables:
                show(console, table, ": ".join(part for part in (topic.title, table.title) if part))
            if topic.key in asked and not tables:
                console.print()
                console.print(f"{topic.title}: none.")
    for title, found in (
        ("Failures (excluded from estimates)", failures_table(answer)),
        ("Impossible cells", impossible_table(answer)),
    ):
        if found is not None:
            show(console, found, title)
    for topic, _, found_words in registry.findings_in_order(answer.findings):
        # Do not repeat the headline.
        sentences = [sentence for sentence in found_words if sentence not in answer.headline]
        if not sentences:
            continue
        console.print()
        console.print(topic.title, style="bold")
        for sentence in sentences[:_SENTENCES_AT_MOST]:
            console.print(f"• {printable(sentence)}")
        if len(sentences) > _SENTENCES_AT_MOST:
            console.print(f"  and {len(sentences) - _SENTENCES_AT_MOST} more (--json, report)")
    for warning in answer.warnings:
        click.echo(f"note: {printable(warning)}", err=True)
