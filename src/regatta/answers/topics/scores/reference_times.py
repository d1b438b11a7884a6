"""The reference machine of a suite, made from an experiment that measured it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.answers.cell_answers import cell_answers
from regatta.answers.facts import Facts, read_facts
from regatta.answers.methods import REGATTA
from regatta.answers.result import CellAnswer
from regatta.answers.samples import load_samples
from regatta.answers.topics.scores.compute import Run, elapsed_s, runs_of
from regatta.answers.words import listed
from regatta.figures.text import show_percent
from regatta.host.errors import Problem, SpecError
from regatta.host.values.benchmark_label import parts_of_label
from regatta.spec.flow import flow_yaml
from regatta.store.database import Progress, open_database

#: digits of a time that are kept: a hundred times finer than any machine repeats itself
_DIGITS = 6


@dataclass(frozen=True)
class Choice:
    """What to take where an experiment has several; "" where it has one."""

    suite: str = ""
    host: str = ""
    configuration: str = ""


@dataclass(frozen=True)
class MadeReference:
    """Times of one copy, and what whoever made them must know."""

    suite: str
    host: str
    configuration: str
    #: benchmark -> size -> mean elapsed time in s
    times_s: Mapping[str, Mapping[str, float]]
    #: sentences: what has no time, and how well the others are known
    notes: tuple[str, ...]


def read_times(experiment_dir: Path, progress: Progress | None = None) -> tuple[list[CellAnswer], Facts]:
    """Every series of an experiment with its mean, and what the plan says of the experiment.

    Raises:
        StoreError: the folder holds no plan, or cannot be read or written.
    """
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        return cell_answers(load_samples(connection, facts.steady), facts, REGATTA), facts


def suites_of(cells: Sequence[CellAnswer]) -> list[str]:
    """The suites that were measured, in the order of the plan."""
    labels = dict.fromkeys(cell.place.benchmark for cell in cells)
    return [suite for suite in dict.fromkeys(parts_of_label(label).suite for label in labels) if suite]


def make_reference(
    cells: Sequence[CellAnswer],
    facts: Facts,
    choice: Choice,
    programs: Mapping[str, Mapping[str, Sequence[str]]],
) -> MadeReference:
    """Take the mean elapsed time of one copy of each program.

    Args:
        cells: all series of the experiment.
        facts: of the experiment.
        choice: of a suite, host and configuration, where the experiment has several.
        programs: suite -> benchmark -> sizes, as far as suites are known.

    Raises:
        SpecError: a choice is needed or leads nowhere, a program has several times, or none has any.
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
        reasons = "; ".join(missing) or "only several copies at a time"
        raise SpecError([Problem(facts.name, f"elapsed times of one copy of {suite}", reasons)])
    sizes = dict.fromkeys(size for of in times.values() for size in of)
    measured = {(run.parts.name, run.parts.size) for run in alone}
    for name, has in programs.get(suite, {}).items():
        absent = [f"{name}:{size}" for size in sizes if size in has and (name, size) not in measured]
        if absent:
            missing.setdefault("not measured", []).extend(absent)
    notes = [f"no time of {listed(names)}: {reason}" for reason, names in missing.items()]
    return MadeReference(suite, host, configuration, times, (*notes, _widest(widths, facts.level)))


def reference_text(made: MadeReference, machine: str, description: str, experiment: str) -> str:
    """The file `configs/suites/reference/<suite>.yml`."""
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
    """A machine by what was recorded of it: processor, cores, memory, system."""
    return ", ".join(" ".join([key, *value.split()]) for key, value in facts.items() if value)


def _one(option: str, wanted: str, there: Sequence[str]) -> str:
    names = list(dict.fromkeys(there))
    if wanted in names:
        return wanted
    if not wanted and len(names) == 1:
        return names[0]
    listed_names = ", ".join(names) or "there is none"
    raise SpecError(
        [Problem(option, f"one of those measured ({listed_names})", wanted or "none", f"{option} {names[0]}" if names else "")]
    )  # fmt: skip


def _several(name: str, size: str, runs: Sequence[Run]) -> Problem:
    labels = [run.cell.place.benchmark for run in runs if (run.parts.name, run.parts.size) == (name, size)]
    return Problem(
        f"{name}:{size}", "one elapsed time of one copy", listed(labels), "measure it in one way only"
    )


def _widest(widths: Sequence[tuple[float, str]], level: float) -> str:
    half, name = max(widths)
    if math.isinf(half):
        return f"how well the time of {name} is known cannot be told from one invocation or without spread; scores take times as exact"
    return f"{show_percent(level)} intervals of the times are within {100 * half:.2g} %, the widest {name}; scores take times as exact"
