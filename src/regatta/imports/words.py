"""Command lines as a POSIX shell reads them, split without a shell; what only a shell can do is found and told."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

#: what is more than words and quotes
_SPECIAL = set("|&;<>()$`*?[\n#")
_SPECIAL_IN_QUOTES = set("$`")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def shell_syntax(text: str) -> str:
    """The first character that a shell would act on; empty where splitting and unquoting is all there is to do."""
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
    """The words of a command line, quotes removed and `~` made the home folder.

    Raises:
        ValueError: a quote is not closed.
    """
    return [at_home(word) for word in shlex.split(text)]


def at_home(word: str) -> str:
    """A path, or several with `:` between them, with `~` made the home folder."""
    return ":".join(os.path.expanduser(part) for part in word.split(":")) if "~" in word else word


def assignments(words: Sequence[str]) -> int:
    """How many `NAME=value` stand before the program."""
    count = 0
    while count < len(words) and _ASSIGNMENT.match(words[count]):
        count += 1
    return count


def braces_doubled(text: str) -> str:
    """Text as a template that means itself."""
    return text.replace("{", "{{").replace("}", "}}")
