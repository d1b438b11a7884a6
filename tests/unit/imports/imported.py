"""Imports a kept or written file and loads what came of it, for tests."""

from __future__ import annotations

from pathlib import Path

from regatta.host.values.experiment import Experiment
from regatta.host.values.template import fill, scalar_text
from regatta.imports.drafts import Imported, write_files
from regatta.imports.rebench import import_rebench
from regatta.imports.running_ng import import_running_ng
from regatta.spec.load import load_spec

HOME = Path(__file__).parents[3]
HERE = Path(__file__).parent
REBENCH = sorted((HERE / "rebench").glob("*.conf"))
RUNNING_NG = sorted((HERE / "running_ng").glob("*.yml"))


def of_running_ng(path: Path, heaps: int = 8) -> Imported:
    """A running-ng file; the folder of the kept ones stands for running-ng's own."""
    return import_running_ng(path, HOME, heaps, HERE / "running_ng")


def of_rebench(path: Path) -> Imported:
    """A ReBench file."""
    return import_rebench(path, HOME)


def load(found: Imported, folder: Path) -> dict[str, Experiment]:
    """Every spec of an import, by name, after it was written and read again."""
    write_files(found.files(), folder, force=True)
    return {spec.name: load_spec(folder / spec.file, HOME) for spec in found.specs}


def commands(experiment: Experiment) -> list[tuple[str, tuple[str, ...], dict[str, str]]]:
    """Folder, words and environment of every benchmark of an experiment."""
    found = []
    for benchmark in experiment.benchmarks:
        values = {name: scalar_text(value) for name, value in benchmark.parameters.items()}
        values["runtime"] = "{runtime}"
        values["iterations"] = str(experiment.steady.iterations)
        values |= {f"program.{name}": name for name in benchmark.programs}
        words = [fill(word, values) for word in benchmark.command]
        folder = words[1].removeprefix("--chdir=") if words[0] == "env" else ""
        found.append((folder, tuple(words[2:] if folder else words), dict(benchmark.environment)))
    return found
