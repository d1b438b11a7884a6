"""Sources of runtimes that are built: a folder, or a revision of a git repository, exported to the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from regatta.host.cache import cache_folder, made_directory
from regatta.host.errors import HostError
from regatta.host.ready.commands import KEPT_BYTES, run_command
from regatta.host.ready.sources import NOT_SOURCES, copy_sources, source_files, sources_sha256
from regatta.host.values.experiment import Runtime

_COMMIT_DIGITS = (40, 64)
#: settings of the user and hooks of the repository that would change what is exported, or run
_OWN_SETTINGS = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", "-c", "core.fileMode=true",
    "-c", "core.symlinks=true", "-c", "core.fsmonitor=false",
)  # fmt: skip


def exported_sources(runtime: Runtime) -> Path:
    """Return a folder with only the sources of a runtime, whose name identifies their contents.

    All files of a revision are exported, regardless of their folders and attributes. Submodules are not exported.

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
        # Not `git archive`: it omits and edits files as the attributes export-ignore and export-subst say.
        index = directory.with_suffix(".index")
        asked = run_command(
            ["git", "-C", str(repository), "rev-parse", "--absolute-git-dir"], _where(runtime)
        )
        git = ["git", *_OWN_SETTINGS, f"--git-dir={asked.succeeded().strip()}", f"--work-tree={directory}"]
        try:
            for command in (["read-tree", "--no-sparse-checkout", tree], ["checkout-index", "--all"]):
                run_command(
                    [*git, *command], _where(runtime), directory, {"GIT_INDEX_FILE": str(index)}
                ).succeeded()
        finally:
            index.unlink(missing_ok=True)
        _refuse_links_out(runtime, directory)

    return made_directory(cache_folder("sources") / f"tree-{tree}", make)


def _refuse_links_out(runtime: Runtime, directory: Path) -> None:
    """Refuse a link that leads out of the tree: its target is not part of the revision."""
    root = os.path.realpath(directory)
    for path in source_files(directory, ".", whole=True):
        if path.is_symlink() and os.path.commonpath([root, os.path.realpath(path)]) != root:
            raise HostError(
                f"{_where(runtime)}: {path.relative_to(directory)}", "a link inside the repository",
                f"a link to {os.readlink(path)}", "remove it from the revision",
            )  # fmt: skip


def folder_sources(runtime: Runtime) -> list[Path]:
    """Return the sources of a runtime that is built from a folder.

    Files of folders that builds write, such as `build`, are sources only if git tracks them.

    Raises:
        HostError: as `source_files`.
    """
    top = Path(runtime.directory)
    files = source_files(top, ".")
    return files + _tracked_outputs(top) if files else []


def _tracked_outputs(top: Path) -> list[Path]:
    """Return the files under `NOT_SOURCES` that git tracks; none if the folder is not in a repository."""
    if shutil.which("git") is None:
        return []
    patterns = [f":(glob)**/{name}/**" for name in sorted(NOT_SOURCES)]
    listed = run_command(["git", "-C", str(top), "ls-files", "-z", "--", *patterns], str(top))
    if listed.returncode:
        return []
    if listed.cut:
        raise listed.error("a list of files that fits into memory", f"more than {KEPT_BYTES} bytes")
    return [top / name for name in sorted(listed.text.split("\0")) if name and (top / name).is_file()]


def _exported_folder(runtime: Runtime) -> Path:
    top = Path(runtime.directory)
    files = folder_sources(runtime)
    if not files:
        raise HostError(_where(runtime), f"sources in {top}", "missing", "correct `directory`")
    return made_directory(
        cache_folder("sources") / f"folder-{sources_sha256(top, files=files)}",
        lambda directory: copy_sources(files, top, directory),
    )
