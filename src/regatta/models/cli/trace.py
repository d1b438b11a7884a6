"""`regatta trace os` and `regatta trace java`; other files have `events`, `files`, `heap` and `memory`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import results_option
from regatta.host.errors import RegattaError
from regatta.models.cli.trace_events import trace_events
from regatta.models.cli.trace_files import trace_files
from regatta.models.cli.trace_heap import trace_heap
from regatta.models.cli.trace_memory import trace_memory

if TYPE_CHECKING:
    from regatta.models.system_calls.runs import Figure
    from regatta.models.system_calls.windows import CountingRequest

TOOLS = ("auto", "bpftrace", "strace")


@click.group()
def trace() -> None:
    """Record the events, file operations or memory of a program, count its calls for `regatta predict`, or profile its heap."""


trace.add_command(trace_events)
trace.add_command(trace_files)
trace.add_command(trace_heap)
trace.add_command(trace_memory)


def _figure(text: str | None, option: str) -> Figure | None:
    from regatta.models.system_calls.runs import parse_figure

    try:
        return None if text is None else parse_figure(text)
    except ValueError:
        raise click.UsageError(
            f"{option}: expected FILE:key, or -:key for the output of the command, got {text!r}"
        ) from None


@trace.command("os", context_settings={"allow_interspersed_args": False})
@click.option(
    "-o", "output", type=click.Path(dir_okay=False, path_type=Path), help="File for the vector (YAML)."
)
@click.option("--tool", type=click.Choice((*TOOLS, "none")), default="auto", show_default=True, help="bpftrace counts in the kernel, has less overhead and needs root. strace works everywhere. `none` does not trace, for comparison.")  # fmt: skip
@click.option("--name", help="Name of the vector. [default: name of the command]")
@click.option("--per", default="run", show_default=True, help="Name of one unit of work of the application.")
@click.option("--units", type=click.FloatRange(min=0, min_open=True), help="Units of work per run, or per window. [default: 1]")  # fmt: skip
@click.option("--units-from", metavar="FILE:KEY", help="Read the units from a JSON object on a line of FILE (`-`: output of the command). With --pid: a growing counter.")  # fmt: skip
@click.option(
    "--elapsed-from",
    metavar="FILE:KEY",
    help="Read the elapsed time of a run, in ns, in the same way. [default: the clock]",
)
@click.option("--user-time-from", metavar="FILE:KEY", help="Read the user time of a run, in ns, in the same way. [default: from the kernel]")  # fmt: skip
@click.option("--benchmark", default="", metavar="SUITE/NAME", help="Benchmark of the vector, to find measured times.")  # fmt: skip
@click.option("--overhead", "pairs", type=click.IntRange(0, 100), default=None, help="Runs (or windows) without and with the tracer, alternating. [default: 3; with --pid: 0, one traced window]")  # fmt: skip
@click.option("--level", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True, help="Confidence level of the intervals.")  # fmt: skip
@click.option("--pid", type=click.IntRange(min=1), help="Trace a running process with all its descendants.")
@click.option("--for", "--for-s", "for_s", type=click.FloatRange(min=0.1), help="With --pid: length of a window in seconds. [default: until SIGINT or SIGTERM]")  # fmt: skip
@click.option(
    "--ready", type=click.Path(path_type=Path), help="With --pid: create this file once tracing has started."
)
@click.option(
    "--tally", type=click.Path(dir_okay=False, path_type=Path), help="Also write the raw counts, as JSON."
)
@click.option("--calls", type=click.Path(dir_okay=False, path_type=Path), help="Table of calls. [default: configs/primitives/os-calls.yml]")  # fmt: skip
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def trace_os(command: tuple[str, ...], **options: object) -> None:
    """Trace the system calls of COMMAND, or of a running process, and count them as primitives.

    COMMAND runs alternately without and with the tracer; its output goes to standard error. If one of its arguments is
    {tracer}, COMMAND starts the tracing command itself (as `web` does after --) and replaces {pid} and {ready} in it.
    """
    from regatta.models.system_calls.tools import choose_tool
    from regatta.models.system_calls.windows import CountingRequest

    pid = options["pid"]
    if (pid is None) == (not command):
        raise click.UsageError("expected either a command after --, or --pid")
    if options["output"] is None and options["tally"] is None:
        raise click.UsageError("expected -o FILE")
    if options["units"] is not None and options["units_from"] is not None:
        raise click.UsageError("expected --units or --units-from, got both")
    if pid is None and (options["for_s"] is not None or options["ready"] is not None):
        raise click.UsageError("--for and --ready: expected together with --pid")
    if pid is not None and options["pairs"] and not (options["for_s"] and options["units_from"]):
        raise click.UsageError("--overhead with --pid: expected together with --for and --units-from")
    for option in ("name", "per"):
        if options[option] == "":
            raise click.UsageError(f"--{option}: expected text, got nothing")
    figures = {key: _figure(_text(options.pop(key)), f"--{key.replace('_', '-')}") for key in _FIGURES}
    wanted = CountingRequest(command=command, figures=figures, fingerprint=_fingerprint(), **options)  # type: ignore[arg-type]
    tool, why = choose_tool(wanted.tool)
    if why:
        click.echo(f"tracing with {tool} ({why})", err=True)
    _trace(wanted, tool, "os-calls.yml")


@trace.command("java", context_settings={"allow_interspersed_args": False})
@click.option(
    "-o", "output", type=click.Path(dir_okay=False, path_type=Path), help="File for the vector (YAML)."
)
@click.option("--name", help="Name of the vector. [default: name of the command]")
@click.option("--per", help="Name of one unit of work of the application. [default: iteration; with --startup: start]")  # fmt: skip
@click.option("--startup", is_flag=True, help="Count what comes before the counted iterations, with the classes loaded and the bytecode compiled.")  # fmt: skip
@click.option("--cell", "benchmark_of_cell", default="", metavar="SUITE/NAME", help="Trace this benchmark of --experiment with its command, JVM, heap and warm-up, instead of COMMAND.")  # fmt: skip
@click.option("--experiment", default="", metavar="NAME", help="With --cell: a planned experiment.")
@results_option
@click.option("--configuration", default="", help="Name of this JVM in system vectors, such as `temurin-17 parallel`, to predict elapsed times. With --cell: which of its configurations.")  # fmt: skip
@click.option("--warmup", type=click.IntRange(0), default=None, help="Number of first iterations to exclude. [default: 1; with --cell: as in the experiment]")  # fmt: skip
@click.option("--benchmark", default="", metavar="SUITE/NAME", help="Benchmark of the vector, to find measured times.")  # fmt: skip
@click.option("--overhead", "pairs", type=click.IntRange(0, 100), default=None, help="Runs without and with the profiler, alternating. 0: one run, with the profiler. [default: 3]")  # fmt: skip
@click.option("--level", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True, help="Confidence level of the intervals.")  # fmt: skip
@click.option(
    "--tally", type=click.Path(dir_okay=False, path_type=Path), help="Also write the raw counts, as JSON."
)
@click.option("--calls", type=click.Path(dir_okay=False, path_type=Path), help="Table of calls. [default: configs/primitives/java-calls.yml]")  # fmt: skip
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def trace_java(
    command: tuple[str, ...], benchmark_of_cell: str, experiment: str, results: Path, **options: object
) -> None:
    """Count the calls of a Java application into system classes, as primitives.

    COMMAND starts a JVM: `java -jar app.jar ...`. It runs alternately without and with the profiler, then once with an
    agent that counts events and once with sampled threads. Its output goes to standard error. The units of work are
    the iterations of a program with Regatta's harness, or the whole run of any other program. With --startup, the unit
    of work is what comes before the counted iterations of such a program.

    A JVM that differs from --configuration is refused. `--cell SUITE/NAME --experiment NAME` needs no COMMAND.
    """
    from regatta.models.system_calls.windows import JAVA, CountingRequest

    if bool(benchmark_of_cell) == bool(command) or bool(benchmark_of_cell) != bool(experiment):
        raise click.UsageError("expected either a command after --, or --cell with --experiment")
    if options["output"] is None and options["tally"] is None:
        raise click.UsageError("expected -o FILE")
    if options["name"] == "" or options["per"] == "":
        raise click.UsageError("--name and --per: expected text, got nothing")
    options["per"] = options["per"] or ("start" if options["startup"] else "iteration")
    nothing = dict.fromkeys(("units", "pid", "for_s", "ready"))
    if benchmark_of_cell:
        from regatta.models.cli.planned_java import planned_java

        planned = planned_java(benchmark_of_cell, str(options["configuration"]), experiment, results)
        command = planned.command
        given = {key: value for key, value in options.items() if value not in (None, "")}
        options |= {**planned.options, **given, "configuration": planned.configuration}
    elif options["warmup"] is None:
        options["warmup"] = 1
    wanted = CountingRequest(
        command=command, figures=dict.fromkeys(_FIGURES), fingerprint=_fingerprint(), tool=JAVA, **nothing, **options  # type: ignore[arg-type]
    )  # fmt: skip
    _trace(wanted, JAVA, "java-calls.yml")


_FIGURES = ("units_from", "elapsed_from", "user_time_from")


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _fingerprint() -> str:
    from regatta.answers.spine.facts import fingerprint_of
    from regatta.host.facts import local_facts

    return fingerprint_of(local_facts())


def _trace(wanted: CountingRequest, tool: str, calls: str) -> None:
    from regatta.models.system_calls.runs import write_tally
    from regatta.models.system_calls.windows import measure, vector_of
    from regatta.models.vectors.calls import read_calls
    from regatta.models.vectors.files import write_vector
    from regatta.spec.home import find_home

    table = read_calls(wanted.calls or find_home() / "configs" / "primitives" / calls)
    _check_first(wanted, tool)
    measured = measure(wanted, tool, table)
    if wanted.tally is not None:
        write_tally(measured.traces[0].tally, wanted.tally)
    if wanted.output is None:
        return
    vector = vector_of(wanted, tool, table, measured)
    write_vector(vector, wanted.output)
    _show(vector.provenance, len(vector.counts), str(wanted.output))


def _check_first(wanted: CountingRequest, tool: str) -> None:
    """Validate provenance and output paths before running, because a trace may take hours.

    Raises:
        SpecError: a vector cannot hold this provenance.
        RegattaError: a file cannot be written.
    """
    from regatta.models.system_calls.windows import about_of, origin_of
    from regatta.models.vectors.files import parse_vector, vector_text
    from regatta.models.vectors.values import ApplicationVector, Count, Value

    about = about_of(wanted)
    counts = (Count("null_call", Value.exact(1.0)),)
    blank = ApplicationVector(
        about.name, about.per, counts, about.level, benchmark=about.benchmark, provenance=origin_of(wanted, tool)
    )  # fmt: skip
    parse_vector(vector_text(blank), "the new vector")
    if wanted.output is not None:
        check_writable(wanted.output)
    if wanted.tally is not None:
        check_writable(wanted.tally, in_place=True)


def check_writable(path: Path, in_place: bool = False) -> None:
    """Check that a file can be replaced by renaming, as for vectors, or written in place or created, as for tallies.

    Raises:
        RegattaError: it cannot.
    """
    try:
        if in_place and path.exists():
            path.open("ab").close()
            return
        if not in_place:
            path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent):
            pass
    except OSError as error:
        got = error.strerror or str(error)
        raise RegattaError(
            str(path), "a writable file", got, "free disk space, or choose another folder"
        ) from error


def _show(provenance: object, counts: int, path: str) -> None:
    told = dict(provenance)  # type: ignore[call-overload]
    click.echo(f"{path}: {counts} entries from {told['calls']} calls, {told['units']} units of work")
    click.echo(f"overhead of {told['tool']}: {told['overhead']}")
    if "system_share" in told:
        click.echo(f"time in system classes: {told['system_share']}")
    if "code" in told:
        click.echo(f"kinds of code: {told['code']}")
    for key in ("unknown", "remarks", "notes"):
        if key in told:
            click.echo(f"{key}: {told[key]}", err=True)
    sys.stdout.flush()
