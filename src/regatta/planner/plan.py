"""The plan of one host: its cells in block groups, its rows in order, and the header that the runner reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from regatta.host.journal.plan_files import with_plan_id
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import Experiment
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import Crossing
from regatta.planner.header import constant_header
from regatta.planner.layout import segment_bounds
from regatta.planner.orders import host_generator, order_rows
from regatta.planner.stopping import stopping_header
from regatta.planner.twins import with_twin


@dataclass
class HostPlan:
    """One host's plan. `rows` can be walked any number of times and gives the same arrays each time."""

    experiment: Experiment
    host: ResolvedHost
    #: in the order of their block groups
    cells: list[Cell]
    group_sizes: list[int]

    @property
    def row_count(self) -> int:
        """Planned invocations on this host."""
        return len(self.cells) * self.experiment.rounds

    def rows(self) -> Iterator[npt.NDArray[np.int32]]:
        """Arrays (n, 4) of int32 in the order to run: round, block, position, cell."""
        generator = host_generator(self.experiment.seed, self.host.name)
        return order_rows(self.group_sizes, self.experiment.rounds, self.experiment.order, generator)

    def header(self, rows_sha256: str) -> dict[str, Any]:
        """`plan.json`; `plan_id` is a hash of the rest and of the rows."""
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
    """Group a host's cells into blocks: alternatives differ only in the factors that the spec compares."""
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in crossing.cells:
        key: tuple[object, ...] = (cell.benchmark.label,)
        for factor, value in (
            ("runtime", cell.runtime),
            ("collector", cell.collector),
            ("modifiers", cell.modifiers),
            ("heap", cell.heap_factor if cell.heap_factor is not None else cell.heap_mib),
        ):
            if factor not in experiment.compare:
                key += (factor, value)
        groups.setdefault(key, []).append(cell)
    if experiment.aa:
        groups = {key: with_twin(group, experiment.baseline) for key, group in groups.items()}
    cells = [cell for group in groups.values() for cell in group]
    return HostPlan(experiment, host, cells, [len(group) for group in groups.values()])
