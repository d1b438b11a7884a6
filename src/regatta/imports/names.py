"""Names that Regatta takes, made of names that others took."""

from __future__ import annotations

import re
from collections.abc import Iterable

from regatta.imports.ledger import Ledger
from regatta.spec.fields import NAME
from regatta.spec.yaml_lines import KeyPath

_LONGEST = 64


def clean(text: str, plus: bool = True) -> str:
    """The nearest name: other characters become `-`, and it begins with a letter or digit; `x` where nothing is left."""
    kept = re.sub(r"[^A-Za-z0-9._+-]+" if plus else r"[^A-Za-z0-9._-]+", "-", text)
    kept = re.sub(r"\.\.+", ".", re.sub(r"--+", "-", kept))
    kept = re.sub(r"^[^A-Za-z0-9]+", "", kept)[:_LONGEST].rstrip("-")
    return kept if NAME.fullmatch(kept) else "x"


class Names:
    """Names of one kind, each given once."""

    def __init__(self, taken: Iterable[str] = (), plus: bool = True) -> None:
        self.taken = set(taken)
        self.plus = plus

    def free(self, text: str) -> str:
        """The nearest name that is not taken yet; from now on it is."""
        base = clean(text, self.plus)
        name, number = base, 2
        while name in self.taken:
            end = f"-{number}"
            name = base[: _LONGEST - len(end)] + end
            number += 1
        self.taken.add(name)
        return name

    def give(self, ledger: Ledger, path: KeyPath, what: str, text: str) -> str:
        """As `free`; says so where the name is another one."""
        name = self.free(text)
        if name != text:
            ledger.change(path, f"{what} `{text}` is called `{name}` here")
        return name
