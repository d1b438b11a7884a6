"""How a host's plan is cut into segments. Known from the spec alone, so that the workflow's graph needs no plan."""

from __future__ import annotations

from regatta.model.experiment import Experiment


def segment_count(experiment: Experiment) -> int:
    """Number of segments of every host: consecutive rounds, `rounds_per_segment` at a time."""
    return -(-experiment.invocations // experiment.rounds_per_segment)


def segment_bounds(experiment: Experiment, rows: int) -> list[tuple[int, int]]:
    """First and end row of each segment.

    Every round has the same number of rows, so that rounds can be cut by counting. Back-to-back has no rounds in time; its rows
    are cut into the same number of nearly equal parts.
    """
    count = segment_count(experiment)
    if experiment.order == "back-to-back":
        return [(rows * i // count, rows * (i + 1) // count) for i in range(count)]
    width = rows // experiment.invocations * experiment.rounds_per_segment
    return [(i * width, min((i + 1) * width, rows)) for i in range(count)]
