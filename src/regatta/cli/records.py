"""`regatta records EXPERIMENT`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from regatta.cli.options import json_option, results_option
from regatta.host.printable import printable
from regatta.host.values.record import Record
from regatta.store.folder import find_folder

_HEADER = ("host", "invocation", "try", "round", "block", "pos", "status", "elapsed s", "reason")
_WIDTHS = (12, 24, 3, 5, 5, 3, 9, 11, 0)


@click.command()
@click.argument("experiment")
@results_option
@json_option
def records(experiment: str, results: Path, as_json: bool) -> None:
    """Stream the records of EXPERIMENT (a name or a folder), a line each, in the order in which each file was written."""
    from regatta.host.journal.journal import Damage, read_journal

    folder = find_folder(experiment, results)
    write = sys.stdout.write
    damaged = 0
    if not as_json:
        write(_line(_HEADER))
    for item in read_journal(folder.path):
        if isinstance(item, Damage):
            damaged += 1
        else:
            write(json.dumps(item, separators=(",", ":")) + "\n" if as_json else _line(_cells(item)))
    sys.stdout.flush()
    if damaged:
        click.echo(f"{damaged} torn or damaged lines are no records; `regatta verify` names them", err=True)


def _cells(record: Record) -> tuple[str, ...]:
    where = (record["host"], record["invocation_id"], record["attempt"], record["round"], record["block"])
    told = (*where, record["position"], record["status"], f"{record['elapsed_ns'] / 1e9:.6f}")
    return (*(printable(str(part)) for part in told), printable(record.get("reason") or ""))


def _line(cells: tuple[str, ...]) -> str:
    return " ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip() + "\n"
