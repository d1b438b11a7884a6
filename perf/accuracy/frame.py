"""Common frame of the scripts in this folder: options, a table of shares with their Monte-Carlo errors, and the exit code."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

MISSED = 1


@dataclass(frozen=True)
class Row:
    """One measured quantity. `error`: its Monte-Carlo standard error; `goal`: in words; `holds`: None without a goal."""

    what: str
    value: float
    error: float
    unit: str = "%"
    goal: str = ""
    holds: bool | None = None


def share(what: str, count: int, of: int, at_least: float = math.nan, at_most: float = math.nan) -> Row:
    """Return a share of replications, in percent. A goal is missed if it is more than three standard errors away.

    Args:
        what: what was counted, in which case.
        count: number of replications that have it.
        of: number of replications.
        at_least: goal in percent; NaN: none.
        at_most: the same.
    """
    value = 100.0 * count / of
    error = 100.0 * math.sqrt(max(count, 1) * max(of - count, 1) / of) / of
    goals = [f"at least {at_least:g}"] * (at_least == at_least) + [f"at most {at_most:g}"] * (
        at_most == at_most
    )
    missed = value + 3 * error < at_least or value - 3 * error > at_most
    return Row(what, value, error, "%", ", ".join(goals), None if not goals else not missed)


def run(description: str, measure: Callable[[int], Iterable[Row]], replications: int) -> int:
    """Parse options, measure, print, and return the exit code: 1 if a goal is missed.

    Args:
        description: for --help.
        measure: takes the number of replications of each case.
        replications: the default; `--quick` takes a twentieth.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the replications")
    parser.add_argument(
        "--replications", type=int, default=replications, help=f"of each case (default {replications:,})"
    )
    options = parser.parse_args()
    count = max(20, options.replications // 20) if options.quick else options.replications
    rows = []
    if not options.json:
        print(f"{'':72} {'measured':>10} {'± error':>9}  goal", flush=True)
    for row in measure(count):
        rows.append(row)
        if not options.json:
            judged = "" if row.holds is None else f"{row.goal} {row.unit}{'' if row.holds else '  MISSED'}"
            print(f"{row.what:72} {row.value:8.2f} {row.unit} {row.error:9.2f}  {judged}", flush=True)
    if options.json:
        print(json.dumps({"replications": count, "rows": [asdict(row) for row in rows]}))
    return MISSED if any(row.holds is False for row in rows) else 0
