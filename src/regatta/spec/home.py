"""Where the registries are: the clone, or what goes with the installed package."""

from __future__ import annotations

import os
from pathlib import Path

from regatta.host.errors import RegattaError

_SIGN = Path("configs") / "runtimes.yml"


def reference_path(home: Path, suite: str) -> Path:
    """Where the reference machine of a suite is told in a home."""
    return home / "configs" / "suites" / "reference" / f"{suite}.yml"


def minheaps_path(home: Path, suite: str) -> Path:
    """Where the kept minheaps of a suite are told in a home."""
    return home / "configs" / "suites" / "minheap" / f"{suite}.yml"


def find_home(spec: Path | None = None) -> Path:
    """Find the folder that holds `configs/`, `benchmarks/` and the workflow.

    In this order: `$REGATTA_HOME`; the current directory and those above it; the spec's directory and those above it;
    what was installed with the package.

    Args:
        spec: the spec that is to be read, if there is one.

    Returns:
        an absolute path.

    Raises:
        RegattaError: `$REGATTA_HOME` names another folder, or there is none.
    """
    given = os.environ.get("REGATTA_HOME")
    if given:
        home = Path(given)
        if not (home / _SIGN).is_file():
            raise RegattaError(
                "$REGATTA_HOME", f"a folder with {_SIGN}", given, "correct or unset the variable"
            )
        return home.resolve()
    starts = [Path.cwd()]
    if spec is not None:
        starts.append(spec.resolve().parent)
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / _SIGN).is_file():
                return folder
    packaged = Path(__file__).resolve().parent.parent / "_home"
    if (packaged / _SIGN).is_file():
        return packaged
    raise RegattaError(
        str(Path.cwd()),
        f"a folder with {_SIGN}, here or above",
        "none",
        "change into a clone of Regatta, or set REGATTA_HOME to one",
    )


def known_home() -> Path | None:
    """The folder that `find_home` finds; None where it finds none."""
    try:
        return find_home()
    except RegattaError:
        return None
