"""Resolve an experiment on this host: runtimes, builds, programs, facts. Runs on the measuring host.

Standard library only, because the runner carries it.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from regatta.host.cache import file_sha256
from regatta.host.errors import HostError, NotForThisHostError
from regatta.host.printable import Lines
from regatta.host.ready.builds import build
from regatta.host.ready.facts import fingerprint, host_class, local_facts
from regatta.host.ready.probes import probe_benchmarks
from regatta.host.ready.runtimes import missing_package, provision
from regatta.host.values.experiment import Build, Cores, Experiment
from regatta.host.values.host import Host
from regatta.host.values.resolved import File, ResolvedHost, ResolvedRuntime
from regatta.host.values.supplies import Supplies

#: PATH for Regatta and for measured processes; the PATH of a terminal would vary
MEASURED_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def lacking(experiment: Experiment, supplies: Supplies) -> list[str]:
    """Return the paths that are missing before `resolve`, of supplies, packages and programs."""
    found = [path for path in supplies.runtimes.values() if not os.path.exists(path)]
    brought = (supplies.builds, supplies.inputs, supplies.files)
    found += [file.path for part in brought for files in part.values() for file in files.values()]
    lacks = [path for path in dict.fromkeys(found) if not os.path.exists(path)]
    made_here = [b for name, b in wanted_builds(experiment).items() if name not in supplies.builds]
    if made_here and not os.path.isdir(supplies.home):
        lacks.append(supplies.home)
    needs = [
        *(b.needs for b in made_here),
        *(r.needs for r in experiment.runtimes if r.name not in supplies.missing),
    ]
    lacks += [f"program {p}" for part in needs for p in part if shutil.which(p) is None]
    packages = (missing_package(r) for r in experiment.runtimes if r.name not in supplies.missing)
    return list(dict.fromkeys([*lacks, *(f"package {name}" for name in packages if name)]))


def wanted_builds(experiment: Experiment) -> dict[str, Build]:
    """Return every build that a benchmark of an experiment names."""
    return {name: b for benchmark in experiment.benchmarks for name, b in benchmark.builds.items()}


def resolve(experiment: Experiment, host: Host, supplies: Supplies) -> ResolvedHost:
    """Return the information about this host that planning needs. Make missing builds.

    Raises:
        HostError: a build fails, a program is not installed, no runtime exists for this host, or a Docker image is missing.
    """
    there, missing = provision_runtimes(experiment, supplies)
    facts = local_facts()
    resolved = ResolvedHost(
        host.name,
        host.platform,
        facts,
        host_class(facts),
        supplies.environment,
        there,
        missing,
        build_here(experiment, supplies),
        supplies.inputs,
        find_programs(experiment),
        files=supplies.files,
        cores=cores_of(experiment, host),
        memory_mib=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        fingerprint=fingerprint(facts),
        images=_images(experiment),
    )
    return probe_benchmarks(experiment, resolved)


def _images(experiment: Experiment) -> dict[str, str]:
    names = experiment.images()
    if not names:
        return {}
    # Only here: most experiments use no containers, and the client takes long to import.
    from regatta.host.containers.docker import image_ids

    return image_ids(names)


def provision_runtimes(
    experiment: Experiment, supplies: Supplies
) -> tuple[dict[str, ResolvedRuntime], dict[str, str]]:
    """Provision every runtime. Return the available ones, and the reasons for those that do not exist for this host.

    Raises:
        HostError: a runtime could not be provisioned (a retry can succeed), or none exists for this host.
    """
    there: dict[str, ResolvedRuntime] = {}
    missing = dict(supplies.missing)
    modifiers = tuple({m.name: m for each in experiment.modifiers for m in each}.values())
    for runtime in experiment.runtimes:
        if runtime.name in missing:
            continue
        java = runtime.kind == "java"
        given = supplies.runtimes.get(runtime.name)
        try:
            there[runtime.name] = provision(
                runtime,
                experiment.collectors if java else (),
                modifiers if java else (),
                Path(given) if given else None,
                supplies.may_install,
            )
        except NotForThisHostError as error:
            missing[runtime.name] = str(error)
    if not there:
        raise HostError(
            experiment.spec_path,
            "at least one available runtime",
            Lines("\n  ".join(missing.values())),
            "correct one of the runtimes",
        )
    return there, missing


def build_here(experiment: Experiment, supplies: Supplies) -> dict[str, Mapping[str, File]]:
    """Return every build. Use copied ones, and make the others here.

    Raises:
        HostError: a build fails.
    """
    home = Path(supplies.home)
    return {
        name: supplies.builds[name] if name in supplies.builds else build(b, home)
        for name, b in wanted_builds(experiment).items()
    }


def find_programs(experiment: Experiment) -> dict[str, File]:
    """Return the installed programs that commands name.

    Raises:
        HostError: a program is not installed.
    """
    programs: dict[str, File] = {}
    path = experiment.environment.set.get("PATH", MEASURED_PATH)
    for benchmark in experiment.benchmarks:
        for name in benchmark.programs:
            if name in programs:
                continue
            found = shutil.which(name, path=path)
            if found is None:
                raise HostError(
                    f"benchmark {benchmark.label}",
                    f"the program {name} in {path}",
                    "missing",
                    f"install {name}, or set `environment: {{set: {{PATH: ...}}}}` in the spec",
                )
            programs[name] = File(found, file_sha256(Path(found)))
    return programs


def measured_environment(experiment: Experiment) -> dict[str, str]:
    """Return the environment of measured processes. It is not inherited, so it is equal for every terminal and host.

    Allowed variables are copied at this time. They are part of the identity of the cells and of the plan.
    """
    settings = experiment.environment
    allowed = {name: os.environ[name] for name in settings.allow if name in os.environ}
    return {"PATH": MEASURED_PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC", **allowed, **settings.set}


def cores_of(experiment: Experiment, host: Host) -> Cores:
    """Return the CPUs to measure on: from the spec, or the CPUs of the host if the spec does not set them."""
    if experiment.cores != Cores() or not host.cpus:
        return experiment.cores
    return dataclasses.replace(experiment.cores, use="cpus", cpus=host.cpus)
