"""Error messages of InfluxDB 1, 2 and 3, and of urllib3."""

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
#: message of InfluxDB for an unknown retention policy
NO_POLICY = "retention policy not found"

#: maximum number of refused lines kept by name; all are counted
NAMED = 20
_SHOWN = 500
#: One day: a longer requested wait is shortened to it.
_LONGEST_WAIT_S = 86_400.0
_PARTIAL = re.compile(r"(?:partial write: )?(.*?)\s*dropped=(\d+)\s*$", re.DOTALL)


def shown(said: str) -> str:
    """Shorten a message of the database and remove terminal control characters."""
    return printable(said, _SHOWN)


def reason(said: str) -> tuple[str, int]:
    """Return the reason, and the number of points dropped for it; 0: not stated."""
    match = _PARTIAL.fullmatch(said.strip())
    return (shown(match[1]), int(match[2])) if match else (shown(said.strip()), 0)


def message(body: bytes) -> str | None:
    """Return the error in an answer of the database: `error` in InfluxDB 1 and 3, `message` in 2; None without either."""
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
    """Related rows of an answer: as long as the columns, with plain values and integer times."""

    name: str
    tags: dict[str, str]
    columns: list[str]
    values: list[list[Any]]


def parts_of(answer: Any) -> tuple[str | None, list[Series], bool]:
    """Validate an answer to a query and return its parts: the error (or None), the series, and whether more follows.

    Raises:
        KeyError, TypeError, AttributeError: the shape is not that of InfluxDB answers.
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
    # C loops for speed: there can be millions of values.
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
    """Return whether a series has the required number of columns, and only numbers or nulls if required."""
    if width is not None and len(series.columns) != width:
        return False
    return not numbers or {*map(type, chain.from_iterable(series.values))} <= _NUMBERS


def may_be_empty(headers: Mapping[str, str]) -> bool:
    """Return whether the headers allow an answer without a document to mean no rows; InfluxDB 3 sends such answers."""
    version = headers.get("X-Influxdb-Version")
    if version is None:
        return headers.get("Content-Type", "").startswith("application/json")
    return version.removeprefix("v").startswith("3")


def retry_after(header: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header (a number or a date); None if it is unusable."""
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
    """Return the cause of an error without the object representations of urllib3."""
    cause: BaseException = error
    while isinstance(deeper := cause.__cause__ or getattr(cause, "reason", None), Exception):
        cause = deeper
    if isinstance(cause, OSError) and cause.strerror:
        return shown(cause.strerror)
    text = re.sub(r"<[^>]*>:? ?|\w+(Connection|Pool)\([^)]*\):? ?", "", str(cause))
    return shown(text) or type(cause).__name__


def integer(text: str) -> int | float:
    """Parse a JSON number without a decimal point. InfluxDB also writes whole floats so, and zero has two signs."""
    return -0.0 if text == "-0" else int(text)


@dataclass(frozen=True)
class RefusedLine:
    """A line that the database refused, and the reason."""

    line: bytes
    reason: str


@dataclass
class Refusals:
    """All refused lines: their number, and the first of them by name."""

    count: int = 0
    #: of the last refusal
    reason: str = ""
    lines: list[RefusedLine] = field(default_factory=list)

    def add(self, lines: Sequence[bytes], reason: str) -> None:
        """Add refused lines with their reason."""
        self.count += len(lines)
        self.reason = reason
        for line in lines[: max(0, NAMED - len(self.lines))]:
            self.lines.append(RefusedLine(line, reason))
