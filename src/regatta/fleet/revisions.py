"""Sources of runtimes that are built: a folder, or a revision of a git repository, exported to the cache."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from regatta.host.cache import cache_folder, made_directory
from regatta.host.errors import HostError
from regatta.host.ready.commands import run_command
from regatta.host.ready.sources import source_files, sources_sha256
from regatta.host.ready.unpacking import unpack
from regatta.host.values.experiment import Runtime

_COMMIT_DIGITS = (40, 64)


def exported_sources(runtime: Runtime) -> Path:
    """Return a folder with only the sources of a runtime, whose name identifies their contents.

    Submodules of a repository are not exported.

    Raises:
        HostError: the folder, the repository or the revision does not exist, or git fails.
    """
    return _exported_tree(runtime) if runtime.provider == "git" else _exported_folder(runtime)


def revision_tree(runtime: Runtime) -> str:
    """Return the hash of the tree of a runtime's revision. For a URL, ask the server, unless the revision is a known commit.

    Raises:
        HostError: the repository or the revision does not exist, or git fails.
    """
    return _tree(runtime, _repository(runtime))


def _tree(runtime: Runtime, repository: Path) -> str:
    asked = run_command(
        ["git", "-C", str(repository), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{runtime.revision}^{{tree}}"],
        _where(runtime),
    )  # fmt: skip
    if asked.returncode and not asked.text.strip():
        raise HostError(
            _where(runtime), f"a revision of {runtime.repository}", f"`{runtime.revision}`, which does not exist",
            "correct `revision`",
        )  # fmt: skip
    return asked.succeeded().strip()


def _where(runtime: Runtime) -> str:
    return f"runtime {runtime.name}"


def _repository(runtime: Runtime) -> Path:
    """Return the local repository: the given path, or an up-to-date mirror of the URL."""
    path = Path(runtime.repository)
    if path.is_absolute():
        if not path.is_dir():
            raise HostError(_where(runtime), f"a repository at {path}", "missing", "correct `repository`")
        return path
    where, git = _where(runtime), ["git", "-c", "core.askPass=true"]
    quiet = {"GIT_TERMINAL_PROMPT": "0"}
    fix = "correct `repository`, or set up access with git"

    def clone(directory: Path) -> None:
        target = str(directory / "mirror.git")
        command = [*git, "clone", "--quiet", "--mirror", "--", runtime.repository, target]
        run_command(command, where, environment=quiet, fix=fix).succeeded()

    name = hashlib.sha256(runtime.repository.encode()).hexdigest()[:24]
    mirror = made_directory(cache_folder("repositories") / name, clone) / "mirror.git"
    commit = len(runtime.revision) in _COMMIT_DIGITS and runtime.revision.isalnum()
    known = ["git", "-C", str(mirror), "cat-file", "-e", "--end-of-options", runtime.revision]
    if not commit or run_command(known, where).returncode:
        fetch = [*git, "-C", str(mirror), "fetch", "--quiet", "--prune", "origin"]
        run_command(fetch, where, environment=quiet, fix=fix).succeeded()
    return mirror


def _exported_tree(runtime: Runtime) -> Path:
    repository = _repository(runtime)
    tree = _tree(runtime, repository)

    def make(directory: Path) -> None:
        archive = directory.with_suffix(".tar")
        command = ["git", "-C", str(repository), "archive", "--format=tar", f"--output={archive}", tree]
        try:
            run_command(command, _where(runtime)).succeeded()
            unpack(archive, directory)
        finally:
            archive.unlink(missing_ok=True)

    return made_directory(cache_folder("sources") / f"git-{tree}", make)


def _exported_folder(runtime: Runtime) -> Path:
    top = Path(runtime.directory)
    files = source_files(top, ".")
    if not files:
        raise HostError(_where(runtime), f"sources in {top}", "missing", "correct `directory`")

    def make(directory: Path) -> None:
        for path in files:
            target = directory / path.relative_to(top)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    return made_directory(cache_folder("sources") / f"folder-{sources_sha256(top)}", make)
