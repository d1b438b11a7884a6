"""The command of a planned cell, run as the runner runs it: its environment, its files, an empty directory."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.host.contents import contents_sha256
from regatta.host.errors import RegattaError


@dataclass(frozen=True)
class PlannedCommand:
    """What a cell adds to its arguments."""

    experiment: str
    #: whole environment, except what depends on the directory
    environment: Mapping[str, str]
    #: name in the working directory -> file that is copied there
    arrange: Mapping[str, str]
    #: fixed working directory; "": an empty one
    directory: str
    #: files that the cell executes or reads -> their digest in the plan
    files: Mapping[str, str]
    #: of its system in system vectors: "" without a heap
    heap: str = ""

    def check_files(self) -> None:
        """Check that runtime and programs are those of the plan.

        Raises:
            RegattaError: a file is missing, or has other contents.
        """
        for path, sha256 in self.files.items():
            try:
                same = contents_sha256(Path(path)) == sha256
            except OSError as error:
                got = error.strerror or str(error)
            else:
                got = "" if same else "other contents"
            if got:
                fix = f"plan and measure {self.experiment} again"
                raise RegattaError(path, f"the file of experiment {self.experiment}", got, fix)

    def words(self, folder: Path, results: Path) -> list[str]:
        """Create the working directory, and return the words before the command, as `regatta explain` prints them.

        Args:
            folder: an existing folder, where the working directory is created.
            results: file for the lines of the harness.
        """
        work = folder / "work"
        work.mkdir()
        for name, source in self.arrange.items():
            target = work / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if Path(source).is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)
        places = {"REGATTA_RESULTS": results, "HOME": work, "TMPDIR": work}
        variables = {**self.environment, **{name: str(path) for name, path in places.items()}}
        told = [f"{name}={value}" for name, value in sorted(variables.items())]
        return ["env", "-i", "-C", self.directory or str(work), *told]


def reporting(
    command: Sequence[str], cell: PlannedCommand | None, folder: Path
) -> tuple[Sequence[str], Path]:
    """Return a command that makes Regatta's harness report its iterations to a file of a folder, and this file.

    Args:
        command: the command of a JVM.
        cell: the cell that it is from, if any: its environment is as planned.
        folder: an existing folder.
    """
    results = folder / "results.jsonl"
    before = ["env", f"REGATTA_RESULTS={results}"] if cell is None else cell.words(folder, results)
    return [*before, *command], results
