"""`regatta trace heap`."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.models.cli.trace_options import (
    FILE,
    OWN_WORDS,
    cell_options,
    check_cell,
    check_writable,
    command_argument,
    level_option,
    name_option,
)

if TYPE_CHECKING:
    from regatta.models.gc.heap_vector import HeapVector
    from regatta.models.vectors.values import Value
    from regatta.stats.estimate import Interval

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SIZE = re.compile(r"(\d{1,15})([kmg]?)", re.IGNORECASE)
#: walks of a large heap take longer than the program: jess at 1m was more than 40 times slower
_EVERY = "4m"
_MIB = 1 << 20
#: the fewest whose spread says something
_RUNS = 3


class Bytes(click.ParamType[int]):
    """`512k`: bytes, as in the options of a JVM."""

    name = "BYTES"

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes."""
        if isinstance(value, int):
            return value
        found = _SIZE.fullmatch(str(value))
        size = int(found[1]) * _UNITS[found[2].lower()] if found else -1
        if not self._least <= size <= self._most:
            expected = f"bytes from {self._least} to {self._most}, such as 512k or 1m"
            self.fail(f"expected {expected} · got {value!r}", param, ctx)
        return size


@click.command("heap", context_settings=OWN_WORDS)
@click.option("-o", "output", type=FILE, required=True, help="File for the heap vector (JSON).")
@click.option("--interval", type=Bytes(0, (1 << 31) - 1), default="8k", show_default=True, help="Mean bytes between sampled objects. 0: every object, which takes several times as long.")  # fmt: skip
@click.option("--every", type=Bytes(1, 1 << 62), default=_EVERY, show_default=True, help="Allocated bytes between checkpoints, which count the reachable objects. They take most of the time.")  # fmt: skip
@name_option
@click.option("--benchmark", default="", metavar="SUITE/NAME", help="Benchmark of the vector.")
@cell_options("Profile", "With --cell: which of its configurations.")
@click.option("--runs", type=click.IntRange(1, 100), default=_RUNS, show_default=True, help="Runs with the profiler. They differ by what the compiler removes.")  # fmt: skip
@click.option("--overhead", "pairs", type=click.IntRange(0, 100), default=0, show_default=True, help="Also runs without the profiler, alternating with the first of --runs, or with as many.")  # fmt: skip
@level_option
@command_argument
def trace_heap(
    command: tuple[str, ...], benchmark_of_cell: str, experiment: str, results: Path, **options: object
) -> None:
    """Count the objects that a Java application allocates, and those that stay reachable.

    COMMAND starts a JVM: `java -jar app.jar ...`. It runs with an agent that counts allocated objects by size. At each
    checkpoint, the agent counts the reachable objects, their references and their age. The output of COMMAND goes to standard
    error. `regatta predict gc` predicts collections from the result.

    The unit of work is an iteration of a program with Regatta's harness, or the whole run of any other program.
    """
    from regatta.models.gc.heap_profile import profile_heap
    from regatta.models.gc.heap_vector import heap_vector, write_heap_vector

    check_cell(command, benchmark_of_cell, experiment)
    if options["configuration"] and not benchmark_of_cell:
        raise click.UsageError("--configuration: expected together with --cell")
    if options["name"] == "":
        raise click.UsageError("--name: expected text, got nothing")
    given = {key: value for key, value in options.items() if value not in (None, "")}
    chosen: dict[str, object] = {"warmup": 1, "benchmark": "", "cell": None}
    if benchmark_of_cell:
        from regatta.models.cli.planned_java import planned_java

        planned = planned_java(
            benchmark_of_cell, str(options["configuration"]), experiment, results, any_heap=True
        )
        command = planned.command
        chosen |= planned.options
    chosen = {"name": Path(command[0]).name, **chosen, **given}
    output = Path(str(chosen["output"]))
    check_writable(output)
    keys = ("interval", "every", "warmup", "runs", "pairs", "level", "cell")
    profiles, overhead = profile_heap(command, **{key: chosen[key] for key in keys})  # type: ignore[arg-type]
    about = {key: chosen[key] for key in ("benchmark", "warmup", "level")}
    vector = heap_vector(profiles, str(chosen["name"]), **about)  # type: ignore[arg-type]
    write_heap_vector(vector, output)
    _show(vector, overhead, str(output))


def _show(vector: HeapVector, overhead: Value | None, path: str) -> None:
    from regatta.answers.spine.words import counted
    from regatta.cli.tables import plain_console, show_table
    from regatta.models.gc.heap_vector import AGES_MIB, survival_at

    profile, rates = vector.runs[0].profile, vector.rates
    size = rates["bytes"].mapped(lambda value: value / _MIB)
    live = rates["live_bytes"].mapped(lambda value: value / _MIB)
    rows = [
        ("allocated objects per iteration", *_cells(rates["objects"], ".0f")),
        ("allocated MiB per iteration", *_cells(size, ".2f")),
        ("mean object size, bytes", f"{rates['bytes'].point / max(rates['objects'].point, 1):.1f}", ""),
        ("live objects after an iteration", *_cells(rates["live_objects"], ".0f")),
        ("live MiB after an iteration", *_cells(live, ".2f")),
        ("references per live object", *_cells(rates["references_per_object"], ".2f")),
    ]
    for age in AGES_MIB:
        rate = rates.get(survival_at(age))
        unknown = f"--every exceeds {age} MiB" if profile.every_bytes else "not counted"
        cells = _cells(_dead(rate), ".1f") if rate else ("n.d.", unknown)
        rows.append((f"% of bytes dead before {age} MiB of age", *cells))
    if overhead is not None:
        ends = _edges(overhead.low, overhead.high, ".2f", overhead.reason)
        rows.append(("time with the profiler, relative", f"{overhead.value:.2f}", ends))
    sampling = f"1 per {profile.sampling_interval} bytes" if profile.sampling_interval else "every object"
    checkpoints = sum(len(run.profile.checkpoints) for run in vector.runs)
    runs = counted(len(vector.runs), "run")
    title = f"{path}: {vector.name}, {runs}, {sampling}, {checkpoints} checkpoints"
    interval = f"{100 * vector.level:g} % CI"
    show_table(plain_console(), title, ("", "value", interval), rows, left=("", interval))
    missing = dict.fromkeys(name for run in vector.runs for name in run.profile.missing)
    if missing:
        click.echo(f"missing: {', '.join(missing)}", err=True)


def _dead(rate: Interval) -> Interval:
    """Return the percentage that is not reachable; it cannot be below 0."""
    from dataclasses import replace

    def percent(share: float) -> float:
        return 100 * max(1 - share, 0.0) if math.isfinite(share) else share

    return replace(rate, point=percent(rate.point), low=percent(rate.high), high=percent(rate.low))


def _cells(value: Interval, form: str) -> tuple[str, str]:
    point = f"{value.point:{form}}" if math.isfinite(value.point) else "n.d."
    return point, _edges(value.low, value.high, form, value.reason)


def _edges(low: float, high: float, form: str, reason: str) -> str:
    return f"[{low:{form}}, {high:{form}}]" if math.isfinite(low) and math.isfinite(high) else reason
