"""Make external text safe for terminals, logs and receipts.

Standard library only and no imports of other layers: the runner carries this module to the hosts.
"""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 4000
#: limit for each line below a text, so that a dozen lines fit
_LONGEST_LINE = 300
_INDENT = " " * 4


class Lines(str):
    """Text with intentional line breaks, such as the end of a log. `printable` keeps its line breaks."""

    __slots__ = ()


def printable(text: str, longest: int = _LONGEST) -> str:
    """Make text safe to show: encodable, without cursor movement and without hidden or reversed characters.

    Args:
        text: any text. Line breaks become spaces. `Lines` keep them, with every line below the first indented, so
            that it cannot pass for a separate message.
        longest: maximum length of the result in characters.

    Returns:
        The text. White space becomes a space. Control characters, direction marks and lone surrogates become escapes
        such as `\\x1b`.
    """
    if not text.isprintable():
        first, *below = text[: longest + 1].split("\n") if isinstance(text, Lines) else [text[: longest + 1]]
        rows = [first, *(row if row.startswith(" ") else _INDENT + row for row in below)]
        text = "\n".join("".join(map(_shown, row)) for row in rows)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def with_lines(text: str, lines: Iterable[str]) -> Lines:
    """Return the text followed by external lines, each indented and truncated."""
    return Lines("\n".join([text, *(_INDENT + printable(line, _LONGEST_LINE) for line in lines)]))


def _shown(one: str) -> str:
    if one.isprintable():
        return one
    return " " if one.isspace() else one.encode("unicode_escape").decode("ascii")
