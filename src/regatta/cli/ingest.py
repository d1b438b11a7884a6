"""`regatta ingest EXPERIMENT`."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.bar import progress_bar
from regatta.cli.options import experiment_argument, influx_settings, json_option, results_option
from regatta.host.errors import RegattaError, StoreError, VerificationError
from regatta.host.journal.journal import journal_files
from regatta.host.printable import printable
from regatta.store.events import events_path
from regatta.store.folder import Folder, find_folder, write_json

if TYPE_CHECKING:
    from regatta.influx.client import Client
    from regatta.influx.ingesting import Ingest
    from regatta.influx.points import Point
    from regatta.influx.responses import Refusals
    from regatta.influx.verifying import Verified

_PATIENCE_S = 60.0
_LAST_PATIENCE_S = 5.0
#: timeout of an answer in a workflow, which has no patience
_SHORT_ANSWER_S = 2.0
#: patience for another process that ingests the same
_SHORT_LOCK_PATIENCE_S = 5.0
#: Minimum rate at which a database sums up a journal, in bytes per second: InfluxDB 1.6 reached 6 MB on a busy machine.
_SUMMED_BYTES_PER_S = 1e6
#: maximum characters of a refused line
_SHORT_LINE = 240
#: Thread switch interval: with the default of 5 ms the sender would wait for the encoder.
_SWITCH_S = 0.0005


@click.command()
@experiment_argument
@results_option
@click.option("--follow", is_flag=True, help="Continue until the experiment ends, or until Ctrl-C.")
@click.option(
    "--verify",
    is_flag=True,
    help="Only compare journal and database: points, sums and ends of each series.",
)
@click.option("--rebuild", is_flag=True, help="Delete the points of the experiment and write them again.")
@click.option("--host", "hosts", multiple=True, help="Only this host. Repeatable.")
@click.option("--no-estimates", is_flag=True, help="Write only records and events, without estimates.")
@click.option(
    "--patience-s",
    type=click.FloatRange(min=0),
    help=f"Time to wait for InfluxDB, in seconds. [default: {_PATIENCE_S:.0f}]",
)
@click.option(
    "--receipt",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a receipt to this file. Errors are recorded there and do not change the exit code.",
)
@json_option
def ingest(
    experiment: str,
    results: Path,
    follow: bool,
    verify: bool,
    rebuild: bool,
    hosts: tuple[str, ...],
    no_estimates: bool,
    patience_s: float | None,
    receipt: Path | None,
    as_json: bool,
) -> None:
    """Write EXPERIMENT (a name or a directory) to InfluxDB. Points that exist there are not written twice.

    Exit codes: 0 complete · 1 InfluxDB refused points, or --verify found differences · 2 wrong settings · 3 InfluxDB does
    not answer, or refuses the account.
    """
    if follow and (verify or rebuild or receipt):
        raise click.UsageError("--follow cannot be combined with --verify, --rebuild or --receipt")
    if verify and receipt:
        raise click.UsageError("--verify cannot be combined with --receipt")
    sys.setswitchinterval(_SWITCH_S)
    folder = _folder(experiment, results)
    options = _Options(
        folder, list(hosts) or None, follow, verify, rebuild, not no_estimates and not hosts, patience_s,
        short=receipt is not None,
    )  # fmt: skip
    done = _Done(folder.name)
    try:
        _work(options, done)
    except RegattaError as error:
        if receipt is None:
            raise
        done.reason = str(error)
        _warn(f"warning: InfluxDB is incomplete: {done.reason}")
    if receipt is not None:
        if done.reason is None and done.refused + done.refused_before:
            done.reason = f"{done.refused + done.refused_before} points rejected: {done.refusal}"
        write_json(receipt, done.to_json())
    if as_json:
        click.echo(json.dumps(done.to_json()))
    else:
        _show(done)
    if receipt is None:
        _judge(done)


def _folder(experiment: str, results: Path) -> Folder:
    """Return the folder of the experiment. Without a plan it has at least events."""
    for path in (results / experiment, Path(experiment)):
        if events_path(path).exists():
            return Folder(path)
    return find_folder(experiment, results)


@dataclass(frozen=True)
class _Options:
    """Options of the command line."""

    folder: Folder
    hosts: list[str] | None
    follow: bool
    verify: bool
    rebuild: bool
    estimates: bool
    patience_s: float | None
    #: short timeouts, for a workflow
    short: bool


@dataclass
class _Done:
    """Result for `--json` and the receipt."""

    experiment: str
    url: str = ""
    database: str = ""
    #: identity of the database (`Settings.identity`)
    identity: str = ""
    written: int = 0
    records: int = 0
    events: int = 0
    damaged: int = 0
    renamed: list[str] = field(default_factory=list)
    refused: int = 0
    #: points refused in earlier calls and still missing
    refused_before: int = 0
    refusal: str = ""
    refusals: list[dict[str, str]] = field(default_factory=list)
    #: bytes of the journal that are not in the database
    waiting: int = 0
    reason: str | None = None
    #: for journal and events
    elapsed_s: float = 0.0
    points_per_s: float = 0.0
    verified: Verified | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON."""
        plain = {name: value for name, value in vars(self).items() if name != "verified"}
        return {**plain, "verified": self.verified.to_json() if self.verified else None}


