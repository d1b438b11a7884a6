"""`regatta predict APP... --on SYSTEM...`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option, primitives_option, results_option, write_to_influx
from regatta.host.errors import RegattaError, SpecError
from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.predict.forecast import Forecast
    from regatta.predict.predictions import Asked, Replaced, Request
    from regatta.predict.vector_sources import Sources, SystemSource
    from regatta.predict.what_if import Change
    from regatta.spec.vectors import ApplicationVector


class _SeveralSystems(click.Command):
    """Accepts `--on A B C` for `--on A --on B --on C`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        on, rest = False, False
        for arg in args:
            rest = rest or arg == "--"
            if arg == "--on" and not rest:
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


@click.command(cls=_SeveralSystems)
@click.argument("applications", nargs=-1, required=True, metavar="APP[=WEIGHT]...")
@click.option(
    "--on",
    "systems",
    multiple=True,
    required=True,
    metavar="SYSTEM...",
    help="Systems: files or directories of system vectors, names in configs/systems, or experiments.",
)
@click.option(
    "--what-if",
    "changes",
    multiple=True,
    metavar="PRIMITIVE=CHANGE",
    help="Change a cost: tcp_connect=0.5x, =-10%, =12us. Repeatable.",
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
    "--summary",
    default="median",
    show_default=True,
    metavar="median|mean|trimmed:N",
    help="How to summarize records if an experiment has no system vectors yet.",
)
@primitives_option
@click.option(
    "--level",
    type=click.FloatRange(0.5, 0.9999),
    help="Confidence level of all intervals. [default: that of the first system]",
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
    summary: str,
    primitives: str,
    level: float | None,
    results: Path,
    page: Path | None,
    ingest: bool,
    as_json: bool,
) -> None:
    """Predict the time of applications on systems, from how often they use each primitive and its cost there.

    APP is the file of an application vector, or a name in configs/applications. With weights, all APPs form one mix.

    Exit codes: 0 predicted · 2 wrong vector, name or option · 3 unreadable experiment.
    """
    from regatta.predict.predictions import Request, forecast_of
    from regatta.predict.vector_sources import Sources
    from regatta.spec.home import known_home

    sources = Sources(known_home(), results, summary, primitives)
    asked = _applications(applications, sources)
    _check_benchmark(benchmark, asked, replacements, sources)
    if ingest:
        _check_ingest(changes, sources)
    request = Request(
        tuple(asked),
        tuple(_systems(systems, sources)),
        tuple(path for name in measured if (path := sources.experiment(name, "--measured")) is not None),
        benchmark,
        _changes(changes, sources),
        tuple(_replaced(replacements, asked, sources)),
        optimise,
        level,
    )
    sources.check()
    try:
        found = forecast_of(_with_the_replaced(request))
    except SpecError:
        raise
    except RegattaError as error:
        # Incomplete vectors are reported like an invalid spec.
        if error.exit_code == RegattaError.exit_code and type(error) is RegattaError:
            raise SpecError(list(error.problems)) from error
        raise
    for note in _of_use(sources, found):
        click.echo(f"note: {printable(note)}", err=True)
    if as_json:
        from regatta.answers.plain import plain

        click.echo(json.dumps(plain(found), indent=1, allow_nan=False))
    else:
        from regatta.cli.prediction_tables import show_forecast

        show_forecast(found)
    if page is not None:
        from regatta.predict.page import write_predictions

        write_predictions(found, page)
        click.echo(str(page), err=as_json)
    if ingest:
        _ingest(found, request)


def _of_use(sources: Sources, found: Forecast) -> list[str]:
    """Return the notes of the sources, except those on unused primitives."""
    from regatta.predict.times import USER_WORK

    used = {count.primitive for one in found.applications for count in one.application.counts}
    others = sources.primitives - used - {USER_WORK}
    return [note for note in dict.fromkeys(sources.notes) if not others & set(note.replace(":", " ").split())]


def _applications(given: Sequence[str], sources: Sources) -> list[Asked]:
    """Return each application, or one mix of all if they have weights."""
    from regatta.predict.mixing import mixed
    from regatta.predict.predictions import Asked

    parts: list[tuple[ApplicationVector, float]] = []
    weighted = 0
    for text in given:
        name, weight = _weight(text)
        vector = sources.application(name)
        weighted += weight is not None
        if vector is None:
            continue
        if any(vector.name == other.name for other, _ in parts):
            sources.refuse("APP", "each application once", f"{vector.name} twice", "add their weights")
            continue
        parts.append((vector, 1.0 if weight is None else weight))
    if not weighted:
        return [Asked(vector) for vector, _ in parts]
    if weighted < len(given):
        fix = "give each a weight (NAME=WEIGHT) for one mix, or none"
        sources.refuse("APP", "a weight for each application", f"{weighted} of {len(given)}", fix)
    if sources.problems:
        return []
    try:
        return [Asked(mixed(mix_name(parts), parts), tuple(parts))]
    except RegattaError as error:
        sources.problems += error.problems
        return []


