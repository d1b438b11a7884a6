"""Make the reference machine of a suite from an experiment that measured it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.answers.spine.cell_answers import cell_answers
from regatta.answers.spine.facts import Facts, read_facts
from regatta.answers.spine.methods import REGATTA
from regatta.answers.spine.result import CellAnswer
from regatta.answers.spine.samples import load_samples
from regatta.answers.spine.words import listed
from regatta.answers.topics.scores.compute import Run, elapsed_s, runs_of
from regatta.figures.text import show_percent
from regatta.host.errors import Problem, SpecError
from regatta.host.values.benchmark_label import parts_of_label
from regatta.spec.flow import flow_yaml
from regatta.store.database import Progress, open_database

#: digits of stored times: a hundred times more precise than the repeatability of any machine
_DIGITS = 6


@dataclass(frozen=True)
class Choice:
    """The choice among several in the experiment; "" if there is one."""

    suite: str = ""
    host: str = ""
    configuration: str = ""


@dataclass(frozen=True)
class MadeReference:
    """Times of one copy, and notes for the user."""

    suite: str
    host: str
    configuration: str
    #: benchmark -> size -> mean elapsed time in s
    times_s: Mapping[str, Mapping[str, float]]
    #: sentences: missing times, and precision of the others
    notes: tuple[str, ...]


def read_times(experiment_dir: Path, progress: Progress | None = None) -> tuple[list[CellAnswer], Facts]:
    """Return every series of an experiment with its mean, and the facts of the plan.

    Raises:
        StoreError: the folder has no plan, or cannot be read or written.
    """
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        return cell_answers(load_samples(connection, facts.steady), facts, REGATTA), facts


def suites_of(cells: Sequence[CellAnswer]) -> list[str]:
    """Return the measured suites, in plan order."""
    labels = dict.fromkeys(cell.place.benchmark for cell in cells)
    return [suite for suite in dict.fromkeys(parts_of_label(label).suite for label in labels) if suite]


def make_reference(
    cells: Sequence[CellAnswer],
    facts: Facts,
    choice: Choice,
    programs: Mapping[str, Mapping[str, Sequence[str]]],
) -> MadeReference:
    """Return the mean elapsed time of one copy of each program.

    Args:
        choice: choice of suite, host and configuration, if the experiment has several.
        programs: suite -> benchmark -> sizes, for known suites.

    Raises:
        SpecError: a choice is missing or has no match, a program has several times, or no program has one.
    """
    suite = _one("--suite", choice.suite, suites_of(cells))
    runs = runs_of(cells, {suite})
    host = _one("--host", choice.host, [run.cell.place.host for run in runs])
    runs = [run for run in runs if run.cell.place.host == host]
    configuration = _one(
        "--configuration", choice.configuration, [run.cell.place.configuration for run in runs]
    )
    runs = [run for run in runs if run.cell.place.configuration == configuration]
    alone = [run for run in runs if run.copies == 1]
    times: dict[str, dict[str, float]] = {}
    missing: dict[str, list[str]] = {}
    widths: list[tuple[float, str]] = []
    for run in alone:
        name, size = run.parts.name, run.parts.size
        found = elapsed_s(run)
        if isinstance(found, str):
            missing.setdefault(found, []).append(f"{name}:{size}")
            continue
        if size in times.setdefault(name, {}):
            raise SpecError([_several(name, size, alone)])
        times[name][size] = float(f"{found.point:.{_DIGITS}g}")
        half = (found.high - found.low) / 2 / found.point
        widths.append((math.inf if math.isnan(half) else half, f"{name}:{size}"))
    times = {name: sizes for name, sizes in times.items() if sizes}
    if not times:
        reasons = "; ".join(missing) or "only several parallel copies"
        raise SpecError([Problem(facts.name, f"elapsed times of one copy of {suite}", reasons)])
    sizes = dict.fromkeys(size for of in times.values() for size in of)
    measured = {(run.parts.name, run.parts.size) for run in alone}
    for name, has in programs.get(suite, {}).items():
        absent = [f"{name}:{size}" for size in sizes if size in has and (name, size) not in measured]
        if absent:
            missing.setdefault("not measured", []).extend(absent)
    notes = [f"no time for {listed(names)}: {reason}" for reason, names in missing.items()]
    return MadeReference(suite, host, configuration, times, (*notes, _widest(widths, facts.level)))


def reference_text(made: MadeReference, machine: str, description: str, experiment: str) -> str:
    """Return the text of the file `configs/suites/reference/<suite>.yml`."""
    lines = [
        f"# Mean elapsed times of one copy, from experiment {experiment} ({made.configuration}).",
        f"suite: {flow_yaml(made.suite)}",
        f"machine: {flow_yaml(machine)}",
        f"description: {flow_yaml(description)}",
        "times_s:",
        *(f"  {flow_yaml(name)}: {flow_yaml(dict(sizes))}" for name, sizes in made.times_s.items()),
    ]
    return "\n".join(lines) + "\n"


def described(facts: Mapping[str, str]) -> str:
    """Describe a machine by its recorded facts: processor, cores, memory, system."""
    return ", ".join(" ".join([key, *value.split()]) for key, value in facts.items() if value)


def _one(option: str, wanted: str, there: Sequence[str]) -> str:
    names = list(dict.fromkeys(there))
    if wanted in names:
        return wanted
    if not wanted and len(names) == 1:
        return names[0]
    listed_names = ", ".join(names) or "none"
    raise SpecError(
        [Problem(option, f"one of the measured ones ({listed_names})", wanted or "none", f"{option} {names[0]}" if names else "")]
    )  # fmt: skip


def _several(name: str, size: str, runs: Sequence[Run]) -> Problem:
    labels = [run.cell.place.benchmark for run in runs if (run.parts.name, run.parts.size) == (name, size)]
    return Problem(
        f"{name}:{size}",
        "one elapsed time of one copy",
        listed(labels),
        "measure it with one set of parameters",
    )


def _widest(widths: Sequence[tuple[float, str]], level: float) -> str:
    half, name = max(widths)
    if math.isinf(half):
        return f"no CI of the time of {name}: one invocation or equal values; scores treat reference times as exact"
    return f"{show_percent(level)} CI half-widths of the times are at most {100 * half:.2g} % ({name}); scores treat reference times as exact"
