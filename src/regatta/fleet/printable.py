"""What a host says, made fit for a terminal, a log and a receipt."""

from __future__ import annotations

_LONGEST = 4000


def printable(text: str, longest: int = _LONGEST) -> str:
    """The text on one line, without what moves a cursor or hides it, and not longer than that."""
    shown = "".join(c if c.isprintable() else " " if c in "\n\t" else "?" for c in text[: longest + 1])
    return shown if len(text) <= longest else f"{shown[:longest]}..."
