"""Split command lines as a POSIX shell does, without a shell; syntax that needs a shell is detected."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

#: characters other than words and quotes
_SPECIAL = set("|&;<>()$`*?[\n#")
_SPECIAL_IN_QUOTES = set("$`")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def shell_syntax(text: str) -> str:
    """Return the first character that a shell would interpret; empty if splitting and unquoting suffice."""
    quote = ""
    escaped = False
    before = " "
    for char in text:
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            if char == quote:
                quote = ""
            elif quote == '"' and char in _SPECIAL_IN_QUOTES:
                return char
        elif char in "\"'":
            quote = char
        elif char in _SPECIAL and not (char == "#" and not before.isspace()):
            return char
        before = char
    return ""


def split(text: str) -> list[str]:
    """Return the words of a command line, with quotes removed and `~` expanded.

    Raises:
        ValueError: a quote is not closed.
    """
    return [at_home(word) for word in shlex.split(text)]


def at_home(word: str) -> str:
    """Return a path, or several separated by `:`, with `~` expanded."""
    return ":".join(os.path.expanduser(part) for part in word.split(":")) if "~" in word else word


def assignments(words: Sequence[str]) -> int:
    """Return the number of `NAME=value` words before the program."""
    count = 0
    while count < len(words) and _ASSIGNMENT.match(words[count]):
        count += 1
    return count


def braces_doubled(text: str) -> str:
    """Escape text for a template, so that it is literal."""
    return text.replace("{", "{{").replace("}", "}}")
