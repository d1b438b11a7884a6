"""Cost of planning through `regatta plan --write`."""

from __future__ import annotations

import json
import shutil
import statistics
import sys
from functools import partial
from pathlib import Path

from command import run_command
from cost import MIB, Cost, cost_of
from experiments import BIN, REGATTA, Unfit, write_spec
from rows import Row, say

CELLS = 100
#: number of jobs for extrapolating the cost of one
JOBS = 2000

#: The naive version of the plan: one object per invocation, shuffled per round, written as JSON lines.
_OBJECTS = """\
import json, random, sys
from dataclasses import asdict, dataclass

@dataclass
class Invocation:
    round: int
    block: int
    position: int
    cell: int

cells, rounds = int(sys.argv[1]), int(sys.argv[2])
generator = random.Random(1)
plan = []
for round in range(rounds):
    order = list(range(cells))
    generator.shuffle(order)
    plan += [Invocation(round, 0, position, cell) for position, cell in enumerate(order)]
with open("objects.jsonl", "w") as file:
    for invocation in plan:
        file.write(json.dumps(asdict(invocation)) + "\\n")
"""

#: the same plan as a workflow with one job per invocation
_SNAKEFILE = """\
rule all:
    input: expand("done/{{number}}", number=range({jobs}))

rule invocation:
    output: "done/{{number}}"
    shell: "true"
"""


def _ours(place: Path, invocations: int, benchmarks: int = 1) -> Cost:
    rounds = invocations // (CELLS * benchmarks)
    spec = write_spec(place, f"plan{invocations}-{benchmarks}", ["true"], rounds, CELLS, benchmarks)
    folder = place / "results" / spec.stem
    shutil.rmtree(folder, ignore_errors=True)
    cost = cost_of(place, [REGATTA, "plan", str(spec), "--results", "results", "--write"])
    rows = json.loads((folder / "plan" / "local" / "plan.json").read_text())["rows"]
    if rows != invocations:
        raise Unfit(f"expected {invocations} planned invocations, got {rows}")
    shutil.rmtree(folder)
    return cost


def _objects(place: Path, invocations: int) -> Cost:
    """Create this many objects; scale the time to 10^6 at constant cost per object."""
    cost = cost_of(place, [sys.executable, "-c", _OBJECTS, str(CELLS), str(invocations // CELLS)])
    return Cost(cost.elapsed_s * 10**6 / invocations, cost.peak_mib)


def _snakemake(place: Path, jobs: int) -> Cost:
    """Run a dry run: build and sort the graph, without running jobs."""
    folder = place / f"snakemake-{jobs}"
    folder.mkdir(exist_ok=True)
    (folder / "Snakefile").write_text(_SNAKEFILE.format(jobs=jobs))
    command = [
        str(BIN / "snakemake"),
        "--dry-run",
        "--quiet",
        "all",
        "--cores",
        "1",
        "--directory",
        str(folder),
    ]
    return cost_of(place, [*command, "--snakefile", str(folder / "Snakefile")])


def _median(costs: list[Cost]) -> Cost:
    return Cost(statistics.median(c.elapsed_s for c in costs), statistics.median(c.peak_mib for c in costs))


def measure_planning(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    repetitions, objects = (1, 200_000) if quick else (5, 10**6)
    say(f"planning 10^6 and 10^7 invocations, compared with peers, {repetitions} times")
    costs: dict[str, list[Cost]] = {}
    for _ in range(repetitions):
        for name, measure in (
            ("objects", partial(_objects, place, objects)),
            ("ours", partial(_ours, place, 10**6)),
            ("one job", partial(_snakemake, place, 1)),
            ("many cells", partial(_ours, place, 10**6, benchmarks=100)),
            ("jobs", partial(_snakemake, place, JOBS)),
            ("tenfold", partial(_ours, place, 10**7)),
        ):
            costs.setdefault(name, []).append(measure())
    median = {name: _median(found) for name, found in costs.items()}
    of_objects = "a list of Python objects" + (f" (of {objects}, time x {10**6 // objects})" if quick else "")
    return _rows(median, _growths(costs["ours"], costs["tenfold"]), of_objects)


def _growths(ours: list[Cost], tenfold: list[Cost]) -> Cost:
    """Return the median ratio of a tenfold size to the size, per turn."""
    return _median(
        [Cost(b.elapsed_s / a.elapsed_s, b.peak_mib / a.peak_mib) for a, b in zip(ours, tenfold, strict=True)]
    )


def _rows(median: dict[str, Cost], growth: Cost, of_objects: str) -> list[Row]:
    ours, objects, cells, tenfold = (median[name] for name in ("ours", "objects", "many cells", "tenfold"))
    snakemake_s = 10**6 * (median["jobs"].elapsed_s - median["one job"].elapsed_s) / (JOBS - 1)
    of_jobs = f"Snakemake jobs, from {JOBS}"
    most_s, most_mib = 5.0, 500e6 / MIB
    return [
        Row("10^6 invocations of 100 cells: time", "s", ours.elapsed_s, objects.elapsed_s, of_objects,
            "at most", most_s, ours.elapsed_s <= most_s),
        Row("10^6 invocations of 100 cells: memory", "MiB", ours.peak_mib, objects.peak_mib, of_objects,
            "at most 500 MB", most_mib, ours.peak_mib <= most_mib),
        Row("10^6 invocations of 100 cells: time", "s", ours.elapsed_s, snakemake_s, of_jobs,
            "below", snakemake_s, ours.elapsed_s < snakemake_s),
        Row("10^6 invocations of 10,000 cells: time", "s", cells.elapsed_s, objects.elapsed_s, of_objects,
            "at most", most_s, cells.elapsed_s <= most_s),
        Row("10^6 invocations of 10,000 cells: memory", "MiB", cells.peak_mib, objects.peak_mib, of_objects,
            "at most 500 MB", most_mib, cells.peak_mib <= most_mib),
        Row("10^7 invocations of 100 cells: time", "s", tenfold.elapsed_s, ours.elapsed_s, "ours, 10^6",
            "linear, at most 12 x", tenfold.elapsed_s * 12 / growth.elapsed_s, growth.elapsed_s <= 12, growth.elapsed_s),
        Row("10^7 invocations of 100 cells: memory", "MiB", tenfold.peak_mib, ours.peak_mib, "ours, 10^6",
            "linear, at most 12 x", tenfold.peak_mib * 12 / growth.peak_mib, growth.peak_mib <= 12, growth.peak_mib),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(run_command("Costs of planning, compared with peers in the same run.", measure_planning))
