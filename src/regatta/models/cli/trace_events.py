"""`regatta trace events`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.host.errors import RegattaError, SpecError
from regatta.host.files import scratch_folder, written
from regatta.models.cli.trace_options import FILE, FOLDER, OWN_WORDS, command_argument

if TYPE_CHECKING:
    from regatta.host.values.events import Events
    from regatta.models.kernel_traces.model import Trace
    from regatta.models.system_calls.event_tracer import Pairs

#: bytes of the name of a task in Linux
_LONGEST_NAME = 15


@click.command("events", context_settings=OWN_WORDS)
@click.option(
    "-o", "output", type=FOLDER, help="Folder for the trace (Parquet). [default: none, only the measures]"
)
@click.option("--modifier", metavar="NAME", default="events", show_default=True, help="Modifier of configs/modifiers.yml with the events to record, such as events-apache.")  # fmt: skip
@click.option("--after", "after_s", type=click.FloatRange(0, 86400), help="Seconds until the window begins. [default: that of the modifier; with --pid: 0]")  # fmt: skip
@click.option("--for", "for_s", type=click.FloatRange(0.01, 3600), help="Maximum seconds of the window. [default: that of the modifier]")  # fmt: skip
@click.option("--buffer", "buffer_mib", type=click.IntRange(1, 65536), help="MiB of the buffer per CPU. [default: that of the modifier]")  # fmt: skip
@click.option("--overhead", "pairs", type=click.IntRange(0, 100), default=0, show_default=True, help="Pairs of runs of COMMAND without and with recording, to measure its overhead.")  # fmt: skip
@click.option(
    "--pid", type=click.IntRange(min=1), help="Record while this process runs, instead of a COMMAND."
)
@click.option(
    "--ready", type=click.Path(path_type=Path), help="With --pid: create this file once recording has begun."
)
@click.option("--from", "source", type=click.Path(exists=True, path_type=Path), help="Read an existing trace: a folder of this command, a kept recording, the text of ftrace, trace-cmd or perf, or a flight recording (.jfr).")  # fmt: skip
@click.option("--perfetto", type=FILE, help="Also write a file for the viewer ui.perfetto.dev.")
@click.option("--transactions", type=FILE, help="Also write one row per transaction (Parquet): times, states and used objects.")  # fmt: skip
@click.option("--chart", type=FILE, help="Also write a time chart (HTML) of one transaction, or of --window.")
@click.option("--transaction", type=click.IntRange(0), help="With --chart: number of the transaction, its `request` in --transactions. [default: that with the median response time]")  # fmt: skip
@click.option("--window", type=(click.FloatRange(0), click.FloatRange(0)), metavar="BEGIN END", help="With --chart: ms from the begin of the trace, instead of a transaction.")  # fmt: skip
@click.option("--clients", type=click.IntRange(1, 10_000), help="Number of clients, for what-if estimates. [default: mean number of transactions at a time]")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the measures as JSON.")
@click.option("--record-into", type=FOLDER, hidden=True)
@command_argument
def trace_events(
    command: tuple[str, ...],
    source: Path | None,
    pid: int | None,
    record_into: Path | None,
    **options: Any,
) -> None:
    """Record the events of this host while COMMAND runs, and measure where time goes.

    The trace has the states of all threads: running in the program or in the kernel, waiting for a CPU, for a lock, a disk,
    the network or another process. Probes of a modifier divide the work of unmodified programs into phases and
    transactions. Recording needs root and trace-cmd. If an argument of COMMAND is {tracer}, COMMAND starts the recording
    itself (as `web` does after --).
    """
    if sum((source is not None, pid is not None, bool(command))) != 1:
        raise click.UsageError("expected one of COMMAND after --, --pid and --from")
    if pid is None and options["ready"] is not None:
        raise click.UsageError("--ready: expected together with --pid")
    if (options["transaction"] is not None or options["window"] is not None) and options["chart"] is None:
        raise click.UsageError("--transaction and --window: expected together with --chart")
    if options["transaction"] is not None and options["window"] is not None:
        raise click.UsageError("expected --transaction or --window, got both")
    if not command and options["pairs"]:
        raise click.UsageError("--overhead: expected together with a COMMAND")
    with scratch_folder("regatta-events-") as scratch:
        recording, pairs = source, None
        if source is None:
            recording = record_into or scratch / "recording"
            recording.mkdir(exist_ok=True)
            pairs = _record(command, pid, recording, options)
            if record_into is not None:
                return
        assert recording is not None
        trace = _trace(recording, options["output"], scratch / "trace")
        if options["perfetto"] is not None:
            from regatta.models.kernel_traces.perfetto import export_perfetto

            export_perfetto(trace, options["perfetto"])
        if options["transactions"] is not None:
            import pyarrow.parquet as pq

            from regatta.models.kernel_traces.transactions import transaction_table

            with written(options["transactions"]) as file:
                pq.write_table(transaction_table(trace), file)
        if options["chart"] is not None:
            from regatta.models.kernel_traces.topic.chart import write_chart

            begin_ns, end_ns = (
                (round(1e6 * ms) for ms in options["window"]) if options["window"] else (None, None)
            )
            write_chart(trace, options["chart"], begin_ns, end_ns, options["transaction"])
        _show(trace, _task_name(command), pairs, options["as_json"], options["clients"])


def _events(options: dict[str, Any], pid: int | None) -> Events:
    """Return the recording of the modifier, with the options."""
    from dataclasses import replace

    from regatta.host.errors import Problem
    from regatta.spec.home import find_home
    from regatta.spec.problems import unknown
    from regatta.spec.registries import read_registries

    problems: list[Problem] = []
    modifiers = read_registries(find_home(), problems).modifiers
    if problems:
        raise SpecError(problems)
    name = options["modifier"]
    recordings = {key: modifier.events for key, modifier in modifiers.items() if modifier.events is not None}
    if name not in recordings:
        raise SpecError([unknown("--modifier", "a modifier with `events`", name, recordings)])
    given = {key: options[key] for key in ("after_s", "for_s", "buffer_mib") if options[key] is not None}
    if pid is not None:
        given.setdefault("after_s", 0.0)
    return replace(recordings[name], **given)


def _record(command: tuple[str, ...], pid: int | None, folder: Path, options: dict[str, Any]) -> Pairs | None:
    import sys

    from regatta.models.system_calls.event_tracer import record_command, record_process

    events = _events(options, pid)
    if pid is not None:
        record_process(pid, events, folder, options["ready"])
        return None
    words = [sys.executable, "-m", "regatta", "trace", "events", "--pid", "{pid}", "--ready", "{ready}"]
    given = {"modifier": options["modifier"], "for": events.for_s, "buffer": events.buffer_mib}
    if options["after_s"] is not None:
        given["after"] = events.after_s
    words += [word for name, value in given.items() for word in (f"--{name}", str(value))]
    return record_command(command, events, folder, options["pairs"], words)


def _trace(source: Path, wanted: Path | None, scratch: Path) -> Trace:
    """Return the trace of any source; import it into a folder unless it is one."""
    from regatta.host.values.events import ABOUT_FILE
    from regatta.models.kernel_traces.importing import import_recording, import_text, read_about
    from regatta.models.kernel_traces.model import FACTS_FILE, open_trace

    output = wanted or scratch
    if source.is_dir():
        if (source / FACTS_FILE).exists():
            if wanted is not None:
                raise click.UsageError(f"-o: not possible, because {source} is a trace already")
            return open_trace(source)
        if not (source / ABOUT_FILE).exists():
            raise RegattaError(
                str(source),
                f"a folder with {FACTS_FILE} or {ABOUT_FILE}",
                "neither",
                "give a trace, or a kept recording",
            )
        return import_recording(source, output)
    with source.open("rb") as file:
        if file.read(4) == b"FLR\0":
            from regatta.models.kernel_traces.jfr import import_jfr

            # Kept next to a recording of the host, it gets the same clock.
            beside = (source.parent / ABOUT_FILE).exists()
            offset = read_about(source.parent).realtime_offset_ns if beside else None
            return import_jfr(source, output, monotonic_offset_ns=offset)
    return import_text(source, output)


def _task_name(command: tuple[str, ...]) -> str:
    """Return the name that the kernel gives to a command; "" without one."""
    return Path(command[0]).name.encode()[:_LONGEST_NAME].decode(errors="replace") if command else ""


def _show(trace: Trace, first: str, pairs: Pairs | None, as_json: bool, clients: int | None) -> None:
    """Print the measures. `first`: name of the traced command, which is the first process of the table."""
    from regatta.models.kernel_traces.demands import demand_metrics
    from regatta.models.kernel_traces.measures import measure, metrics
    from regatta.models.kernel_traces.tables import measure_tables, waiting_tables

    measures = measure(trace)
    waiting = waiting_tables(trace, measures, clients) if measures.transactions else []
    if as_json:
        listed = [
            {"metric": name, "value": value, "unit": unit, **given}
            for name, value, unit, given in (*metrics(measures), *demand_metrics(measures))
        ]
        told = {
            "seconds": measures.seconds,
            "lost": dict(trace.facts.lost),
            "measures": listed,
            "waiting": [
                {"title": table.title, "columns": table.columns, "rows": table.rows} for table in waiting
            ],
            "remarks": measures.remarks,
        }
        if pairs is not None and pairs.without_ns:
            told["overhead"] = {"with_ns": pairs.traced_ns, "without_ns": pairs.without_ns}
        click.echo(json.dumps(told))
        return
    from regatta.cli.tables import plain_console, show

    console = plain_console()
    lost = sum(trace.facts.lost.values())
    click.echo(f"window of {measures.seconds:.3g} s, {trace.facts.cpus} CPUs, {lost} events lost")
    if measures.transactions:
        response = f"mean response time {(measures.response_ns or 0) / 1e3:,.0f} µs"
        click.echo(f"{measures.transactions} transactions, {measures.throughput:,.0f} per second, {response}")
    for table in (*measure_tables(measures, first), *waiting):
        show(console, table.without_empty())
    if pairs is not None and pairs.without_ns:
        from regatta.models.system_calls.application import ratio_of

        ratio = ratio_of(pairs.traced_ns, pairs.without_ns, 0.95)
        interval = f" [{ratio.low:.3g}, {ratio.high:.3g}] (95 % CI)" if ratio.n > 1 else ""
        click.echo(f"with recording: {ratio.value:.3g} times as long{interval}, {ratio.n} pairs of runs")
    for remark in measures.remarks:
        click.echo(f"remark: {remark}", err=True)
