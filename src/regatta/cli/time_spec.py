"""The spec and the suite that `regatta time` writes, and their problems in terms of its command line."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from regatta.cli.time_commands import WITH_ITSELF, Alternative, shell_text, uses
from regatta.host.values.template import literal

#: names of the experiment, of its suite and of the benchmark
NAME, SUITE, BENCHMARK = "time", "time", "command"
#: the benchmark in labels of cells
_LABEL = f"{SUITE}/{BENCHMARK}:default (· )?"
#: runs before the number is decided, and the measuring time of each command without --runs and --precision
LEAST_RUNS, SECONDS = 10, 3.0
#: several commands: runs before the first look at their differences, of which fewer would give wide intervals, and the default
#: maximum of runs if they do not all fit into the measuring time
_LEAST_LOOKED, _MOST_LOOKED = 5, 30
#: default maximum: a run of a program that does nothing takes a millisecond or more, with the work of the runner and the sync of its
#: record
MOST_RUNS = 3000
#: the default maximum of all commands: the runner holds the plan of all possible runs in memory
_MOST_ROWS = 300_000
#: with --precision: the default maximum, and the smallest pilot
_MOST_PRECISE, _LEAST_PILOT = 100, 3


@contextmanager
def told_by_options(folder: Path) -> Iterator[None]:
    """Tell the problems of the written files in terms of the command line."""
    from regatta.host.errors import Problem, SpecError

    def told(problem: Problem) -> Problem:
        if not problem.where.startswith(str(folder)):
            return problem
        name = re.search(r"\.parameters\.(\w+)", problem.where)
        where = f"--parameter {name[1]}" if name else "the commands"
        expected, got = (re.sub(_LABEL, "", text) for text in (problem.expected, problem.got))
        got = got.replace("the same command for", "the same program with the same arguments for")
        equal_commands = "the same program with" in got and name is None
        return Problem(where, expected, got, WITH_ITSELF if equal_commands else problem.fix)

    try:
        yield
    except SpecError as error:
        raise SpecError(list(dict.fromkeys(map(told, error.problems)))) from error


def write_yaml(path: Path, value: dict[str, Any]) -> None:
    """Write a spec or a suite. Raises OSError."""
    from regatta.host.files import write_whole

    # JSON is YAML.
    write_whole(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def suite_of(
    commands: Sequence[Alternative],
    given: dict[str, list[str]],
    each_run: dict[str, list[str]],
    programs: dict[str, str],
    environment: dict[str, str],
    streams: dict[str, str],
    exit_codes: Any,
) -> dict[str, Any]:
    """Return the suite: one benchmark with a command for each alternative, and with `prepare` and `conclude` around it."""

    def template(word: str) -> str:
        parts = re.split(r"(\{[A-Za-z_][A-Za-z0-9_]*\})", word)
        return "".join(part if part[1:-1] in given and part[:1] == "{" else literal(part) for part in parts)

    benchmark: dict[str, Any] = {
        "kind": "program",
        "commands": {one.name: ["{runtime}", *map(template, one.words[1:])] for one in commands},
        "directory": os.getcwd(),
    }
    if environment:
        benchmark["environment"] = environment
    for key, (program, *others) in each_run.items():
        benchmark[key] = {"command": [programs[program], *map(template, others)]}
    for key, path in streams.items():
        if path:
            benchmark[key] = literal(path) if key == "input" else path
    size: dict[str, Any] = {"parameters": {name: values[0] for name, values in given.items()}}
    if exit_codes is not None:
        size["expect"] = {"exit_codes": exit_codes}
    benchmark["sizes"] = {"default": size}
    return {"suite": SUITE, "benchmarks": {BENCHMARK: benchmark}}


def spec_of(
    commands: Sequence[Alternative],
    programs: dict[str, str],
    again: Sequence[str],
    given: dict[str, list[str]],
    unneeded: list[dict[str, Any]],
    invocations: dict[str, Any],
    timeout: float,
) -> dict[str, Any]:
    """Return the spec: each command is a runtime, so that all share a block and are compared in pairs.

    Several commands are compared at each combination of parameters. With one command, the combinations are compared.
    Commands in `again` may equal others.
    """
    runtimes = {
        one.name: {
            "kind": "program",
            "language": one.name,
            "provider": "path",
            "path": programs[one.words[0]],
            **({"aa": True} if one.name in again else {}),
        }
        for one in commands
    }
    first = shell_text(commands[0].words)
    question = "Which command is fastest?" if len(commands) > 1 else f"How long does {first} take?"
    compare, baseline = ["runtime"], dict[str, Any](runtime=commands[0].name)
    if len(commands) == 1 and given:
        question = f"How does the time of {first} depend on {', '.join(given)}?"
        compare = [f"parameters.{name}" for name in given]
        baseline = {"parameters": {name: values[0] for name, values in given.items()}}
    return {
        "name": NAME,
        "question": question,
        "suites": [f"{SUITE}-suite.yml"],
        "define": {"runtimes": runtimes},
        "runtimes": list(runtimes),
        "benchmarks": [{"suite": SUITE, "benchmark": BENCHMARK, **({"parameters": given} if given else {})}],
        "exclude": unneeded,
        **invocations,
        "compare": compare,
        "baseline": baseline,
        "timeout_s": timeout,
    }


def combinations(given: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """Yield each combination of values of parameters; the last parameter varies fastest."""
    for values in itertools.product(*given.values()):
        yield dict(zip(given, values, strict=True))


def unneeded_cells(
    commands: Sequence[Alternative], given: dict[str, list[str]], beside: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the cells to exclude. Without one of the parameters, a command is measured only next to the first command.

    Thus a parameter that neither of both contains keeps its first value.
    """
    used = [{name for name in given if uses((*one.words, *beside), name)} for one in commands]
    found = []
    for combination in combinations(given):
        later = {name for name, value in combination.items() if value != given[name][0]}
        needed = [later <= own | used[0] for own in used]
        # All commands are compared with the first one.
        needed[0] = any(needed)
        found += [
            {"parameters": combination, "runtime": one.name}
            for one, measured in zip(commands, needed, strict=True)
            if not measured
        ]
    return found


