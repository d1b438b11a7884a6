"""--setup and --cleanup of `regatta time`: commands that run once, before all runs and after them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager

import click

from regatta.cli.temporary_folder import temporary_folder
from regatta.cli.time_commands import Alternative, shell_text, uses
from regatta.cli.time_spec import combinations


def for_each_command(
    words: Sequence[str],
    commands: Sequence[Alternative],
    given: Mapping[str, Sequence[str]],
    excluded: Container[dict[str, object]],
) -> list[list[str]]:
    """Return a command with the values of each measured command; equal ones once.

    Args:
        words: of the command, with `{NAME}` for parameters; empty: none.
        commands: the measured commands.
        given: values of the parameters that do not decide a program.
        excluded: `parameters` and `runtime` of combinations that are not measured.
    """
    programs = {name for one in commands for name in one.chosen}
    found = {}
    for combination in combinations(given):
        for one in commands:
            # A command without a parameter has no value for it.
            lacks = any(uses(words, name) for name in programs - one.chosen.keys())
            if not lacks and {"parameters": combination, "runtime": one.name} not in excluded:
                filled = tuple(_filled(word, {**combination, **one.chosen}) for word in words)
                found[filled] = list(filled)
    return [one for one in found.values() if one]


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word


@contextmanager
def around(
    setups: Sequence[Sequence[str]],
    cleanups: Sequence[Sequence[str]],
    environment: Mapping[str, str],
    find: Callable[[str], str],
) -> Iterator[None]:
    """Run the setups, yield, and run the cleanups in any case: also after Ctrl-C, or if a setup failed.

    `find`: returns the path of a program.

    Raises:
        HostError: a command failed. A failed setup stops the others. All cleanups run, and the first failure is raised unless
            another error is.
    """
    from regatta.host.errors import HostError

    # A setup may create what the others execute.
    for words in setups[:1] or cleanups:
        find(words[0])
    failures: list[HostError] = []
    try:
        for words in setups:
            _run("setup", words, environment, find)
        yield
    finally:
        for words in cleanups:
            try:
                _run("cleanup", words, environment, find)
            except HostError as error:
                failures.append(error)
        for failure in failures[0 if sys.exc_info()[0] else 1 :]:
            click.echo(f"error: {failure}", err=True)
    if failures:
        raise failures[0]


def _run(kind: str, words: Sequence[str], environment: Mapping[str, str], find: Callable[[str], str]) -> None:
    """Run a command in the current directory, with the environment of measured commands and a bounded output."""
    from regatta.host.ready.commands import run_command
    from regatta.host.ready.resolving import FIXED_ENVIRONMENT

    if sys.stderr.isatty():
        click.echo(f"{kind}: {shell_text(words)}", err=True)
    with temporary_folder() as home:
        fixed = {**FIXED_ENVIRONMENT, "HOME": str(home), "TMPDIR": str(home)}
        run_command(
            [find(words[0]), *words[1:]],
            f"--{kind}",
            environment={**fixed, **environment},
            timeout_s=math.inf,
            inherited=False,
        ).succeeded()