def _check_benchmark(
    benchmark: str, asked: Sequence[Asked], replacements: Sequence[str], sources: Sources
) -> None:
    """Refuse several applications with a benchmark: all would be compared with the same measured times."""
    if not benchmark or (len(asked) < 2 and not replacements):
        return
    several = f"{len(asked)} applications" if len(asked) > 1 else ""
    got = " and ".join(part for part in (several, *(f"--replace {text}" for text in replacements)) if part)
    fix = "set `benchmark:` in the vector of each application, or predict one at a time"
    sources.refuse("--benchmark", "one application or mix, and no --replace", got, fix)


def _check_ingest(changes: Sequence[str], sources: Sources) -> None:
    """Refuse to ingest with changed costs: the points replace earlier predictions and do not show the changes."""
    if changes:
        got = " ".join(f"--what-if {text}" for text in changes)
        fix = "remove one of them; `--html` and `--json` show the effect of a change"
        sources.refuse("--ingest", "predictions with unchanged costs, without --what-if", got, fix)


def _systems(given: Sequence[str], sources: Sources) -> list[SystemSource]:
    """Return the distinct systems, even if named twice."""
    found: list[SystemSource] = []
    for source in (source for name in dict.fromkeys(given) for source in sources.systems(name)):
        if all(source.vector != other.vector for other in found):
            found.append(source)
    return found


def _weight(text: str) -> tuple[str, float | None]:
    """Split `apache-cgi=0.3` into name and weight; a name may contain `=` if no number follows."""
    name, equals, number = text.rpartition("=")
    try:
        return (name, float(number)) if equals and name else (text, None)
    except ValueError:
        return text, None


def mix_name(parts: Sequence[tuple[ApplicationVector, float]]) -> str:
    """`70 % apache-static + 30 % apache-cgi`."""
    whole = sum(weight for _, weight in parts)
    return " + ".join(
        f"{100 * weight / whole if whole else 0:.4g} % {vector.name}" for vector, weight in parts
    )


def _changes(given: Sequence[str], sources: Sources) -> dict[str, Change]:
    from regatta.predict.what_if import parse_change

    _check_once("--what-if", "primitive", [(text.partition("=")[0], text) for text in given], sources)
    found = {}
    for text in given:
        primitive, _, change = text.partition("=")
        try:
            found[primitive] = parse_change(change, f"--what-if {primitive}".rstrip())
        except RegattaError as error:
            sources.problems += error.problems
    return found


def _check_once(option: str, what: str, named: Sequence[tuple[str, str]], sources: Sources) -> None:
    """Refuse two names of one thing, because one would silently count for both. `named`: (identity, given name)."""
    by_name: dict[str, list[str]] = {}
    for name, text in named:
        by_name.setdefault(name, []).append(text)
    for name, texts in by_name.items():
        if len(texts) > 1:
            sources.refuse(
                f"{option} {name}".rstrip(), f"each {what} once", " and ".join(texts), "keep one of them"
            )


def _replaced(given: Sequence[str], asked: Sequence[Asked], sources: Sources) -> list[Replaced]:
    """Return every application that contains an old one, with the new one in its place."""
    from regatta.predict.mixing import mixed, replaced
    from regatta.predict.predictions import Asked, Replaced

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
        own = {
            name: vector for name, vector in others.items() if any(part.name == name for part, _ in one.mix)
        }
        if not own:
            continue
        parts = replaced(one.mix, own)
        after = Asked(mixed(mix_name(parts), parts), tuple(parts)) if one.parts else Asked(parts[0][0])
        found.append(Replaced(one, after))
    return found


def _parts(asked: Sequence[Asked]) -> list[ApplicationVector]:
    return [part for one in asked for part, _ in one.mix]


def _has_own_name(
    vector: ApplicationVector, text: str, known: Sequence[ApplicationVector], sources: Sources
) -> bool:
    """Check that the name of a vector is unique: errors are identified by name, and equal ones cancel in a ratio."""
    if all(vector.name != other.name or vector == other for other in known):
        return True
    sources.refuse(
        f"--replace {text}",
        f"a vector with a unique name; another vector has the name {vector.name}",
        f"name: {vector.name}",
        "change `name` in one of the two files",
    )
    return False


def _with_the_replaced(request: Request) -> Request:
    """Add the replacements to the predicted applications."""
    from dataclasses import replace

    names = {one.vector.name for one in request.applications}
    more = [one.after for one in request.replaced if one.after.vector.name not in names]
    return replace(request, applications=(*request.applications, *more))


def _ingest(found: Forecast, request: Request) -> None:
    from regatta.influx.plan_documents import newest_record_ns
    from regatta.influx.prediction_points import write_predictions
    from regatta.store.folder import Folder

    folders = {source.experiment for source in request.systems if source.experiment is not None}
    newest = [at for folder in folders if (at := newest_record_ns(Folder(folder))) is not None]
    time_ns = max(newest, default=time.time_ns())
    write_to_influx(
        lambda client: write_predictions(found, client, time_ns),
        "points of predictions",
        "regatta predict ... --ingest",
    )
