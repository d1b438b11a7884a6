"""What `regatta time` prints: its answer, with one row per command and combination of parameters, and the output of runs."""

from __future__ import annotations

import csv
import json
import math
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from regatta.cli.time_commands import Alternative, shell_text, uses
from regatta.host.journal.record import FAILURES
from regatta.host.values.record import Record

if TYPE_CHECKING:
    from regatta.answers.spine.result import Answer, CellAnswer
    from regatta.figures.section import Table
    from regatta.figures.text import Scale

#: cell id -> the last attempt of each of its runs, in their order, without the discarded first one
Runs = Mapping[str, Sequence[Record]]
#: lines of the output of a failing command
_FIRST_LINES = 5
#: of a line of these, and of a line of a whole output
_LONGEST_LINE, _LONGEST_OUTPUT = 200, 4000
#: proposed runs relative to those that are expected to be enough
_MARGIN = 1.5
#: bytes of output that a record keeps at most
_KEPT_BYTES = 1 << 20


@dataclass(frozen=True)
class Command:
    """A measured command.

    `user_s`, `system_s`: mean processor times of a whole run; NaN: unknown. `parameters`: its own; `others`: those of the
    commands next to which it was measured.
    """

    cell: CellAnswer
    user_s: float
    system_s: float
    words: Sequence[str]
    parameters: Mapping[str, str]
    others: Mapping[str, str]


def elapsed_cells(answer: Answer) -> list[CellAnswer]:
    """Return the cells with the elapsed time of a command, in the order of the measurement."""
    return [cell for cell in answer.cells if cell.metric == "elapsed"]


def read_runs(experiment: Path, discarded_rounds: int) -> Runs:
    """Return the runs of an experiment from its journal. Raises OSError."""
    from regatta.host.journal.journal import Damage, read_journal

    last: dict[tuple[str, int], Record] = {}
    for record in read_journal(experiment):
        if not isinstance(record, Damage) and record["round"] >= discarded_rounds:
            last[record["cell_id"], record["round"]] = record
    found: dict[str, list[Record]] = {}
    for (cell_id, _), record in sorted(last.items()):
        found.setdefault(cell_id, []).append(record)
    return found


def commands_of(answer: Answer, alternatives: Sequence[Alternative]) -> list[Command]:
    """Return the measured commands with their parameters filled in."""
    from regatta.host.values.benchmark_label import parts_of_label

    found = []
    words_by_name = {one.name: one.words for one in alternatives}
    means = {(cell.cell_id, cell.metric): cell.estimate.point for cell in answer.cells}
    for cell in elapsed_cells(answer):
        words = list(words_by_name[cell.place.runtime])
        chosen = parts_of_label(cell.place.benchmark).chosen
        own = {name: value for name, value in chosen.items() if uses(words, name)}
        others = {name: value for name, value in chosen.items() if name not in own}
        for name, value in own.items():
            words = [word.replace(f"{{{name}}}", value) for word in words]
        user_s, system_s = (means.get((cell.cell_id, metric), math.nan) for metric in ("user", "system"))
        found.append(Command(cell, user_s, system_s, words, own, others))
    return found


def sorted_by_mean(commands: Sequence[Command]) -> list[Command]:
    """Return the fastest command first; those without a mean last."""

    def mean(command: Command) -> float:
        point = command.cell.estimate.point
        return math.inf if math.isnan(point) else point

    return sorted(commands, key=mean)


def table_of_commands(commands: Sequence[Command], level: float, unit: str | None) -> Table:
    """Return a table of the elapsed times, with the mean processor times of whole runs.

    `unit`: of all times; None: a fitting one.
    """
    from regatta.figures.section import Table
    from regatta.figures.text import choose_scale, show_ends, show_percent

    cells = [command.cell for command in commands]
    scale = choose_scale([cell.estimate for cell in cells], cells[0].unit if cells else "s")
    if unit is not None and cells:
        scale = _in_unit(scale, cells[0].unit, unit)
    rows: list[tuple[str, ...]] = []
    for command in commands:
        cell = command.cell
        spread = (
            cell.dispersion.cv_percent / 100 * cell.estimate.point,
            cell.dispersion.minimum,
            cell.dispersion.maximum,
        )
        # The elapsed time of a process is in ns.
        used = (1e9 * command.user_s, 1e9 * command.system_s)
        rows.append(
            (
                called(command, commands),
                shell_text(command.words),
                scale.show(cell.estimate.point),
                f"{show_ends(cell.estimate, scale.show)}{' disturbed' * cell.estimate.is_disturbed}",
                *(_shown(scale, value) for value in (*spread, *used)),
                str(cell.estimate.n),
            )
        )
    names: tuple[str, ...] = ("name", "command")
    numbers = (f"mean [{scale.unit}]", f"{show_percent(level)} CI", "SD", "min", "max", "user", "system", "n")
    if all(row[0] == row[1] for row in rows) or len(rows) == 1:
        names, rows = names[1:], [row[1:] for row in rows]
    numeric = frozenset(range(len(names), len(names) + len(numbers)))
    return Table("Elapsed time", (*names, *numbers), rows, numeric)


