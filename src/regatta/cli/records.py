"""`regatta records EXPERIMENT`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from regatta.cli.options import experiment_argument, json_option, results_option
from regatta.host.printable import printable
from regatta.host.values.record import Record
from regatta.store.cells import known_cells, planned_cells
from regatta.store.folder import Folder, find_folder

_HEADER = ("host", "invocation", "try", "round", "block", "pos", "status", "elapsed s", "cell", "reason")
_WIDTHS = (12, 24, 3, 5, 5, 3, 9, 11, 48, 0)
#: keys that name a cell
_NAMES = ("label", "benchmark", "runtime", "collector", "modifiers", "heap_factor", "heap_mib")


@click.command()
@experiment_argument
@results_option
@json_option
def records(experiment: str, results: Path, as_json: bool) -> None:
    """Print the records of EXPERIMENT (a name or a directory), one per line, in the order of the journal files.

    Each record shows its cell as described when it was recorded, even if the plan no longer has that cell.
    """
    from regatta.host.journal.journal import Damage, read_journal

    folder = find_folder(experiment, results)
    cells = _Cells(folder)
    write = sys.stdout.write
    damaged = 0
    if not as_json:
        write(_line(_HEADER))
    for item in read_journal(folder.path):
        if isinstance(item, Damage):
            damaged += 1
        elif as_json:
            write(json.dumps({**item, "cell": cells.of(item)}, separators=(",", ":")) + "\n")
        else:
            write(_line(_columns(item, cells.of(item))))
    sys.stdout.flush()
    if damaged:
        click.echo(f"{damaged} torn or damaged lines skipped; `regatta verify` lists them", err=True)


class _Cells:
    """Names of the cells of each host, and whether they are planned."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._hosts: dict[str, dict[str, dict[str, Any]]] = {}

    def of(self, record: Record) -> dict[str, Any]:
        """Return the names of the cell of a record, and `planned`; names are null if neither journal nor plan has them."""
        host, cell_id = record["host"], record["cell_id"]
        if host not in self._hosts:
            planned = planned_cells(self._folder, host)
            self._hosts[host] = {
                one: {name: cell.get(name) for name in _NAMES} | {"planned": one in planned}
                for one, cell in known_cells(self._folder, host).items()
            }
        return self._hosts[host].setdefault(cell_id, dict.fromkeys(_NAMES) | {"planned": False})


def _columns(record: Record, cell: dict[str, Any]) -> tuple[str, ...]:
    where = (record["host"], record["invocation_id"], record["attempt"], record["round"], record["block"])
    told = (*where, record["position"], record["status"], f"{record['elapsed_ns'] / 1e9:.6f}")
    name = str(cell["label"] or record["cell_id"]) + ("" if cell["planned"] else " (no longer planned)")
    return (*(printable(str(part)) for part in (*told, name)), printable(record.get("reason") or ""))


def _line(cells: tuple[str, ...]) -> str:
    return " ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip() + "\n"
