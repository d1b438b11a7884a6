"""The plan of one host: cells in block groups, ordered rows, and the header for the runner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from regatta.host.errors import Problem, SpecError
from regatta.host.journal.plan_files import PLAN_VERSION, with_plan_id
from regatta.host.values.cell import Cell
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import DUET, Experiment
from regatta.host.values.levels import Levels, levels_of_cell, place_key
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import Crossing, is_canary
from regatta.planner.orders import host_generator, order_rows
from regatta.planner.stopping import compared_pairs, stopping_header

_NO_PARTNER = "the alternative to run it with (order: duet) is excluded or not possible"
#: alternatives that an error lists
_SHOWN = 4


def constant_header(experiment: Experiment, host: ResolvedHost) -> dict[str, Any]:
    """Return the part of `plan.json` that does not depend on cells, rows or segments."""
    return {
        "v": PLAN_VERSION,
        "experiment": experiment.name,
        "host": host.name,
        "platform": host.platform,
        "host_fingerprint": dict(host.fingerprint),
        "seed": experiment.seed,
        "order": experiment.order,
        "limits": vars(experiment.limits),
        "environment": _environment(experiment, host),
        "rlimits": vars(experiment.rlimits),
        "cores": {**vars(host.cores), "cpus": list(host.cores.cpus)},
        "output_kib": experiment.output_kib,
        "give_up_after": experiment.give_up_after,
        # The host judges its test by the values of the programs.
        **({"steady": vars(experiment.steady)} if experiment.order == DUET else {}),
        **(
            {"members": [_member(experiment, member) for member in host.members.values()]}
            if host.members
            else {}
        ),
    }


def _member(experiment: Experiment, host: ResolvedHost) -> dict[str, Any]:
    """Return what the runner knows of one of several hosts that measure together."""
    return {
        "host": host.name,
        "host_fingerprint": dict(host.fingerprint),
        "cores": {**vars(host.cores), "cpus": list(host.cores.cpus)},
        "environment": _environment(experiment, host),
    }


def _environment(experiment: Experiment, host: ResolvedHost) -> dict[str, Any]:
    return {"set": dict(host.environment), "padding_bytes": experiment.environment.padding_bytes}


def segment_bounds(experiment: Experiment, rows: int) -> list[tuple[int, int]]:
    """Return first and end row of each segment, from the spec alone, so that the workflow's graph needs no plan.

    Every round has the same number of rows, so rounds are split by counting. Discarded rounds at the start belong to the first
    segment. Back-to-back has no rounds in time; its rows are split into the same number of nearly equal parts.
    """
    count = experiment.segments
    if experiment.order == "back-to-back":
        return [(rows * i // count, rows * (i + 1) // count) for i in range(count)]
    width = rows // experiment.rounds
    starts = [0, *(experiment.discarded_rounds + end for end in experiment.segment_ends)]
    return [(width * a, width * b) for a, b in pairwise(starts)]


@dataclass
class HostPlan:
    """The plan of one host. `rows` is repeatable and yields the same arrays each time."""

    experiment: Experiment
    host: ResolvedHost
    #: In the order of their block groups.
    cells: list[Cell]
    group_sizes: list[int]

    @property
    def row_count(self) -> int:
        """Return the number of planned invocations on this host."""
        return len(self.cells) * self.experiment.rounds

    @property
    def canary(self) -> str:
        """Return a hash of what the canary runs on this host; "" without one."""
        cell = next((cell for cell in self.cells if is_canary(self.experiment, cell.benchmark)), None)
        if cell is None:
            return ""
        own = cell.benchmark
        files = sorted(file.sha256 for file in cell.files)
        return digest_of(
            [own.command, dict(own.parameters), dict(cell.environment), cell.isolation.image_id, files]
        )

    def rows(self) -> Iterator[npt.NDArray[np.int32]]:
        """Yield arrays (n, 4) of int32 in execution order: round, block, position, cell."""
        generator = host_generator(self.experiment.seed, self.host.name)
        return order_rows(self.group_sizes, self.experiment.rounds, self.experiment.order, generator)

    def header(self, rows_sha256: str) -> dict[str, Any]:
        """Return `plan.json`. `plan_id` is a hash of the remaining keys and of the rows."""
        experiment = self.experiment
        header: dict[str, Any] = {
            **constant_header(experiment, self.host),
            "rounds": experiment.rounds,
            "discarded_rounds": experiment.discarded_rounds,
            "rows": self.row_count,
            "segments": [list(bounds) for bounds in segment_bounds(experiment, self.row_count)],
            "rows_sha256": rows_sha256,
            "stopping": stopping_header(experiment, self.cells, self.group_sizes),
            "cells": [
                cell.to_json(experiment.timeout_s, experiment.steady.iterations) for cell in self.cells
            ],
        }
        return with_plan_id(header)


def plan_host(experiment: Experiment, host: ResolvedHost, crossing: Crossing) -> HostPlan:
    """Group the cells of a host into blocks: alternatives differ only in the factors that the spec compares."""
    groups: dict[object, list[Cell]] = {}
    for cell in crossing.cells:
        alone = is_canary(experiment, cell.benchmark)
        key = "canary" if alone else place_key(levels_of_cell(cell), experiment.compare)
        groups.setdefault(key, []).append(cell)
    if experiment.aa:
        groups = {
            key: group if is_canary(experiment, group[0].benchmark) else with_twin(group, experiment.baseline)
            for key, group in groups.items()
        }
    if experiment.order == DUET:
        groups = _pairs(experiment, host, groups, crossing)
    cells = [cell for group in groups.values() for cell in group]
    return HostPlan(experiment, host, cells, [len(group) for group in groups.values()])


def _pairs(
    experiment: Experiment, host: ResolvedHost, groups: Mapping[object, list[Cell]], crossing: Crossing
) -> dict[object, list[Cell]]:
    """Return the groups of two alternatives: they run at once, each on a half of the host.

    A cell whose partner is impossible or excluded is added to the impossible ones of the crossing.

    Raises:
        SpecError: more than two alternatives are compared, or two that have no ratio; or there is no pair.
    """
    pairs: dict[object, list[Cell]] = {}
    wrong = []
    for key, group in groups.items():
        if len(group) == 1:
            crossing.impossible.append((group[0].label, _NO_PARTNER))
        elif len(group) > 2 or compared_pairs(group, experiment.baseline)[0][1] is None:
            wrong.append(group)
        else:
            pairs[key] = group
    if wrong or (groups and not pairs):
        raise SpecError([_no_pair(host, group) for group in wrong or groups.values()])
    return pairs


def _no_pair(host: ResolvedHost, group: Sequence[Cell]) -> Problem:
    labels = ", ".join(cell.label for cell in group[:_SHOWN]) + (", ..." if len(group) > _SHOWN else "")
    return Problem(
        f"host {host.name}: order: duet",
        "two alternatives that are compared with each other, which run at once",
        f"{len(group)}: {labels}",
        "name two alternatives of one metric, or use another order",
    )


def with_twin(group: Sequence[Cell], baseline: Levels) -> list[Cell]:
    """Add the twin of one cell to a block group, for an A/A test of the whole pipeline.

    Args:
        group: cells that share a block, at least one, in the order of the spec.
        baseline: the first matching cell gets the twin; without a match, the first of the group.

    Returns:
        The group, and the same command again with a separate identity.
    """
    wanted = {factor: level for factor, level in baseline.items() if factor != "platform"}
    original = next((cell for cell in group if wanted.items() <= levels_of_cell(cell).items()), group[0])
    return [
        *group,
        replace(original, cell_id=digest_of(["twin", original.cell_id]), twin_of=original.cell_id),
    ]
