"""Options and arguments that several verbs share, and what they become."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.store.folder import DEFAULT_RESULTS, Folder

if TYPE_CHECKING:
    from regatta.model.experiment import Experiment
    from regatta.model.resolved import ResolvedHost
    from regatta.planner.cells import Crossing

results_option = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_RESULTS,
    show_default=True,
    help="Folder of all results; each experiment has a folder in it.",
)
spec_results_option = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of all results; each experiment has a folder in it. [default: the spec's `results`, or results]",
)
spec_argument = click.argument("spec", type=click.Path(dir_okay=False, path_type=Path))
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@dataclass
class Ready:
    """An experiment with everything that planning needs."""

    experiment: Experiment
    home: Path
    results: Path
    folder: Folder
    hosts: dict[str, ResolvedHost]
    minheaps: dict[tuple[str, str], int]

    def crossings(self) -> dict[str, Crossing]:
        """Host name -> its cells, training runs made.

        Raises:
            SpecError: a minheap is missing, or two alternatives are the same.
        """
        from regatta.fleet.training import train_cells
        from regatta.planner.cells import cross

        return {
            name: train_cells(cross(self.experiment, host, self.minheaps), self.experiment, host)
            for name, host in self.hosts.items()
        }


def make_ready(spec: Path, results: Path | None) -> Ready:
    """Read a spec and make this machine ready for it; what is ready already costs next to nothing.

    Raises:
        SpecError: the spec is wrong.
        HostError: a build fails, or no runtime can be had.
    """
    from regatta.fleet.local import build_workloads, provision_runtimes, resolve_local
    from regatta.fleet.minheaps import known_minheaps
    from regatta.fleet.probes import probe_benchmarks
    from regatta.fleet.user_files import find_user_files
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec
    from regatta.store.folder import minheap_dir

    home = find_home(spec)
    experiment = load_spec(spec, home)
    results = results or Path(experiment.results_directory)
    files = find_user_files(experiment, home)
    runtimes, missing = provision_runtimes(experiment)
    builds, inputs, programs = build_workloads(experiment, home)
    hosts = {
        host.name: probe_benchmarks(
            experiment, resolve_local(experiment, host, runtimes, missing, builds, inputs, programs, files)
        )
        for host in experiment.hosts
    }
    minheaps: dict[tuple[str, str], int] = {}
    for host in hosts.values():
        minheaps.update(known_minheaps(experiment, host, minheap_dir(results)))
    return Ready(experiment, home, results, Folder(results / experiment.name), hosts, minheaps)
