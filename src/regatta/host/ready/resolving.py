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
from regatta.host.facts import fingerprint, host_class, local_facts
from regatta.host.printable import Lines
from regatta.host.ready.builds import build
from regatta.host.ready.probes import probe_benchmarks
from regatta.host.ready.runtimes import missing_needs, missing_package, provision
from regatta.host.values.experiment import Build, Cores, Experiment
from regatta.host.values.host import Host
from regatta.host.values.resolved import File, ResolvedHost, ResolvedRuntime
from regatta.host.values.supplies import Supplies

#: PATH of measured processes; the PATH of a terminal would vary
MEASURED_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: variables of every measured process, unless the spec sets others
FIXED_ENVIRONMENT = {"PATH": MEASURED_PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def lacking(experiment: Experiment, supplies: Supplies) -> list[str]:
    """Return what must be copied or installed before `resolve`: missing paths of supplies, packages and programs.

    After provisioning, `resolve` reports the missing packages and programs of each runtime.
    """
    found = [path for path in supplies.runtimes.values() if not os.path.exists(path)]
    brought = (supplies.builds, supplies.inputs, supplies.files)
    found += [file.path for part in brought for files in part.values() for file in files.values()]
    lacks = [path for path in dict.fromkeys(found) if not os.path.exists(path)]
    made_here = [b for name, b in wanted_builds(experiment).items() if name not in supplies.builds]
    if made_here and not os.path.isdir(supplies.home):
        lacks.append(supplies.home)
    lacks += [f"program {p}" for b in made_here for p in b.needs if shutil.which(p) is None]
    if not supplies.provisioned:
        wanted = [runtime for runtime in experiment.runtimes if runtime.name not in supplies.missing]
        lacks += [f"program {program}" for runtime in wanted for program in missing_needs(runtime)]
        lacks += [f"package {name}" for name in map(missing_package, wanted) if name]
    return list(dict.fromkeys(lacks))


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
        find_programs(experiment, supplies.path or supplies.environment["PATH"]),
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
    from regatta.host.measure.containers.docker import image_ids

    return image_ids(names)


def provision_runtimes(
    experiment: Experiment, supplies: Supplies
) -> tuple[dict[str, ResolvedRuntime], dict[str, str]]:
    """Provision every runtime. Return the available ones, and the reasons for those that are not available on this host.

    Raises:
        HostError: a runtime could not be provisioned (its build fails, or a retry can succeed), or none is available.
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


def path_here(experiment: Experiment) -> str:
    """Return the folders to look up programs in on the machine of the user, as in PATH.

    Without a PATH in the spec, take the program that the shell of the user takes, such as that of an active virtual
    environment. After it comes the system path: the PATH of many users lacks /usr/sbin. Containers have no programs of the user.
    """
    path = measured_environment(experiment)["PATH"]
    if path != MEASURED_PATH or experiment.images():
        return path
    return os.pathsep.join(filter(None, (os.environ.get("PATH"), path)))


def find_programs(experiment: Experiment, path: str) -> dict[str, File]:
    """Return the installed programs that commands name, by absolute path.

    Args:
        experiment: with the commands.
        path: folders to look them up in, as in PATH.

    Raises:
        HostError: a program is not installed.
    """
    programs: dict[str, File] = {}
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
            # Not resolved: the link in a virtual environment is what makes Python use it.
            found = str(Path(found).absolute())
            programs[name] = File(found, file_sha256(Path(found)))
    return programs


def measured_environment(experiment: Experiment) -> dict[str, str]:
    """Return the environment of measured processes. It is not inherited, so it is equal for every terminal and host.

    Allowed variables are copied at this time. They are part of the identity of the cells and of the plan.
    """
    settings = experiment.environment
    allowed = {name: os.environ[name] for name in settings.allow if name in os.environ}
    return {**FIXED_ENVIRONMENT, **allowed, **settings.set}


def cores_of(experiment: Experiment, host: Host) -> Cores:
    """Return the CPUs to measure on: from the spec, or the CPUs of the host if the spec does not set them."""
    if experiment.cores != Cores() or not host.cpus:
        return experiment.cores
    return dataclasses.replace(experiment.cores, use="cpus", cpus=host.cpus)
