"""Files for hosts: built, found or generated on the machine that runs the command, and staged under content-based names."""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regatta.fleet.fetching import fetch
from regatta.fleet.user_files import find_user_files, sha256_of
from regatta.fleet.zipapp import zipapp_file
from regatta.host.cache import cache_folder, file_sha256, made_directory
from regatta.host.errors import HostError, NotForThisHostError
from regatta.host.ready.builds import build, generate_input
from regatta.host.ready.resolving import measured_environment, path_here, wanted_builds
from regatta.host.ready.sources import source_files
from regatta.host.values.experiment import Benchmark, Experiment, Runtime
from regatta.host.values.host import Host
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


@dataclass(frozen=True)
class StagedObject:
    """One file or folder to copy: `objects/<sha256>/` on a host holds the file, or the contents of the folder."""

    name: str
    sha256: str
    #: the file, or a tar of the folder
    staged: str
    kind: str

    def place(self, root: str) -> str:
        """Return its path on a host."""
        folder = f"{root}/objects/{self.sha256}"
        return folder if self.kind == "folder" else f"{folder}/{self.name}"

    def to_variables(self) -> dict[str, Any]:
        """Return the variables for the roles."""
        return {"name": self.name, "sha256": self.sha256, "staged": self.staged, "kind": self.kind}


@dataclass(frozen=True)
class Staged:
    """Files for hosts of one architecture."""

    experiment: Experiment
    environment: dict[str, str]
    runtimes: dict[str, StagedObject]
    missing: dict[str, str]
    builds: dict[str, dict[str, StagedObject]]
    inputs: dict[str, dict[str, StagedObject]]
    #: benchmark label -> name -> object, path inside it ("" for the object itself), digest
    files: dict[str, dict[str, tuple[StagedObject, str, str]]]
    sources: StagedObject | None
    packages: tuple[str, ...]

    def supplies_for(self, host: Host) -> Supplies:
        """Return the supplies with the paths of a host."""
        root = host.root
        return Supplies(
            home=self.sources.place(root) if self.sources else f"{root}/objects",
            environment=self.environment,
            runtimes={name: staged.place(root) for name, staged in self.runtimes.items()},
            missing=self.missing,
            builds=_placed(self.builds, root),
            inputs=_placed(self.inputs, root),
            files={
                label: {
                    name: File(f"{staged.place(root)}/{inside}" if inside else staged.place(root), digest)
                    for name, (staged, inside, digest) in named.items()
                }
                for label, named in self.files.items()
            },
            may_install=False,
        )

    def variables(self) -> dict[str, Any]:
        """Return `regatta_supplies` of the roles runner, runtimes and workloads."""
        workloads = {
            staged.sha256: staged
            for part in (self.builds, self.inputs)
            for named in part.values()
            for staged in named.values()
        }
        workloads |= {
            staged.sha256: staged for named in self.files.values() for staged, _, _ in named.values()
        }
        if self.sources:
            workloads[self.sources.sha256] = self.sources
        runtimes = {staged.sha256: staged for staged in self.runtimes.values()}
        return _variables(self.packages, runtimes.values(), workloads.values())


def no_supplies() -> dict[str, Any]:
    """Return the variables for a new host: only the zipapp."""
    return _variables((), (), ())


def _variables(
    packages: Iterable[str], runtimes: Iterable[StagedObject], workloads: Iterable[StagedObject]
) -> dict[str, Any]:
    zipapp = zipapp_file()
    return {
        "zipapp": {"path": str(zipapp), "sha256": file_sha256(zipapp)},
        "runtimes": {"packages": list(packages), "objects": [staged.to_variables() for staged in runtimes]},
        "workloads": {
            "packages": [],
            "objects": [staged.to_variables() for staged in workloads],
            "sources": None,
        },
    }


def stage(stock: Stock, architecture: str) -> Staged:
    """Stage all files for hosts of an architecture.

    Raises:
        HostError: a runtime could not be downloaded.
    """
    runtimes, missing = stock.runtimes_for(architecture)
    experiment = stock.experiment
    local = [(name, b) for name, b in wanted_builds(experiment).items() if name not in stock.builds]
    return Staged(
        experiment=_with_staged_sources(experiment) if local else experiment,
        environment=dict(stock.environment),
        runtimes={
            r.name: staged_runtime(r, Path(runtimes[r.name]))
            for r in experiment.runtimes
            if r.name in runtimes
        },
        missing=missing,
        builds=_objects(stock.builds),
        inputs=_objects(stock.inputs),
        files={label: dict(_user_objects(named)) for label, named in stock.files.items()},
        sources=_sources(stock.home, experiment, [name for name, _ in local]) if local else None,
        packages=tuple(
            sorted({r.package for r in experiment.runtimes if r.provider == "apt" and r.name not in missing})
        ),
    )


