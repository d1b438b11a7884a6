"""Fingerprint: one small file that changes with any input of the plan of an experiment.

The first rules of the workflow depend on it. An edited include, suite or registry, an upgraded JVM or compiler, or a changed
source or generator triggers planning; touching a file does not.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from regatta.fleet.fetching import folder_sources, revision_tree
from regatta.fleet.user_files import user_file_parts
from regatta.fleet.zipapp import zipapp_bytes
from regatta.host.errors import HostError
from regatta.host.facts import fingerprint, local_facts
from regatta.host.files import parse_object
from regatta.host.measure.containers.docker import image_ids
from regatta.host.ready.builds import PACKAGE, own_sha256
from regatta.host.ready.resolving import measured_environment, path_here
from regatta.host.ready.runtimes import installed_program
from regatta.host.ready.sources import generator_files, source_files
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Experiment
from regatta.store.folder import write_json
from regatta.store.receipts import AGAIN


def write_fingerprint(experiment: Experiment, home: Path, path: Path) -> None:
    """Write the fingerprint if it differs from the existing file.

    Raises:
        StoreError: it cannot be written.
    """
    value = state_of(experiment, home)
    try:
        kept = parse_object(path)
        if AGAIN in kept:
            value[AGAIN] = str(kept[AGAIN])
        if kept == value:
            return
    except (OSError, ValueError):
        pass
    write_json(path, value)


def state_of(experiment: Experiment, home: Path) -> dict[str, str]:
    """Return digests of everything that decides what is measured on this machine: experiment, sources, revisions, host."""
    files = sorted({str(file): _state(file) for file in _files(experiment, home)}.items())
    # The repr of a frozen dataclass has all of its values, in order.
    value = {
        # The runner is part of the plan: another version may not understand it.
        "regatta": hashlib.sha256(zipapp_bytes()).hexdigest(),
        "experiment": digest_of(repr(experiment)),
        "environment": digest_of(measured_environment(experiment)),
        "files": digest_of(files),
        "host": digest_of(fingerprint(local_facts())),
    }
    if _made_by_this_package(experiment):
        value["package"] = own_sha256()
    revisions = _revisions(experiment)
    if revisions:
        value["revisions"] = digest_of(revisions)
    if experiment.images():
        value["images"] = digest_of(_images(experiment))
    return value


def _made_by_this_package(experiment: Experiment) -> bool:
    """Return whether a command of `regatta` makes an input or a file.

    The hash of the runner does not cover it, because the runner is a part of the package.
    """
    return any(
        command[:1] == (PACKAGE,) for benchmark in experiment.benchmarks for command in benchmark.making
    )


def _images(experiment: Experiment) -> list[tuple[str, str]]:
    """Return name and id of the local Docker images. Planning reports missing ones, and hosts have separate images."""
    found: list[tuple[str, str]] = []
    for name in experiment.images():
        with suppress(HostError):
            found += image_ids([name]).items()
    return found


def _revisions(experiment: Experiment) -> list[str]:
    """Return the trees of the revisions of git repositories. Planning reports missing ones."""
    found: list[str] = []
    for runtime in experiment.runtimes:
        if runtime.provider == "git":
            with suppress(HostError):
                found.append(revision_tree(runtime))
    return found


def _state(file: Path) -> list[int]:
    try:
        status = file.resolve().stat()
    except OSError:
        return []
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _files(experiment: Experiment, home: Path) -> Iterator[Path]:
    path = path_here(experiment)
    for benchmark in experiment.benchmarks:
        for build in benchmark.builds.values():
            yield from source_files(home, build.directory)
        for source in benchmark.inputs.values():
            yield from generator_files(source.command, home)
        for name in benchmark.programs:
            found = shutil.which(name, path=path)
            if found:
                yield Path(found)
    yield from user_file_parts(experiment, home)
    for runtime in experiment.runtimes:
        if runtime.provider == "build":
            yield from folder_sources(runtime)
        program = installed_program(runtime)
        if program is not None:
            yield program
            root = program.resolve().parent.parent
            yield from (root / part for part in ("lib/modules", "lib/server/libjvm.so", "release"))
