"""How a host's plan is cut into segments. Known from the spec alone, so that the workflow's graph needs no plan."""

from __future__ import annotations

from itertools import pairwise

from regatta.host.values.experiment import Experiment


def segment_bounds(experiment: Experiment, rows: int) -> list[tuple[int, int]]:
    """First and end row of each segment.

    Every round has the same number of rows, so that rounds can be cut by counting. What is discarded at the start belongs to the
    first segment. Back-to-back has no rounds in time; its rows are cut into the same number of nearly equal parts.
    """
    count = experiment.segments
    if experiment.order == "back-to-back":
        return [(rows * i // count, rows * (i + 1) // count) for i in range(count)]
    width = rows // experiment.rounds
    first = experiment.discarded_rounds + experiment.first_rounds
    starts = [0, *(first + i * experiment.rounds_per_segment for i in range(count - 1)), experiment.rounds]
    return [(width * a, width * min(b, experiment.rounds)) for a, b in pairwise(starts)]
