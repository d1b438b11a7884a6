"""`regatta predict --on PLACE... -- COMMAND`: trace the command, measure the primitives that it uses, and name both for the prediction."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.answers.spine.words import counted
from regatta.cli.derived_spec import DIGITS, entry_of, run_derived
from regatta.figures.text import show_quantity
from regatta.host.cache import bytes_sha256
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
from regatta.models.vectors.sources import Sources, SystemSource
from regatta.models.vectors.values import ApplicationVector, SystemVector
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
#: larger files of the command, and files in folders, are compared by size and time
_MOST_BYTES, _MOST_FILES = 1 << 28, 10_000
#: of a name, in characters
_LONGEST_NAME = 60
#: with those of the locale, variables on which the work of a program depends
_VARIABLES = ("CLASSPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LANG", "LANGUAGE", "_JAVA_OPTIONS")


@dataclass(frozen=True)
class Found:
    """What a prediction needs: the file of the application, names of systems, and systems that were measured."""

    application: str
    systems: tuple[str, ...]
    measured: list[SystemSource]


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
    #: of the vector: named by the command, its folder, its environment, and the contents of its files
    file: Path

    @property
    def name(self) -> str:
        """Return the name of the experiment that measures."""
        return primitives_name(self.domain, self.places)


def vectors_of_command(
    command: Sequence[str], systems: Sequence[str], sources: Sources, results: Path, rounds: int, level: float
) -> Found | int:
    """Trace a command and measure the primitives that it uses in the named places, both unless it was done before.

    Args:
        command: the program with its arguments.
        systems: systems that have vectors, and places where they are measured.
        sources: of vectors, with the table of primitives of the command's domain.
        results: the folder of all experiments.
        rounds: of invocations of each benchmark.
        level: confidence of the intervals of the counts.

    Returns:
        what the prediction needs; or the exit code of the measurement if it is incomplete.

    Raises:
        SpecError: a place is wrong.
        RegattaError: the command, the tracer or a measurement fails.
    """
    steps = _steps(command, systems, sources, results, rounds, level)
    _announce(steps)
    # Standard output is for the prediction.
    with redirect_stdout(sys.stderr):
        vector = _application(steps)
        code = _measure(steps, vector) if steps.places else 0
    if code:
        return code
    folder = steps.results / steps.name
    measured = sources.measured(folder) if steps.places else []
    _warn_of_unmeasured(steps, [one.vector for one in measured])
    names = [*steps.systems, *([str(folder)] if steps.places else [])]
    words = ["regatta", "predict", str(steps.file), "--on", *names, "--primitives", steps.domain.table]
    click.echo(f"predict from these vectors again: {printable(shlex.join(words))}", err=True)
    return Found(str(steps.file), steps.systems, measured)


def _warn_of_unmeasured(steps: _Steps, systems: Sequence[SystemVector]) -> None:
    """Print the places that have no vector, such as JVMs that refuse a collector."""
    known = {(one.provenance.get("host"), one.provenance.get("configuration")) for one in systems}
    for host, place in _hosts_of(steps):
        if (host, place.configuration) not in known:
            report = steps.results / steps.name / "report.html"
            click.echo(
                printable(f"warning: nothing was measured on {host} {place.configuration}; see {report}"),
                err=True,
            )


def _steps(
    command: Sequence[str], systems: Sequence[str], sources: Sources, results: Path, rounds: int, level: float
) -> _Steps:
    home = find_home()
    domain = domain_of(command)
    if shutil.which(command[0]) is None:
        raise SpecError.of(f"-- {command[0]}", "a program", "none of this name", "correct its name or PATH")
    problems: list[Problem] = []
    registries = read_registries(home, problems)
    spec = home / EXPERIMENTS / domain.experiment
    experiment = load_spec(spec, home)
    places = Places(domain, registries, experiment)
    known: list[str] = []
    asked: list[Place] = []
    for name in systems:
        found = places.place(name)
        if sources.knows_system(name):
            known.append(name)
        elif isinstance(found, Place):
            asked.append(found)
        elif name.strip() and Path(name).is_dir():
            # A folder of vectors; a place of the same name comes first.
            known.append(name)
        else:
            problems.append(found)
    if problems:
        raise SpecError(problems)
    here = places.traced(command, os.environ)
    # Its own code is scaled from the system on which it was traced.
    if here is not None and not _is_measured(here, known, sources):
        asked.append(here)
    sources.check()
    hosts = {name: [one.name for one in members] for name, members in registries.platforms.items()}
    together = tuple(dict.fromkeys(asked))
    steps = _Steps(
        tuple(command), home, results, domain, experiment, spec, tuple(known), together, here, hosts, rounds, level,
        _application_file(command, domain, here, home, results, level),
    )  # fmt: skip
    _check_spec(steps)
    return steps


def _check_spec(steps: _Steps) -> None:
    """Check, before anything runs, that all primitives can be planned in these places.

    Raises:
        SpecError: they cannot.
    """
    if not steps.places:
        return
    value = _spec(steps, _needed(steps, None))
    # The vector is not there yet.
    value["predict"] = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / SPEC
        path.write_text(json.dumps(value), encoding="utf-8")
        load_spec(path, steps.home)


def _spec(steps: _Steps, labels: Collection[str]) -> dict[str, Any]:
    return primitives_spec(
        steps.domain,
        steps.places,
        steps.experiment,
        steps.spec,
        steps.hosts,
        labels,
        steps.rounds,
        steps.file,
    )


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
    runs = 2 * _PAIRS + (_FURTHER_RUNS_OF_JAVA if steps.domain.of_java else 0)
    lines = [f"{_name_of(steps.command)} is predicted by its {steps.domain.words}."]
    if steps.file.exists():
        lines.append(f"It was traced before: {steps.file}. Remove this file to trace it again.")
    else:
        lines.append(f"It runs {runs} times on this machine, with and without a tracer: {steps.file}.")
    if steps.places:
        names = ", ".join(place.name for place in steps.places)
        most = len(_needed(steps, None)) * len(_hosts_of(steps)) * (steps.rounds + 1)
        time = show_quantity(most * steps.domain.invocation_s * 1e9, "ns", 2)
        lines.append(
            f"Then the primitives that it uses are measured on {names}, as far as they are not: about {time} if all are missing."
        )
    for line in lines:
        click.echo(printable(line), err=True)


def _hosts_of(steps: _Steps) -> list[tuple[str, Place]]:
    return [(host, place) for place in steps.places for host in steps.hosts[place.platform]]


def _application(steps: _Steps) -> ApplicationVector:
    """Return the vector of the command: of an earlier trace of the same files, or of one now."""
    file = steps.file
    if file.exists():
        vector = read_vector(file)
        if isinstance(vector, ApplicationVector):
            return vector
        raise RegattaError(str(file), "an application vector", "a system vector", "remove the file")
    own = steps.traced_in.configuration if steps.domain.of_java and steps.traced_in is not None else ""
    return trace_command(
        steps.command, file, steps.domain.calls, _title_of(steps.command), _PAIRS, steps.level, own
    )


def _application_file(
    command: Sequence[str], domain: Domain, here: Place | None, home: Path, results: Path, level: float
) -> Path:
    parts = [part for word in command[1:] for part in word.split(os.pathsep)]
    files = [Path(shutil.which(command[0]) or ""), *map(Path, parts)]
    identity = [
        list(command), str(Path.cwd()), level, this_machine(), here.configuration if here else "",
        [_contents(path) for path in files],
        (home / TABLES / domain.calls).read_text(encoding="utf-8"),
        {name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith("LC_")},
    ]  # fmt: skip
    return results / APPLICATIONS / f"{_name_of(command)}-{digest_of(identity)[:DIGITS]}.yml"


def _contents(path: Path) -> object:
    """Return what changes with a file or with the files of a folder; None if an argument is none."""
    try:
        if path.is_dir():
            inside = islice((one for one in path.rglob("*") if one.is_file()), _MOST_FILES)
            return sorted((str(one), one.stat().st_size, one.stat().st_mtime_ns) for one in inside)
        if not path.is_file():
            return None
        status = path.stat()
        if status.st_size > _MOST_BYTES:
            return [status.st_size, status.st_mtime_ns]
        return bytes_sha256(path)
    except (OSError, ValueError):
        # An argument that is no path, or a file that cannot be read.
        return None


def _program_of(command: Sequence[str]) -> str:
    """Return the program, or what `java` runs, without its folder."""
    name = Path(command[0]).name
    if domain_of(command).of_java:
        name = Path(program_of(command)).name.removesuffix(".jar") or name
    return name


def _name_of(command: Sequence[str]) -> str:
    """Return the beginning of the name of a file."""
    name = _program_of(command)
    return (
        "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)[:_LONGEST_NAME]
        or "command"
    )


def _title_of(command: Sequence[str]) -> str:
    """Return the name of the vector: the program, and the words after it."""
    program, runs = _program_of(command), command[0]
    if domain_of(command).of_java:
        runs = program_of(command) or runs
    words = [program, *command[command.index(runs) + 1 :]]
    title = " ".join(" ".join(words).split())
    return printable(title if len(title) <= _LONGEST_NAME else f"{title[: _LONGEST_NAME - 3]}...")


def _needed(steps: _Steps, vector: ApplicationVector | None) -> list[str]:
    """Return labels of the benchmarks that measure the primitives of an application; None: of all primitives."""
    table = read_primitives(find_primitives(steps.domain.table, steps.home))
    wanted = {(rule.series.suite, rule.series.benchmark) for rule in table.primitives.values()}
    if vector is not None:
        wanted = needed_benchmarks(vector, table)
    of = {one.label: (one.suite, one.name) for one in steps.experiment.benchmarks}
    return [label for label, benchmark in of.items() if benchmark in wanted]


def _measure(steps: _Steps, vector: ApplicationVector) -> int:
    """Measure the primitives of an application in all places, in one experiment. What was asked of it before stays part of it."""
    needed = set(_needed(steps, vector))
    before = _asked_before(steps.results / steps.name / SPEC)
    needed |= {one.label for one in steps.experiment.benchmarks if entry_of(one.label) in before}
    value = _spec(steps, needed)
    benchmarks = len(value["benchmarks"])
    cells = counted(benchmarks * len(_hosts_of(steps)), "cell")
    click.echo(
        f"measuring {counted(benchmarks, 'benchmark')} of primitives: {cells}, {steps.rounds} rounds",
        err=True,
    )
    # The same command goes on after a failure.
    return run_derived(value, SPEC, steps.home, steps.results, None, True, lambda code: None)


def _asked_before(path: Path) -> list[object]:
    """Return the benchmarks of the spec that was written before; none if there is none."""
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["benchmarks"])
    except (OSError, ValueError, KeyError, TypeError):
        return []