def _work(options: _Options, done: _Done) -> None:
    from regatta.influx.client import Client

    settings = influx_settings()
    done.url, done.database, done.identity = settings.url, settings.database, settings.identity
    patience_s = options.patience_s
    if patience_s is None:
        patience_s = float("inf") if options.follow else _PATIENCE_S
    if options.rebuild or not options.verify:
        answer_s = max(patience_s, _SHORT_ANSWER_S) if options.short else float("inf")
        client = Client(settings, "write", patience_s=patience_s, answer_s=answer_s, say=_warn)
        try:
            _write(options, client, done)
        finally:
            client.close()
    if options.verify:
        from regatta.influx.verifying import verify

        size = _journal_size(options.folder, options.hosts)
        # It answers after scanning all points.
        slow = replace(settings, timeout_s=settings.timeout_s + size / _SUMMED_BYTES_PER_S)
        client = Client(slow, "read", patience_s=patience_s, say=_warn)
        others = list(_answer(options.folder)) if options.estimates else []
        with progress_bar("comparing", of_bytes=True) as show:
            done.verified = verify(options.folder, client, options.hosts, others, _Bytes(show, size))
        client.close()


def _write(options: _Options, client: Client, done: _Done) -> None:
    from regatta.influx.ingesting import Ingest

    folder = options.folder
    began = time.monotonic()
    lock_patience_s = _SHORT_LOCK_PATIENCE_S if options.short else float("inf")
    with progress_bar("writing", of_bytes=True) as show:
        progress = _Bytes(show)
        work = Ingest(
            folder,
            client,
            reader=_reader(client),
            say=_warn,
            progress=progress,
            lock_patience_s=lock_patience_s,
        )
        _check_hosts(options, work.hosts())
        try:
            if options.rebuild:
                from regatta.influx.replacing import drop

                drop(
                    folder, client, options.hosts, estimates=options.estimates, say=_warn,
                    lock_patience_s=lock_patience_s,
                )  # fmt: skip
            progress.total = work.waiting(options.hosts)
            interrupted = options.follow and not _follow(work, options.hosts)
            work.ask_again()
            with _attempt(options, client):
                _send(work, options.hosts)
            done.elapsed_s = round(time.monotonic() - began, 3)
            done.points_per_s = round(work.written.points / max(done.elapsed_s, 1e-3), 1)
            if options.estimates and not interrupted:
                work.points(_answer(folder, client))
        finally:
            done.written, done.records = work.written.points, work.written.records
            done.events, done.damaged = work.written.events, work.written.damaged
            done.renamed = sorted(work.written.renamed)
            done.waiting = work.waiting(options.hosts)
            _count_refused(done, client.refusals, work.cursors.refused())


def _attempt(options: _Options, client: Client) -> AbstractContextManager[None]:
    """Guard sending after each segment against repeated waits for an unresponsive database."""
    if not options.short or options.hosts is None:
        return nullcontext()
    from regatta.influx.live import attempt

    return attempt(options.folder, options.hosts[0], client.settings.url, client.settings.identity)


def _send(work: Ingest, hosts: list[str] | None) -> None:
    """Send new points of these hosts, or of all, and the events."""
    from regatta.influx.live import forget_attempts

    hosts = work.hosts() if hosts is None else hosts
    for host in hosts:
        work.host(host)
    work.events()
    forget_attempts(work.folder, hosts)


def _reader(writer: Client) -> Client | None:
    """Return a client for queries; None without the secret of a reading account."""
    from regatta.influx.client import Client

    try:
        return Client(
            writer.settings, "read", patience_s=writer.patience_s, answer_s=writer.answer_s, say=_warn
        )
    except RegattaError:
        return None


def _follow(work: Ingest, hosts: list[str] | None) -> bool:
    """Return whether the experiment has ended; False after Ctrl-C."""
    from regatta.influx.following import follow

    _warn(f"following {work.folder.name}; stop with Ctrl-C (no data is lost)")
    try:
        follow(work, threading.Event(), _warn, hosts)
    except KeyboardInterrupt:
        work.last_time(_LAST_PATIENCE_S)
        return False
    return True


def _check_hosts(options: _Options, known: list[str]) -> None:
    for host in options.hosts or ():
        if host not in known:
            raise StoreError(
                str(options.folder.journal),
                f"the journal of a host {host!r}",
                "none",
                f"choose one of {', '.join(known)}" if known else "measure first: `regatta run SPEC`",
            )


