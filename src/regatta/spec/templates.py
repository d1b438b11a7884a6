"""The templates of commands: `{name}` inside an argument, `{{` and `}}` for braces."""

from __future__ import annotations

import re

from regatta.spec.fields import refusal

_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z0-9_][A-Za-z0-9._+-]*)\}|\{|\}")


def placeholders(text: str) -> list[str]:
    """The names that a template mentions, in order.

    Raises:
        PydanticCustomError: a brace that belongs to no name and is not doubled.
    """
    names: list[str] = []
    for match in _TOKEN.finditer(text):
        if match.group(1) is not None:
            names.append(match.group(1))
        elif match.group(0) in "{}":
            raise refusal("`{name}`, or doubled braces for braces", "write `{{` and `}}` for braces")
    return names
