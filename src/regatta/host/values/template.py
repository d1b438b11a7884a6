"""Arguments with `{names}`. No I/O; the spec checks the names, and the planner replaces them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_.-]*)\}")


def placeholders(argument: str) -> list[str]:
    """Return the names in an argument in order. `{{` and `}}` are literal braces."""
    return [m.group(1) for m in _PLACEHOLDER.finditer(argument) if m.group(1)]


def scalar_text(value: object) -> str:
    """Format a parameter value for a command: `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def literal(text: str) -> str:
    """Return an argument that `fill` turns into this text."""
    return text.replace("{", "{{").replace("}", "}}")


def fill(argument: str, values: Mapping[str, str]) -> str:
    """Replace every `{name}`. Names in inserted values are not replaced.

    Raises:
        KeyError: a name is not in `values`.
    """
    return _PLACEHOLDER.sub(lambda m: values[m.group(1)] if m.group(1) else m.group(0)[0], argument)
