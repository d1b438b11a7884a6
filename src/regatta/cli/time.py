"""`regatta time`: compare commands without writing a spec."""

from __future__ import annotations

import itertools
import math
import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from regatta.cli import time_answer, time_commands, time_spec
from regatta.cli.measure_here import measure, started_runner
from regatta.cli.stopping import told_to_stop
from regatta.cli.temporary_folder import temporary_folder
from regatta.cli.time_once import around, for_each_command
from regatta.cli.time_spec import NAME, SUITE

_RESULTS = "results"
_INTERRUPTED = 130
_MARKUPS = ("markdown", "asciidoc", "org")
_UNITS = {"nanosecond": "ns", "microsecond": "us", "millisecond": "ms", "second": "s"}
_RUNS = click.IntRange(2, 10_000_000)


class _Percent(click.FloatRange):
    """A number above 0 and at most 100, also with its sign."""

    name = "percent"

    def __init__(self) -> None:
        super().__init__(0, 100, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(value.removesuffix("%"), param, ctx)


@click.command(cls=time_commands.WithOptionalCodes)
@click.argument("commands", nargs=-1, required=True, metavar="COMMAND...")
@click.option(
    "-r",
    "--runs",
    type=_RUNS,
    metavar="NUMBER",
    help="Exact number of runs of each command.  [default: as many as fit in 3 s per command; if few fit, until "
    "differences are clear]",
)
@click.option(
    "-m",
    "--min-runs",
    type=_RUNS,
    metavar="NUMBER",
    help="Minimum number of runs of each command.  [default: 5, or 10 with one command or --precision]",
)
@click.option(
    "-M",
    "--max-runs",
    type=_RUNS,
    metavar="NUMBER",
    help="Maximum number of runs of each command.  [default: 3000 in 3 s per command, less for over 100 commands; if "
    "few fit, 30; with --precision 100]",
)
@click.option(
    "-w",
    "--warmup",
    type=click.IntRange(0, 100_000),
    metavar="NUMBER",
    help="Runs of each command before the measured ones; the answer excludes them.  [default: 1]",
)
@click.option(
    "--precision",
    type=_Percent(),
    metavar="PERCENT",
    help="Repeat until the half-width of each ratio's interval is at most this.",
)
@click.option(
    "-L",
    "--parameter",
    "parameters",
    nargs=2,
    multiple=True,
    metavar="NAME V1,V2",
    help="Replace {NAME} in the commands by each value. Repeatable: all combinations run.",
)
@click.option(
    "-P",
    "--parameter-scan",
    "scans",
    nargs=3,
    multiple=True,
    metavar="NAME MIN MAX",
    help="Replace {NAME} by each number from MIN to MAX. Repeatable.",
)
@click.option(
    "-D",
    "--parameter-step-size",
    "step",
    default="1",
    metavar="NUMBER",
    show_default=True,
    help="Step of each --parameter-scan.",
)
@click.option("-p", "--prepare", metavar="COMMAND", help="Command to run before each run; it is not timed.")
@click.option("-C", "--conclude", metavar="COMMAND", help="Command to run after each run; it is not timed.")
@click.option(
    "-s",
    "--setup",
    metavar="COMMAND",
    help="Command to run once before all runs, with the parameters of each command; it is not timed.",
)
@click.option(
    "-c",
    "--cleanup",
    metavar="COMMAND",
    help="Command to run once after all runs, as --setup; also after Ctrl-C or a failure.",
)
@click.option(
    "-n",
    "--command-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Name of a command. Repeat it for each command, in their order.",
)
@click.option(
    "--environment",
    "variables",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Set this variable, or copy it from the current environment, such as HOME or PATH. Repeatable.",
)
@click.option(
    "-i",
    "--ignore-failure",
    "exit_codes",
    type=time_commands.ExitCodes(),
    metavar="[=CODES]",
    help="Accept these exit codes of the commands too, such as =1,3; without CODES, all.",
)
@click.option(
    "--input", "source", metavar="null|FILE", help="Standard input of the commands.  [default: null]"
)
@click.option(
    "--output",
    "target",
    metavar="null|pipe|FILE",
    help="Standard output of the commands; each run replaces FILE.  [default: pipe]",
)
@click.option("--show-output", is_flag=True, help="Print what each run wrote, to standard error, at the end.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    show_default="300",
    metavar="SECONDS",
    help="Longest duration of a run.",
)
@click.option(
    "-u",
    "--time-unit",
    type=click.Choice(["nanosecond", "microsecond", "millisecond", "second"]),
    help="Unit of the table of commands.  [default: a fitting one]",
)
@click.option(
    "--sort",
    type=click.Choice(["command", "mean-time"]),
    default="command",
    show_default=True,
    help="Order of the table of commands: as given, or the fastest first.",
)
@click.option(
    "--export",
    type=click.Choice(["json", "csv", *_MARKUPS]),
    help="Print the answer in this format; JSON and CSV have the time of each run.",
)
@click.option(
    "--save",
    type=click.Path(exists=False, path_type=Path),
    help="New directory for the spec, the suite and the results; without it, they are deleted at the end.",
)
def time(
    commands: Sequence[str],
    runs: int | None,
    min_runs: int | None,
    max_runs: int | None,
    warmup: int | None,
    precision: float | None,
    parameters: Sequence[tuple[str, str]],
    scans: Sequence[tuple[str, str, str]],
    step: str,
    prepare: str | None,
    conclude: str | None,
    setup: str | None,
    cleanup: str | None,
    names: Sequence[str],
    variables: Sequence[str],
    exit_codes: Any,
    source: str | None,
    target: str | None,
    show_output: bool,
    timeout: float,
    time_unit: str | None,
    sort: str,
    export: str | None,
    save: Path | None,
) -> int:
    """Measure each COMMAND in interleaved blocks, and compare all with the first one.

    With one COMMAND, compare the values of its parameters with the first ones.

    Commands run in the current directory, without a shell. Their programs are those that your shell would start, such
    as the ones of an active virtual environment. They do not inherit the environment: PATH is the system path,
    HOME and TMPDIR are an empty folder. With --environment PATH, that PATH also decides the programs.
    Perturbed runs are repeated.
    """
    environment = _environment(variables)
    if show_output and time_commands.output_of(target):
        raise click.UsageError(f"--show-output: expected --output pipe, got --output {target}")
    if names and len(names) != len(commands):
        raise click.UsageError(
            f"expected a --command-name for each of {len(commands)} commands, got {len(names)}"
        )
    given = _parameters(parameters, scans, step)
    every = tuple(given)
    compared = time_commands.alternatives(
        [time_commands.words_of(command, every) for command in commands], names, given
    )
    each_run = _each_run({"prepare": prepare, "conclude": conclude}, every, given)
    every_command = [*(one.words for one in compared), *each_run.values()]
    for name in given:
        if not any(time_commands.uses(words, name) for words in every_command):
            raise click.UsageError(f"--parameter {name}: no command contains {{{name}}}")
    crossed = len(compared) * math.prod(map(len, given.values()))
    invocations = time_spec.invocations_of(runs, min_runs, max_runs, precision, warmup, crossed)
    path = environment.get("PATH")
    unneeded = time_spec.unneeded_cells(compared, given, [word for one in each_run.values() for word in one])
    setups, cleanups = (
        for_each_command(time_commands.words_of(one, every), compared, given, unneeded) if one else []
        for one in (setup, cleanup)
    )
    with (
        told_to_stop(),
        _folder(save) as folder,
        time_spec.told_by_options(folder),
        around(setups, cleanups, environment, lambda program: _find(program, path)),
        started_runner() as runner,
    ):
        # A setup may create what the commands need.
        streams = {"input": time_commands.input_of(source), "output": time_commands.output_of(target)}
        programs = {words[0]: _find(words[0], path) for words in every_command}
        spec, results = folder / f"{NAME}.yml", folder / _RESULTS
        suite = time_spec.suite_of(compared, given, each_run, programs, environment, streams, exit_codes)
        time_spec.write_yaml(folder / f"{SUITE}-suite.yml", suite)
        again = time_commands.repeated(compared, programs) if names else []
        time_spec.write_yaml(
            spec, time_spec.spec_of(compared, programs, again, given, unneeded, invocations, timeout)
        )
        ready, complete = measure(spec, results, runner)
        from regatta.answers.report.answer import answer_experiment

        answer = answer_experiment(ready.folder.path, slow=export == "json")
        if not complete:
            click.echo(time_answer.stopped(answer, save is not None), err=True)
        runs_of = time_answer.read_runs(ready.folder.path, ready.experiment.discarded_rounds)
        shown = time_answer.commands_of(answer, compared)
        if show_output:
            for line in time_answer.output_lines(ready.folder.path, shown, ready.experiment.discarded_rounds):
                click.echo(line, err=True)
        if sort == "mean-time":
            shown = time_answer.sorted_by_mean(shown)
        time_answer.print_answer(
            answer, export, shown, runs_of, None if time_unit is None else _UNITS[time_unit]
        )
        time_answer.tell_failures(shown, runs_of)
        _tell_programs(programs)
        for line in time_answer.undecided_words(answer) if complete else ():
            click.echo(line, err=True)
        if precision is not None and complete:
            click.echo(time_answer.precision_words(answer), err=True)
        if save is not None:
            where = f"--results {shlex.quote(str(results))}"
            click.echo(f"saved; all tables: regatta analyze {NAME} --all {where}", err=True)
            click.echo(f"{'continue' if not complete else 'again'}: {_run_again(folder)}", err=True)
            if setups or cleanups:
                click.echo("this command runs neither --setup nor --cleanup", err=True)
    if not complete:
        return _INTERRUPTED
    failed = any(failure.status != "perturbed" for failure in answer.failures)
    return 0 if time_answer.all_have_values(answer) and not failed else 1


def _parameters(
    parameters: Sequence[tuple[str, str]], scans: Sequence[tuple[str, str, str]], step: str
) -> dict[str, list[str]]:
    """Return the values of each parameter."""
    given = {name: time_commands.values_of(name, values) for name, values in parameters}
    given |= {name: time_commands.scanned(name, least, most, step) for name, least, most in scans}
    if len(given) < len(parameters) + len(scans):
        raise click.UsageError("--parameter: expected each NAME once")
    return given


def _each_run(
    commands: dict[str, str | None], every: Sequence[str], given: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Return the words of --prepare and --conclude. `every`: parameters, with those of programs, which `given` lacks."""
    found = {key: time_commands.words_of(command, every) for key, command in commands.items() if command}
    for key, name in itertools.product(found, every):
        if name not in given and time_commands.uses(found[key], name):
            raise click.UsageError(
                f"--{key}: {{{name}}} is the program of a command here, and all commands share one --{key}"
            )
    return found


def _environment(variables: Sequence[str]) -> dict[str, str]:
    """Return the variables of --environment with their values."""
    found: dict[str, str] = {}
    for variable in variables:
        name, given, value = variable.partition("=")
        if not given and name not in os.environ:
            raise click.UsageError(
                f"--environment {variable}: expected a variable of the environment, or NAME=VALUE · got none"
            )
        found[name] = value if given else os.environ[name]
    return found


def _find(program: str, path: str | None) -> str:
    """Return the absolute path of a program, found as by a shell with this PATH (None: that of the user).

    Links are kept: the link in a virtual environment is what makes Python use it.
    """
    from regatta.host.errors import HostError

    found = shutil.which(program, path=path)
    if found is None:
        where = "there" if "/" in program else "in PATH"
        raise HostError(program, "a program", f"none {where}", "install it, or correct the name")
    return str(Path(found).absolute())


def _tell_programs(programs: dict[str, str]) -> None:
    """Print the path of each program that is not the one of the system path, or not the one of the user's shell."""
    from regatta.host.ready.resolving import MEASURED_PATH

    for program, path in programs.items():
        usual = {shutil.which(program), shutil.which(program, path=MEASURED_PATH)}
        if "/" not in program and usual != {path}:
            click.echo(f"{program} is {path}", err=True)


@contextmanager
def _folder(save: Path | None) -> Iterator[Path]:
    from regatta.host.errors import Problem, SpecError

    if save is None:
        with temporary_folder() as folder:
            yield folder
        return
    try:
        save.mkdir(parents=True)
    except FileExistsError:
        fix = "choose another name"
        if (save / f"{NAME}.yml").is_file():
            fix = f"continue it with `{_run_again(save)}`, or {fix}"
        raise SpecError([Problem(str(save), "a new directory", "an existing one", fix)]) from None
    try:
        yield save
    finally:
        # It is empty after an error before the first file.
        with suppress(OSError):
            save.rmdir()


def _run_again(save: Path) -> str:
    """Return the command that runs a saved experiment, or what is missing of it."""
    spec, results = save / f"{NAME}.yml", save / _RESULTS
    return f"regatta run {shlex.quote(str(spec))} --results {shlex.quote(str(results))}"
