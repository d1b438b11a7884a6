"""`regatta gate SPEC`: measure two sides beside each other, and judge the change for a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import click

from regatta.cli.derived_spec import LEAST_ROUNDS, ROUNDS, relevance_option, run_derived
from regatta.cli.gate_spec import SPEC, Wanted, gate_spec
from regatta.cli.options import json_option, profile_option, spec_argument, spec_results_option
from regatta.host.errors import RegattaError, VerificationError
from regatta.host.printable import printable
from regatta.host.values.host import Wish
from regatta.spec.invocations_schema import BUDGET, MAX_ADAPTIVE
from regatta.store.folder import Folder

if TYPE_CHECKING:
    from regatta.answers.gate.result import GateAnswer

#: verdict -> exit code
EXIT_CODES = {"better": 0, "equivalent": 0, "failed": 1, "worse": 4, "undecided": 5}


def _check_budget(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    if text is not None and not re.fullmatch(BUDGET, text):
        raise click.BadParameter(f"expected a time such as 90s, 30m, 2h or 1d · got {text!r}")
    return text


@click.command()
@spec_argument
@spec_results_option
@click.option(
    "--baseline",
    metavar="REVISION|RUNTIME|FOLDER",
    help="The side to compare with: a revision of the runtime with `provider: git`, a runtime, or the folder of an earlier gate, whose candidate is measured again. [default: `baseline` of the spec]",
)
@click.option("--candidate", metavar="REVISION", help="The revision to judge. [default: that of the spec]")
@relevance_option
@click.option(
    "--rounds",
    type=click.IntRange(1, MAX_ADAPTIVE),
    metavar="N",
    help=f"Maximum number of rounds. [default: that of the spec, at least {ROUNDS}]",
)
@click.option(
    "--budget", metavar="TIME", callback=_check_budget, help="Measuring time on each host: 90s, 30m, 2h."
)
@click.option(
    "--aa/--no-aa",
    default=True,
    show_default=True,
    help="Also measure a copy of the baseline. If it differs from the baseline, nothing is concluded from its blocks.",
)
@profile_option
@click.option("--retry-failed", is_flag=True, help="Repeat failed invocations once.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write gate.json, gate.md and gate.xml (JUnit) into this folder.",
)
@click.option("--threshold", hidden=True)
@json_option
def gate(
    spec: Path,
    results: Path | None,
    baseline: str | None,
    candidate: str | None,
    relevance: float | None,
    rounds: int | None,
    budget: str | None,
    aa: bool,
    profile: Wish | None,
    retry_failed: bool,
    output: Path | None,
    threshold: str | None,
    as_json: bool,
) -> int:
    """Judge a change: measure both sides of SPEC in the same blocks until it is better, worse, equivalent or undecided.

    Exit codes: 0 better or equivalent · 1 an invocation failed · 2 error in the spec or the command · 3 unfit host ·
    4 worse · 5 undecided.
    """
    if threshold is not None:
        raise click.UsageError(
            "--threshold: expected --relevance · a bare threshold on the ratio of two means alarms by chance, the more often "
            "the more benchmarks there are; the largest irrelevant change is judged by intervals"
        )
    if rounds is not None and rounds < LEAST_ROUNDS:
        raise click.UsageError(
            f"--rounds: expected at least {LEAST_ROUNDS}, got {rounds} · a single run does not show how much runs vary"
        )
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec

    home = find_home(spec)
    asked = load_spec(spec, home)
    value = gate_spec(spec, asked, home, Wanted(baseline, candidate, relevance, rounds, budget, aa))
    results = results or Path(asked.results_directory)
    folder = Folder(results / str(value["name"]))
    places = [folder.path, *([output] if output else [])]
    for place in places:
        _prepare(place)
    codes = []

    def show(code: int) -> None:
        if code in (0, VerificationError.exit_code) and folder.report.exists():
            codes.append(EXIT_CODES[_judge(folder, places, as_json).verdict])

    try:
        code = run_derived(value, SPEC, home, results, profile, retry_failed, show)
    except RegattaError as error:
        # What `verify` found is a part of the verdict.
        if error.exit_code != VerificationError.exit_code or not codes:
            raise
        code = 0
    return code or codes[-1]


def _prepare(place: Path) -> None:
    """Make a folder for the files of the verdict, without those of an earlier one. Raises StoreError."""
    from regatta.answers.gate.document import FILES
    from regatta.store.folder import no_room

    try:
        place.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (place / name).unlink(missing_ok=True)
        with NamedTemporaryFile(dir=place):
            pass
    except OSError as error:
        raise no_room(place, error) from error


def _judge(folder: Folder, places: Sequence[Path], as_json: bool) -> GateAnswer:
    """Judge what was measured, and show and write the verdict."""
    from regatta.answers.gate.compute import judge_gate
    from regatta.answers.gate.document import json_of, write_gate

    answer = judge_gate(folder)
    if as_json:
        click.echo(json_of(answer), nl=False)
    else:
        _show(answer, folder)
    for place in places:
        write_gate(answer, place)
    return answer


def _show(answer: GateAnswer, folder: Folder) -> None:
    from regatta.answers.gate.words import LEGEND, drawing, gate_table, headline, notes
    from regatta.cli.tables import plain_console, show

    console = plain_console()
    console.print(printable(headline(answer)), style="bold")
    show(console, gate_table(answer))
    console.print(LEGEND)
    console.print()
    for line in drawing(answer):
        console.print(printable(line))
    console.print()
    for note in notes(answer):
        console.print(f"• {printable(note)}")
    console.print(f"report: {folder.report} · for a pull request: {folder.path / 'gate.md'}")
