"""What became of every key of an input: carried, or listed with the place, the reason and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from regatta.host.errors import Problem
from regatta.spec.problems import shown
from regatta.spec.yaml_lines import Document, KeyPath, dotted_path

Kind = Literal["left out", "changed"]
#: what to do about files that a command only names
_KEEP_APART = (
    "name it as one of the suite's `files` (docs/adapters.md), or after a change use another `--results`"
)

#: path -> why a key that nothing asked for is not carried, and what to do
Explain = Callable[[KeyPath], tuple[str, str]]


@dataclass(frozen=True)
class Item:
    """One thing that is not here as it was there."""

    file: str
    line: int
    #: dotted path of the key; empty: the file as a whole
    key: str
    #: `left out`: nothing does it. `changed`: it is done otherwise.
    kind: Kind
    why: str
    fix: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.key}" if self.key else f"{self.file}:{self.line}"
        text = f"{where} · {self.kind} · {self.why}"
        return f"{text} · {self.fix}" if self.fix else text


class Ledger:
    """Keeps account of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.items: list[Item] = []
        self.problems: list[Problem] = []
        self.carried: set[KeyPath] = set()
        self.listed: set[KeyPath] = set()
        self.looked: set[KeyPath] = set()
        self.doubtful: dict[KeyPath, tuple[str, str]] = {}

    def carry(self, *paths: KeyPath) -> None:
        """Note that a value, with all that is in it, is in what is written."""
        self.carried.update(paths)

    def look(self, path: KeyPath) -> None:
        """Note that a mapping or list was looked into: what nobody asks for in it is listed key by key."""
        self.looked.add(path)

    def leave(self, path: KeyPath, why: str, fix: str = "", key: str = "") -> None:
        """List a value, with all that is in it, as not carried; `key` is what to call it where it is not its path."""
        self.listed.add(path)
        self._add("left out", path, why, fix, key)

    def doubt(self, path: KeyPath, why: str, fix: str = "") -> None:
        """List a value at the end, unless it is carried for something else."""
        self.doubtful[path] = (why, fix)

    def change(self, path: KeyPath, why: str, fix: str = "", key: str = "") -> None:
        """List a value that is carried in another form; whether it is carried, and what is in it, `carry` says."""
        self._add("changed", path, why, fix, key)

    def unidentified(self, path: KeyPath, places: Iterable[str]) -> None:
        """List files and folders that a command names: with other contents its cells would be called the same."""
        for place in places:
            self._add(
                "changed",
                path,
                f"the contents of `{place}` are no part of a cell's identity",
                _KEEP_APART,
                "",
            )

    def _add(self, kind: Kind, path: KeyPath, why: str, fix: str, key: str) -> None:
        mark = self.document.mark(path)
        item = Item(mark.file, mark.line, key or dotted_path(path), kind, why, fix)
        if item not in self.items:
            self.items.append(item)

    def problem(self, path: KeyPath, expected: str, got: Any, fix: str = "") -> None:
        """Note what is wrong with the input."""
        found = Problem(self.document.where(path), expected, shown(got), fix)
        if found not in self.problems:
            self.problems.append(found)

    def close(self, explain: Explain) -> list[Item]:
        """List what nobody asked for, and give all items in the order of the input.

        A part of which nothing was asked is listed once, as a whole.
        """
        for path, (why, fix) in self.doubtful.items():
            if not any(carried[: len(path)] == path for carried in self.carried):
                self.leave(path, why, fix)
        known = self.carried | self.listed
        touched = {path[:length] for path in known | self.looked for length in range(len(path) + 1)}
        for path in _untouched(self.document.value, (), known, touched):
            why, fix = explain(path)
            self.leave(path, why, fix)
        return sorted(self.items, key=lambda item: (item.file, item.line, item.key))


def _untouched(value: Any, path: KeyPath, known: set[KeyPath], touched: set[KeyPath]) -> Iterator[KeyPath]:
    if path in known:
        return
    if path not in touched or (path and not isinstance(value, dict | list)):
        yield path
        return
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _untouched(child, (*path, key), known, touched)
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _untouched(child, (*path, index), known, touched)
