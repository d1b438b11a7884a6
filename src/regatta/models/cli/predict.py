"""`regatta predict APP... --on SYSTEM...`."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.derived_spec import LEAST_ROUNDS
from regatta.cli.options import (
    json_option,
    primitives_option,
    results_option,
    summary_option,
    write_to_influx,
)
from regatta.host.errors import RegattaError
from regatta.host.printable import printable
from regatta.models.cli.named_vectors import (
    incomplete_vectors,
    mix_name,
    named_applications,
    named_systems,
    show_notes,
)
from regatta.models.cli.trace_heap import Bytes
from regatta.models.cli.whole_parts import WholeParts

if TYPE_CHECKING:
    from regatta.models.predict.forecast import Forecast
    from regatta.models.predict.predictions import Replaced, Request, RequestedApplication
    from regatta.models.predict.what_if import Change
    from regatta.models.vectors.sources import Sources, SystemSource
    from regatta.models.vectors.values import ApplicationVector


_ROUNDS, _LEVEL = 5, 0.95
#: what follows `--`, in the context
_COMMAND = "regatta.predict.command"


class _Predict(click.Command):
    """Accepts `--on A B C` for `--on A --on B --on C`, and a command after `--`; passes `gc ...` and `files ...` to other commands."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of the other command if its name comes first."""
        if args and args[0] in ("gc", "files"):
            other = f"predict_{args[0]}"
            command: click.Command = resolve_name(f"regatta.models.cli.{other}:{other}")
            return command.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = tuple(args[at + 1 :])
            args = args[:at]
        on = False
        for arg in args:
            if arg == "--on":
                on = True
            elif on and not arg.startswith("-"):
                spread += ["--on", arg]
            else:
                if on and spread[-2:-1] != ["--on"]:
                    spread.append("--on")
                on = False
                spread.append(arg)
        if on and spread[-2:-1] != ["--on"]:
            spread.append("--on")
        return super().parse_args(ctx, spread)


