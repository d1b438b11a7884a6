"""`regatta model log | sessions | vector | compare`: models of the load of a server, made from its request logs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.bar import progress_bar
from regatta.cli.options import json_option
from regatta.cli.tables import plain_console, show
from regatta.host.files import scratch_folder
from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.models.load.comparing import Comparison, Load
    from regatta.models.load.formats import LogFormat
    from regatta.models.load.logs import Read
    from regatta.models.load.model import RequestModel
    from regatta.models.load.visits import Pauses


class _Number(click.FloatRange):
    """A number in a range. NaN, which compares with no limit, is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


_FILE = click.Path(dir_okay=False, path_type=Path)
_LOG = click.Path(exists=True, dir_okay=False, path_type=Path)
#: sessions that are drawn to compare a model
_DRAWN = 20_000
#: files of models; all others are logs
_MODELS = (".yml", ".yaml")


def _log_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--format", "text", metavar="FORMAT", help="combined, common, vhost_combined, a LogFormat of Apache, or a log_format of nginx. [default: found from the first lines of each log]"),
        click.option("--idle", "idle_s", type=_Number(1, 86400), default=1800.0, show_default=True, help="Seconds without a request that end a session."),
        click.option("--think", "think_s", type=_Number(0.001, 3600), default=1.0, show_default=True, help="Seconds without a request that end a view: a page with what it embeds."),
    ):  # fmt: skip
        command = option(command)
    return command


_seed = click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True, help="Seed of all random choices.")  # fmt: skip


@click.group()
def model() -> None:
    """Make models of the load of a server from its request logs, and sessions for the web driver from models or logs."""


@model.command("log")
@click.argument("logs", nargs=-1, required=True, type=_LOG)
@click.option("-o", "output", type=_FILE, help="File for the model (YAML).")
@click.option("--picture", type=_FILE, help="Also write a page (HTML) that compares the log with sessions drawn from the model.")  # fmt: skip
@click.option(
    "--names", is_flag=True, help="Keep the paths of the most popular objects. They may identify people."
)
@_log_options
@_seed
@json_option
def model_log(
    logs: tuple[Path, ...],
    output: Path | None,
    picture: Path | None,
    names: bool,
    text: str | None,
    idle_s: float,
    think_s: float,
    seed: int,
    as_json: bool,
) -> None:
    """Fit a model to request LOGS: Combined Log Format and others of Apache and nginx, or JSON lines; also compressed (gzip).

    The model has no addresses and no paths, so it can be shared. A table compares sessions that are drawn from it with those of
    the log.
    """
    import numpy as np

    from regatta.models.load.comparing import compare_loads, of_log, of_model
    from regatta.models.load.fitting import fit_model
    from regatta.models.load.model import write_model
    from regatta.models.load.page import write_comparison

    random = np.random.default_rng(seed)
    pauses = _pauses(idle_s, think_s)
    with _read(logs, text, pauses, names) as read:
        found = fit_model(read, pauses, names)
        measured = of_log("log", read, found)
        comparison = compare_loads(
            measured, of_model("model", found, min(_DRAWN, found.source.sessions), random), idle_s, random
        )
        if output is not None:
            write_model(found, output)
        if picture is not None:
            write_comparison(comparison, "Log and model", picture)
        if as_json:
            click.echo(json.dumps({"model": found.model_dump(), "comparison": _plain(comparison)}, indent=1))
            return
        _show_model(read, found)
    _show_comparison(comparison)


@model.command("sessions")
@click.argument("sources", nargs=-1, required=True, type=_LOG)
@click.option("-o", "output", required=True, type=_FILE, help="File for the sessions, for `web --sessions`.")
@click.option("--sessions", "count", type=click.IntRange(1, 10_000_000), default=10_000, show_default=True, help="Number of sessions to draw from models.")  # fmt: skip
@click.option("--mix", metavar="N:N...", help="With several models: proportion of their sessions, such as 3:1. [default: equal]")  # fmt: skip
@click.option("--size-factor", type=_Number(0.001, 1000), default=1.0, show_default=True, help="Multiply the sizes of the objects of models.")  # fmt: skip
@_log_options
@_seed
def model_sessions(
    sources: tuple[Path, ...],
    output: Path,
    count: int,
    mix: str | None,
    size_factor: float,
    text: str | None,
    idle_s: float,
    think_s: float,
    seed: int,
) -> None:
    """Write sessions for the web driver: drawn from models (.yml), or those of request logs as they are, to replay them."""
    from regatta.models.load.drawing import Uniform, draw, joined, replayed, write_sessions
    from regatta.models.load.model import read_model

    if len({_is_model(source) for source in sources}) > 1:
        raise click.UsageError("expected models or logs, got both")
    if _is_model(sources[0]):
        shares = _shares(mix, len(sources))
        random = Uniform(seed)
        numbers = [max(1, round(count * share)) for share in shares]
        parts = [
            draw(read_model(source), number, random, size_factor)
            for source, number in zip(sources, numbers, strict=True)
        ]
        drawn = joined(parts)
    else:
        if mix is not None or size_factor != 1.0:
            raise click.UsageError("--mix and --size-factor: expected together with models")
        with _read(sources, text, _pauses(idle_s, think_s), names=False) as read:
            drawn = replayed(read)
    write_sessions(drawn, output)
    click.echo(
        f"{output}: {len(drawn.lengths):,} sessions, {len(drawn.gaps_us):,} requests, {len(drawn.sizes):,} objects"
    )


