"""Files and folders that the user provides: a suite lists their names and sources."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from regatta.host.cache import file_sha256, remembered
from regatta.host.contents import contents_sha256, listing
from regatta.host.errors import HostError
from regatta.host.ready.builds import generate
from regatta.host.ready.sources import generator_files
from regatta.host.values.experiment import Experiment, UserFile
from regatta.host.values.resolved import File

#: the folder of the home that is searched first
_FOLDER = "files"


def user_folders(experiment: Experiment, home: Path) -> list[Path]:
    """Return the search folders: `files` in the home, the folder of the spec, and the folders of `$REGATTA_FILES`."""
    own = os.environ.get("REGATTA_FILES", "").split(os.pathsep)
    spec_folder = Path(experiment.folder or Path(experiment.spec_path).absolute().parent)
    return [home / _FOLDER, spec_folder, *(Path(folder).absolute() for folder in own if folder)]


def find_user_files(experiment: Experiment, home: Path) -> dict[str, dict[str, File]]:
    """Find the user files of all benchmarks of an experiment, or make them.

    Returns:
        Benchmark label -> its name in the suite, or `name/companion` -> file or folder.

    Raises:
        HostError: a file is missing or incomplete, its contents differ from the suite, or its command fails.
    """
    folders = user_folders(experiment, home)
    found: dict[str, dict[str, File]] = {}
    for benchmark in experiment.benchmarks:
        for name, wanted in benchmark.files.items():
            where = f"file {name} of {benchmark.label}"
            with _readable(where, wanted):
                path = _first(wanted, folders)
                fix = f"download it again: {wanted.origin}"
                if path is None and wanted.command:
                    fix = "correct the generator, or change `sha256`"
                    base, seed, key = Path(wanted.name).name, experiment.seed, f"files.{name}.command"
                    path = Path(generate(base, wanted.command, benchmark, home, seed, where, key).path)
                found.setdefault(benchmark.label, {}).update(
                    _identified(where, name, wanted, path, folders, fix)
                )
    return found


def user_file_parts(experiment: Experiment, home: Path) -> Iterator[Path]:
    """Yield every existing file, or the files that make it; skip missing ones.

    Raises:
        HostError: an existing file cannot be read.
    """
    folders = user_folders(experiment, home)
    for benchmark in experiment.benchmarks:
        for name, wanted in benchmark.files.items():
            with _readable(f"file {name} of {benchmark.label}", wanted):
                yield from _parts(wanted, folders, home)


def _parts(wanted: UserFile, folders: Sequence[Path], home: Path) -> list[Path]:
    found = _first(wanted, folders)
    if found is None and wanted.command:
        return generator_files(wanted.command, home)
    paths = (found, *(found.parent / name for name in wanted.beside)) if found else ()
    parts = []
    for path in paths:
        parts += [path / name for name, _ in listing(path)] if path.is_dir() else [path]
    return parts


@contextmanager
def _readable(where: str, wanted: UserFile) -> Iterator[None]:
    """Report an unreadable user file with advice based on the cause."""
    try:
        yield
    except OSError as error:
        fixes = {
            errno.EACCES: "change its owner to the user who runs Regatta",
            errno.EPERM: "change its owner to the user who runs Regatta",
            errno.EINVAL: f"replace it with a regular file: {wanted.origin}",
            errno.ENOENT: f"remove the link if its target does not exist, or download the complete file: {wanted.origin}",
            errno.ELOOP: "remove the link",
        }
        fix = fixes.get(error.errno or 0, f"check the disk, or download it again: {wanted.origin}")
        path = error.filename or wanted.name
        raise HostError(where, f"a readable {path}", error.strerror or str(error), fix) from error


def _first(wanted: UserFile, folders: Sequence[Path]) -> Path | None:
    paths = (folder / wanted.name for folder in folders)
    # A broken link is the user's, and an error: no other file takes its place.
    return next((path for path in paths if path.exists() or path.is_symlink()), None)


def _identified(
    where: str, name: str, wanted: UserFile, found: Path | None, folders: Sequence[Path], other: str
) -> Iterator[tuple[str, File]]:
    if found is None:
        fix = f"copy it to {folders[0] / wanted.name}, or add its folder to REGATTA_FILES; source: {wanted.origin}"
        raise HostError(where, wanted.name, f"none in {', '.join(map(str, folders))}", fix)
    needed = [found / part for part in wanted.holds] + [found.parent / part for part in wanted.beside]
    missing = next((path for path in needed if not path.exists()), None)
    if missing is not None:
        raise HostError(
            where, f"{missing}, a part of {wanted.name}", "no such file", f"download the complete file: {wanted.origin}"
        )  # fmt: skip
    digest = sha256_of(found)
    if wanted.sha256 and digest != wanted.sha256:
        raise HostError(where, f"SHA-256 {wanted.sha256}", f"{digest} ({found})", other)
    yield name, File(str(found), digest)
    for part in wanted.beside:
        yield f"{name}/{part}", File(str(found.parent / part), sha256_of(found.parent / part))


def sha256_of(path: Path) -> str:
    """Return the digest of the contents, cached for folders too: data can be tens of gigabytes."""
    if not path.is_dir():
        return file_sha256(path)
    state = hashlib.sha256()
    for name, s in listing(path):
        state.update(f"{name}\0{s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino}\n".encode(errors="surrogateescape"))  # fmt: skip
    return str(
        remembered("folder-small-files", [str(path), state.hexdigest()], lambda: contents_sha256(path))
    )
