"""Location of the registries: the clone, or the data of the installed package."""

from __future__ import annotations

import os
from pathlib import Path

from regatta.host.errors import RegattaError

_SIGN = Path("configs") / "runtimes.yml"


def reference_path(home: Path, suite: str) -> Path:
    """Return the path of the reference machine of a suite in a home."""
    return home / "configs" / "suites" / "reference" / f"{suite}.yml"


def minheaps_path(home: Path, suite: str) -> Path:
    """Return the path of the kept minheaps of a suite in a home."""
    return home / "configs" / "suites" / "minheap" / f"{suite}.yml"


def find_home(spec: Path | None = None) -> Path:
    """Find the folder that holds `configs/`, `benchmarks/` and the workflow.

    The order is: `$REGATTA_HOME`; the current directory and its parents; the spec's directory and its parents; the clone that
    contains this package; the data of the installed package.

    Args:
        spec: the spec to read, if any.

    Returns:
        an absolute path.

    Raises:
        RegattaError: `$REGATTA_HOME` is not such a folder, or none is found.
    """
    given = os.environ.get("REGATTA_HOME")
    if given:
        home = Path(given)
        if not (home / _SIGN).is_file():
            raise RegattaError(
                "$REGATTA_HOME", f"a folder with {_SIGN}", given, "correct or unset the variable"
            )
        return home.resolve()
    package = Path(__file__).resolve().parents[1]
    starts = [Path.cwd(), *([] if spec is None else [Path(os.path.realpath(spec)).parent]), package]
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / _SIGN).is_file():
                return folder
    packaged = package / "_home"
    if (packaged / _SIGN).is_file():
        return packaged
    raise RegattaError(
        str(Path.cwd()),
        f"a folder with {_SIGN} in this directory or a parent",
        "not found",
        "change into a clone of Regatta, or set REGATTA_HOME to one",
    )


def known_home() -> Path | None:
    """Return the folder of `find_home`; None if it finds none."""
    try:
        return find_home()
    except RegattaError:
        return None
