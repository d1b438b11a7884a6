"""The paths that `regatta run` hands to the workflow, and the same paths as a user of Snakemake gives them.

`snakemake --config` parses its values again: `2026_11_22` becomes a number there, `a: b` a mapping. `regatta run` therefore
hands its paths over in the environment, and a value that is no longer text is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from regatta.host.errors import Problem, SpecError

_SPEC = "REGATTA_RUN_SPEC"
_RESULTS = "REGATTA_RUN_RESULTS"
#: paths that Snakemake takes as they are: braces are wildcards there, and it warns about blanks, `./`, `//` and control characters
_PLAIN = re.compile(r"(?!\./)(?!\s)(?:(?!//)[^{}\x00-\x1f\x7f])+(?<!\s)")


def hand_over(spec: Path, results: Path) -> dict[str, str]:
    """Return the environment variables that name one experiment to the workflow.

    Raises:
        SpecError: the database cannot lie in such a folder.
    """
    _refuse_for_database(str(results))
    return {_SPEC: str(spec), _RESULTS: str(results)}


def wanted_specs(config: Mapping[str, Any]) -> list[Path]:
    """Return the specs to run: that of `regatta run`, that of `--config`, or the `experiments` of the config file.

    Raises:
        SpecError: a value is not text any more.
    """
    if _SPEC in os.environ:
        return [_own_path(os.environ[_SPEC])]
    if "spec" in config:
        return [_path("spec", config["spec"])]
    return [_path("experiments", value) for value in config["experiments"]]


def wanted_results(config: Mapping[str, Any], directories: Collection[str]) -> str:
    """Return the results folder that `regatta run` or `--config` names, or the one that all specs name.

    Raises:
        SpecError: the value is not text any more, the specs name several folders, or the database cannot lie in such a folder.
    """
    if _RESULTS in os.environ:
        path = str(_own_path(os.environ[_RESULTS]))
    elif "results" in config:
        path = str(_path("results", config["results"]))
    elif len(set(directories)) == 1:
        path = str(_own_path(next(iter(directories))))
    else:
        found = ", ".join(sorted(set(directories)))
        fix = "name one: --config results=DIR"
        raise SpecError([Problem("results of the specs", "one folder for all of them", found, fix)])
    _refuse_for_database(path)
    return path


def path_for_snakemake(results: str) -> str:
    """Return a path of the results folder that has no special meaning in the file patterns of Snakemake.

    Patterns cannot quote a brace, so a folder with one is reached through a link in `.snakemake`, whose name depends on the
    folder alone. Call it in the working directory of the workflow.
    """
    if _PLAIN.fullmatch(results):
        return results
    target = os.path.abspath(results)
    link = Path(".snakemake") / f"results-{hashlib.sha256(os.fsencode(target)).hexdigest()[:16]}"
    link.parent.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        link.symlink_to(target, target_is_directory=True)
    os.makedirs(target, exist_ok=True)
    return str(link)


def _refuse_for_database(results: str) -> None:
    """DuckDB takes a backslash in the path of a database for `/`, and what follows `?` for options: refused before it measures."""
    if set("\\?") & set(os.path.abspath(results)):
        expected = r"a path without \ and ? (DuckDB cannot open a database there)"
        raise SpecError([Problem("results", expected, repr(results), "choose another folder")])


def _path(key: str, value: object) -> Path:
    if not isinstance(value, str) or not value:
        raise SpecError(
            [
                Problem(
                    f"--config {key}" if key != "experiments" else "configs/config.yml: experiments",
                    "a path", f"{type(value).__name__} {value!r}",
                    f"write it so that YAML takes it for text, such as {key}=./2026_11_22",
                )
            ]
        )  # fmt: skip
    return _own_path(value)


def _own_path(text: str) -> Path:
    """The path, absolute if a command could take it for an option."""
    return Path(os.path.abspath(text)) if text.startswith("-") else Path(text)
