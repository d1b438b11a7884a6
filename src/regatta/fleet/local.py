"""This machine made ready for an experiment, and what is there told as one value that can be kept."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regatta.errors import HostError, RegattaError
from regatta.fleet.builds import build, generate_input
from regatta.fleet.cache import file_sha256
from regatta.fleet.facts import host_class, local_facts
from regatta.fleet.runtimes import provision
from regatta.model.experiment import Experiment, Host
from regatta.model.resolved import File, ResolvedHost, ResolvedRuntime


def provision_runtimes(experiment: Experiment) -> tuple[dict[str, ResolvedRuntime], dict[str, str]]:
    """Bring every runtime here; returns those that are there and, for the others, why not.

    Raises:
        HostError: not one of them can be had.
    """
    there: dict[str, ResolvedRuntime] = {}
    missing: dict[str, str] = {}
    for runtime in experiment.runtimes:
        try:
            there[runtime.name] = provision(runtime, experiment.collectors if runtime.kind == "java" else ())
        except RegattaError as error:
            missing[runtime.name] = str(error)
    if not there:
        raise HostError(
            experiment.spec_path, "at least one of the runtimes", "\n  ".join(missing.values()), "see above"
        )
    return there, missing


def build_workloads(
    experiment: Experiment, home: Path
) -> tuple[dict[str, dict[str, File]], dict[str, dict[str, File]], dict[str, File]]:
    """Build and generate everything the benchmarks name; returns builds, inputs and the programs of commands.

    Raises:
        HostError: a build fails, or a program is not installed.
    """
    wanted = {name: b for benchmark in experiment.benchmarks for name, b in benchmark.builds.items()}
    builds = {name: build(b, home) for name, b in wanted.items()}
    inputs = {
        benchmark.label: {
            name: generate_input(source, benchmark, home, experiment.seed)
            for name, source in benchmark.inputs.items()
        }
        for benchmark in experiment.benchmarks
    }
    programs: dict[str, File] = {}
    for benchmark in experiment.benchmarks:
        for command in (benchmark.command, benchmark.check):
            name = command[0] if command else ""
            if not name or "{" in name or name in programs or name.startswith("./"):
                continue
            found = shutil.which(name)
            if found is None:
                raise HostError(
                    f"benchmark {benchmark.label}",
                    f"the program {name}",
                    "it is not installed",
                    f"install {name}",
                )
            programs[name] = File(found, file_sha256(Path(found)))
    return builds, inputs, programs


def resolve_local(
    experiment: Experiment,
    host: Host,
    runtimes: Mapping[str, ResolvedRuntime],
    missing: Mapping[str, str],
    builds: Mapping[str, Mapping[str, File]],
    inputs: Mapping[str, Mapping[str, File]],
    programs: Mapping[str, File],
) -> ResolvedHost:
    """Put together what planning needs to know of this machine."""
    facts = local_facts()
    return ResolvedHost(
        host.name, host.platform, facts, host_class(facts), runtimes, missing, builds, inputs, programs
    )


def files_from_json(value: Mapping[str, Any]) -> dict[str, File]:
    """Read what `vars(File)` wrote."""
    return {name: File(**file) for name, file in value.items()}
