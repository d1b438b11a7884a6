"""Check a spec with `order: duet`: what needs the whole host, or values of single alternatives, cannot be in it."""

from __future__ import annotations

from collections.abc import Iterator

from regatta.host.errors import Problem
from regatta.host.journal.stopping import PER_CELL
from regatta.host.values.experiment import DUET, Experiment
from regatta.spec.yaml_lines import Document, KeyPath

_FIX = "remove it, or write `order: randomized-blocks`"


def check_duet(experiment: Experiment, document: Document) -> list[Problem]:
    """Return the parts of an experiment that exclude its order `duet`; empty with another order."""
    if experiment.order != DUET:
        return []
    return [
        Problem(document.where(path), f"{expected} with `order: duet`", got, _FIX)
        for path, expected, got in _excluded(experiment)
    ]


def _excluded(experiment: Experiment) -> Iterator[tuple[KeyPath, str, str]]:
    """Yield the key, what is expected there, and what was found."""
    benchmarks, stopping = experiment.benchmarks, experiment.stopping
    isolations = [experiment.isolation, *filter(None, (m.isolation for s in experiment.modifiers for m in s))]
    if experiment.aa:
        yield ("aa",), "no third alternative (the host tests identical programs itself)", "aa"
    if experiment.canary:
        yield ("canary",), "no program that runs alone", experiment.canary
    if any(benchmark.roles for benchmark in benchmarks):
        yield ("roles",), "programs of one host", "roles"
    if any(isolation.kind == "docker" for isolation in isolations):
        yield ("isolation",), "no containers", "docker"
    if experiment.counters or any(benchmark.counters for benchmark in benchmarks):
        yield ("counters",), "no counters of the host", "counters"
    if any(modifier.events for chosen in experiment.modifiers for modifier in chosen):
        yield ("modifiers",), "no recording of the events of the host", "events"
    if experiment.capacity:
        yield ("capacity",), "no targets of single alternatives", "capacity"
    if experiment.predicted:
        yield ("predict",), "no predictions from costs of single alternatives", "predict"
    if stopping is not None and stopping.rule == PER_CELL:
        yield ("invocations", "adaptive", "rule"), "a rule for comparisons", PER_CELL
    if stopping is not None and stopping.seconds is not None:
        yield ("invocations", "seconds"), "no measuring time of single alternatives", "seconds"
    for benchmark in benchmarks:
        if benchmark.directory:
            yield ("benchmarks",), "a new working directory for each program", benchmark.directory
            return