def called(command: Command, commands: Sequence[Command]) -> str:
    """Return the name of a command with its parameters, unique among all commands."""
    name = command.cell.place.runtime
    called = " ".join((name, *(f"{key}={value}" for key, value in command.parameters.items())))
    if command.others and sum(other.cell.place.runtime == name for other in commands) > 1:
        called += f" (next to {' '.join(f'{key}={value}' for key, value in command.others.items())})"
    return called


def _shown(scale: Scale, value: float) -> str:
    from regatta.figures.text import ABSENT

    return scale.show(value) if math.isfinite(value) else ABSENT


def _in_unit(scale: Scale, measured: str, unit: str) -> Scale:
    """Return the scale in another unit of time, with as many significant digits."""
    from regatta.figures.text import Scale, show_unit
    from regatta.host.units import UNITS

    factor = UNITS[measured][1] / UNITS[unit][1]
    decimals = scale.decimals
    if decimals is not None:
        decimals = min(9, max(0, decimals + round(math.log10(scale.factor / factor))))
    return Scale(factor, show_unit(unit), decimals)


def runs_document(commands: Sequence[Command], runs: Runs) -> list[dict[str, Any]]:
    """Return each command with the times of its runs, in seconds."""
    return [
        {
            "name": command.cell.place.runtime,
            "command": shlex.join(command.words),
            "parameters": dict(command.parameters),
            "cell_id": command.cell.cell_id,
            "runs": [
                {
                    "round": one["round"],
                    "status": one["status"],
                    "exit_code": one["exit_code"],
                    "elapsed_s": one["elapsed_ns"] / 1e9,
                    "user_s": one["rusage"].get("user_s"),
                    "system_s": one["rusage"].get("system_s"),
                }
                for one in runs.get(command.cell.cell_id, ())
            ],
        }
        for command in commands
    ]


