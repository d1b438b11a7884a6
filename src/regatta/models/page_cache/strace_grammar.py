"""The grammar of one line of strace: results, descriptors, arguments and quoted strings."""

from __future__ import annotations

import re
from typing import NamedTuple

#: strace writes no longer line here: strings are cut (`-s 0`), and paths are limited
MAX_LINE = 64 * 1024
UNFINISHED = " <unfinished ...>"
DETACHED = " <detached ...>"

#: a quoted string, or the name of a descriptor; either can contain the other's delimiters, so one pattern reads both
_TEXT = r'"(?:[^"\\]|\\.)*"|<(?:[^<>]|<[^<>]*>|(?<=-)>)*>'
_TEXTS = re.compile(_TEXT)
_TOKENS = re.compile(_TEXT + r"|[{\[(]|[}\])]|, ")
_RESULT = re.compile(r"\) += (-?\d{1,20}|0x[0-9a-f]{1,16}|\?)(?=[ <_\n]|$)")
_DESCRIPTOR = re.compile(r"(-?\d{1,10}|AT_FDCWD)(?:<((?:[^<>]|<[^<>]*>|(?<=-)>)*)>)?(\(deleted\))?")
_ESCAPES = re.compile(rb"\\([0-7]{1,3}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"f": b"\f", b"v": b"\v", b"a": b"\a", b"b": b"\b"}


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
    """Find the result of a call. If a path looks like a result, blank the text that strace quotes or brackets."""
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
