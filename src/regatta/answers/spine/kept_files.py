"""The files that modifiers keep next to records, such as logs of the JVM."""

from __future__ import annotations

from pathlib import Path

from regatta.answers.spine.parts import Sample
from regatta.answers.spine.samples import PlannedCell, Samples
from regatta.store.folder import Folder


def runs_with(
    experiment_dir: Path, samples: Samples, cell: PlannedCell, name: str
) -> list[tuple[Sample, Path]]:
    """Return the valid runs of a cell with their kept file, in time order; under replay with the value of the first iteration.

    Args:
        name: of the file, as the modifier keeps it; runs without it are left out.
    """
    own = samples.own(cell)
    series = next((one for one in own if one.parameters.get("phase") == "mix"), own[0] if own else None)
    kept = Folder(experiment_dir).journal / cell.place.host / "kept"
    found = []
    for sample in series.samples if series else ():
        attempts = sorted(
            kept.glob(f"{sample.invocation_id}-a*/{name}"),
            key=lambda path: int(path.parent.name.rpartition("-a")[2]),
        )
        if attempts:
            found.append((sample, attempts[-1]))
    return found
