"""`regatta trace heap`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from regatta.cli.options import results_option
from regatta.host.errors import RegattaError

_SIZES = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
#: beyond it, the agent cannot count
_MOST = (1 << 31) - 1


def parse_size(text: str, option: str, least: int = 1) -> int:
    """Return the bytes of `512k`, `128m`, `2g`, or of a plain number.

    Raises:
        RegattaError: another text, or less than `least`.
    """
    factor = _SIZES.get(text[-1:].lower(), 1)
    number = text[:-1] if factor > 1 else text
    if not (number.isascii() and number.isdigit()) or int(number) * factor < least:
        raise RegattaError(option, "a size such as 512k, 128m or 2g", repr(text))
    return int(number) * factor


@click.command("heap", context_settings={"allow_interspersed_args": False})
@click.option("-o", "output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File for the heap vector (JSON).")  # fmt: skip
@click.option("--interval", default="8k", show_default=True, metavar="SIZE", help="Count one object for each SIZE allocated bytes on average. 0: every object; then HotSpot removes no allocations, and the program takes several times as long.")  # fmt: skip
@click.option("--every", default="4m", show_default=True, metavar="SIZE", help="Walk the heap after each SIZE allocated bytes. Collections are predicted with this resolution; walks take most of the time.")  # fmt: skip
@click.option("--warmup", type=click.IntRange(0), default=None, help="Number of first iterations to exclude. [default: 1; with --cell: as in the experiment]")  # fmt: skip
@click.option("--name", help="Name of the vector. [default: name of the command]")
@click.option("--benchmark", default="", metavar="SUITE/NAME", help="Benchmark of the vector, to find measured collections.")  # fmt: skip
@click.option("--cell", "benchmark_of_cell", default="", metavar="SUITE/NAME", help="Trace this benchmark of --experiment with its command, JVM and heap, instead of COMMAND.")  # fmt: skip
@click.option("--experiment", default="", metavar="NAME", help="With --cell: a planned experiment.")
@results_option
@click.option("--configuration", default="", help="With --cell: which of its configurations.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def trace_heap(
    output: Path,
    interval: str,
    every: str,
    warmup: int | None,
    name: str | None,
    benchmark: str,
    benchmark_of_cell: str,
    experiment: str,
    results: Path,
    configuration: str,
    command: tuple[str, ...],
) -> None:
    """Describe the heap of a Java application: what it allocates, how long objects live, what they refer to.

    COMMAND starts a JVM of release 11 or later: `java -jar app.jar ...`. It runs twice, and its output goes to standard error:
    once while an agent walks the heap, and once while it only counts allocations, because the compiler of HotSpot removes more
    allocations if nothing can walk the heap. The units of work are the iterations of a program with Regatta's harness, or the whole run of any other
    program. The result does not depend on the collector: `regatta predict gc` predicts others from it.
    """
    if bool(benchmark_of_cell) == bool(command) or bool(benchmark_of_cell) != bool(experiment):
        raise click.UsageError("expected either a command after --, or --cell with --experiment")
    distance = 0 if interval == "0" else parse_size(interval, "--interval")
    step = parse_size(every, "--every")
    for option, size in (("--interval", distance), ("--every", step)):
        if size > _MOST:
            raise RegattaError(option, "less than 2 GiB", f"{size / 2**30:.3g} GiB")
    cell = None
    if benchmark_of_cell:
        from regatta.cli.planned_java import planned_java

        planned = planned_java(benchmark_of_cell, configuration, experiment, results)
        command, cell = planned.command, planned.options["cell"]
        name = name or str(planned.options["name"])
        benchmark = benchmark or str(planned.options["benchmark"])
        warmup = int(str(planned.options["warmup"])) if warmup is None else warmup
    warmup = 1 if warmup is None else warmup

    from regatta.gc.heap_profile import HeapVector, read_heap_profile, with_heap_agent, write_heap_vector
    from regatta.trace.java import reporting_to
    from regatta.trace.java_events import events_agent
    from regatta.trace.planned_command import PlannedCommand
    from regatta.trace.runs import run_to_its_end

    agent = events_agent()
    profiles = []
    for walks_every in (step, 0):
        with tempfile.TemporaryDirectory() as folder:
            file, lines = Path(folder) / "heap.json", Path(folder) / "results.jsonl"
            words = with_heap_agent(command, agent, file, distance, walks_every)
            if isinstance(cell, PlannedCommand):
                cell.check_files()
                words = [*cell.words(Path(folder), lines), *words]
            else:
                words = reporting_to(words, lines)
            run_to_its_end(words)
            profiles.append(read_heap_profile(file))
    per = "iteration" if profiles[0].ends() else "run"
    vector = HeapVector(1, name or Path(command[0]).name, per, benchmark, warmup, *profiles)
    write_heap_vector(vector, output)
    _show(vector, output)


def _show(vector: object, output: Path) -> None:
    from regatta.cli.tables import plain_console, show
    from regatta.gc.heap_profile import HeapVector
    from regatta.gc.tables import heap_table

    assert isinstance(vector, HeapVector)
    click.echo(f"{output}: {len(vector.profile.checkpoints)} walks of the heap of {vector.name}")
    show(plain_console(), heap_table(vector))
