"""The spec and the suite that `regatta time` writes, and their problems in terms of its command line."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regatta.cli.time_commands import WITH_ITSELF, shell_text, uses

#: names of the experiment, of its suite and of the benchmark
NAME, SUITE, BENCHMARK = "time", "time", "command"
#: the benchmark in labels of cells
_LABEL = f"{SUITE}/{BENCHMARK}:default (· )?"


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
    names: Sequence[str],
    commands: Sequence[Sequence[str]],
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
        return "".join(
            part if part[1:-1] in given and part[:1] == "{" else part.replace("{", "{{").replace("}", "}}")
            for part in parts
        )

    commands_of = {
        name: ["{runtime}", *map(template, words[1:])] for name, words in zip(names, commands, strict=True)
    }
    first = {name: values[0] for name, values in given.items()}
    benchmark: dict[str, Any] = {"kind": "program", "commands": commands_of, "directory": os.getcwd()}
    if environment:
        benchmark["environment"] = environment
    for key, (program, *others) in each_run.items():
        benchmark[key] = {"command": [programs[program], *map(template, others)]}
    for key, path in streams.items():
        if path:
            benchmark[key] = path.replace("{", "{{").replace("}", "}}") if key == "input" else path
    size: dict[str, Any] = {"parameters": first}
    if exit_codes is not None:
        size["expect"] = {"exit_codes": exit_codes}
    benchmark["sizes"] = {"default": size}
    return {"suite": SUITE, "benchmarks": {BENCHMARK: benchmark}}


def spec_of(
    names: Sequence[str],
    commands: Sequence[Sequence[str]],
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
        name: {
            "kind": "program",
            "language": name,
            "provider": "path",
            "path": programs[words[0]],
            **({"aa": True} if name in again else {}),
        }
        for name, words in zip(names, commands, strict=True)
    }
    choice: dict[str, Any] = {"suite": SUITE, "benchmark": BENCHMARK}
    if given:
        choice["parameters"] = given
    question = (
        "Which command is fastest?" if len(names) > 1 else f"How long does {shell_text(commands[0])} take?"
    )
    if len(names) == 1 and given:
        question = f"How does the time of {shell_text(commands[0])} depend on {', '.join(given)}?"
    compare, baseline = ["runtime"], dict[str, Any](runtime=names[0])
    if len(names) == 1 and given:
        compare = [f"parameters.{name}" for name in given]
        baseline = {"parameters": {name: values[0] for name, values in given.items()}}
    return {
        "name": NAME,
        "question": question,
        "suites": [f"{SUITE}-suite.yml"],
        "define": {"runtimes": runtimes},
        "runtimes": list(names),
        "benchmarks": [choice],
        "exclude": unneeded,
        **invocations,
        "compare": compare,
        "baseline": baseline,
        "timeout_s": timeout,
    }


def unneeded_cells(
    names: Sequence[str],
    commands: Sequence[Sequence[str]],
    given: dict[str, list[str]],
    beside: Sequence[str],
) -> list[dict[str, Any]]:
    """Return the cells to exclude. Without one of the parameters, a command is measured only next to the first command.

    Thus a parameter that neither of both contains keeps its first value.
    """
    used = [{name for name in given if uses((*words, *beside), name)} for words in commands]
    found = []
    for values in itertools.product(*given.values()):
        combination = dict(zip(given, values, strict=True))
        later = {name for name, value in combination.items() if value != given[name][0]}
        needed = [later <= own | used[0] for own in used]
        # All commands are compared with the first one.
        needed[0] = any(needed)
        found += [
            {"parameters": combination, "runtime": name}
            for name, measured in zip(names, needed, strict=True)
            if not measured
        ]
    return found
