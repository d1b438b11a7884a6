"""`regatta advise heap APP`."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option, results_option
from regatta.host.errors import SpecError
from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.models.gc.heap_measurements import HeapMeasurements
    from regatta.models.gc.heap_models import HeapModels

_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(%|ms|s|us|µs)?\s*")
_MS = {"": 1.0, "ms": 1.0, "s": 1e3, "us": 1e-3, "µs": 1e-3}


@click.group()
def advise() -> None:
    """Advise on a configuration from measurements, with intervals, and say what to measure next."""


@advise.command()
@click.argument("app", metavar="APP")
@click.option(
    "--target-overhead",
    metavar="PERCENT",
    help="Permitted time above the least time of the best collector, such as `5%`.",
)
@click.option(
    "--latency", metavar="MS", help="Limit of 99 % of pauses, and of each allocation stall: `10ms`."
)
@click.option(
    "--experiment", metavar="NAME", help="Experiment that measured APP. [default: APP is a CSV file]"
)
@results_option
@click.option("--runtime", default="", metavar="NAME", help="JVM that counts. [default: the only one]")
@click.option(
    "--profile",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also predict the collections, from a heap profile of `regatta trace heap`.",
)
@click.option(
    "--on",
    metavar="EXPERIMENT",
    help="With --profile: an experiment that measured suite gc. [default: that of --experiment]",
)
@click.option(
    "--minheap",
    "minheap_mib",
    type=click.FloatRange(0, min_open=True),
    metavar="MIB",
    help="Minimum heap of APP.",
)
@click.option(
    "--level",
    type=click.FloatRange(0.5, 0.9999),
    default=0.95,
    show_default=True,
    help="Level of all intervals.",
)
@click.option(
    "--html",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write a page with the curves.",
)
@json_option
def heap(
    app: str,
    target_overhead: str | None,
    latency: str | None,
    experiment: str | None,
    results: Path,
    runtime: str,
    profile: Path | None,
    on: str | None,
    minheap_mib: float | None,
    level: float,
    page: Path | None,
    as_json: bool,
) -> None:
    """Choose a collector and a heap size for APP from measurements at a few heap sizes.

    APP is SUITE/NAME of an experiment, or a CSV file with the columns collector, heap_mib and seconds, one
    row per invocation.

    Exit codes: 0 answered or refused with a reason · 2 wrong file, name or option · 3 unreadable experiment.
    """
    if (target_overhead is None) == (latency is None):
        raise click.UsageError("expected one of --target-overhead and --latency")
    target = _quantity("--target-overhead", target_overhead, "5%") if target_overhead is not None else None
    limit_ms = _quantity("--latency", latency, "10ms") if latency is not None else None

    from regatta.models.gc.heap_advice import advise_latency, advise_overhead, as_document
    from regatta.models.gc.heap_models import HeapModels
    from regatta.models.gc.heap_page import (
        heap_sections,
        latency_sentences,
        latency_table,
        model_sentences,
        models_table,
        overhead_sentences,
        overhead_table,
    )

    _check_profile(profile, on or experiment, on, latency)
    minheap = math.nan if minheap_mib is None else minheap_mib
    measured = _measurements(app, experiment, results, minheap, runtime)
    models = HeapModels(measured.curves())
    if profile is not None:
        models = _predicted(profile, str(on or experiment), results, measured, runtime, level)
    heading: list[str] = []
    if target is not None:
        overheads = advise_overhead(models.curves, target, level, models.second, models.unmeasured)
        (first, *rest), table = overhead_sentences(overheads), overhead_table(overheads, level)
        heading, document = model_sentences(models, overheads.collector), as_document(overheads)
    else:
        assert limit_ms is not None
        pauses = advise_latency(measured.points, limit_ms, level, measured.stalls_ms)
        (first, *rest), table = latency_sentences(pauses), latency_table(pauses, level)
        document = as_document(pauses)
    if as_json:
        from regatta.answers.kit.plain import plain

        found = {"app": measured.place.benchmark, "answer": first, "advice": document}
        found |= {"models": plain(models.choices)} if models.choices else {}
        click.echo(json.dumps(found, indent=1, allow_nan=False))
    else:
        from regatta.cli.tables import plain_console, show

        console = plain_console()
        for sentence in (first, *heading):
            click.echo(printable(sentence))
        show(console, models_table(models, level))
        show(console, table.without_empty(), "")
        for sentence in rest:
            click.echo(printable(sentence))
    if target is not None and {name.lower() for name in models.curves} == {"g1"}:
        _other_collectors(measured)
    if page is not None:
        from regatta.figures.sections_page import write_sections_page

        sections = heap_sections(measured.place.benchmark, table, models, level)
        question = f"Collector and heap for {measured.place.benchmark}"
        write_sections_page("heap advice", question, [first, *heading, *rest], sections, page)
        click.echo(str(page), err=as_json)


def _check_profile(profile: Path | None, costs: str | None, on: str | None, latency: str | None) -> None:
    if profile is None and on is not None:
        raise SpecError.of("--on", "a heap profile too", "none", "add `--profile FILE`")
    if profile is not None and costs is None:
        raise SpecError.of("--profile", "costs of collectors", "none", "add `--on EXPERIMENT`")
    if profile is not None and latency is not None:
        fix = "pauses are not predicted: remove it"
        raise SpecError.of("--profile", "--target-overhead", "--latency", fix)


def _predicted(
    profile: Path, costs: str, results: Path, measured: HeapMeasurements, runtime: str, level: float
) -> HeapModels:
    from regatta.cli.store import database_progress
    from regatta.models.gc.heap_models import choose_models, predicted_times
    from regatta.models.gc.heap_vector import read_heap_vector
    from regatta.models.gc.measured import FIXED, modifiers_of, read_measured
    from regatta.store.folder import find_folder

    vector = read_heap_vector(profile)
    with database_progress() as progress:
        found = read_measured(find_folder(costs, results).path, progress)
    for note in found.notes:
        click.echo(f"note: {printable(note)}", err=True)
    if FIXED not in modifiers_of(measured.place):
        note = f"predicted with the generations of modifier {FIXED}, which the measurements do not name"
        click.echo(f"note: {note}", err=True)
    return choose_models(measured, predicted_times(vector, measured, found, runtime), level)


def _measurements(
    app: str, experiment: str | None, results: Path, minheap_mib: float, runtime: str
) -> HeapMeasurements:
    from regatta.models.gc.heap_measurements import heaps_of_answer, read_heap_csv

    if experiment is not None:
        from regatta.answers.report.answer import answer_experiment
        from regatta.store.folder import find_folder

        answer = answer_experiment(find_folder(experiment, results).path)
        return heaps_of_answer(answer, app, minheap_mib, runtime)
    if not Path(app).is_file():
        fix = "for a benchmark of an experiment, add `--experiment NAME`"
        raise SpecError.of(app, "a CSV file", "no such file", fix)
    return read_heap_csv(Path(app), minheap_mib)


def _quantity(option: str, text: str, example: str) -> float:
    """Return a share for `5%` (or `5`), or milliseconds for `10ms`.

    Raises:
        SpecError: the text is no positive quantity with the right unit.
    """
    match = _QUANTITY.fullmatch(text)
    percent = example.endswith("%")
    if match and float(match[1]) > 0:
        number, unit = float(match[1]), match[2] or ""
        if percent and unit in ("", "%"):
            return number / 100
        if not percent and unit in _MS:
            return number * _MS[unit]
    raise SpecError.of(option, f"a positive quantity such as {example}", repr(text))


def _other_collectors(measured: HeapMeasurements) -> None:
    """Say on stderr what the profile of G1 alone decides about other collectors."""
    from regatta.models.gc.collector_choice import COLLECTORS, choose_collector

    (points,) = measured.points.values()
    shares = [point.pause_share for point in points if not math.isnan(point.pause_share)]
    for other in COLLECTORS[1:]:
        choice = choose_collector("G1", other, shares[0] if shares else math.nan)
        verdict = (
            f"probably slower than G1 at {1 / choice.ratio:.1f} x its time"
            if choice.faster == "G1"
            else "measure it"
        )
        click.echo(f"note: {other}: {verdict}", err=True)
