"""The templates of commands, strictly: every brace belongs to a name or is doubled."""

from __future__ import annotations

import re

from regatta.host.values.template import placeholders
from regatta.spec.fields import refusal

_FINE = re.compile(r"\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_.-]*\}")


def names_in(text: str) -> list[str]:
    """The names that a template mentions, in order.

    Raises:
        PydanticCustomError: a brace that belongs to no name and is not doubled.
    """
    if re.search(r"[{}]", _FINE.sub("", text)):
        raise refusal("`{name}`, or doubled braces for braces", "write `{{` and `}}` for braces")
    return placeholders(text)
