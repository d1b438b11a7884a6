"""This machine made ready for an experiment, and what is there told as one value that can be kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from regatta.cache import file_sha256
from regatta.errors import HostError, NotForThisHostError
from regatta.fleet.builds import build, generate_input
from regatta.fleet.facts import host_class, local_facts
from regatta.fleet.runtimes import provision
from regatta.model.experiment import Experiment
from regatta.model.host import Host
from regatta.model.resolved import File, ResolvedHost, ResolvedRuntime

#: where programs are found, by Regatta and by what it measures; a terminal's own PATH would differ from the next one's
MEASURED_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def provision_runtimes(experiment: Experiment) -> tuple[dict[str, ResolvedRuntime], dict[str, str]]:
    """Bring every runtime here; returns those that are there and, for those that do not exist for this host, why not.

    Raises:
        HostError: one did not arrive (a later try may do better), or not one of them exists for this host.
    """
    there: dict[str, ResolvedRuntime] = {}
    missing: dict[str, str] = {}
    modifiers = tuple({m.name: m for each in experiment.modifiers for m in each}.values())
    for runtime in experiment.runtimes:
        try:
            java = runtime.kind == "java"
            there[runtime.name] = provision(
                runtime, experiment.collectors if java else (), modifiers if java else ()
            )
        except NotForThisHostError as error:
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
        for name in benchmark.programs:
            if name in programs:
                continue
            path = experiment.environment.set.get("PATH", MEASURED_PATH)
            found = shutil.which(name, path=path)
            if found is None:
                raise HostError(
                    f"benchmark {benchmark.label}",
                    f"the program {name} in {path}",
                    "none",
                    f"install {name}, or set `environment: {{set: {{PATH: ...}}}}` in the spec",
                )
            programs[name] = File(found, file_sha256(Path(found)))
    return builds, inputs, programs


def measured_environment(experiment: Experiment) -> dict[str, str]:
    """The environment of measured processes on this machine: made, not inherited, so that it is the same from every terminal.

    What the spec allows through is taken as it is now; it becomes part of the cells' identity and stands in the plan.
    """
    settings = experiment.environment
    allowed = {name: os.environ[name] for name in settings.allow if name in os.environ}
    return {"PATH": MEASURED_PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC", **allowed, **settings.set}


def resolve_local(
    experiment: Experiment,
    host: Host,
    runtimes: Mapping[str, ResolvedRuntime],
    missing: Mapping[str, str],
    builds: Mapping[str, Mapping[str, File]],
    inputs: Mapping[str, Mapping[str, File]],
    programs: Mapping[str, File],
    files: Mapping[str, Mapping[str, File]],
) -> ResolvedHost:
    """Put together what planning needs to know of this machine."""
    facts = local_facts()
    return ResolvedHost(
        host.name,
        host.platform,
        facts,
        host_class(facts),
        measured_environment(experiment),
        runtimes,
        missing,
        builds,
        inputs,
        programs,
        files=files,
    )
