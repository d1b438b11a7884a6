"""What a container sees of the host: the files that its cell names, under their own paths, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from regatta.host.values.plan_cell import PlanCell


def mounts_of(cell: PlanCell, writable: Iterable[Path], gate: Path) -> list[dict[str, Any]]:
    """The engine's `Mounts`: the cell's files and folders read-only, the program's own writable, the gate's read-only.

    The folder that holds the program's own is not among them: what is mounted cannot be replaced by a link.
    """
    return [
        *(_bind(path, True) for path in _read_only(cell)),
        *(_bind(str(folder), False) for folder in writable),
        # Pipes can be written to all the same; they cannot be replaced.
        _bind(str(gate), True),
    ]


def _bind(path: str, read_only: bool) -> dict[str, Any]:
    return {"Type": "bind", "Source": path, "Target": path, "ReadOnly": read_only}


def _read_only(cell: PlanCell) -> list[str]:
    """Paths in an order in which none hides another; those inside another need no mount of their own."""
    paths = [file["path"] for file in cell["files"]]
    for folder in cell["isolation"]["folders"]:
        paths += [folder, *_links_out_of(folder)]
    found: list[str] = []
    for path in sorted(set(paths)):
        if not any(_inside(path, outer) for outer in found):
            found.append(path)
    return found


def _inside(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


@cache
def _links_out_of(folder: str) -> tuple[str, ...]:
    """What links in a runtime's folder lead to elsewhere: a distribution keeps a JVM's configuration in /etc."""
    return tuple(dict.fromkeys(_targets(os.path.realpath(folder))))


def _targets(root: str) -> Iterator[str]:
    for here, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(here, name)
            if os.path.islink(path):
                target = os.path.realpath(path)
                if os.path.exists(target) and not _inside(target, root):
                    yield target


def container_command(cell: PlanCell, argv: list[str]) -> list[str]:
    """A command as it is executed inside. A program of the host that is a link is called by what it is a link to, which is there."""
    if argv[0] in cell["isolation"]["programs"]:
        return argv
    real = os.path.realpath(argv[0])
    seen = any(real == path or _inside(real, path) for path in _read_only(cell))
    return [real, *argv[1:]] if seen else argv
