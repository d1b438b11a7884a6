"""The lines of strace: results, descriptors, arguments and quoted strings, joined to whole calls.

A line that cannot be understood is counted, never fatal.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from regatta.models.page_cache.operations import NONE

#: strace writes no longer line here: strings are cut (`-s 0`), and paths are limited
MAX_LINE = 64 * 1024
UNFINISHED = " <unfinished ...>"
DETACHED = " <detached ...>"

#: a quoted string, or the name of a descriptor; either can contain the other's delimiters, so one pattern
#: reads both
_TEXT = r'"(?:[^"\\]|\\.)*"|<(?:[^<>]|<[^<>]*>|(?<=-)>)*>'
_TEXTS = re.compile(_TEXT)
_TOKENS = re.compile(_TEXT + r"|[{\[(]|[}\])]|, ")
_RESULT = re.compile(r"\) += (-?\d{1,20}|0x[0-9a-f]{1,16}|\?)(?=[ <_\n]|$)")
_DESCRIPTOR = re.compile(r"(-?\d{1,10}|AT_FDCWD)(?:<((?:[^<>]|<[^<>]*>|(?<=-)>)*)>)?(\(deleted\))?")
_ESCAPES = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"f": b"\f", b"v": b"\v", b"a": b"\a", b"b": b"\b"}
_CALL = re.compile(r"(?:(\d{1,9}) +)?(\d{1,12})\.(\d{6,9}) ([a-z_][a-z0-9_]*)\(")
_RESUMED = re.compile(r"(?:(\d{1,9}) +)?\d{1,12}\.\d{6,9} <\.\.\. ([a-z_][a-z0-9_]*) resumed>")
_END = re.compile(
    r"(?:(\d{1,9}) +)?(\d{1,12})\.(\d{6,9}) \+\+\+ (exited with|killed by|superseded by execve in pid (\d{1,9})) ?"
)
_SIGNAL = re.compile(r"(?:\d+ +)?\d{1,12}\.\d{6,9} --- ")
_DURATION = re.compile(r"<(\d{1,9})\.(\d{6,9})>\s*$")
#: most characters of the damaged line that the remarks show
_EXAMPLE_CHARACTERS = 80


class Descriptor(NamedTuple):
    """A descriptor as strace writes it.

    Args:
        number: the descriptor; -100 (AT_FDCWD) is the working directory.
        name: its file in strace's escapes; empty: not told.
        deleted: whether the file has no name any more.
    """

    number: int
    name: str
    deleted: bool


def result_of(line: str) -> re.Match[str] | None:
    """Find the result of a call. If a path looks like one, blank what strace quotes or brackets."""
    if line.count(" = ") > 1:
        return _RESULT.search(_TEXTS.sub(lambda text: "_" * len(text[0]), line))
    return _RESULT.search(line)


def number_of(result: str) -> int:
    """Parse a decimal or hexadecimal result. umask returns octal, which makes no difference here."""
    return int(result, 16) if result.startswith("0x") else int(result)


def arguments_of(text: str) -> list[str]:
    """Split the arguments of a call at the commas outside of strings, names and structures."""
    found = []
    depth = start = 0
    for token in _TOKENS.finditer(text):
        word = token[0]
        if word == ", ":
            if depth == 0:
                found.append(text[start : token.start()])
                start = token.end()
        elif word in "{[(":
            depth += 1
        elif word in "}])":
            depth -= 1
    found.append(text[start:])
    return found


def descriptor_of(argument: str) -> Descriptor | None:
    """Parse a descriptor at the start of an argument or a result. None: there is none."""
    found = _DESCRIPTOR.match(argument)
    if found is None:
        return None
    number = -100 if found[1] == "AT_FDCWD" else int(found[1])
    return Descriptor(number, found[2] or "", found[3] is not None)


def path_of(argument: str) -> str | None:
    """Return the path of a quoted argument. None: it is an address, or strace cut it."""
    if len(argument) < 2 or argument[0] != '"' or argument[-1] != '"':
        return None
    return unescaped(argument[1:-1])


def unescaped(text: str) -> str:
    r"""Replace strace's escapes. Bytes that are not UTF-8 remain visible as `\xff`."""
    if "\\" not in text:
        return text
    raw = _ESCAPES.sub(_byte, text.encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "backslashreplace")


def _byte(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    if code[:1].isdigit() and code[:1] < b"8":
        return bytes([int(code, 8) & 0xFF])
    if len(code) == 3:
        return bytes([int(code[1:], 16)])
    return _LETTERS.get(code, code)


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
    """The end of a process. `successor`: the thread that continues as it after an exec; 0: none."""

    pid: int
    time_ns: int
    successor: int


class CallReader:
    """Joins the begin and the end of calls that other processes interrupted.

    `unfinished`: process -> the begun line of its call. `damaged`: number of lines that strace does not
    write. `example`: the begin of the first of them.
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
