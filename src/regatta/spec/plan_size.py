"""Limits on the size of a plan. The counts follow from the spec alone, before any build or planning."""

from __future__ import annotations

from regatta.host.errors import Problem
from regatta.host.values.experiment import Experiment
from regatta.spec.yaml_lines import Document

#: per host: the workflow's graph has one job per segment, and needs about 5 ms to create it
MAX_SEGMENTS = 10_000
#: of all hosts
MAX_JOBS = 100_000
#: combinations per host before exclusion; their commands are made and compared in memory
MAX_CELLS = 100_000
#: of all hosts
MAX_ALL_CELLS = 1_000_000
#: rows of the plan of a host
MAX_INVOCATIONS = 20_000_000
#: of all hosts
MAX_ALL_INVOCATIONS = 200_000_000


def count_cells(experiment: Experiment) -> int:
    """Return the number of combinations on each host, including excluded and impossible ones."""
    java = max(1, len(experiment.collectors)) * max(1, len(experiment.heaps))
    kinds = [runtime.kind for runtime in experiment.runtimes]
    sets = max(1, len(experiment.modifiers))
    return bool(experiment.canary) + sets * sum(
        kinds.count(benchmark.kind) * (java if benchmark.kind == "java" else 1)
        for benchmark in experiment.benchmarks
        if benchmark.label != experiment.canary
    )


def check_plan_size(experiment: Experiment, document: Document) -> list[Problem]:
    """Return the limits that the plan of an experiment exceeds; empty if it can be made."""
    hosts = len(experiment.hosts)
    cells = count_cells(experiment)
    rows = cells * experiment.rounds
    problems: list[Problem] = []

    def bound(key: str, count: int, limit: int, of_all: int, what: str, fix: str) -> None:
        for bounded, maximum, place in ((count, limit, "a host"), (count * hosts, of_all, f"{hosts} hosts")):
            if bounded > maximum:
                where = document.where((key,))
                problems.append(Problem(where, f"at most {maximum:,} {what} on {place}", f"{bounded:,}", fix))
                return

    bound("benchmarks", cells, MAX_CELLS, MAX_ALL_CELLS, "cells", "reduce the values, or split the spec")
    if not problems:
        fix = "reduce the invocations, or split the spec"
        bound("invocations", rows, MAX_INVOCATIONS, MAX_ALL_INVOCATIONS, "invocations", fix)
    most = max(1, min(MAX_SEGMENTS, MAX_JOBS // max(1, hosts)))
    rounds = -(-experiment.invocations // most)
    fix = f"write `segment: {{rounds: {rounds}}}`"
    bound("segment", experiment.segments, MAX_SEGMENTS, MAX_JOBS, "segments", fix)
    return problems
