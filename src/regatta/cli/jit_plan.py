"""`regatta jit-plan EXPERIMENT`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

from regatta.cli.options import experiment_argument, json_option, results_option
from regatta.cli.store import database_progress
from regatta.cli.tables import plain_console, show_table
from regatta.store.folder import find_folder, replacing


@click.command()
@experiment_argument
@results_option
@click.option(
    "--choose",
    "choice",
    type=click.Choice(["best", "majority"]),
    default="best",
    show_default=True,
    help="The compilations of the best run, or those that more than half of the runs have.",
)
@click.option("--runs", type=click.IntRange(1), help="Number of runs to use, the first ones. [default: all]")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for the plans. [default: plans/<experiment>-<best or majority>]",
)
@click.option("--replace", is_flag=True, help="Replace existing plans.")
@json_option
def jit_plan(
    experiment: str,
    results: Path,
    choice: Literal["best", "majority"],
    runs: int | None,
    output: Path | None,
    replace: bool,
    as_json: bool,
) -> None:
    """Make compilation plans from the logged runs of EXPERIMENT (a name or a directory), to replay them.

    The runs need the modifier `compilation-log`. A plan is a file of compiler directives for one benchmark on one runtime:
    methods that C2 compiled, methods that only C1 compiled, and no others. The directory also has `modifier.yml`, which a
    spec includes to use the plans. Times of compilation, profiles and inlining are not part of a plan.
    """
    folder = find_folder(experiment, results)

    from regatta.answers.spine.replay_plans import FLAGS, make_plans
    from regatta.host.errors import Problem, SpecError

    with database_progress() as progress:
        plans = make_plans(folder.path, choice, runs, progress)
    target = output or Path("plans") / f"{folder.name}-{choice}"
    entry = {
        "plans": str(target.absolute()),
        "flags": list(FLAGS),
        "controls_compilation": True,
    }
    # JSON is YAML.
    modifier = json.dumps({"modifiers": {f"replay-{choice}": entry}}, indent=2) + "\n"
    files = {plan.file: plan.directives() for plan in plans} | {"modifier.yml": modifier}
    there = sorted(name for name in files if (target / name).exists())
    if there and not replace:
        fix = "add --replace, or choose another --output"
        raise SpecError([Problem(str(target / there[0]), "a new file", "an existing file", fix)])
    for name, text in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(target / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    if as_json:
        rows = [
            {
                "benchmark": plan.benchmark,
                "runtime": plan.runtime,
                "runs": plan.runs,
                "invocation_id": plan.invocation_id,
                "c2": plan.count("c2"),
                "c1": plan.count("c1"),
                "file": str(target / plan.file),
            }
            for plan in plans
        ]
        click.echo(json.dumps({"modifier": str(target / "modifier.yml"), "plans": rows}, indent=1))
        return
    show_table(
        plain_console(),
        f"Compilation plans: {choice}",
        ("benchmark", "runtime", "runs", "methods in C2", "methods in C1 only", "run"),
        [
            (p.benchmark, p.runtime, str(p.runs), str(p.count("c2")), str(p.count("c1")), p.invocation_id)
            for p in plans
        ],
        left=("benchmark", "runtime", "run"),
    )
    click.echo(str(target / "modifier.yml"))