def invocations_of(
    runs: int | None,
    least: int | None,
    most: int | None,
    precision: float | None,
    warmup: int | None,
    commands: int,
) -> dict[str, Any]:
    """Return `invocations` and `segment` of the spec.

    Args:
        runs: exact number; None: decided while measuring.
        least, most: bounds of a number that is decided; None: the defaults.
        precision: target half-width in percent; None: as many runs as `SECONDS` allow, and if these are few, until differences
            are clear.
        warmup: runs of each command before the measured ones; None: the default of the spec.
        commands: how many are measured, with all values of their parameters.

    Raises:
        UsageError: the options exclude each other.
    """
    rounds, maximum = _rounds_of(runs, least, most, precision, commands)
    if warmup is not None:
        rounds["discarded"] = warmup
    return {"invocations": rounds, "segment": {"rounds": maximum}}


def _rounds_of(
    runs: int | None, least: int | None, most: int | None, precision: float | None, commands: int
) -> tuple[dict[str, Any], int]:
    """Return `invocations` of the spec, and the largest number of rounds."""
    if runs is not None:
        given = {"--min-runs": least, "--max-runs": most, "--precision": precision}
        others = [name for name, value in given.items() if value is not None]
        if others:
            fix = "; for a maximum, use --max-runs" if others == ["--precision"] else ""
            raise click.UsageError(f"--runs is an exact number: expected it without {', '.join(others)}{fix}")
        return {"fixed": runs}, runs
    usual = min(MOST_RUNS, _MOST_ROWS // commands) if precision is None else _MOST_PRECISE
    compared = precision is None and commands > 1
    pilot, maximum = _bounds(least, most, usual, _LEAST_LOOKED if compared else LEAST_RUNS)
    from regatta.host.journal.looks import FIRST
    from regatta.spec.invocations_schema import MAX_ADAPTIVE

    if compared and maximum >= FIRST and pilot <= MAX_ADAPTIVE:
        pilot = max(FIRST, pilot)
        looked = min(most or max(_MOST_LOOKED, pilot), maximum, MAX_ADAPTIVE)
        return {
            "decide": {"pilot": pilot, "maximum": looked}, "seconds": SECONDS, "maximum": maximum
        }, maximum  # fmt: skip
    if precision is None:
        return {"fixed": pilot, "seconds": SECONDS, "maximum": maximum}, maximum
    if pilot < _LEAST_PILOT or maximum > MAX_ADAPTIVE:
        raise click.UsageError(
            f"--precision: expected between {_LEAST_PILOT} and {MAX_ADAPTIVE} runs, got {pilot} to {maximum}"
        )
    return {"adaptive": {"target_percent": precision, "pilot": pilot, "maximum": maximum}}, maximum


def _bounds(least: int | None, most: int | None, usual: int, usual_least: int) -> tuple[int, int]:
    """Return both bounds. A default gives way to the bound that is given."""
    pilot = least or min(usual_least, most or usual_least)
    maximum = most or max(usual, pilot)
    if maximum < pilot:
        raise click.UsageError(f"--max-runs: expected at least {pilot} (--min-runs), got {maximum}")
    return pilot, maximum