@click.command(cls=_Predict)
@click.argument("applications", nargs=-1, metavar="[APP[=WEIGHT]...] [-- COMMAND...]")
@click.option(
    "--on",
    "systems",
    multiple=True,
    required=True,
    metavar="SYSTEM...",
    help='Systems: files or directories of system vectors, names in configs/systems, or experiments. With COMMAND also places to measure, such as local or "temurin-21 g1".',
)
@click.option(
    "--what-if",
    "changes",
    multiple=True,
    metavar="[count:]PRIMITIVE=CHANGE",
    help="Change a cost: `tcp_connect=0.5x`, `=-10%`, `=12us`. Or a count: `count:tcp_connect=0.5x`, `=-10%`, `=12`. Repeatable.",
)
@click.option(
    "--optimise",
    is_flag=True,
    help="Show which primitive to optimize: at half its cost, at zero, at the cost of the best system.",
)
@click.option(
    "--replace",
    "replacements",
    multiple=True,
    metavar="OLD=NEW",
    help="Show the speedup from one application to another, also in a mix: apache-cgi=apache-fastcgi. Repeatable.",
)
@click.option(
    "--measured",
    multiple=True,
    metavar="EXPERIMENT",
    help="Also search this experiment for measured times. Repeatable. Experiments of the systems are always searched.",
)
@click.option(
    "--benchmark",
    default="",
    metavar="SUITE/NAME",
    help="Benchmark that measures the application or mix. [default: the one in its vector]",
)
@click.option(
    "--score",
    default="",
    metavar="SUITE",
    help="Compare with another prediction: ratios of the geometric means of this suite's measured times.",
)
@click.option(
    "--own-code",
    default="",
    metavar="SUITE",
    help="Scale the own code of applications by the measured times of this suite, instead of by user_work.",
)
@click.option(
    "--user-over-kernel",
    type=click.FloatRange(0.0, 1000.0),
    metavar="RATIO",
    help="With --replace: the user time is this multiple of the kernel time before, instead of the measured one.",
)
@click.option(
    "--collections",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Heap vector of APP: add the collections of each system's collector in its heap. Needs costs of collectors.",
)
@click.option(
    "--heap",
    type=Bytes(1, 1 << 50),
    metavar="SIZE",
    help="With --collections: size of the heap, such as 128m. [default: that of each system]",
)
@click.option(
    "--files",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Trace of the files of APP: add its waits for the disk. Needs --memory and costs of disks.",
)
@click.option(
    "--memory",
    type=Bytes(1, 1 << 50),
    metavar="SIZE",
    help="With --files: memory of the program and its page cache, such as 64m.",
)
@click.option(
    "--costs",
    multiple=True,
    metavar="EXPERIMENT",
    help="With --collections or --files: experiment with the costs. Repeatable. [default: those of the systems]",
)
@summary_option
@primitives_option
@click.option(
    "--level",
    type=click.FloatRange(0.5, 0.9999),
    help="Confidence level of all intervals. [default: that of the first system]",
)
@click.option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS),
    default=_ROUNDS,
    show_default=True,
    help="With COMMAND: number of rounds in which primitives are measured.",
)
@results_option
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write a page with figures.",
)
@click.option(
    "--ingest",
    is_flag=True,
    help="Also write the predictions to InfluxDB, for the dashboards. Not with --what-if.",
)
@json_option
def predict(
    applications: Sequence[str],
    systems: Sequence[str],
    changes: Sequence[str],
    optimise: bool,
    replacements: Sequence[str],
    measured: Sequence[str],
    benchmark: str,
    score: str,
    own_code: str,
    user_over_kernel: float | None,
    collections: Path | None,
    heap: int | None,
    files: Path | None,
    memory: int | None,
    costs: Sequence[str],
    summary: str,
    primitives: str,
    level: float | None,
    rounds: int,
    results: Path,
    page: Path | None,
    ingest: bool,
    as_json: bool,
) -> int:
    """Predict the time of applications on systems, from how often they use each primitive and its cost there.

    APP is the file of an application vector, or a name in configs/applications. With weights, all APPs form one mix. Several
    shares in per cent give as many mixes: `apache-static apache-cgi=5,15,30`.

    With COMMAND, any program is predicted: it is traced, and the primitives that it uses are measured in the places after --on.
    Earlier traces and measurements are used again.

    `regatta predict gc APP... --on EXPERIMENT` predicts garbage collections instead, and `regatta predict files APP... --on
    EXPERIMENT` times with less memory or on other disks.

    Exit codes: 0 predicted · 1 COMMAND or a measurement failed · 2 wrong vector, name or option · 3 unreadable experiment.
    """
    from regatta.models.predict.predictions import Request, forecast_of
    from regatta.models.vectors.primitives import OS
    from regatta.models.vectors.sources import Sources
    from regatta.spec.home import known_home

    command = click.get_current_context().meta.get(_COMMAND, ())
    if bool(command) == bool(applications):
        raise click.UsageError("expected either APP, or a command after --")
    if command:
        from regatta.models.cli.places import domain_of

        if primitives != OS:
            raise click.UsageError(
                "--primitives: expected together with APP; a command uses the table of its kind"
            )
        primitives = domain_of(command).table
    sources = Sources(known_home(), results, summary, primitives)
    if own_code and replacements:
        got = f"--replace {replacements[0]}"
        fix = "remove one of them; speedups are within one system"
        sources.refuse("--own-code", "no --replace", got, fix)
    if user_over_kernel is not None and not math.isfinite(user_over_kernel):
        sources.refuse("--user-over-kernel", "a number from 0 to 1000", f"{user_over_kernel:g}")
    if user_over_kernel is not None and not replacements:
        sources.refuse("--user-over-kernel", "--replace OLD=NEW, whose speedup it is for", "none", "add it")
    parts = WholeParts(collections, heap, files, memory, costs)
    parts.check(sources.refuse)
    if command and parts.wanted:
        option = "--collections" if collections else "--files"
        sources.refuse(option, "an application vector", "a command", "predict the vector of the command")
    if ingest:
        _check_ingest(changes, parts, sources)
    changed_costs, changed_counts = _changes(changes, sources)
    searched = tuple(
        path for name in measured if (path := sources.experiment(name, "--measured")) is not None
    )
    more: list[SystemSource] = []
    if command:
        from regatta.models.cli.predict_command import vectors_of_command

        # Before anything is traced or measured.
        sources.check()
        vectors = vectors_of_command(command, systems, sources, results, rounds, level or _LEVEL)
        if isinstance(vectors, int):
            return vectors
        applications, systems, more = [vectors.application], vectors.systems, vectors.measured
    asked = named_applications(applications, sources)
    _check_benchmark(benchmark, asked, replacements, sources)
    request = Request(
        tuple(asked),
        (*named_systems(systems, sources), *more),
        searched,
        benchmark,
        changed_costs,
        changed_counts,
        tuple(_replaced(replacements, asked, sources)),
        optimise,
        level,
        score,
        own_code,
        user_over_kernel,
        tuple(sources.registered_systems()),
    )
    sources.check()
    with incomplete_vectors():
        request = parts.in_request(request, sources)
        found = forecast_of(_with_the_replaced(request))
    show_notes(sources, (one.application for one in found.applications))
    for one in found.applications:
        if one.traced_on and all(one.traced_on != system.system for system in one.systems):
            note = f"{one.application.name}: its own code was timed on {one.traced_on}, of configs/systems, and is scaled from there"
            click.echo(f"note: {printable(note)}", err=True)
    if as_json:
        from regatta.answers.kit.plain import plain

        click.echo(json.dumps(plain(found), indent=1, allow_nan=False))
    else:
        from regatta.models.cli.prediction_tables import show_forecast

        show_forecast(found)
    if page is not None:
        from regatta.models.predict.page import write_predictions

        write_predictions(found, page)
        click.echo(str(page), err=as_json)
    if ingest:
        _ingest(found, request)
    return 0


