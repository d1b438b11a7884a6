"""Arguments with `{names}` in them. No I/O; the spec checks names with it, the planner fills them in."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_.-]*)\}")


def placeholders(argument: str) -> list[str]:
    """The names in an argument, in order. `{{` and `}}` are braces."""
    return [m.group(1) for m in _PLACEHOLDER.finditer(argument) if m.group(1)]


def scalar_text(value: object) -> str:
    """A parameter's value as commands have it: `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def fill(argument: str, values: Mapping[str, str]) -> str:
    """Replace every `{name}`; what is put in is never read again for names.

    Raises:
        KeyError: a name that `values` lacks.
    """
    return _PLACEHOLDER.sub(lambda m: values[m.group(1)] if m.group(1) else m.group(0)[0], argument)
