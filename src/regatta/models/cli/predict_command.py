"""`regatta predict --on PLACE... -- COMMAND`: trace the command, measure the primitives that it uses, and name both for the prediction."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.answers.spine.words import counted
from regatta.cli.derived_spec import DIGITS, entry_of, run_derived
from regatta.figures.text import show_quantity
from regatta.host.errors import Problem, RegattaError, SpecError
from regatta.host.printable import printable
from regatta.host.values.digest import digest_of
from regatta.models.cli.places import (
    EXPERIMENTS,
    Domain,
    Place,
    Places,
    domain_of,
    needed_benchmarks,
    primitives_name,
    primitives_spec,
)
from regatta.models.cli.trace import this_machine, trace_command
from regatta.models.predict.times import USER_WORK
from regatta.models.system_calls.java_configuration import program_of
from regatta.models.vectors.files import read_vector
from regatta.models.vectors.primitives import TABLES, find_primitives, read_primitives
from regatta.models.vectors.sources import Sources
from regatta.models.vectors.values import ApplicationVector
from regatta.spec.home import find_home
from regatta.spec.load import load_spec
from regatta.spec.registries import read_registries

if TYPE_CHECKING:
    from regatta.host.values.experiment import Experiment

#: in the folder of results: vectors of traced commands
APPLICATIONS = "applications"
#: the spec in the folder of its experiment
SPEC = "primitives.yml"
#: runs of the command without and with a tracer
_PAIRS = 3
#: of a Java command, once each: with the agent that counts events, and with samples of threads
_FURTHER_RUNS_OF_JAVA = 2
#: files of the command that are larger are compared by size and time
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class Named:
    """What a prediction from vectors is given: the file of the application, systems, and the table of their primitives."""

    application: str
    systems: tuple[str, ...]
    table: str


@dataclass(frozen=True)
class _Steps:
    """All that is known before the first step."""

    command: tuple[str, ...]
    home: Path
    results: Path
    domain: Domain
    #: the experiment that measures the domain, and its file
    experiment: Experiment
    spec: Path
    #: systems that have vectors
    systems: tuple[str, ...]
    #: where primitives are measured
    places: tuple[Place, ...]
    #: the one in which the command is traced; None: it has no name
    traced_in: Place | None
    hosts: Mapping[str, Sequence[str]]
    rounds: int
    level: float


def vectors_of_command(
    command: Sequence[str], systems: Sequence[str], results: Path, rounds: int, level: float
) -> Named | int:
    """Trace a command and measure the primitives that it uses in the named places, both unless it was done before.

    Args:
        command: the program with its arguments.
        systems: systems that have vectors, and places where they are measured.
        results: the folder of all experiments.
        rounds: of invocations of each benchmark.
        level: confidence of the intervals of the counts.

    Returns:
        what the prediction needs; or the exit code of the measurement if it is incomplete.

    Raises:
        SpecError: a place is wrong.
        RegattaError: the command, the tracer or a measurement fails.
    """
    steps = _steps(command, systems, results, rounds, level)
    _announce(steps)
    # Standard output is for the prediction.
    with redirect_stdout(sys.stderr):
        file, vector = _application(steps)
        code = _measure(steps, file, vector) if steps.places else 0
    if code:
        return code
    measured = (str(steps.results / primitives_name(steps.domain, steps.places)),) if steps.places else ()
    named = Named(str(file), (*steps.systems, *measured), steps.domain.table)
    words = ["regatta", "predict", named.application, "--on", *named.systems, "--primitives", named.table]
    click.echo(f"the same prediction, without the command: {printable(shlex.join(words))}", err=True)
    return named


def _steps(
    command: Sequence[str], systems: Sequence[str], results: Path, rounds: int, level: float
) -> _Steps:
    home = find_home()
    domain = domain_of(command)
    if shutil.which(command[0]) is None:
        raise SpecError.of(f"-- {command[0]}", "a program", "none of this name", "correct its name or PATH")
    problems: list[Problem] = []
    registries = read_registries(home, problems)
    sources = Sources(home, results, primitives=domain.table)
    spec = home / EXPERIMENTS / domain.experiment
    experiment = load_spec(spec, home)
    places = Places(domain, registries, experiment)
    known = [name for name in systems if sources.knows_system(name)]
    asked: list[Place] = []
    for name in systems:
        found = None if name in known else places.place(name)
        if isinstance(found, Problem):
            problems.append(found)
        elif found is not None:
            asked.append(found)
    if problems:
        raise SpecError(problems)
    here = places.traced(command, os.environ)
    # Its own code is scaled from the system on which it was traced.
    if here is not None and not _is_measured(here, known, sources):
        asked.append(here)
    sources.check()
    hosts = {name: [one.name for one in members] for name, members in registries.platforms.items()}
    together = tuple(dict.fromkeys(asked))
    return _Steps(
        tuple(command), home, results, domain, experiment, spec, tuple(known), together, here, hosts, rounds, level
    )  # fmt: skip


def _is_measured(here: Place, known: Sequence[str], sources: Sources) -> bool:
    """Return whether a named or a registered system is this machine in that configuration, with what scales own code."""
    vectors = [one.vector for name in known for one in sources.systems(name)]
    fingerprint = this_machine()
    return any(
        USER_WORK in one.primitives
        and one.provenance.get("fingerprint") == fingerprint
        and one.provenance.get("configuration", "") == here.configuration
        for one in [*vectors, *sources.registered_systems()]
    )


def _announce(steps: _Steps) -> None:
    """Say what will be done, and how long it takes, before it begins."""
    file = _application_file(steps)
    runs = 2 * _PAIRS + (_FURTHER_RUNS_OF_JAVA if steps.domain.of_java else 0)
    lines = [f"{_name_of(steps.command)} is predicted by its {steps.domain.words}."]
    if file.exists():
        lines.append(f"It was traced before: {file}. Remove this file to trace it again.")
    else:
        lines.append(f"It runs {runs} times on this machine, with and without a tracer: {file}.")
    if steps.places:
        names = ", ".join(place.name for place in steps.places)
        most = len(_needed(steps, None)) * len(_hosts_of(steps)) * (steps.rounds + 1)
        time = show_quantity(most * steps.domain.invocation_s * 1e9, "ns", 2)
        lines.append(
            f"Then the primitives that it uses are measured on {names}, as far as they are not: at most {time}."
        )
    for line in lines:
        click.echo(printable(line), err=True)


def _hosts_of(steps: _Steps) -> list[tuple[str, Place]]:
    return [(host, place) for place in steps.places for host in steps.hosts[place.platform]]


def _application(steps: _Steps) -> tuple[Path, ApplicationVector]:
    """Return the vector of the command and its file: of an earlier trace of the same files, or of one now."""
    file = _application_file(steps)
    if file.exists():
        vector = read_vector(file)
        if isinstance(vector, ApplicationVector):
            return file, vector
        raise RegattaError(str(file), "an application vector", "a system vector", "remove the file")
    name = _name_of(steps.command)
    own = steps.traced_in.configuration if steps.domain.of_java and steps.traced_in is not None else ""
    return file, trace_command(steps.command, file, steps.domain.calls, name, _PAIRS, steps.level, own)


def _application_file(steps: _Steps) -> Path:
    """Return the file of the vector: named by the command, its folder, and the contents of its files."""
    files = [Path(shutil.which(steps.command[0]) or ""), *map(Path, steps.command[1:])]
    identity = [
        list(steps.command), str(Path.cwd()), steps.level, [_contents(path) for path in files],
        (steps.home / TABLES / steps.domain.calls).read_text(encoding="utf-8"),
        {name: os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")},
    ]  # fmt: skip
    return steps.results / APPLICATIONS / f"{_name_of(steps.command)}-{digest_of(identity)[:DIGITS]}.yml"


def _contents(path: Path) -> object:
    """Return what changes with a file; None if an argument is none."""
    from regatta.host.cache import bytes_sha256

    try:
        if not path.is_file():
            return None
        status = path.stat()
        if status.st_size > _MOST_BYTES:
            return [status.st_size, status.st_mtime_ns]
        return bytes_sha256(path)
    except (OSError, ValueError):
        # An argument that is no path, or a file that cannot be read.
        return None


def _name_of(command: Sequence[str]) -> str:
    """Return a name for a command: of the program, or of what `java` runs."""
    name = Path(command[0]).name
    if domain_of(command).of_java:
        name = Path(program_of(command)).name.removesuffix(".jar") or name
    return (
        "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)[:60] or "command"
    )


def _needed(steps: _Steps, vector: ApplicationVector | None) -> list[str]:
    """Return labels of the benchmarks that measure the primitives of an application; None: of all primitives."""
    table = read_primitives(find_primitives(steps.domain.table, steps.home))
    wanted = {(rule.series.suite, rule.series.benchmark) for rule in table.primitives.values()}
    if vector is not None:
        wanted = needed_benchmarks(vector, table)
    of = {one.label: (one.suite, one.name) for one in steps.experiment.benchmarks}
    return [label for label, benchmark in of.items() if benchmark in wanted]


def _measure(steps: _Steps, file: Path, vector: ApplicationVector) -> int:
    """Measure the primitives of an application in all places, in one experiment. What it has measured before stays part of it."""
    needed = set(_needed(steps, vector))
    rounds = steps.rounds
    before = _before(steps.results / primitives_name(steps.domain, steps.places) / SPEC)
    if before is not None:
        entries, earlier = before
        needed |= {one.label for one in steps.experiment.benchmarks if entry_of(one.label) in entries}
        rounds = max(rounds, earlier)
    value = primitives_spec(
        steps.domain, steps.places, steps.experiment, steps.spec, steps.hosts, needed, rounds, file
    )
    cells = len(value["benchmarks"]) * len(_hosts_of(steps))
    click.echo(
        f"measuring {counted(len(value['benchmarks']), 'benchmark')} of primitives: {counted(cells, 'cell')}, {rounds} rounds",
        err=True,
    )
    return run_derived(value, SPEC, steps.home, steps.results, None, False, lambda code: None)


def _before(path: Path) -> tuple[list[object], int] | None:
    """Return the benchmarks and the rounds of the spec that was written before; None: there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return list(value["benchmarks"]), int(value["invocations"]["fixed"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
