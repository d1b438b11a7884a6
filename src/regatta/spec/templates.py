"""Templates of commands as a spec's author writes them: what is wrong with one is said in the author's terms."""

from __future__ import annotations

from regatta.model import template
from regatta.spec.fields import refusal


def placeholders(text: str) -> list[str]:
    """The names that a template mentions, in order.

    Raises:
        PydanticCustomError: a brace that belongs to no name and is not doubled.
    """
    try:
        return template.placeholders(text)
    except ValueError:
        raise refusal("`{name}`, or doubled braces for braces", "write `{{` and `}}` for braces") from None
