"""Mount only the files that a cell names into its container, under their host paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from regatta.host.values.plan_cell import PlanCell


def mounts_of(cell: PlanCell, writable: Iterable[Path], gate: Path) -> list[dict[str, Any]]:
    """Return the engine's `Mounts`: the cell's files and folders and the gate's read-only, the program's own writable.

    The parent of the program's own folders is not mounted: a mount point cannot be replaced by a link.
    """
    return [
        *(_bind(path, True) for path in _read_only(cell)),
        *(_bind(str(folder), False) for folder in writable),
        # A read-only mount still allows writing to the pipes, but not replacing them.
        _bind(str(gate), True),
    ]


def _bind(path: str, read_only: bool) -> dict[str, Any]:
    return {"Type": "bind", "Source": path, "Target": path, "ReadOnly": read_only}


def _read_only(cell: PlanCell) -> list[str]:
    """Return paths ordered so that none hides another. A path inside another needs no mount."""
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
    """Return targets of links that lead out of a runtime's folder: distributions keep a JVM's configuration in /etc."""
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
    """Return the command to execute inside. A host program that is a link is replaced by its target, which is mounted."""
    if argv[0] in cell["isolation"]["programs"]:
        return argv
    real = os.path.realpath(argv[0])
    seen = any(real == path or _inside(real, path) for path in _read_only(cell))
    return [real, *argv[1:]] if seen else argv
