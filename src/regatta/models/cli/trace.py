"""`regatta trace os` and `regatta trace java`; other files have `events`, `files`, `heap` and `memory`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.models.cli.trace_events import trace_events
from regatta.models.cli.trace_files import trace_files
from regatta.models.cli.trace_heap import trace_heap
from regatta.models.cli.trace_memory import trace_memory
from regatta.models.cli.trace_options import (
    OWN_WORDS,
    benchmark_option,
    calls_option,
    cell_options,
    check_cell,
    check_writable,
    command_argument,
    level_option,
    name_option,
    tally_option,
    vector_option,
)

if TYPE_CHECKING:
    from regatta.models.system_calls.runs import Figure
    from regatta.models.system_calls.windows import CountingRequest
    from regatta.models.vectors.values import ApplicationVector

TOOLS = ("auto", "bpftrace", "strace")
OS_CALLS, JAVA_CALLS = "os-calls.yml", "java-calls.yml"
#: iterations of a program with Regatta's harness that do not count
WARMUP = 1


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


@trace.command("os", context_settings=OWN_WORDS)
@vector_option
@click.option("--tool", type=click.Choice((*TOOLS, "none")), default="auto", show_default=True, help="bpftrace counts in the kernel, has less overhead and needs root. strace works everywhere. `none` does not trace, for comparison.")  # fmt: skip
@name_option
@click.option("--per", default="run", show_default=True, help="Name of one unit of work of the application.")
@click.option("--units", type=click.FloatRange(min=0, min_open=True), help="Units of work per run, or per window. [default: 1]")  # fmt: skip
@click.option("--units-from", metavar="FILE:KEY", help="Read the units from a JSON object on a line of FILE (`-`: output of the command). With --pid: a growing counter.")  # fmt: skip
@click.option(
    "--elapsed-from",
    metavar="FILE:KEY",
    help="Read the elapsed time of a run, in ns, in the same way. [default: the clock]",
)
@click.option("--user-time-from", metavar="FILE:KEY", help="Read the user time of a run, in ns, in the same way. [default: from the kernel]")  # fmt: skip
@benchmark_option
@click.option("--overhead", "pairs", type=click.IntRange(0, 100), default=None, help="Runs (or windows) without and with the tracer, alternating. [default: 3; with --pid: 0, one traced window]")  # fmt: skip
@level_option
@click.option("--pid", type=click.IntRange(min=1), help="Trace a running process with all its descendants.")
@click.option("--for", "--for-s", "for_s", type=click.FloatRange(min=0.1), help="With --pid: length of a window in seconds. [default: until SIGINT or SIGTERM]")  # fmt: skip
@click.option(
    "--ready", type=click.Path(path_type=Path), help="With --pid: create this file once tracing has started."
)
@tally_option
@calls_option(OS_CALLS)
@command_argument
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
    wanted = CountingRequest(command=command, figures=figures, fingerprint=this_machine(), **options)  # type: ignore[arg-type]
    tool, why = choose_tool(wanted.tool)
    if why:
        click.echo(f"tracing with {tool} ({why})", err=True)
    _trace(wanted, tool, OS_CALLS)


@trace.command("java", context_settings=OWN_WORDS)
@vector_option
@name_option
@click.option(
    "--per",
    help="Name of one unit of work of the application. [default: iteration, or run of a program without Regatta's harness; with --startup: start]",
)
@click.option("--startup", is_flag=True, help="Count what comes before the counted iterations, with the classes loaded and the bytecode compiled.")  # fmt: skip
@cell_options(
    "Trace",
    "Name of this JVM in system vectors, such as `temurin-17 parallel`, to predict elapsed times. With --cell: which of its configurations.",
)
@benchmark_option
@click.option("--overhead", "pairs", type=click.IntRange(0, 100), default=None, help="Runs without and with the profiler, alternating. 0: one run, with the profiler. [default: 3]")  # fmt: skip
@level_option
@tally_option
@calls_option(JAVA_CALLS)
@command_argument
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

    check_cell(command, benchmark_of_cell, experiment)
    if options["output"] is None and options["tally"] is None:
        raise click.UsageError("expected -o FILE")
    if options["name"] == "" or options["per"] == "":
        raise click.UsageError("--name and --per: expected text, got nothing")
    options["per"] = options["per"] or ("start" if options["startup"] else "")
    nothing = dict.fromkeys(("units", "pid", "for_s", "ready"))
    if benchmark_of_cell:
        from regatta.models.cli.planned_java import planned_java

        planned = planned_java(benchmark_of_cell, str(options["configuration"]), experiment, results)
        command = planned.command
        given = {key: value for key, value in options.items() if value not in (None, "")}
        options |= {**planned.options, **given, "configuration": planned.configuration}
    elif options["warmup"] is None:
        options["warmup"] = WARMUP
    wanted = CountingRequest(
        command=command, figures=dict.fromkeys(_FIGURES), fingerprint=this_machine(), tool=JAVA, **nothing, **options  # type: ignore[arg-type]
    )  # fmt: skip
    _trace(wanted, JAVA, JAVA_CALLS)


_FIGURES = ("units_from", "elapsed_from", "user_time_from")


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def this_machine() -> str:
    """Return the fingerprint of this machine, as in the provenance of vectors."""
    from regatta.answers.spine.facts import fingerprint_of
    from regatta.host.facts import local_facts

    return fingerprint_of(local_facts())


def trace_command(
    command: Sequence[str],
    output: Path,
    calls: str,
    name: str,
    pairs: int,
    level: float,
    configuration: str = "",
) -> ApplicationVector:
    """Trace a command, each run of which is one unit of work, into the file of a vector, and show what was found.

    Args:
        command: a JVM if the table of calls is Java's.
        output: of the vector.
        calls: the table of calls in `configs/primitives`.
        name: of the vector.
        pairs: runs without and with the tracer.
        level: confidence of the intervals.
        configuration: of the JVM, as in system vectors; "" if it has no name.

    Raises:
        RegattaError: the command or the tracer fails, or the file cannot be written.
    """
    from regatta.models.system_calls.tools import choose_tool
    from regatta.models.system_calls.windows import JAVA, CountingRequest

    tool, why = (JAVA, "") if calls == JAVA_CALLS else choose_tool("auto")
    if why:
        click.echo(f"tracing with {tool} ({why})", err=True)
    nothing = dict.fromkeys(("units", "pid", "for_s", "ready", "tally", "calls"))
    wanted = CountingRequest(
        command=tuple(command), figures=dict.fromkeys(_FIGURES), output=output, tool=tool, name=name, per="",
        benchmark="", pairs=pairs, level=level, warmup=WARMUP, quiet=True, configuration=configuration, fingerprint=this_machine(), **nothing,  # type: ignore[arg-type]
    )  # fmt: skip
    vector = _trace(wanted, tool, calls)
    assert vector is not None
    return vector


def _trace(wanted: CountingRequest, tool: str, calls: str) -> ApplicationVector | None:
    """Trace, write what is wanted, and show it. None if no vector is wanted."""
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
        return None
    vector = vector_of(wanted, tool, table, measured)
    write_vector(vector, wanted.output)
    _show(vector.provenance, len(vector.counts), str(wanted.output))
    return vector


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
