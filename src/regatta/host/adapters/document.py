"""Read a JSON document that a harness wrote to a file in the working directory."""

from __future__ import annotations

from typing import Any

from regatta.host.adapters.result import RunOutput
from regatta.host.files import parse_json


class BadDocument(ValueError):
    """The document does not have the format of the harness. The message states the reason."""


def document(left: RunOutput, harness: str) -> Any:
    """Read the document.

    Raises:
        BadDocument: the file is missing, was refused, or is not valid JSON.
    """
    if left.refused or not left.results:
        raise BadDocument(left.refused or f"no result: {harness} wrote no file")
    try:
        # Unused numbers can be NaN, as the error of a score of one value. Adapters check those that they use.
        return parse_json(left.results, finite=False)
    except ValueError as error:
        raise BadDocument(f"the file of {harness} is not valid JSON: {str(error)[:200]}") from error


def part(value: Any, key: str, kind: type, where: str) -> Any:
    """Return the value of a required key.

    Raises:
        BadDocument: the key is missing, or its value has another type.
    """
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, kind):
        raise BadDocument(f"{where}: expected `{key}`, got {found!r:.80}")
    return found
