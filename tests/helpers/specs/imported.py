"""Imports a kept or written file and loads what came of it, for tests."""

from __future__ import annotations

from pathlib import Path

from regatta.host.values.experiment import Exclude, Experiment
from regatta.host.values.template import fill, scalar_text
from regatta.imports.drafts import Imported, write_files
from regatta.imports.rebench import import_rebench
from regatta.imports.running_ng import import_running_ng
from regatta.spec.load import load_spec

HOME = Path(__file__).parents[3]
HERE = HOME / "tests" / "unit" / "imports"
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
    """Folder, words and environment of every benchmark on each runtime that is not excluded.

    A JVM stays `{runtime}`, so that there is one command for all JVMs.
    """
    found = []
    for benchmark in experiment.benchmarks:
        values = {name: scalar_text(value) for name, value in benchmark.parameters.items()}
        values["iterations"] = str(experiment.steady.iterations)
        values |= {f"program.{name}": name for name in benchmark.programs}
        for runtime in experiment.runtimes:
            template = benchmark.command_on(runtime)
            spared = Exclude(benchmark.label, runtime.name) in experiment.excludes
            if runtime.kind != benchmark.kind or not template or spared:
                continue
            started = [runtime.path] if runtime.path != "/usr/bin/env" else []
            started = ["{runtime}"] if runtime.kind == "java" else [*started, *runtime.flags]
            words: list[str] = []
            for word in template:
                words += started if word == "{runtime}" else [fill(word, values)]
            environment = dict(benchmark.environment)
            folder = words[1].removeprefix("--chdir=") if words[0] == "env" else ""
            at = 2 if folder else 0
            for word in template[at : template.index("{runtime}")] if benchmark.kind == "program" else ():
                name, _, value = word.partition("=")
                environment[name] = fill(value, values)
                at += 1
            one = (folder, tuple(words[at:]), environment)
            found += [one] if one not in found else []
    return found
