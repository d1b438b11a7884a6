"""Compilation plans for replay: from the compilation logs of some runs to compiler directives of HotSpot.

A plan holds the compiler of every method, not the time of its compilation, its profile or its inlining.

Source: Georges, Buytaert, Eeckhout, Statistically Rigorous Java Performance Evaluation, OOPSLA 2007, sections 2.2 and 6.2.3;
JEP 165 (compiler control).
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regatta.answers.spine.facts import read_facts
from regatta.answers.spine.kept_files import runs_with
from regatta.answers.spine.parts import Sample
from regatta.answers.spine.samples import PlannedCell, load_samples
from regatta.host.errors import StoreError
from regatta.host.values.experiment import plan_path
from regatta.store.database import Progress, open_database

#: name of the kept file, as in the modifier `compilation-log`
LOG = "compilation.log"
#: flags of a modifier that applies a plan. The JVM reports on standard output that it has read directives.
FLAGS = (
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:CompilerDirectivesFile={plan}",
    "-XX:+DisplayVMOutputToStderr",
)
#: how a plan is made of several runs
Choice = Literal["best", "majority"]
#: compiler of a method
Compiler = Literal["c1", "c2"]

_NMETHOD = re.compile(rb"<nmethod [^>]*\blevel='([1-4])'[^>]* method='([^' ]+) ([^' ]+) ([^' ]+)'")
#: C2 is the highest level; levels 1 to 3 belong to C1
_C2_LEVEL = 4
#: classes that the JVM generates: their names differ between runs, so their methods are always free
_GENERATED = ("*+0x*.*", "*$$Lambda*.*", "java/lang/invoke/LambdaForm$*.*")
_IS_GENERATED = re.compile(r"/0x[0-9a-f]+$|\$\$Lambda|^java/lang/invoke/LambdaForm\$")
#: characters that a pattern of a directive can contain; a method with another name cannot be part of a plan
_PATTERN = re.compile(r"[^\s\"\\*,:']+\([^\s\"\\*,:']*\)[^\s\"\\*,:']+")


@dataclass(frozen=True)
class ReplayPlan:
    """The compilation plan of one benchmark on one runtime."""

    benchmark: str
    runtime: str
    #: number of logged runs that it is made of
    runs: int
    #: `best`: the chosen invocation; `majority`: ""
    invocation_id: str
    #: method as in a directive (`java/lang/String.hashCode()I`) -> its compiler; no other method is compiled
    methods: Mapping[str, Compiler]

    @property
    def file(self) -> str:
        """Return the path of its file in the folder of plans."""
        return plan_path(self.benchmark, self.runtime)

    def count(self, compiler: Compiler) -> int:
        """Return the number of methods of a compiler."""
        return sum(each == compiler for each in self.methods.values())

    def directives(self) -> str:
        """Return the file of compiler directives. The JVM applies the first directive that matches a method."""
        parts = [_directive(_GENERATED, c1=True, c2=True)]
        for compiler in ("c2", "c1"):
            patterns = sorted(name for name, each in self.methods.items() if each == compiler)
            if patterns:
                parts.append(_directive(patterns, c1=True, c2=compiler == "c2"))
        parts.append(_directive(["*.*"], c1=False, c2=False))
        return json.dumps(parts, indent=1) + "\n"


def make_plans(
    experiment_dir: Path, choice: Choice, most: int | None = None, progress: Progress | None = None
) -> list[ReplayPlan]:
    """Make the compilation plan of every benchmark and runtime with logged runs.

    Args:
        experiment_dir: `results/<experiment>`, measured with the modifier `compilation-log`.
        choice: `best`: the plan of the run with the best value (with `iterations: {method: replay}`, of the first iteration).
            `majority`: see `majority_of`.
        most: number of valid runs to use, the first in time order; None: all.
        progress: called while the database is built, with (bytes read, total bytes).

    Raises:
        StoreError: there are no logs, fewer than `most` runs, or several cells of one benchmark and runtime.
    """
    facts = read_facts(experiment_dir)
    with open_database(experiment_dir, progress) as connection:
        samples = load_samples(connection, facts.steady)
    cells: dict[tuple[str, str], list[tuple[PlannedCell, list[tuple[Sample, Path]]]]] = {}
    for cell in samples.cells:
        logged = runs_with(experiment_dir, samples, cell, LOG)
        if logged:
            cells.setdefault((cell.place.benchmark, cell.place.runtime), []).append((cell, logged))
    if not cells:
        raise StoreError(
            str(experiment_dir), f"valid runs with the file {LOG}", "none", "measure with the modifier `compilation-log`"
        )  # fmt: skip
    plans = []
    for (benchmark, runtime), found in cells.items():
        where = f"{benchmark} on {runtime}"
        if len(found) > 1:
            raise StoreError(
                where,
                "logged runs of one cell",
                ", ".join(cell.label for cell, _ in found),
                "measure with one host, one collector, one heap size and one set of modifiers",
            )
        (cell, runs) = found[0]
        if len(runs) < (most or 1):
            raise StoreError(
                where, f"{most} logged runs", str(len(runs)), "measure more, or use a smaller --runs"
            )
        runs = runs[:most]
        if choice == "best":
            best = (min if cell.better == "lower" else max)(runs, key=lambda run: run[0].value)
            plans.append(
                ReplayPlan(
                    benchmark,
                    runtime,
                    len(runs),
                    best[0].invocation_id,
                    compilers_of(best[1].read_bytes().splitlines()),
                )
            )
        else:
            logs = [compilers_of(path.read_bytes().splitlines()) for _, path in runs]
            plans.append(ReplayPlan(benchmark, runtime, len(runs), "", majority_of(logs)))
    return plans


def compilers_of(lines: Iterable[bytes]) -> dict[str, Compiler]:
    """Return the compiler of each method in a log of `-XX:+LogCompilation`: C2 if it ever compiled the method, else C1.

    On-stack replacements count as compilations of their method. Methods of generated classes are left out.
    """
    found: dict[str, Compiler] = {}
    for line in lines:
        match = _NMETHOD.match(line)
        if match is None:
            continue
        holder, name, signature = (
            html.unescape(part.decode("utf-8", "replace")) for part in match.groups()[1:]
        )
        holder = holder.replace(".", "/")
        method = f"{holder}.{name}{signature}"
        if _IS_GENERATED.search(holder) or not _PATTERN.fullmatch(method):
            continue
        if int(match[1]) == _C2_LEVEL or method not in found:
            found[method] = "c2" if int(match[1]) == _C2_LEVEL else "c1"
    return found


def majority_of(runs: Sequence[Mapping[str, Compiler]]) -> dict[str, Compiler]:
    """Return the highest compiler that more than half of the runs reach: C2, else C1, else none."""
    reached: Counter[tuple[str, Compiler]] = Counter()
    for run in runs:
        for method, compiler in run.items():
            reached[method, "c1"] += 1
            reached[method, "c2"] += compiler == "c2"
    found: dict[str, Compiler] = {}
    for compiler in ("c1", "c2"):
        # C1 comes first, so that C2 replaces it.
        found |= {
            method: each for (method, each), n in reached.items() if each == compiler and 2 * n > len(runs)
        }
    return found


def _directive(patterns: Sequence[str], c1: bool, c2: bool) -> dict[str, object]:
    # A directive without options for a compiler does not apply to it, and the next one that matches would.
    return {"match": list(patterns), "c1": {"Exclude": not c1}, "c2": {"Exclude": not c2}}
