"""Text from outside, made fit for a terminal, a log and a receipt.

A leaf: standard library only, because the runner carries it to the hosts.
"""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 4000
#: of each line below a text, so that a dozen of them fit
_LONGEST_LINE = 300
_INDENT = " " * 4


class Lines(str):
    """Text that has several lines on purpose, such as the end of a log: `printable` keeps its line breaks."""

    __slots__ = ()


def printable(text: str, longest: int = _LONGEST) -> str:
    """Make text safe to show: nothing in it moves a cursor, hides or reverses characters, or cannot be encoded.

    Args:
        text: any text. Line breaks become spaces, except in `Lines`, where every line below the first is indented: it
            cannot pass for a message of its own.
        longest: characters of the result, at most.

    Returns:
        the text. White space becomes a space; control characters, marks of direction, and lone surrogates become escapes
        such as `\\x1b`.
    """
    if not text.isprintable():
        first, *below = text[: longest + 1].split("\n") if isinstance(text, Lines) else [text[: longest + 1]]
        rows = [first, *(row if row.startswith(" ") else _INDENT + row for row in below)]
        text = "\n".join("".join(map(_shown, row)) for row in rows)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def with_lines(text: str, lines: Iterable[str]) -> Lines:
    """Return the text with lines from outside below it, each indented and cut."""
    return Lines("\n".join([text, *(_INDENT + printable(line, _LONGEST_LINE) for line in lines)]))


def _shown(one: str) -> str:
    if one.isprintable():
        return one
    return " " if one.isspace() else one.encode("unicode_escape").decode("ascii")
