"""The last computed comparisons of a running experiment."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regatta.host.files import read_object, write_object
from regatta.host.printable import printable
from regatta.store.folder import Folder

#: Without the suffix `.json`, which marks states of runners.
_FILE = "so-far"
_LARGEST_BYTES = 1 << 22


@dataclass(frozen=True)
class SoFar:
    """A preliminary table of ratios with their intervals."""

    #: Invocations in all records used.
    recorded: int
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def has_intervals(self) -> bool:
        """Return whether any row has an interval, `[0.78, 0.90]`."""
        return any(text.startswith("[") for row in self.rows for text in row)

    def lines(self, most: int) -> list[str]:
        """Return the table as text, with at most `most` rows."""
        shown = [self.columns, *self.rows[:most]]
        widths = [max(len(row[at]) for row in shown) for at in range(len(self.columns))]
        where = f": {self.title}" if self.title else ""
        lines = [f"so far, not final, from {self.recorded} invocations{where}"]
        lines += [
            "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in shown
        ]
        if len(self.rows) > most:
            lines.append(f"  and {len(self.rows) - most} more comparisons")
        return lines


def write_so_far(folder: Folder, found: SoFar) -> None:
    """Write the table and replace the previous one. Raise OSError on failure."""
    write_object(folder.state / _FILE, vars(found))


def read_so_far(folder: Folder) -> SoFar | None:
    """Read the table; None if not computed yet."""
    value = read_object(folder.state / _FILE, _LARGEST_BYTES)
    columns, rows = _texts(value.get("columns")), value.get("rows")
    recorded = value.get("recorded")
    if not columns or not isinstance(rows, list) or not isinstance(recorded, int):
        return None
    table = tuple(_texts(row) for row in rows)
    if any(len(row) != len(columns) for row in table):
        return None
    return SoFar(recorded, printable(str(value.get("title", ""))), columns, table)


def age_of_so_far(folder: Folder) -> float:
    """Return the time since the last computation, in s; infinity if there was none."""
    try:
        return time.time() - (folder.state / _FILE).stat().st_mtime
    except OSError:
        return math.inf


def forget_so_far(folder: Folder) -> None:
    """Remove the table of a previous run. Raise OSError on failure."""
    (folder.state / _FILE).unlink(missing_ok=True)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    return tuple(printable(str(text)) for text in value)
