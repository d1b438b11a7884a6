"""Lines that InfluxDB does not take, and telling lines apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

#: refused lines are kept by name up to this many; the number of all is always known
NAMED = 20

#: A line of line protocol: newlines are in strings only, and quotes mean something after the first bare space only.
_LINE = re.compile(rb'(?:[^ \\\n]|\\.)+ (?:"(?:[^"\\]|\\.)*"|[^"\n])*\n', re.DOTALL)


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


def split_lines(data: bytes) -> list[bytes]:
    """Split line protocol into its lines, each with its newline; a newline in a string ends none."""
    lines = []
    at = 0
    while at < len(data):
        match = _LINE.match(data, at)
        # What is no line goes up to the next newline: the database says what is wrong with it.
        end = match.end() if match else data.find(b"\n", at) + 1 or len(data)
        lines.append(data[at:end])
        at = end
    return lines