def _answer(folder: Folder, client: Client | None = None) -> Iterator[Point]:
    """Yield estimates and vectors, as of the newest record; nothing before the first record.

    With a `client` for writing, delete an earlier answer of the same records first.
    """
    from regatta.answers.report.answer import answer_experiment
    from regatta.answers.report.registry import TOPICS
    from regatta.influx.answers import estimate_points, vector_points
    from regatta.influx.replacing import drop_answer, drop_points
    from regatta.store.database import newest_record_ns

    as_of_ns = newest_record_ns(folder)
    if as_of_ns is None:
        return
    answer = answer_experiment(folder.path)
    if client is not None:
        drop_answer(client, answer.experiment, as_of_ns, _warn)
    yield from estimate_points(answer, as_of_ns)
    yield from vector_points(answer, as_of_ns)
    for topic in TOPICS:
        found = topic.points(topic.of(answer), as_of_ns) if topic.points else None
        if found is not None:
            if client is not None:
                drop_points(client, found.measurement, found.conditions, _warn)
            yield from found.points


def _count_refused(done: _Done, refusals: Refusals, kept: tuple[int, str]) -> None:
    done.refused = refusals.count
    done.refused_before = max(0, kept[0] - refusals.count)
    done.refusal = refusals.reason or kept[1]
    done.refusals = [
        {"line": one.line.decode(errors="replace").rstrip("\n"), "reason": one.reason}
        for one in refusals.lines
    ]


def _journal_size(folder: Folder, hosts: list[str] | None) -> int:
    files = journal_files(folder.path)
    return sum(path.stat().st_size for path in files if hosts is None or path.parent.name in hosts)


def _show(done: _Done) -> None:
    if done.verified is not None:
        _show_verified(done.verified)
    if done.verified is None or done.written:
        rate = f", {done.points_per_s:,.0f} points/s" if done.elapsed_s > 2 else ""
        click.echo(
            f"{done.experiment}: {done.written} points of {done.records} records and {done.events} events written{rate}"
        )
    if done.damaged:
        _warn(f"{done.damaged} damaged lines skipped; `regatta verify` lists them")
    if done.renamed:
        shown = ", ".join(done.renamed[:3]) + (", ..." if len(done.renamed) > 3 else "")
        _warn(
            f"{len(done.renamed)} cells have other names in the current plan; their points keep the first recorded"
            f" names ({shown})"
        )
    for one in done.refusals:
        line = one["line"] if len(one["line"]) <= _SHORT_LINE else one["line"][:_SHORT_LINE] + "..."
        _warn(f"rejected: {line}: {one['reason']}")
    if done.refused > len(done.refusals):
        _warn(f"rejected: {done.refused - len(done.refusals)} more")


def _show_verified(verified: Verified) -> None:
    for measurement in sorted(verified.journal):
        ours, theirs = verified.journal[measurement], verified.database[measurement]
        click.echo(f"{measurement:12} {ours:>12} in the journal {theirs:>12} in the database")
    for difference in verified.differences:
        click.echo(f"  {difference.sentence()}")
    if verified.differing > len(verified.differences):
        click.echo(f"  and {verified.differing - len(verified.differences)} more series differ")
    if verified.expired:
        click.echo(f"  {verified.expired} points have expired by the retention policy ({verified.retention})")
    if verified.without_cursor:
        click.echo(
            f"  no send position for {', '.join(verified.without_cursor)}: its points were written from another folder,"
            " or results/*/influx was deleted"
        )
    if verified.holds:
        click.echo(f"{verified.experiment}: journal and database agree in all {verified.series} series")


def _judge(done: _Done) -> None:
    """Raise the errors that remain after a completed command."""
    fix = "correct the reason, then write everything again: `regatta ingest EXPERIMENT --rebuild`"
    if done.refused:
        raise VerificationError(
            done.url, "all points accepted", f"{done.refused} rejected: {done.refusal}", fix
        )
    if done.verified is not None and not done.verified.holds:
        raise VerificationError(
            done.url,
            "the points of the journal",
            f"{done.verified.differing} series that differ",
            "run `regatta ingest EXPERIMENT` to write missing points, or add --rebuild to write everything again",
        )
    if done.verified is None and done.refused_before:
        raise VerificationError(
            done.url,
            "all points accepted",
            f"{done.refused_before} rejected in earlier calls: {done.refusal}",
            fix,
        )


def _warn(text: str) -> None:
    print(printable(text), file=sys.stderr, flush=True)


class _Bytes:
    """Shows the bytes of the journal read so far, and the total."""

    def __init__(self, show: Callable[[int, int], None], total: int = 0) -> None:
        self.total = total
        self._read = 0
        self._show = show

    def __call__(self, size: int) -> None:
        self._read += size
        self._show(self._read, self.total)