@model.command("vector")
@click.argument("sessions", type=_LOG)
@click.option("-o", "output", type=_FILE, help="File for the vector (YAML). [default: print it]")
@click.option("--name", help="Name of the vector. [default: that of its file, or of the file of sessions]")
def model_vector(sessions: Path, output: Path | None, name: str | None) -> None:
    """Count the primitives of a web server in SESSIONS: the application vector for `regatta predict --primitives web`.

    SESSIONS is a file of `regatta model sessions`. The predicted time per request is that of a server that is always busy.
    """
    from regatta.models.load.counting import read_sessions, vector_of
    from regatta.models.vectors.files import vector_text, write_vector

    found = vector_of(read_sessions(sessions), name or (output or sessions).stem, sessions.name)
    if output is None:
        click.echo(vector_text(found), nl=False)
        return
    write_vector(found, output)
    click.echo(f"{output}: {len(found.counts)} primitives per request")


@model.command("compare")
@click.argument("first", type=_LOG)
@click.argument("second", type=_LOG)
@click.option("--picture", type=_FILE, help="Also write a page (HTML) with figures.")
@_log_options
@_seed
@json_option
def model_compare(
    first: Path,
    second: Path,
    picture: Path | None,
    text: str | None,
    idle_s: float,
    think_s: float,
    seed: int,
    as_json: bool,
) -> None:
    """Compare two loads, each a request log or a model (.yml): sizes, sessions, pauses, popularity, kinds of requests."""
    import numpy as np

    from regatta.models.load.comparing import compare_loads, of_log, of_model
    from regatta.models.load.fitting import fit_model
    from regatta.models.load.model import read_model
    from regatta.models.load.page import write_comparison

    random = np.random.default_rng(seed)
    pauses = _pauses(idle_s, think_s)
    loads: list[Load] = []
    for path in (first, second):
        # Two files of one name differ in their folders.
        name = path.name if first.name != second.name else str(path)
        if _is_model(path):
            found = read_model(path)
            loads.append(of_model(name, found, min(_DRAWN, max(1, found.source.sessions)), random))
        else:
            with _read((path,), text, pauses, names=False) as read:
                loads.append(of_log(name, read, fit_model(read, pauses)))
    comparison = compare_loads(loads[0], loads[1], idle_s, random)
    if picture is not None:
        write_comparison(comparison, f"{loads[0].name} and {loads[1].name}", picture)
    if as_json:
        click.echo(json.dumps(_plain(comparison), indent=1))
        return
    _show_comparison(comparison)


def _is_model(path: Path) -> bool:
    return path.suffix in _MODELS


def _pauses(idle_s: float, think_s: float) -> Pauses:
    from regatta.models.load.visits import Pauses

    if think_s >= idle_s:
        raise click.UsageError(f"--think: expected less than --idle ({idle_s:g} s), got {think_s:g} s")
    return Pauses(idle_s, think_s)


def _shares(mix: str | None, models: int) -> list[float]:
    words = mix.split(":") if mix is not None else ["1"] * models
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != models or not all(0 < number < 1e9 for number in numbers):
        raise click.UsageError(f"--mix: expected {models} numbers above 0, such as 3:1, got {mix!r}")
    return [number / sum(numbers) for number in numbers]


@contextmanager
def _read(logs: Sequence[Path], text: str | None, pauses: Pauses, names: bool) -> Iterator[Read]:
    """Yield the logs in a database with sessions, which is removed at the end."""
    from regatta.models.load.formats import parse_format
    from regatta.models.load.logs import read_logs
    from regatta.models.load.visits import divide

    given: LogFormat | None = None if text is None else parse_format(text)
    with scratch_folder("regatta-requests-") as scratch:
        with progress_bar("reading logs", of_bytes=True) as progress:
            read = read_logs(logs, scratch, given, names, progress)
        try:
            divide(read, pauses)
            yield read
        finally:
            read.database.close()


def _show_model(read: Read, found: RequestModel) -> None:
    from regatta.models.load.tables import part_table

    source = found.source
    console = plain_console()
    console.print(
        f"{source.requests:,} requests in {source.lines:,} lines ({', '.join(read.formats)}), {source.sessions:,} sessions of {source.clients:,} "
        f"clients in {source.seconds / 3600:.3g} h"
    )
    for one in read.broken:
        example = f": {printable(one.example)[:100]}" if one.example else ""
        click.echo(f"note: {one.count:,} x {one.reason}, first {printable(one.where)}{example}", err=True)
    if read.disordered:
        click.echo(f"note: {read.disordered:,} lines are over a minute earlier than the line before; requests are sorted", err=True)  # fmt: skip
    if read.zones > 1:
        click.echo(f"note: times have {read.zones} time zones; all were converted to UTC", err=True)
    console.print()
    show(console, part_table(found))


def _show_comparison(comparison: Comparison) -> None:
    from regatta.models.load.tables import WORDS, comparison_tables

    console = plain_console()
    for table in comparison_tables(comparison):
        console.print()
        show(console, table)
    console.print(f"\n{WORDS}")


def _plain(comparison: Comparison) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for one in comparison.parts:
        parts.append({"part": one.part.title, "unit": one.part.unit})
        if one.distance is None:
            parts[-1]["reason"] = one.reason
        else:
            found = {"distance": one.distance.distance, "by_chance": one.distance.chance, "p": one.distance.p}
            parts[-1] |= {key: None if math.isnan(value) else value for key, value in found.items()}
    return {
        "names": list(comparison.names),
        "parts": parts,
        "popularity": comparison.popularity_distance,
        "kinds": comparison.kinds_distance,
    }
