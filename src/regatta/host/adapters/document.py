"""A JSON document that a harness wrote into a file of the working directory."""

from __future__ import annotations

import json
from typing import Any

from regatta.host.adapters.result import Left


class BadDocument(ValueError):
    """It is not what the harness writes; the message says why."""


def document(left: Left, harness: str) -> Any:
    """Read it.

    Raises:
        BadDocument: there is none, it was refused, or it is not whole JSON.
    """
    if left.refused or not left.results:
        raise BadDocument(left.refused or f"no result: {harness} wrote no file")
    try:
        return json.loads(left.results)
    except (ValueError, RecursionError) as error:
        raise BadDocument(f"the file of {harness} is not whole JSON: {str(error)[:200]}") from error


def part(value: Any, key: str, kind: type, where: str) -> Any:
    """The value of a key that must be there.

    Raises:
        BadDocument: it is not there, or not of that kind.
    """
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        raise BadDocument(f"{where}: expected `{key}`, got {found!r:.80}")
    return found
