"""Derive valid names for Regatta from names of other tools."""

from __future__ import annotations

import re
from collections.abc import Iterable

from regatta.imports.ledger import Ledger
from regatta.spec.fields import NAME
from regatta.spec.yaml_lines import KeyPath

_LONGEST = 64


def clean(text: str, plus: bool = True) -> str:
    """Return the nearest valid name: a letter or digit first, other characters as `-`; `x` if it would be empty."""
    kept = re.sub(r"[^A-Za-z0-9._+-]+" if plus else r"[^A-Za-z0-9._-]+", "-", text)
    kept = re.sub(r"\.\.+", ".", re.sub(r"--+", "-", kept))
    kept = re.sub(r"^[^A-Za-z0-9]+", "", kept)[:_LONGEST].rstrip("-")
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
            name = base[: _LONGEST - len(end)] + end
            number += 1
        self.taken.add(name)
        return name

    def give(self, ledger: Ledger, path: KeyPath, what: str, text: str) -> str:
        """Return a free name as `free` does, and record a change of the name."""
        name = self.free(text)
        if name != text:
            ledger.change(path, f"{what} `{text}` is named `{name}`")
        return name
