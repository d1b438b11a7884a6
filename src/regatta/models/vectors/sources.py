"""Find vectors by name on the command line: files, folders, registries of the home, experiments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from regatta.host.cache import bytes_sha256
from regatta.host.errors import Problem, SpecError
from regatta.host.journal.journal import journal_files
from regatta.models.vectors.files import read_vector
from regatta.models.vectors.measured import system_vectors
from regatta.models.vectors.primitives import OS, PrimitiveTable, find_primitives, read_primitives
from regatta.models.vectors.values import ApplicationVector, SystemVector

SYSTEMS, APPLICATIONS = Path("configs") / "systems", Path("configs") / "applications"
#: in the folder of an experiment
VECTORS = "vectors"
_SUFFIX = ".yml"


@dataclass(frozen=True)
class SystemSource:
    """A system vector, and the experiment in which it was measured, if its folder exists."""

    vector: SystemVector
    experiment: Path | None = None


class Sources:
    """Looks up vectors. Collects every problem, to report all at once (`check`)."""

    def __init__(
        self, home: Path | None, results: Path, summary: str = "median", primitives: str = OS
    ) -> None:
        """Look in `home` for registries and in `results` for experiments.

        Args:
            home: the clone; None: only files and experiments are found.
            results: the folder of all experiments.
            summary: how system vectors are computed from records (`regatta vector system`).
            primitives: the file of the table of primitives for system vectors, or its name in `configs/primitives`.
        """
        self._home = home
        self._results = results
        self._summary = summary
        self._table_name = primitives
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        #: names of primitives that may have notes
        self.primitives: set[str] = set()

    def check(self) -> None:
        """Raise the collected problems.

        Raises:
            SpecError: a vector is missing or wrong.
        """
        if self.problems:
            raise SpecError(self.problems)

    def refuse(self, where: str, expected: str, got: str, fix: str = "") -> None:
        """Add a problem."""
        self.problems.append(Problem(where, expected, got, fix))

    @cached_property
    def table(self) -> PrimitiveTable:
        """Return the table of primitives.

        Raises:
            SpecError: the table is missing or wrong.
        """
        return read_primitives(find_primitives(self._table_name, self._home))

    def application(self, name: str, where: str = "APP") -> ApplicationVector | None:
        """Return an application vector by its file or its name in the registry; None if missing (a problem)."""
        path = self._file(name, APPLICATIONS)
        if path is None:
            expected = "the file of an application vector, or a name in configs/applications"
            self._unknown(where, expected, name, self._names(APPLICATIONS))
            return None
        found = self._read(path)
        if found is None or isinstance(found, ApplicationVector):
            return found
        expected = "an application vector"
        self.refuse(str(path), expected, "a system vector", "name systems after --on")
        return None

    def systems(self, name: str) -> list[SystemSource]:
        """Return all systems of a name: that of a file, those of a folder, those of an experiment."""
        path = self._file(name, SYSTEMS)
        if path is not None:
            return self._of_files([path])
        experiment = self._experiment(name)
        if experiment is not None:
            return self._of_experiment(experiment)
        inside = f"{name.rstrip('/')}/"
        together = [path for key, path in self._registered(SYSTEMS).items() if key.startswith(inside)]
        if together:
            return self._of_files(together)
        folder = Path(name)
        if folder.is_dir():
            files = sorted(folder.glob(f"*{_SUFFIX}"))
            if not files:
                fix = "write them: `regatta vector system EXPERIMENT --out DIR`"
                self.refuse(name, f"system vectors (*{_SUFFIX}) in the folder", "none", fix)
            return self._of_files(files)
        expected = "a file or folder of system vectors, a name in configs/systems, or a measured experiment"
        self._unknown("--on", expected, name, [*self._names(SYSTEMS), *self._experiments()])
        return []

    def knows_system(self, name: str) -> bool:
        """Return whether a name is a file, an experiment, or in the registry: `systems` then takes it for no folder."""
        inside = f"{name.rstrip('/')}/"
        if not name.strip():
            return False
        return (
            self._file(name, SYSTEMS) is not None
            or self._experiment(name) is not None
            or any(key.startswith(inside) for key in self._registered(SYSTEMS))
        )

    def registered_systems(self) -> list[SystemVector]:
        """Return the systems of the registry; a file that is no system vector is left out."""
        found = []
        for path in self._registered(SYSTEMS).values():
            with suppress(SpecError, OSError):
                vector = read_vector(path)
                found += [vector] if isinstance(vector, SystemVector) else []
        return found

    def experiment(self, name: str, where: str) -> Path | None:
        """Return the folder of an experiment by its name or path; None if missing (a problem)."""
        found = self._experiment(name)
        if found is None:
            self._unknown(where, "an experiment's name or folder", name, self._experiments())
        return found

    def _file(self, name: str, registry: Path) -> Path | None:
        path = Path(name)
        return path if path.is_file() else self._registered(registry).get(name.removesuffix(_SUFFIX))

    def _experiment(self, name: str) -> Path | None:
        places = (self._results / name, Path(name))
        return next((path for path in places if (path / "plan").is_dir()), None)

    def _of_experiment(self, folder: Path) -> list[SystemSource]:
        files = sorted(vectors_folder(folder, self._table_name).glob(f"*{_SUFFIX}"))
        if files:
            self._warn_of_older(folder, files)
            return self._of_files(files, folder)
        return self.measured(folder)

    def measured(self, folder: Path) -> list[SystemSource]:
        """Return the systems of an experiment, computed from its records."""
        try:
            vectors, told = system_vectors(folder, self.table, self._summary)
        except SpecError as error:
            # Several experiments can lack the same table.
            self.problems += [problem for problem in error.problems if problem not in self.problems]
            return []
        if not vectors:
            self.problems.append(no_primitive(folder, self.table))
        self.notes += told
        self.primitives |= set(self.table.primitives)
        return [SystemSource(vector, folder) for vector in vectors]

    def _warn_of_older(self, folder: Path, files: Sequence[Path]) -> None:
        newest = max((path.stat().st_mtime for path in journal_files(folder)), default=0.0)
        if newest > min(path.stat().st_mtime for path in files):
            option = "" if self._table_name == OS else f" --primitives {self._table_name}"
            self.notes.append(
                f"{files[0].parent} is older than the newest records; update it with `regatta vector system {folder}{option}`"
            )

    def _of_files(self, files: Iterable[Path], experiment: Path | None = None) -> list[SystemSource]:
        found = []
        for path in files:
            vector = self._read(path)
            if isinstance(vector, ApplicationVector):
                fix = "name applications before --on"
                self.refuse(str(path), "a system vector", "an application vector", fix)
            elif vector is not None:
                found.append(SystemSource(vector, experiment or _experiment_of(path)))
        return found

    def _read(self, path: Path) -> ApplicationVector | SystemVector | None:
        try:
            return read_vector(path)
        except SpecError as error:
            self.problems += error.problems
        except OSError as error:
            self.refuse(str(path), "a readable file", error.strerror or str(error))
        return None

    def _unknown(self, where: str, expected: str, name: str, known: Sequence[str]) -> None:
        near = get_close_matches(name, known, 3, 0.5)
        spec = Path("configs", "experiments", f"{name}{_SUFFIX}")
        if self._home is not None and where != "APP" and (self._home / spec).is_file():
            fix = f"measure it first: `regatta run {spec}`"
        elif near:
            fix = f"did you mean {' or '.join(near)}?"
        else:
            fix = f"choose one of {', '.join(known)}" if known else "no names are defined"
        self.refuse(where, expected, repr(name), fix)

    def _registered(self, registry: Path) -> dict[str, Path]:
        return {} if self._home is None else registered(self._home / registry)

    def _names(self, registry: Path) -> list[str]:
        names = self._registered(registry)
        return [*names, *dict.fromkeys(name.partition("/")[0] for name in names if "/" in name)]

    def _experiments(self) -> list[str]:
        return sorted(path.parent.name for path in self._results.glob("*/plan"))


def registered(registry: Path) -> dict[str, Path]:
    """Return name -> file of all vectors of a registry: `name` of those directly in it, `folder/name` of those in a folder."""
    files = sorted(path for depth in ("*", "*/*") for path in registry.glob(f"{depth}{_SUFFIX}"))
    return {path.relative_to(registry).with_suffix("").as_posix(): path for path in files}


def vectors_folder(experiment: Path, primitives: str) -> Path:
    """Return the folder of an experiment's system vectors: `vectors`, with a subfolder per table for tables other than `os`.

    The name of a user's table includes a hash of its contents, so that vectors of two tables are never confused.
    """
    if primitives == OS:
        return experiment / VECTORS
    path = Path(primitives)
    own = f"-{bytes_sha256(path)[:8]}" if path.is_file() else ""
    return experiment / VECTORS / f"{path.stem}{own}"


def no_primitive(experiment: Path, table: PrimitiveTable) -> Problem:
    """Return the problem of an experiment without any system vector."""
    expected = "records for the cost of at least one primitive"
    return Problem(str(experiment), expected, "none", f"measure the benchmarks in {table.source}")


def _experiment_of(path: Path) -> Path | None:
    """Return the experiment whose folder contains a vector."""
    folder = path.resolve().parent
    own = folder if folder.name == VECTORS else folder.parent
    return own.parent if own.name == VECTORS and (own.parent / "plan").is_dir() else None
