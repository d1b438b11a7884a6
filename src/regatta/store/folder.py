"""The folder of one experiment: its layout and identity, and atomic reading and writing of its files."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regatta.host.errors import StoreError
from regatta.host.files import parse_object, read_object, replaced, write_first
from regatta.host.journal.plan_files import check_plan, refuse_newer_plan

DEFAULT_RESULTS = Path("results")
_IDENTITY = re.compile(r"[0-9a-f]{12}")


class Folder:
    """`results/<experiment>/` and its parts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan = path / "plan"
        self.experiment = path / "plan" / "experiment.json"
        self.runner = path / "plan" / "runner.pyz"
        self.journal = path / "journal"
        self.receipts = path / "receipts"
        self.state = path / "state"
        self.scratch = path / "scratch"
        self.logs = path / "logs"
        self.verdict = path / "verify.json"
        self.answer = path / "answer.json"
        self.report = path / "report.html"

    @property
    def name(self) -> str:
        """Return the name of the experiment."""
        return self.path.name

    def host_plan(self, host: str) -> Path:
        """Return the folder of a host's `plan.json` and `rows.i32`."""
        return self.plan / host

    def planned_hosts(self) -> list[str]:
        """Return the hosts that have a plan."""
        return sorted(p.parent.name for p in self.plan.glob("*/plan.json"))

    def decisions(self, host: str) -> Path:
        """Return the decisions about rounds on a host (`regatta.host.journal.decisions`)."""
        # Imported here, because few commands read decisions, and their rules take long to import.
        from regatta.host.journal.decisions import DECISIONS

        return self.journal / host / DECISIONS

    def host_header(self, host: str) -> dict[str, Any]:
        """Return the `plan.json` of a host.

        Raises:
            StoreError: it is missing, is not JSON, or is damaged.
            NewerVersion: a newer version of Regatta wrote it.
        """
        path = self.host_plan(host) / "plan.json"
        header = read_json(path, "run `regatta plan SPEC --write`")
        refuse_newer_plan(path, header)
        check_plan(path, header)
        return header

    def refuse_newer_plans(self) -> None:
        """Raise NewerVersion if a newer version of Regatta planned this experiment. Call it before replacing a plan."""
        for host in self.planned_hosts():
            path = self.host_plan(host) / "plan.json"
            refuse_newer_plan(path, read_object(path))


def minheap_dir(results: Path) -> Path:
    """Return the folder of minheap attempts of all experiments. Names of experiments never begin with `_`."""
    return results / "_minheap"


def experiment_names(results: Path) -> list[str]:
    """Return the names of the planned experiments in a folder of results."""
    return sorted(path.parent.name for path in results.glob("*/plan"))


def find_folder(experiment: str, results: Path) -> Folder:
    """Return the existing folder of an experiment, by name or path.

    Raises:
        StoreError: it does not exist; the message lists the existing ones.
    """
    for path in (results / experiment, Path(experiment)):
        if (path / "plan").is_dir() or (path / "journal").is_dir():
            return Folder(path)
    names = experiment_names(results)
    raise StoreError(
        str(results / experiment),
        "the folder of an experiment",
        "no such folder",
        f"choose one of {', '.join(names)}" if names else "run `regatta run SPEC`",
    )


def find_folders(experiment: str | None, results: Path) -> list[Folder]:
    """Return the folder of an experiment, or of all planned experiments. Raise as `find_folder` does."""
    if experiment:
        return [find_folder(experiment, results)]
    return [Folder(path.parent) for path in sorted(results.glob("*/plan"))]


def read_json(path: Path, fix: str) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        StoreError: it is missing or invalid.
    """
    try:
        return parse_object(path)
    except (OSError, ValueError) as error:
        raise StoreError(str(path), "a JSON object", str(error), fix) from error


def no_room(path: Path, error: OSError) -> StoreError:
    """Return the error for a file of an experiment that cannot be written."""
    return StoreError(
        str(path), "a writable file", str(error.strerror or error), "free disk space, or choose --results"
    )


def identity_of(folder: Folder) -> str:
    """Return the identity of the folder of an experiment: 12 hexadecimal digits in `.identity`, created at first use.

    It distinguishes experiments with the same name on a host, so that deleted results do not reappear.

    Raises:
        StoreError: it cannot be written, or has invalid content.
    """
    path = folder.path / ".identity"
    if not path.exists():
        try:
            write_first(path, f"{secrets.token_hex(6)}\n".encode())
        except OSError as error:
            raise no_room(path, error) from error
    text = path.read_text(encoding="utf-8").strip()
    if not _IDENTITY.fullmatch(text):
        raise StoreError(str(path), "12 hexadecimal digits", repr(text[:40]), "remove the file")
    return text


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder. Rename it to `path` if the block succeeds, else remove it.

    Raises:
        StoreError: the disk is full or the folder cannot be written.
    """
    try:
        with replaced(path) as temporary:
            yield temporary
    except OSError as error:
        raise no_room(path, error) from error


def write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    """Write JSON atomically. `indent` None is for large values: it is five times as fast."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8")
