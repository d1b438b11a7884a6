"""Shared parsing of printed output: lines, numbers, and uncaught exceptions of JVM threads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

#: locale-independent digits; "1,234" and "١٢" do not match
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?\Z")
_UNCAUGHT = re.compile(r'Exception in thread "[^"]{0,200}".{0,200}')


def lines_of(output: bytes) -> Iterator[str]:
    """Yield lines without surrounding white space. Accept any bytes."""
    for line in output.decode("utf-8", "replace").split("\n"):
        yield line.strip()


def number(text: str) -> float | None:
    """Parse a finite, positive number. Return None for other text."""
    value = float(text) if _NUMBER.match(text) else math.nan
    return value if math.isfinite(value) and value > 0 else None


def uncaught(*outputs: bytes) -> str:
    """Return the first uncaught exception that a JVM printed, or ""."""
    for output in outputs:
        for line in lines_of(output):
            found = _UNCAUGHT.match(line)
            if found:
                return found.group(0)
    return ""


def quoted(line: str) -> str:
    """Return a line as shown in an error message."""
    return repr(line[:160])