def _check_benchmark(
    benchmark: str, asked: Sequence[RequestedApplication], replacements: Sequence[str], sources: Sources
) -> None:
    """Refuse several applications with a benchmark: all would be compared with the same measured times."""
    if not benchmark or (len(asked) < 2 and not replacements):
        return
    several = f"{len(asked)} applications" if len(asked) > 1 else ""
    got = " and ".join(part for part in (several, *(f"--replace {text}" for text in replacements)) if part)
    fix = "set `benchmark:` in the vector of each application, or predict one at a time"
    sources.refuse("--benchmark", "one application or mix, and no --replace", got, fix)


def _check_ingest(changes: Sequence[str], parts: WholeParts, sources: Sources) -> None:
    """Refuse to ingest other costs, counts or parts: the points replace earlier predictions and do not show the changes."""
    if parts.wanted:
        got = "--collections" if parts.collections else "--files"
        fix = "remove one of them; `--html` and `--json` show these parts"
        sources.refuse("--ingest", "predictions without parts of other models", got, fix)
    if changes:
        got = " ".join(f"--what-if {text}" for text in changes)
        fix = "remove one of them; `--html` and `--json` show the effect of a change"
        sources.refuse("--ingest", "predictions with unchanged costs and counts, without --what-if", got, fix)


def _changes(given: Sequence[str], sources: Sources) -> tuple[dict[str, Change], dict[str, Change]]:
    """Return the changes of costs and those of counts, by primitive."""
    from regatta.models.predict.what_if import COUNT, parse_change

    _check_once("--what-if", "primitive", [(text.partition("=")[0], text) for text in given], sources)
    costs, counts = {}, {}
    for text in given:
        name, _, change = text.partition("=")
        where = f"--what-if {name}".rstrip()
        try:
            if name.startswith(COUNT):
                counts[name.removeprefix(COUNT)] = parse_change(change, where, "count")
            else:
                costs[name] = parse_change(change, where)
        except RegattaError as error:
            sources.problems += error.problems
    return costs, counts


