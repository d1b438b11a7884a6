"""`regatta analyze EXPERIMENT`."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option, results_option
from regatta.cli.sources import INFLUX, JOURNAL, records_of
from regatta.host.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    from regatta.answers.result import Answer, CellAnswer
    from regatta.host.values.experiment import Baseline, Scalar
    from regatta.stats.estimate import Interval

_FACTORS = ("runtime", "collector", "modifiers")
#: A table that goes into a file or a pipe is not cut to a terminal's 80 columns.
_WIDTH_WITHOUT_TERMINAL = 200
#: A topic with more sentences than this is not read by anyone in a terminal.
_SENTENCES_AT_MOST = 24


@click.command()
@click.argument("experiment")
@results_option
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="FACTOR=NAME",
    help="Compare with it instead of the spec's baseline: collector=serial, runtime=..., modifiers=...; may be repeated.",
)
@click.option(
    "--from",
    "source",
    type=click.Choice([JOURNAL, INFLUX]),
    default=JOURNAL,
    show_default=True,
    help="Where the records are read: in the results folder, or in InfluxDB, which needs no folder.",
)
@json_option
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="Print CSV: a row a cell, comparison, Dunnett's and Tukey's pair, suite.",
)
@click.option(
    "--method",
    default="regatta",
    show_default=True,
    metavar="NAME",
    help="`regatta`: ratios on logs, paired by block. `georges2007`: as in Georges et al., differences of means, unpaired.",
)
@click.option(
    "--hosts",
    type=click.Choice(["fixed", "random"]),
    default="fixed",
    show_default=True,
    help="What is said over several hosts: `fixed`, for these hosts; `random`, for hosts like these.",
)
@click.option(
    "--all-metrics", is_flag=True, help="Show every metric in the table, not only the one that is compared."
)
@click.option(
    "--outliers",
    "show_outliers",
    is_flag=True,
    help="Show what lies far out, and each comparison without it and with what was perturbed.",
)
@click.option(
    "--anova-type",
    type=click.Choice(["1", "2", "3"]),
    default="2",
    show_default=True,
    help="Sums of squares of the analysis of variance over all factors.",
)
def analyze(
    experiment: str,
    results: Path,
    baselines: Sequence[str],
    source: str,
    as_json: bool,
    as_csv: bool,
    method: str,
    hosts: str,
    all_metrics: bool,
    show_outliers: bool,
    anova_type: str,
) -> None:
    """Show the answer of EXPERIMENT (a name or a folder): who wins where, with intervals; failures apart."""
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    baseline = _baseline(baselines)

    from regatta.answers.answer import answer_experiment

    with records_of(experiment, results, source) as (folder, progress):
        answer = answer_experiment(
            folder,
            baseline,
            progress,
            method,
            random_hosts=hosts == "random",
            anova_type=int(anova_type),
        )
    if as_json:
        from regatta.answers.documents import document_of

        click.echo(json.dumps(document_of(answer), indent=1, allow_nan=False))
    elif as_csv:
        from regatta.answers.documents import COLUMNS, rows_of

        writer = csv.DictWriter(sys.stdout, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows_of(answer))
    else:
        _show(answer, all_metrics, show_outliers)


def _baseline(given: Iterable[str]) -> Baseline | None:
    from regatta.host.values.experiment import Baseline

    values: dict[str, str] = {}
    for text in given:
        factor, _, name = text.partition("=")
        if factor not in _FACTORS or not name:
            raise click.BadParameter(
                f"expected {', '.join(_FACTORS)} and =NAME · got {text!r}", param_hint="--baseline"
            )
        values[factor] = name
    return Baseline(**values) if values else None


def _show(answer: Answer, all_metrics: bool, show_outliers: bool) -> None:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(markup=False, highlight=False, emoji=False, width=_WIDTH_WITHOUT_TERMINAL)
    console.print(printable(f"{answer.experiment}: {answer.question}".rstrip(": ")), style="bold")
    console.print(
        f"{answer.recorded} of {answer.planned} planned invocations recorded, seed {answer.seed}, {answer.order}"
    )
    console.print()
    for sentence in answer.headline:
        console.print(f"• {printable(sentence)}")
    if not answer.headline:
        console.print("Nothing has been measured yet, so there is no answer.")
    level = f"{answer.level * 100:g} %"
    _show_cells(console, answer, level, all_metrics)
    _show_comparisons(console, answer, level)
    _show_families(console, answer)
    _show_scores(console, answer, level)
    _show_failures(console, answer)
    if show_outliers:
        from regatta.answers.topics.outliers.tables import show_outliers as show_outlier_tables
        from regatta.answers.topics.outliers.topic import OUTLIERS

        show_outlier_tables(console, OUTLIERS.of(answer))
    from regatta.answers.topics.registry import findings_by_heading

    for topic, found in findings_by_heading(answer.findings).items():
        # What the first lines have said is not said again.
        sentences = [sentence for sentence in found if sentence not in answer.headline]
        if not sentences:
            continue
        console.print()
        console.print(printable(topic), style="bold")
        for sentence in sentences[:_SENTENCES_AT_MOST]:
            console.print(f"• {printable(sentence)}")
        if len(sentences) > _SENTENCES_AT_MOST:
            console.print(f"  and {len(sentences) - _SENTENCES_AT_MOST} more: see --json or the report")
    for warning in answer.warnings:
        click.echo(f"note: {printable(warning)}", err=True)


def _show_cells(console: Console, answer: Answer, level: str, all_metrics: bool) -> None:
    rows = []
    primary: dict[tuple[str, str], str] = {}
    for cell in answer.cells:
        # The metric that is compared comes first (regatta.answers.samples).
        metric = primary.setdefault((cell.host, cell.cell_id), cell.metric)
        if cell.metric == metric or all_metrics:
            mean, interval, unit = _magnitudes(cell)
            rows.append(
                (
                    cell.host, cell.benchmark, _heap(cell.heap_factor, cell.heap_mib), cell.configuration,
                    _metric(cell.metric, cell.parameters), str(cell.estimate.n), str(len(cell.perturbed) or ""), mean, interval, unit, cell.estimate.within_range, cell.estimate.reason,
                )
            )  # fmt: skip
    header = (
        "host",
        "benchmark",
        "heap",
        "configuration",
        "metric",
        "n",
        "perturbed",
        "mean",
        f"{level} interval",
        "unit",
        "made by",
        "why not",
    )
    _table(console, "Cells", header, rows)


def _show_comparisons(console: Console, answer: Answer, level: str) -> None:
    rows = [
        (
            c.host, c.benchmark, _heap(c.heap_factor, c.heap_mib), f"{c.a_name} / {c.b_name}", _metric(c.metric, c.parameters),
            str(c.ratio.n), _number(c.ratio.point), _interval(c.ratio), _p(c.p), _p(c.p_holm),
            "" if c.simultaneous is None else _interval(c.simultaneous), c.practical, c.ratio.method, c.ratio.reason,
        )
        for c in answer.comparisons
    ]  # fmt: skip
    header = (
        "host",
        "benchmark",
        "heap",
        "ratio",
        "metric",
        "n",
        "value",
        f"{level} interval",
        "p",
        "p (Holm)",
        "with its siblings (Dunnett)",
        "matters",
        "method",
        "why not",
    )
    title = f"Compared with the baseline (ratio a / b; `matters`: beyond ±{answer.theta_percent:g} %)"
    _table(console, title, header, rows)


def _show_families(console: Console, answer: Answer) -> None:
    rows = []
    for f in answer.families:
        test = "" if math.isnan(f.f) else f"F({f.df_between:g}, {f.df_error:g}) = {f.f:.3g}, p {_p(f.p)}"
        rows.append((test, _p(f.q), f.method, f.words))
    _table(
        console,
        "Collectors among each other (Tukey: all intervals of a row hold together; q: p after Benjamini and Hochberg)",
        ("test", "q", "method", "in words"),
        rows,
    )


def _show_scores(console: Console, answer: Answer, level: str) -> None:
    from regatta.answers.topics.scores.topic import SCORES

    rows = [
        (
            score.host, parts.benchmark, score.configuration, str(score.copies), f"{parts.reference_s:.4g}",
            str(parts.score.n), _number(parts.score.point), _interval(parts.score), parts.score.reason,
        )
        for score in SCORES.of(answer)
        for parts in score.members
    ]  # fmt: skip
    machines = ", ".join(dict.fromkeys(score.machine for score in SCORES.of(answer)))
    header = (
        "host",
        "benchmark",
        "configuration",
        "copies",
        "reference s",
        "n",
        "value",
        f"{level} interval",
        "why not",
    )
    _table(console, f"Scores (copies x time on {machines} / time)", header, rows)


def _show_failures(console: Console, answer: Answer) -> None:
    rows = [(str(f.count), f.status, f.host, f.cell, f.reason) for f in answer.failures]
    _table(
        console,
        "Failures (outcomes of their own, in no estimate)",
        ("times", "status", "host", "cell", "reason"),
        rows,
    )
    _table(console, "Cells that cannot exist", ("cell", "reason"), answer.impossible)


def _table(console: Console, title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table without the columns that say nothing."""
    if not rows:
        return
    from rich.table import Table
    from rich.text import Text

    used = [i for i, name in enumerate(header) if any(row[i] for row in rows)]
    if "host" in header and len({row[header.index("host")] for row in rows}) == 1:
        used.remove(header.index("host"))
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for i in used:
        right = (
            header[i] in ("n", "perturbed", "mean", "value", "p", "p (Holm)", "times")
            or "interval" in header[i]
        )
        table.add_column(header[i], justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(row[i])) for i in used))
    console.print()
    console.print(table)


