"""A row in a table of costs: ours compared with a peer and a goal; printed as text or as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

HYPERFINE_MISSING = "hyperfine: NOT INSTALLED; apt-get install hyperfine"
REBENCH_MISSING = "ReBench: NOT INSTALLED; `./regatta check` makes the environment that has it"


@dataclass
class Row:
    """One cost. `holds` is None without a goal; a goal that cannot be judged does not hold."""

    what: str
    unit: str
    ours: float | None
    #: None: not measured, with the reason in `peer_name`
    peer: float | None
    peer_name: str
    #: description of the goal; None: the peer is for comparison only
    goal: str | None
    #: maximum of `ours`
    limit: float | None
    holds: bool | None
    #: None: computed from `ours` and `peer`. Given as a median of ratios, each from measurements close together in time.
    ratio: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ratio is None and self.ours is not None and self.peer:
            self.ratio = self.ours / self.peer


def say(text: str) -> None:
    """Print progress."""
    print(f"perf: {text}", file=sys.stderr, flush=True)


def print_rows(rows: list[Row], as_json: bool) -> None:
    """Print rows to stdout, and missing comparisons also to stderr."""
    if as_json:
        print(json.dumps({"rows": [asdict(row) for row in rows]}))
    else:
        _print_table(rows)
    for row in rows:
        if row.peer is None:
            say(f"{row.what}: {row.peer_name}")


def _print_table(rows: list[Row]) -> None:
    lines = [("row", "Regatta", "peer", "", "ratio", "goal", "holds")]
    for row in rows:
        lines.append(
            (
                row.what,
                f"{_number(row.ours)} {row.unit}",
                f"{_number(row.peer)} {row.unit}" if row.peer is not None else "-",
                row.peer_name,
                _number(row.ratio),
                "-" if row.goal is None else f"{row.goal}: {_number(row.limit)} {row.unit}",
                {True: "yes", False: "NO", None: "-"}[row.holds],
            )
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = (
            text.rjust(w) if i in (1, 2, 4) else text.ljust(w)
            for i, (text, w) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join(cells).rstrip())


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"
