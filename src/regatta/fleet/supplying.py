"""Build, find or generate files for the hosts of an experiment on the machine that runs the command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from regatta.fleet.fetching import fetch
from regatta.fleet.user_files import find_user_files
from regatta.host.errors import NotForThisHostError
from regatta.host.ready.builds import build, generate_input
from regatta.host.ready.resolving import measured_environment, path_here, wanted_builds
from regatta.host.values.experiment import Experiment
from regatta.host.values.resolved import File
from regatta.host.values.supplies import Supplies


@dataclass
class Stock:
    """Local files for hosts of every architecture; runtimes are downloaded on request."""

    experiment: Experiment
    home: Path
    environment: Mapping[str, str]
    #: architecture-independent builds
    builds: dict[str, dict[str, File]]
    inputs: dict[str, dict[str, File]]
    files: dict[str, dict[str, File]]
    _fetched: dict[str, tuple[dict[str, str], dict[str, str]]] = field(default_factory=dict)

    def runtimes_for(self, architecture: str) -> tuple[dict[str, str], dict[str, str]]:
        """Return runtime -> folder or archive, and runtime -> why this architecture has none.

        Raises:
            HostError: a download failed.
        """
        if architecture not in self._fetched:
            there, missing = {}, {}
            for runtime in self.experiment.runtimes:
                try:
                    path = fetch(runtime, architecture)
                except NotForThisHostError as error:
                    missing[runtime.name] = str(error)
                    continue
                if path is not None:
                    there[runtime.name] = str(path)
            self._fetched[architecture] = there, missing
        return self._fetched[architecture]

    def supplies_here(self, architecture: str) -> Supplies:
        """Return the supplies of this machine."""
        runtimes, missing = self.runtimes_for(architecture)
        return Supplies(
            str(self.home),
            self.environment,
            runtimes,
            missing,
            self.builds,
            self.inputs,
            self.files,
            path=path_here(self.experiment),
        )


def make_stock(experiment: Experiment, home: Path) -> Stock:
    """Find the files of the user, make architecture-independent builds, and generate inputs.

    Raises:
        HostError: a file is missing, or a build or generator fails.
    """
    files = find_user_files(experiment, home)
    portable = {name: b for name, b in wanted_builds(experiment).items() if b.portable}
    return Stock(
        experiment,
        home,
        measured_environment(experiment),
        {name: build(b, home) for name, b in portable.items()},
        {
            benchmark.label: {
                name: generate_input(source, benchmark, home, experiment.seed)
                for name, source in benchmark.inputs.items()
            }
            for benchmark in experiment.benchmarks
        },
        files,
    )
