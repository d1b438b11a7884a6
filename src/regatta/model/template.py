"""Arguments with `{names}` in them. No I/O; the spec checks them, the planner fills them in."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z0-9_][A-Za-z0-9._+-]*)\}|\{|\}")


def placeholders(argument: str) -> list[str]:
    """The names in an argument, in order. `{{` and `}}` are braces.

    Raises:
        ValueError: a brace that belongs to no name and is not doubled.
    """
    names: list[str] = []
    for match in _TOKEN.finditer(argument):
        if match.group(1) is not None:
            names.append(match.group(1))
        elif match.group(0) in "{}":
            raise ValueError(f"a lone brace in {argument!r}")
    return names


def fill(argument: str, values: Mapping[str, str]) -> str:
    """Replace every `{name}`; what is put in is never read again for names.

    Raises:
        KeyError: a name that `values` lacks.
    """
    return _TOKEN.sub(lambda m: m.group(0)[0] if m.group(1) is None else values[m.group(1)], argument)