def _placed(objects: dict[str, dict[str, StagedObject]], root: str) -> dict[str, dict[str, File]]:
    return {
        key: {name: File(staged.place(root), staged.sha256) for name, staged in named.items()}
        for key, named in objects.items()
    }


def _objects(files: dict[str, dict[str, File]]) -> dict[str, dict[str, StagedObject]]:
    return {
        key: {name: _object(Path(file.path)) for name, file in named.items()} for key, named in files.items()
    }


def staged_runtime(runtime: Runtime, path: Path) -> StagedObject:
    """Stage the downloaded files or the exported sources of a runtime."""
    if runtime.provider not in ("build", "git"):
        return _object(path)
    # The name of exported sources identifies their contents. Their links can be broken or lead to a parent folder.
    digest = hashlib.sha256(path.name.encode()).hexdigest()
    return StagedObject(path.name, digest, str(_tar(digest, [(path, ".")], follow=False)), "folder")


def _object(path: Path) -> StagedObject:
    digest = sha256_of(path)
    if path.is_dir():
        # The digest of a folder covers only the size of a large file; the name of a cached folder covers all bytes.
        digest = hashlib.sha256(f"{path.name}\0{digest}".encode()).hexdigest()
        return StagedObject(path.name, digest, str(_tar(digest, [(path, ".")])), "folder")
    return StagedObject(path.name, digest, str(path), "file")


def _user_objects(named: dict[str, File]) -> Iterator[tuple[str, tuple[StagedObject, str, str]]]:
    """Yield the files of the user; a file and its companions share one folder."""
    for name, file in named.items():
        if "/" in name:
            continue
        path = Path(file.path)
        beside = {key: other for key, other in named.items() if key.startswith(f"{name}/")}
        if not beside:
            yield name, (_object(path), "", file.sha256)
            continue
        parts = [file, *beside.values()]
        digest = hashlib.sha256(
            "\n".join(f"{Path(p.path).name} {p.sha256}" for p in parts).encode()
        ).hexdigest()
        members = [(Path(p.path), os.path.relpath(p.path, path.parent)) for p in parts]
        staged = StagedObject(path.name, digest, str(_tar(digest, members)), "folder")
        for key, part in (("", file), *beside.items()):
            yield key or name, (staged, os.path.relpath(part.path, path.parent), part.sha256)


def _tar(digest: str, members: list[tuple[Path, str]], follow: bool = True) -> Path:
    """Return a tar of files and folders under their target names, cached. `follow`: links become what they lead to."""

    def make(directory: Path) -> None:
        with tarfile.open(directory / "contents.tar", "w", dereference=follow) as archive:
            for path, name in members:
                archive.add(path, name, filter=_anonymous)

    return made_directory(cache_folder("staged") / digest, make, ["contents.tar"]) / "contents.tar"


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    if not (member.isreg() or member.isdir() or member.islnk() or member.issym()):
        raise HostError(member.name, "a file or a folder", "a device, a pipe or a socket", "remove it")
    # Root unpacks it on hosts: drop setuid bits and write access for others.
    member.mode &= 0o755
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _with_staged_sources(experiment: Experiment) -> Experiment:
    """Return the experiment with the sources of each build in the staged folder."""

    def moved(benchmark: Benchmark) -> Benchmark:
        builds = {name: replace(b, directory=name) for name, b in benchmark.builds.items()}
        return replace(benchmark, builds=builds)

    return replace(experiment, benchmarks=tuple(moved(b) for b in experiment.benchmarks))


def _sources(home: Path, experiment: Experiment, names: list[str]) -> StagedObject:
    """Stage the sources of builds that run on each host, one folder per build."""
    builds = wanted_builds(experiment)
    members = []
    digest = hashlib.sha256()
    for name in names:
        top = home / builds[name].directory
        for path in source_files(home, builds[name].directory):
            inside = f"{name}/{path.relative_to(top)}"
            members.append((path, inside))
            digest.update(f"{inside}\0{path.stat().st_mode & 0o111:o}\0{file_sha256(path)}\n".encode())
    sha256 = digest.hexdigest()
    return StagedObject("sources", sha256, str(_tar(sha256, members)), "folder")
