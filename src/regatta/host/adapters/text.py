"""What several adapters of printed output share: lines, numbers, and the sign that a thread of a JVM died."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

#: digits of a program that prints for every locale alike; "1,234" or "١٢" is none
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?\Z")
_UNCAUGHT = re.compile(r'Exception in thread "[^"]{0,200}".{0,200}')


def lines_of(output: bytes) -> Iterator[str]:
    """Lines without their ends and the space around them, whatever bytes are in them."""
    for line in output.decode("utf-8", "replace").split("\n"):
        yield line.strip()


def number(text: str) -> float | None:
    """A finite, positive number; None where the text is something else."""
    value = float(text) if _NUMBER.match(text) else math.nan
    return value if math.isfinite(value) and value > 0 else None


def uncaught(*outputs: bytes) -> str:
    """The first uncaught exception that a JVM told of, or nothing."""
    for output in outputs:
        for line in lines_of(output):
            found = _UNCAUGHT.match(line)
            if found:
                return found.group(0)
    return ""


def quoted(line: str) -> str:
    """A line as an error message shows it."""
    return repr(line[:160])
