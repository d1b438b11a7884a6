"""What InfluxDB 1, 2 and 3 say when something is wrong, and what urllib3 does."""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from regatta.host.printable import printable

_NUMBERS = {int, float, type(None)}
_PLAIN = _NUMBERS | {str, bool}
#: what InfluxDB says of a retention policy that it does not have
NO_POLICY = "retention policy not found"

#: refused lines are kept by name up to this many; the number of all is always known
NAMED = 20
_SHOWN = 500
#: A day: who is told to wait for longer asks again after it.
_LONGEST_WAIT_S = 86_400.0
_PARTIAL = re.compile(r"(?:partial write: )?(.*?)\s*dropped=(\d+)\s*$", re.DOTALL)


def shown(said: str) -> str:
    """The database's words for a message: not too many, and none that steer a terminal."""
    return printable(said, _SHOWN)


def reason(said: str) -> tuple[str, int]:
    """The reason, and how many points were dropped for it; 0: it does not say."""
    match = _PARTIAL.fullmatch(said.strip())
    return (shown(match[1]), int(match[2])) if match else (shown(said.strip()), 0)


def message(body: bytes) -> str | None:
    """The error in an answer of the database: `error` of InfluxDB 1 and 3, `message` of 2; None where it is no such answer."""
    try:
        answer = json.loads(body)
        said = answer.get("error") or answer["message"]
        data = answer.get("data")
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    if isinstance(data, list) and data and isinstance(data[0], dict) and "error_message" in data[0]:
        said = f"{said}: {data[0]['error_message']}"
    return " ".join(str(said).split())


@dataclass(frozen=True)
class Series:
    """Rows of an answer that belong together: as long as there are columns, of plain values, with whole numbers as times."""

    name: str
    tags: dict[str, str]
    columns: list[str]
    values: list[list[Any]]


def parts_of(answer: Any) -> tuple[str | None, list[Series], bool]:
    """The parts of an answer to a query, which anybody may have written: why it failed (or None), its series, whether more comes.

    Raises:
        KeyError, TypeError, AttributeError: it has another shape than answers of InfluxDB.
    """
    results = answer.get("results", [])
    if not isinstance(results, list):
        raise TypeError("results")
    failures = [one["error"] for one in (answer, *results) if "error" in one]
    if failures:
        return str(failures[0]), [], False
    found = [_series(one) for result in results for one in result.get("series", [])]
    return None, found, bool(results) and results[-1].get("partial", False) is True


def _series(one: Any) -> Series:
    series = Series(one.get("name", ""), one.get("tags", {}), one["columns"], one.get("values", []))
    rows = series.values
    # In the loops of C: there may be millions of values.
    if not (
        isinstance(series.name, str)
        and {type(text) for pair in series.tags.items() for text in pair} <= {str}
        and isinstance(series.columns, list)
        and {*map(type, series.columns)} == {str}
        and isinstance(rows, list)
        and {*map(type, rows)} <= {list}
        and {*map(len, rows)} <= {len(series.columns)}
        and {*map(type, chain.from_iterable(rows))} <= _PLAIN
        and (series.columns[0] != "time" or {type(row[0]) for row in rows} <= {int})
    ):
        raise TypeError("series")
    return series


def fits(series: Series, width: int | None, numbers: bool) -> bool:
    """Whether a series has so many columns, and whether its values are numbers or null, where that is asked for."""
    if width is not None and len(series.columns) != width:
        return False
    return not numbers or {*map(type, chain.from_iterable(series.values))} <= _NUMBERS


def may_be_empty(headers: Mapping[str, str]) -> bool:
    """Whether an answer to a query without any document can be one of no rows, going by its headers: InfluxDB 3 has such."""
    version = headers.get("X-Influxdb-Version")
    if version is None:
        return headers.get("Content-Type", "").startswith("application/json")
    return version.removeprefix("v").startswith("3")


def retry_after(header: str | None) -> float | None:
    """Seconds in a header `Retry-After`, which has them or a date; None where it says nothing that can be waited for."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), _LONGEST_WAIT_S) if math.isfinite(seconds) else None


def plain(error: Exception) -> str:
    """What went wrong, without the objects that urllib3 puts into its messages."""
    cause: BaseException = error
    while isinstance(deeper := cause.__cause__ or getattr(cause, "reason", None), Exception):
        cause = deeper
    if isinstance(cause, OSError) and cause.strerror:
        return shown(cause.strerror)
    text = re.sub(r"<[^>]*>:? ?|\w+(Connection|Pool)\([^)]*\):? ?", "", str(cause))
    return shown(text) or type(cause).__name__


def integer(text: str) -> int | float:
    """A number without a point in JSON. InfluxDB writes whole floats so, too, and zero has two signs."""
    return -0.0 if text == "-0" else int(text)


@dataclass(frozen=True)
class RefusedLine:
    """A line that the database did not take, and why."""

    line: bytes
    reason: str


@dataclass
class Refusals:
    """Everything that was refused: how much, and the first of it by name."""

    count: int = 0
    #: of the last
    reason: str = ""
    lines: list[RefusedLine] = field(default_factory=list)

    def add(self, lines: Sequence[bytes], reason: str) -> None:
        """Take lines that were refused for a reason."""
        self.count += len(lines)
        self.reason = reason
        for line in lines[: max(0, NAMED - len(self.lines))]:
            self.lines.append(RefusedLine(line, reason))