def print_rows(answer: Answer, commands: Sequence[Command], runs: Runs) -> None:
    """Print the rows of `regatta analyze --csv` with the command of each cell; then a row of each run, in ns."""
    from regatta.answers.kit.plain import place_of
    from regatta.answers.report.documents import COLUMNS, rows_of

    text = {(one.cell.place.benchmark, one.cell.place.runtime): shlex.join(one.words) for one in commands}
    writer = csv.DictWriter(sys.stdout, (*COLUMNS, "command"), restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows_of(answer):
        command = text.get((row["benchmark"], row["runtime"]), "") if row["kind"] == "cell" else ""
        writer.writerow({**row, "command": command})
    for one in commands:
        place = {**place_of(one.cell), "kind": "run", "unit": "ns", "command": shlex.join(one.words)}
        for run in runs.get(one.cell.cell_id, ()):
            writer.writerow({**place, "value": run["elapsed_ns"], "reason": run["reason"] or ""})


def first_lines(name: str, run: Record) -> list[str]:
    """Return the first lines of the standard error of a failed run, or of its output, after a line that names it."""
    from regatta.host.printable import printable

    for stream in ("stderr", "stdout"):
        if text := text_of(run, stream).strip():
            lines = [printable(line)[:_LONGEST_LINE] for line in text.splitlines()]
            more = [f"  and {len(lines) - _FIRST_LINES} more lines"] if len(lines) > _FIRST_LINES else []
            return [f"{name} wrote to {stream}:", *(f"  {line}" for line in lines[:_FIRST_LINES]), *more]
    return []


def text_of(run: Record, stream: Literal["stdout", "stderr"]) -> str:
    """Return what a record keeps of the standard output or error."""
    from regatta.host.measure.capture import KeptOutput

    return KeptOutput.from_json(run[stream], _KEPT_BYTES, None).kept.decode(errors="replace")


def marked_up(table: Table, kind: str) -> str:
    """Return a table as `markdown`, `asciidoc` or `org`."""
    rows: Iterable[Sequence[str]] = table.rows
    if kind == "asciidoc":
        lines = [_line(row, "|", "\\|") for row in (table.columns, *rows)]
        return "\n".join(['[options="header"]', "|===", *(line.removesuffix(" |") for line in lines), "|==="])
    ruled = ["---"] * len(table.columns)
    if kind == "org":
        rule = "|" + "+".join(ruled) + "|"
        return "\n".join(
            [_line(table.columns, "|", "\\vert{}"), rule, *(_line(row, "|", "\\vert{}") for row in rows)]
        )
    return "\n".join(_line(row, "|", "\\|") for row in (table.columns, ruled, *rows))


def _line(row: Sequence[str], bar: str, escaped: str) -> str:
    return f"{bar} " + f" {bar} ".join(cell.replace(bar, escaped) for cell in row) + f" {bar}"


def print_answer(
    answer: Answer, export: str | None, commands: Sequence[Command], runs: Runs, unit: str | None
) -> None:
    """Print the answer as a screen, or in a format of `--export`; then its notes to standard error.

    `unit`: of the times; None: fitting ones.
    """
    from regatta.answers.report.documents import document_of
    from regatta.answers.spine.short import short_comparisons
    from regatta.cli.first_screen import first_screen, notes_of
    from regatta.cli.tables import plain_console, screen_width, show

    if export == "json":
        document = {**document_of(answer), "commands": runs_document(commands, runs)}
        click.echo(json.dumps(document, indent=1, allow_nan=False))
    elif export == "csv":
        print_rows(answer, commands, runs)
    elif export is not None:
        tables = [table_of_commands(commands, answer.level, unit)]
        if answer.comparisons:
            tables.insert(0, short_comparisons(answer.comparisons, answer.level, judged=True))
        click.echo("\n\n".join(marked_up(table, export) for table in tables))
    else:
        click.echo("\n".join(first_screen(answer, kept=False, width=screen_width())).rstrip())
        if any(command.cell.estimate.n for command in commands):
            show(plain_console(), table_of_commands(commands, answer.level, unit))
    for line in notes_of(answer, screen_width()):
        click.echo(line, err=True)


def tell_failures(commands: Sequence[Command], runs: Runs) -> None:
    """Print the first lines of the output of the first failed run of each command."""
    for command in commands:
        failed = [one for one in runs.get(command.cell.cell_id, ()) if one["status"] in FAILURES]
        if failed and (code := failed[0]["exit_code"]):
            click.echo(
                f"to accept exit code {code} of {command.cell.place.runtime}: --ignore-failure={code}",
                err=True,
            )
        for line in first_lines(command.cell.place.runtime, failed[0]) if failed else ():
            click.echo(line, err=True)


def stopped(answer: Answer, kept: bool) -> str:
    """Describe an interrupted measurement: what the answer is about, and whether its runs stay."""
    if not answer.recorded:
        return "stopped: no run ended"
    about = f"stopped: the answer is about {answer.recorded} of {answer.planned} runs"
    return about if kept else f"{about}; they are not kept (to keep them: --save)"


def precision_words(answer: Answer) -> str:
    """Say whether the target of --precision was reached."""
    from regatta.answers.topics.stopping.topic import STOPPING

    groups = STOPPING.of(answer)
    target = f"target {groups[0].target_percent:g} %" if groups else "no target"
    reached = [group.reached_percent for group in groups]
    if not groups or any(map(math.isnan, reached)):
        return f"precision unknown: no interval of undisturbed runs ({target})"
    if all(group.met for group in groups):
        return f"precision reached: half-width {max(reached):.2g} % ({target})"
    runs = max(group.run for group in groups)
    return f"precision not reached: half-width {max(reached):.2g} % after {runs} runs ({target}); raise --max-runs"


def undecided_words(answer: Answer) -> list[str]:
    """Say for each comparison without an answer how many runs would be enough."""
    from regatta.answers.topics.stopping.topic import STOPPING
    from regatta.spec.invocations_schema import MAX_ADAPTIVE

    found = []
    for group in STOPPING.of(answer):
        for pair in group.pairs:
            if pair.outcome == "undecided" and pair.expected is not None:
                # The spread is an estimate.
                more = math.ceil(pair.expected * _MARGIN)
                fix = f": --max-runs {more}" if more <= MAX_ADAPTIVE else ""
                found.append(
                    f"{pair.a_name} / {pair.b_name} is undecided; about {pair.expected} runs of each would be enough{fix}"
                )
    return found


def all_have_values(answer: Answer) -> bool:
    return all(cell.estimate.n for cell in elapsed_cells(answer))


def output_lines(experiment: Path, commands: Sequence[Command], discarded_rounds: int) -> Iterator[str]:
    """Yield the output of each run in the order of the measurement, after a line that names it. Raises OSError."""
    from regatta.host.journal.journal import read_records
    from regatta.host.printable import printable

    names = {command.cell.cell_id: called(command, commands) for command in commands}
    for record in read_records(experiment):
        number = record["round"] - discarded_rounds + 1
        run = f"run {number}" if number > 0 else f"discarded run {record['round'] + 1}"
        # Perturbed runs are repeated.
        run += f", repetition {record['attempt']}" if record["attempt"] else ""
        for stream in ("stdout", "stderr"):
            if text := text_of(record, stream):
                yield f"{names.get(record['cell_id'], record['cell_id'])}, {run}, {stream}:"
                yield from (f"  {printable(line, _LONGEST_OUTPUT)}" for line in text.splitlines())
