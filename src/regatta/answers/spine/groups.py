"""Group values by a key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)


def grouped(values: Iterable[T], key: Callable[[T], Key]) -> dict[Key, list[T]]:
    """Return key -> its values, both in the order of the values."""
    found: dict[Key, list[T]] = {}
    for value in values:
        found.setdefault(key(value), []).append(value)
    return found
