"""Training runs: execute a cell's command once before measuring, for a file that it writes (such as an AOT cache).

The cache key of the file is a hash of its inputs. Its bytes differ from run to run. Therefore the identity of a cell
contains how the file is made, and the plan contains its hash, which the runner checks before each segment.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from regatta.host.cache import cache_folder, file_sha256, made_directory
from regatta.host.contents import place
from regatta.host.errors import HostError, RegattaError
from regatta.host.ready.commands import run_command
from regatta.host.values.cell import OUTPUT, Cell
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Experiment
from regatta.host.values.resolved import File, ResolvedHost

#: time for a JVM to assemble the file, in addition to the time of the program
_ASSEMBLY_S = 300.0


def train_here(
    cells: Sequence[Cell], experiment: Experiment, host: ResolvedHost
) -> dict[str, File | RegattaError]:
    """Execute the training runs of cells on this machine."""
    made: dict[str, File | RegattaError] = {}
    for cell in cells:
        try:
            made[cell.cell_id] = train_cell(cell, experiment, host)
        except HostError as error:
            made[cell.cell_id] = error
    return made


def train_cell(cell: Cell, experiment: Experiment, host: ResolvedHost) -> File:
    """Execute the training run of one cell on this machine, unless its file is cached.

    Raises:
        HostError: the training run failed.
    """
    training = cell.training
    assert training is not None
    # Some JVMs reject a file if the modification times of its jars differ, even with equal bytes. Others accept one
    # whose jars contain other classes (JDK-8377932). The key has contents and times to prevent both.
    times = [Path(file.path).stat().st_mtime_ns for file in cell.files]
    key = digest_of([cell.cell_id, [[f.path, f.sha256] for f in cell.files], times])

    def make(directory: Path) -> None:
        work = directory / "work"
        work.mkdir()
        for name, source in cell.arrange.items():
            place(Path(source), work / name)
        output = directory / training.output
        print(f"training {cell.label}", file=sys.stderr)
        run_command(
            [argument.replace(OUTPUT, str(output)) for argument in training.argv],
            f"training run of {cell.label}",
            directory=work,
            environment={
                **host.environment,
                **cell.environment,
                "REGATTA_RESULTS": str(directory / "results"),
                "REGATTA_SEED": str(experiment.seed),
            },
            timeout_s=experiment.timeout_s + _ASSEMBLY_S,
            inherited=False,
        ).succeeded()
        if not output.is_file():
            raise HostError(
                f"training run of {cell.label}",
                f"the file {training.output}",
                "no such file",
                "correct `train`",
            )
        shutil.rmtree(work)
        (directory / "results").unlink(missing_ok=True)

    path = made_directory(cache_folder("trained") / key, make, [training.output]) / training.output
    return File(str(path), file_sha256(path))
