"""`regatta finish FOLDER LOGS`: the job of the workflow after the measurements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.parts import Part, note, run_parts
from regatta.store.folder import Folder

if TYPE_CHECKING:
    from regatta.answers.spine.result import Answer


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("logs", nargs=4, type=click.Path(dir_okay=False, path_type=Path))
def finish(folder: Path, logs: tuple[Path, ...]) -> None:
    """Verify the records in FOLDER, make its database, analyze, and write the report.

    LOGS are the logs of these four steps. Failed invocations are in the verdict and do not change the exit code.
    """
    place = Folder(folder)
    run_parts(place, _parts(place), logs)


def _parts(place: Folder) -> Iterator[Part]:
    # The answer is computed once, for its file and for the report.
    answers: list[Answer] = []
    yield "verify", lambda: _verify(place)
    yield "ingest", lambda: _ingest(place)
    yield "analyse", lambda: answers.append(_analyze(place))
    yield "report", lambda: _report(place, answers[0])


def _verify(place: Folder) -> None:
    from regatta.cli.verify import show_verdict, verdict_of
    from regatta.store.events import counts_of
    from regatta.store.folder import write_json

    value = verdict_of(place)
    write_json(place.verdict, value)
    show_verdict(value)
    note(place, "verified", **counts_of(value))


def _ingest(place: Folder) -> None:
    from regatta.cli.store import rebuild_and_show

    rebuild_and_show(place)


def _analyze(place: Folder) -> Answer:
    from regatta.answers.report.answer import answer_experiment
    from regatta.cli.analyze import json_of
    from regatta.cli.handover import handed_width
    from regatta.cli.kept_screen import KeptScreen
    from regatta.store.folder import replacing

    # What `regatta run` and `regatta analyze` show once the report is written.
    screen = KeptScreen(place, handed_width(), report=True)
    answer = answer_experiment(place.path)
    with replacing(place.answer) as temporary:
        temporary.write_text(json_of(answer) + "\n", encoding="utf-8")
    click.echo(str(place.answer))
    screen.keep(answer)
    return answer


def _report(place: Folder, answer: Answer) -> None:
    from regatta.answers.report.page import write_report
    from regatta.cli.options import grafana_url

    write_report(answer, place.report, grafana_url())
    click.echo(str(place.report))
