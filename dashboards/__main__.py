"""Make, check, query and preview the dashboards: `python -m dashboards [make | check | ask | preview FILE]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dashboards.asking import Ask, Board, Range, full_range
from dashboards.boards import documents, files
from regatta.cli.options import influx_settings
from regatta.host.errors import RegattaError
from regatta.influx.client import Client

ROOT = Path(__file__).parent.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands."""
    given = _parser().parse_args(arguments)
    try:
        if given.command == "ask":
            return _ask(given.board, _variables(given.var))
        if given.command == "preview":
            return _preview(given.file, given.board, _variables(given.var))
    except RegattaError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return _make(given.command == "check")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dashboards", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("make", help="write the JSON that Grafana reads (the default)")
    commands.add_parser("check", help="check that the JSON matches the code")
    ask = commands.add_parser(
        "ask", help="print the rows that each panel gets from the configured database, and the time"
    )
    preview = commands.add_parser("preview", help="draw the dashboards with data of the configured database")
    preview.add_argument("file", type=Path)
    for one in (ask, preview):
        one.add_argument("--board", help="only this dashboard, such as fleet-now")
        one.add_argument(
            "--var",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="set a variable; repeat it for several values",
        )
    return parser


def _variables(given: Sequence[str]) -> dict[str, list[str]]:
    chosen: dict[str, list[str]] = {}
    for one in given:
        name, _, value = one.partition("=")
        chosen.setdefault(name, []).append(value)
    return chosen


def _make(check_only: bool) -> int:
    stale = [
        path
        for path, text in files().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if not check_only:
        for path in stale:
            path.write_text(files()[path], encoding="utf-8")
    for path in stale:
        print(f"{'differs from the code' if check_only else 'written'}: {path.relative_to(ROOT)}")
    return 1 if check_only and stale else 0


def _asking() -> tuple[Ask, Range]:
    settings = influx_settings()
    client = Client(settings, "read", patience_s=5.0)

    def ask(query: str) -> list[Mapping[str, Any]]:
        return [
            {"name": one.name, "tags": one.tags, "columns": one.columns, "values": one.values}
            for one in client.query(query, epoch="ms")
        ]

    return ask, full_range(ask)


def _ask(name: str | None, given: dict[str, list[str]]) -> int:
    ask, when = _asking()
    print(f"{'board':18}{'rows':>8}  panel")
    empty = 0
    for document in documents():
        board = Board(document, ask, when, given)
        if name not in (None, board.name):
            continue
        for answer in board.panels():
            if answer.found:
                print(f"{board.name:18}{answer.rows:8}  {board.title(answer)}")
                empty += not answer.rows
        print(f"{board.name:18}{'':8}  ({board.seconds:.2f} s for all queries of the dashboard)")
    print(f"{empty} panels without rows", file=sys.stderr)
    return 0


def _preview(file: Path, name: str | None, given: dict[str, list[str]]) -> int:
    from dashboards.preview import page

    ask, when = _asking()
    boards = [Board(document, ask, when, given) for document in documents()]
    file.write_text(page([board for board in boards if name in (None, board.name)], when), encoding="utf-8")
    print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
