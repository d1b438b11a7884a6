"""`ask WHAT`: answer a question of the controller about this host, or create resources here.

The question is one JSON object on standard input. The answer is one line of JSON on standard output, `{"answer": ...}` or
`{"error": {...}}`; messages go to standard error.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Union

from regatta.host.errors import HostError, RegattaError
from regatta.host.minheap.search import Attempts, MinheapSearch
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import Experiment
from regatta.host.values.from_json import value_from_json
from regatta.host.values.host import Host
from regatta.host.values.resolved import ResolvedHost
from regatta.host.values.supplies import Supplies


@dataclasses.dataclass(frozen=True)
class Facts:
    """Ask for the facts of this machine."""


@dataclasses.dataclass(frozen=True)
class Resolve:
    """Ask to resolve an experiment here, or for the files that are missing."""

    experiment: Experiment
    host: Host
    supplies: Supplies


@dataclasses.dataclass(frozen=True)
class Train:
    """Ask for the training runs of these cells."""

    cells: tuple[Cell, ...]
    experiment: Experiment
    host: ResolvedHost


Question = Union[Facts, Resolve, Train, MinheapSearch]


def command(argv: Sequence[str]) -> int:
    """Answer one question. Return exit code 0 even if the answer is an error."""
    if len(argv) != 2 or argv[0] not in _QUESTIONS:
        print(f"usage: regatta.pyz ask {'|'.join(_QUESTIONS)} ROOT", file=sys.stderr)
        return 2
    what, root = argv
    os.environ["REGATTA_CACHE"] = os.path.join(root, "cache")
    kind, answer = _QUESTIONS[what]
    try:
        told: dict[str, Any] = {"answer": answer(_question(kind, what), Path(root))}
    except RegattaError as error:
        told = {"error": _problems(error)}
    except OSError as error:
        told = {
            "error": _problems(
                RegattaError(str(error.filename or "host"), "a successful system call", str(error))
            )
        }
    print(json.dumps(told))
    return 0


def _question(kind: type[Any], what: str) -> Any:
    where = f"question `{what}`"
    try:
        value = json.loads(sys.stdin.buffer.read())
    except (ValueError, RecursionError) as error:
        raise HostError(where, "one JSON object", str(error)) from error
    return value_from_json(kind, value, where)


def _problems(error: RegattaError) -> dict[str, Any]:
    return {
        "exit_code": error.exit_code,
        "problems": [[p.where, p.expected, p.got, p.fix] for p in error.problems],
    }


def _facts(question: Facts, root: Path) -> dict[str, Any]:
    """Return the facts of this machine, its clock, its JVMs, and its Slurm node name."""
    from regatta.host.facts import installed_jvms, local_facts

    return {
        "facts": local_facts(),
        "jvms": installed_jvms(os.environ["REGATTA_CACHE"], str(root)),
        "utc_ns": time.time_ns(),
        "node": os.environ.get("SLURMD_NODENAME", ""),
    }


def _resolve(question: Resolve, root: Path) -> dict[str, Any]:
    """Return the resolved resources of an experiment, or the missing files."""
    from regatta.host.ready.resolving import lacking, resolve

    lacks = lacking(question.experiment, question.supplies)
    if lacks:
        return {"lacks": lacks}
    return {"resolved": dataclasses.asdict(resolve(question.experiment, question.host, question.supplies))}


def _train(question: Train, root: Path) -> dict[str, Any]:
    """Execute the training runs of cells. Return cell id -> file or error."""
    from regatta.host.ready.training import train_here

    made = train_here(question.cells, question.experiment, question.host)
    return {
        cell_id: {"error": _problems(file)}
        if isinstance(file, RegattaError)
        else {"file": dataclasses.asdict(file)}
        for cell_id, file in made.items()
    }


def _minheap(question: MinheapSearch, root: Path) -> dict[str, Any]:
    """Search one minheap here. Record every attempt in the host's folder."""
    from regatta.host.minheap.running import search_here

    attempts = Attempts(root / "minheap", question)
    return {"heap_mib": search_here(attempts), "attempts": str(attempts.path)}


#: question -> type of the question, and the function that answers it
_QUESTIONS: dict[str, tuple[type[Any], Callable[[Any, Path], dict[str, Any]]]] = {
    "facts": (Facts, _facts),
    "resolve": (Resolve, _resolve),
    "train": (Train, _train),
    "minheap": (MinheapSearch, _minheap),
}
