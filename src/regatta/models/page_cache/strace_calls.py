"""Read the lines of strace as whole calls. A line that cannot be understood is counted, never fatal."""

from __future__ import annotations

import re
from typing import NamedTuple

from regatta.models.page_cache.operations import NONE
from regatta.models.page_cache.strace_grammar import (
    DETACHED,
    MAX_LINE,
    UNFINISHED,
    arguments_of,
    number_of,
    result_of,
)

_CALL = re.compile(r"(?:(\d{1,9}) +)?(\d{1,12})\.(\d{6,9}) ([a-z_][a-z0-9_]*)\(")
_RESUMED = re.compile(r"(?:(\d{1,9}) +)?\d{1,12}\.\d{6,9} <\.\.\. ([a-z_][a-z0-9_]*) resumed>")
_END = re.compile(
    r"(?:(\d{1,9}) +)?(\d{1,12})\.(\d{6,9}) \+\+\+ (exited with|killed by|superseded by execve in pid (\d{1,9})) ?"
)
_SIGNAL = re.compile(r"(?:\d+ +)?\d{1,12}\.\d{6,9} --- ")
_DURATION = re.compile(r"<(\d{1,9})\.(\d{6,9})>\s*$")
#: most characters of the damaged line that the remarks show
_EXAMPLE_CHARACTERS = 80


class Call(NamedTuple):
    """A call that returned."""

    pid: int
    time_ns: int
    duration_ns: int
    name: str
    arguments: list[str]
    #: its value; -1: it failed
    value: int
    #: the result as strace shows it, with the name of a descriptor
    result: str

    @property
    def failed(self) -> bool:
        return self.value < 0

    def argument(self, index: int) -> str:
        return self.arguments[index] if index < len(self.arguments) else ""


class End(NamedTuple):
    """The end of a process. `successor`: the thread that continues under its number after an exec; 0: none."""

    pid: int
    time_ns: int
    successor: int


class CallReader:
    """Joins the begin and the end of calls that other processes interrupted.

    `unfinished`: process -> the begun line of its call. `damaged`: number of lines that strace does not write. `example`: the begin
    of the first of them.
    """

    def __init__(self) -> None:
        self.unfinished: dict[int, str] = {}
        self.damaged = 0
        self.example = ""

    def read(self, line: str) -> Call | End | None:
        """Read one line; return what it completes."""
        if len(line) > MAX_LINE:
            self._damage(line)
        elif begin := _CALL.match(line):
            return self._begins(int(begin[1] or 0), begin, line.rstrip("\n"))
        elif resumed := _RESUMED.match(line):
            return self._resumes(int(resumed[1] or 0), resumed[2], line[resumed.end() :].rstrip("\n"))
        elif end := _END.match(line):
            return self._ends(End(int(end[1] or 0), _ns(end[2], end[3]), int(end[5] or 0)))
        elif not _SIGNAL.match(line) and line.strip():
            self._damage(line)
        return None

    def begun(self, names: frozenset[str]) -> list[tuple[int, str]]:
        """Return the processes in a call of one of these names, with its line."""
        return [
            (pid, line)
            for pid, line in self.unfinished.items()
            if (begin := _CALL.match(line)) and begin[4] in names
        ]

    def _damage(self, line: str) -> None:
        self.damaged += 1
        self.example = self.example or line[:_EXAMPLE_CHARACTERS]

    def _begins(self, pid: int, begin: re.Match[str], line: str) -> Call | None:
        if line.endswith(DETACHED):
            return None
        if line.endswith(UNFINISHED):
            if pid in self.unfinished:
                self._damage(line)
            self.unfinished[pid] = line[: -len(UNFINISHED)]
            return None
        return self._returned(pid, begin, line)

    def _resumes(self, pid: int, name: str, rest: str) -> Call | None:
        begun = self.unfinished.pop(pid, None)
        begin = None if begun is None else _CALL.match(begun)
        if begun is None or begin is None or begin[4] != name:
            self._damage(rest)
            return None
        return self._returned(pid, begin, begun + rest)

    def _returned(self, pid: int, begin: re.Match[str], line: str) -> Call | None:
        result = result_of(line)
        if result is None:
            self._damage(line)
            return None
        if result[1] == "?":
            return None
        duration = _DURATION.search(line, result.end())
        arguments = arguments_of(line[begin.end() : result.start()])
        value = -1 if result[1].startswith("-") else number_of(result[1])
        duration_ns = NONE if duration is None else _ns(duration[1], duration[2])
        shown = line[result.start(1) :]
        return Call(pid, _ns(begin[2], begin[3]), duration_ns, begin[4], arguments, value, shown)

    def _ends(self, end: End) -> End:
        self.unfinished.pop(end.pid, None)
        # The exec of a thread ends the others, and continues under the number of the process.
        if begun := self.unfinished.pop(end.successor, None) if end.successor else None:
            self.unfinished[end.pid] = begun
        return end


def _ns(seconds: str, fraction: str) -> int:
    return int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))
