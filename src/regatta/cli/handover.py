"""Paths from `regatta run` to the workflow, or from a user of Snakemake.

`snakemake --config` parses its values as YAML: `2026_11_22` becomes a number, `a: b` a mapping. `regatta run` therefore
passes paths in the environment. Values that are not text are refused.
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
#: paths that Snakemake accepts unchanged: braces are wildcards, and it warns about blanks, `./`, `//` and control characters
_PLAIN = re.compile(r"(?!\./)(?!\s)(?:(?!//)[^{}\x00-\x1f\x7f])+(?<!\s)")


def hand_over(spec: Path, results: Path) -> dict[str, str]:
    """Return the environment variables that pass one experiment to the workflow.

    Raises:
        SpecError: the database does not support such a folder.
    """
    _refuse_for_database(str(results))
    return {_SPEC: str(spec), _RESULTS: str(results)}


def wanted_specs(config: Mapping[str, Any]) -> list[Path]:
    """Return the specs to run: from `regatta run`, from `--config`, or from `experiments` in the config file.

    Raises:
        SpecError: a value is not text.
    """
    if _SPEC in os.environ:
        return [_own_path(os.environ[_SPEC])]
    if "spec" in config:
        return [_path("spec", config["spec"])]
    return [_path("experiments", value) for value in config["experiments"]]


def wanted_results(config: Mapping[str, Any], directories: Collection[str]) -> str:
    """Return the results folder from `regatta run`, from `--config`, or from the specs, which must agree.

    Raises:
        SpecError: the value is not text, the specs name several folders, or the database does not support such a folder.
    """
    if _RESULTS in os.environ:
        path = str(_own_path(os.environ[_RESULTS]))
    elif "results" in config:
        path = str(_path("results", config["results"]))
    elif len(set(directories)) == 1:
        path = str(_own_path(next(iter(directories))))
    else:
        found = ", ".join(sorted(set(directories)))
        fix = "choose one: --config results=DIR"
        raise SpecError([Problem("results of the specs", "one folder for all of them", found, fix)])
    _refuse_for_database(path)
    return path


def path_for_snakemake(results: str) -> str:
    """Return a path of the results folder without special characters of Snakemake's file patterns.

    Patterns cannot quote a brace. A folder with one is reached through a link in `.snakemake`, whose name depends only on the
    folder. Call it in the working directory of the workflow.
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
    """Refuse paths that DuckDB misreads: a backslash as `/`, and text after `?` as options."""
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
                    f"write it so that YAML reads text, for example {key}=./2026_11_22",
                )
            ]
        )  # fmt: skip
    return _own_path(value)


def _own_path(text: str) -> Path:
    """Return the path, made absolute if it could be parsed as an option."""
    return Path(os.path.abspath(text)) if text.startswith("-") else Path(text)