def _magnitudes(cell: CellAnswer) -> tuple[str, str, str]:
    from regatta.host.units import display_scale

    estimate = cell.estimate
    if math.isnan(estimate.point):
        return "", "", cell.unit
    factor, unit = display_scale(estimate.point, cell.unit)
    half = (estimate.high - estimate.low) / 2 * factor
    decimals = min(6, max(0, 1 - math.floor(math.log10(half)))) if half > 0 and math.isfinite(half) else 4
    interval = (
        ""
        if math.isnan(estimate.low)
        else " to ".join(f"{edge * factor:,.{decimals}f}" for edge in (estimate.low, estimate.high))
    )
    return f"{estimate.point * factor:,.{decimals}f}", interval, unit


def _heap(factor: float | None, mib: int | None) -> str:
    size = "" if mib is None else f"{mib} MiB"
    return size if factor is None else f"{factor:g} x" + (f" ({size})" if size else "")


def _metric(metric: str, parameters: Mapping[str, Scalar]) -> str:
    return " ".join([metric, *(f"{key}={value}" for key, value in parameters.items())])


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


def _interval(estimate: Interval) -> str:
    return "" if math.isnan(estimate.low) else f"{estimate.low:.4f} to {estimate.high:.4f}"


def _p(p: float) -> str:
    return "" if math.isnan(p) else "<0.0001" if p < 0.0001 else f"{p:.4f}"
