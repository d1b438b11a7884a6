"""Common frame of all commands in this folder."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from experiments import Unfit, workplace
from rows import Row, print_rows, say

MISSED, UNFIT = 1, 3


def run_command(description: str, measure: Callable[[Path, bool], list[Row]]) -> int:
    """Parse options, measure and print; return the exit code: 1 if a goal is missed, 3 if nothing can be measured here."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="a smaller run, whose numbers are rough")
    parser.add_argument(
        "--directory",
        help="where to measure, on a real disk (default: the first of TMPDIR, /var/tmp and the clone that is on one)",
    )
    arguments = parser.parse_args()
    try:
        with workplace(arguments.directory) as place:
            rows = measure(place, arguments.quick)
    except Unfit as error:
        say(str(error))
        return UNFIT
    print_rows(rows, arguments.json)
    return MISSED if any(row.holds is False for row in rows) else 0
