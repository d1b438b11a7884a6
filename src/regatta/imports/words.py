"""Words of other tools: command lines, split as a POSIX shell does but without a shell, and valid names for Regatta."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence

from regatta.imports.ledger import Ledger
from regatta.spec.fields import NAME, VARIABLE
from regatta.spec.yaml_lines import KeyPath

_LONGEST_NAME = 64
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


def settable(variable: str, value: str) -> bool:
    """Return whether Regatta can set an environment variable to a value."""
    return bool(
        VARIABLE.fullmatch(variable) and not variable.upper().startswith("REGATTA_") and value.isprintable()
    )


def clean(text: str, plus: bool = True) -> str:
    """Return the nearest valid name: a letter or digit first, other characters as `-`; `x` if it would be empty."""
    kept = re.sub(r"[^A-Za-z0-9._+-]+" if plus else r"[^A-Za-z0-9._-]+", "-", text)
    kept = re.sub(r"\.\.+", ".", re.sub(r"--+", "-", kept))
    kept = re.sub(r"^[^A-Za-z0-9]+", "", kept)[:_LONGEST_NAME].rstrip("-")
    return kept if NAME.fullmatch(kept) else "x"


class Names:
    """Unique names of one kind."""

    def __init__(self, taken: Iterable[str] = (), plus: bool = True) -> None:
        self.taken = set(taken)
        self.plus = plus

    def free(self, text: str) -> str:
        """Return the nearest free name, and reserve it."""
        base = clean(text, self.plus)
        name, number = base, 2
        while name in self.taken:
            end = f"-{number}"
            name = base[: _LONGEST_NAME - len(end)] + end
            number += 1
        self.taken.add(name)
        return name

    def give(self, ledger: Ledger, path: KeyPath, what: str, text: str) -> str:
        """Return a free name as `free` does, and record a change of the name."""
        name = self.free(text)
        if name != text:
            ledger.change(path, f"{what} `{text}` is named `{name}`")
        return name