def _check_once(option: str, what: str, named: Sequence[tuple[str, str]], sources: Sources) -> None:
    """Refuse two names of one thing, because one would silently count for both. `named`: (identity, given name)."""
    by_name: dict[str, list[str]] = {}
    for name, text in named:
        by_name.setdefault(name, []).append(text)
    for name, texts in by_name.items():
        if len(texts) > 1:
            where = f"{option} {name}".rstrip()
            sources.refuse(where, f"each {what} once", " and ".join(texts), "keep one of them")


def _replaced(
    given: Sequence[str], asked: Sequence[RequestedApplication], sources: Sources
) -> list[Replaced]:
    """Return every application that contains an old one, with the new one in its place."""
    from regatta.models.predict.mixing import mixed, replaced
    from regatta.models.predict.predictions import Replaced, RequestedApplication

    others: dict[str, ApplicationVector] = {}
    named: list[tuple[str, str]] = []
    known = list(dict.fromkeys(part.name for part in _parts(asked)))
    for text in given if asked else ():
        old, _, new = text.partition("=")
        stem = Path(old).stem
        name = old if old in known else stem if stem in known else ""
        if not name or not new:
            fix = f"{known[0]}=NEW" if known else "OLD=NEW"
            expected = f"OLD=NEW, with OLD one of {', '.join(known)}" if known else "OLD=NEW"
            sources.refuse("--replace", expected, repr(text), fix)
            continue
        named.append((name, text))
        vector = sources.application(new, "--replace")
        if vector is not None and _has_own_name(vector, text, [*_parts(asked), *others.values()], sources):
            others[name] = vector
    _check_once("--replace", "application", named, sources)
    found: list[Replaced] = []
    for one in () if sources.problems else asked:
        names = {part.name for part, _ in one.mix}
        own = {name: vector for name, vector in others.items() if name in names}
        if not own:
            continue
        parts = replaced(one.mix, own)
        after = RequestedApplication(parts[0][0])
        if one.parts:
            after = RequestedApplication(mixed(mix_name(parts), parts), tuple(parts))
        found.append(Replaced(one, after))
    return found


def _parts(asked: Sequence[RequestedApplication]) -> list[ApplicationVector]:
    return [part for one in asked for part, _ in one.mix]


def _has_own_name(
    vector: ApplicationVector, text: str, known: Sequence[ApplicationVector], sources: Sources
) -> bool:
    """Check that the name of a vector is unique: errors are identified by name, and equal ones cancel in a ratio."""
    if all(vector.name != other.name or vector == other for other in known):
        return True
    expected = f"a vector with a unique name; another vector has the name {vector.name}"
    fix = "change `name` in one of the two files"
    sources.refuse(f"--replace {text}", expected, f"name: {vector.name}", fix)
    return False


def _with_the_replaced(request: Request) -> Request:
    """Add the replacements to the predicted applications."""
    from dataclasses import replace

    names = {one.vector.name for one in request.applications}
    more = [one.after for one in request.replaced if one.after.vector.name not in names]
    return replace(request, applications=(*request.applications, *more))


def _ingest(found: Forecast, request: Request) -> None:
    from regatta.models.predict.points import write_predictions
    from regatta.store.database import newest_record_ns
    from regatta.store.folder import Folder

    folders = {source.experiment for source in request.systems if source.experiment is not None}
    newest = [at for folder in folders if (at := newest_record_ns(Folder(folder))) is not None]
    time_ns = max(newest, default=time.time_ns())
    write_to_influx(
        lambda client: write_predictions(found, client, time_ns),
        "points of predictions",
        "regatta predict ... --ingest",
    )
