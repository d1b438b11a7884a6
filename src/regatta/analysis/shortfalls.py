"""What the reader must know beside the numbers: what is missing, failed, perturbed or silent."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.analysis.samples import PlannedCell, Samples, Series
from regatta.analysis.words import counted
from regatta.model.experiment import SteadyState


def shortfalls(samples: Samples, steady: SteadyState) -> list[str]:
    """One sentence for each kind of shortfall.

    Args:
        samples: of the experiment.
        steady: how the iterations of an invocation become its one number.
    """
    warnings = []
    missing = sum(
        max(0, c.planned - sum(samples.statuses.get(c.number, {}).values())) for c in samples.measured_cells
    )
    if missing:
        warnings.append(f"{counted(missing, 'planned invocation')} not recorded yet")
    failed = sum(failure.count for failure in samples.failures)
    if failed:
        warnings.append(f"{counted(failed, 'invocation')} failed and are in no estimate; see the failures")
    perturbed = sum(statuses.get("perturbed", 0) for statuses in samples.statuses.values())
    if perturbed:
        warnings.append(f"{counted(perturbed, 'invocation')} perturbed and left out of the estimates")
    silent = sum(_without_number(cell, samples) for cell in samples.cells)
    if silent:
        warmup = f" after {counted(steady.warmup, 'warm-up iteration')}" if steady.method == "fixed" else ""
        warnings.append(f"{counted(silent, 'valid invocation')} gave no value of the cell's metric{warmup}")
    unplanned_cells, unplanned = samples.unplanned
    if unplanned_cells:
        warnings.append(
            f"{counted(unplanned_cells, 'cell')} ({counted(unplanned, 'invocation')}) recorded but no longer planned: left out"
        )
    return warnings


def _without_number(cell: PlannedCell, samples: Samples) -> int:
    """Valid invocations of a cell that are in no series of its own metric."""
    own: Sequence[Series] = [s for s in samples.series.get(cell.number, ()) if s.metric == cell.metric]
    with_number = {sample.invocation_id for series in own for sample in series.samples}
    return samples.statuses.get(cell.number, {}).get("ok", 0) - len(with_number)
