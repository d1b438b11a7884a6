"""Paths and the experiment from `regatta run` to the workflow, or paths from a user of Snakemake.

`snakemake --config` parses its values as YAML: `2026_11_22` becomes a number, `a: b` a mapping. `regatta run` therefore
passes paths in the environment. Values that are not text are refused.

`regatta run` also passes the experiment that it has read from the spec, as JSON in a file: reading a spec takes a process a
quarter of a second, and all jobs of a run use the same experiment if the spec is edited meanwhile.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from regatta.cli.tables import WIDTH_OF_SCREEN
from regatta.host.errors import HostError, Problem, SpecError
from regatta.host.values.experiment import Experiment
from regatta.host.values.from_json import value_from_json
from regatta.store.folder import Folder, write_json

_SPEC = "REGATTA_RUN_SPEC"
_RESULTS = "REGATTA_RUN_RESULTS"
_EXPERIMENT = "REGATTA_RUN_EXPERIMENT"
_WIDTH = "REGATTA_RUN_WIDTH"
#: paths that Snakemake accepts unchanged: braces are wildcards, and it warns about blanks, `./`, `//` and control characters
_PLAIN = re.compile(r"(?!\./)(?!\s)(?:(?!//)[^{}\x00-\x1f\x7f])+(?<!\s)")


def hand_over(spec: Path, experiment: Experiment, results: Path, width: int) -> dict[str, str]:
    """Write the experiment for the workflow, and return the environment variables that pass it on.

    Args:
        spec: the spec.
        experiment: the experiment of the spec.
        results: folder of results.
        width: columns of the screen that shows the answer at the end.

    Raises:
        SpecError: the database does not support such a folder.
        StoreError: the experiment cannot be written.
    """
    _refuse_for_database(str(results))
    path = Folder(results / experiment.name).receipts / "handed-over.json"
    write_json(path, dataclasses.asdict(experiment), indent=None)
    return {_SPEC: str(spec), _RESULTS: str(results), _EXPERIMENT: str(path.resolve()), _WIDTH: str(width)}


def handed_width() -> int:
    """Return the columns of the screen of `regatta run`, or those without a terminal."""
    width = os.environ.get(_WIDTH, "")
    return int(width) if width.isdecimal() else WIDTH_OF_SCREEN


def handed_experiment(spec: Path, home: Path) -> Experiment:
    """Return the experiment of a spec: as `regatta run` has read it, or read now.

    Raises:
        SpecError: the spec is invalid.
    """
    with suppress(OSError, ValueError, HostError):
        text = Path(os.environ.get(_EXPERIMENT, os.devnull)).read_text(encoding="utf-8")
        experiment = value_from_json(Experiment, json.loads(text), "the experiment of `regatta run`")
        if experiment.spec_path == str(spec):
            return experiment
    from regatta.spec.load import load_spec

    return load_spec(spec, home)


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
                    "a path",
                    f"{type(value).__name__} {value!r}",
                    f"write it so that YAML reads text, for example {key}=./2026_11_22",
                )
            ]
        )
    return _own_path(value)


def _own_path(text: str) -> Path:
    """Return the path, made absolute if it could be parsed as an option."""
    return Path(os.path.abspath(text)) if text.startswith("-") else Path(text)
