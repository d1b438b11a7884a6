"""Account for every key of an input: imported, or listed with the place, the reason and a fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from regatta.host.errors import Problem
from regatta.spec.problems import found_at
from regatta.spec.yaml_lines import Document, KeyPath, dotted_path

Kind = Literal["left out", "changed"]
#: kind in JSON -> word in text
_SHOWN: dict[Kind, str] = {"left out": "excluded", "changed": "changed"}
#: fix for files that a command only names
_KEEP_APART = "list it under `files` in the suite, or use another `--results` after each change"
#: variable part of a remark
_QUOTED = re.compile(r"`[^`]*`")

#: path -> why an unread key is not imported, and a fix
Explain = Callable[[KeyPath], tuple[str, str]]


@dataclass(frozen=True)
class Item:
    """One difference between the input and the import."""

    file: str
    line: int
    #: dotted path of the key; empty: the whole file
    key: str
    #: `left out`: no equivalent. `changed`: done differently.
    kind: Kind
    why: str
    fix: str

    def __str__(self) -> str:
        return self.shown()

    def shown(self, count: int = 1) -> str:
        """Return one line: where · kind · why · fix; `count`: the number of similar items for which it is an example."""
        where = f"{self.file}:{self.line}:{self.key}" if self.key else f"{self.file}:{self.line}"
        example = f" (first of {count})" if count > 1 else ""
        text = f"{where}{example} · {_SHOWN[self.kind]} · {self.why}"
        return f"{text} · {self.fix}" if self.fix else text


def grouped(items: Sequence[Item]) -> list[tuple[Item, int]]:
    """Group items that differ only in their places and in quoted text; return the first of each group and its size."""
    groups: dict[tuple[str, str, str], list[Item]] = {}
    for item in items:
        key = (item.kind, _QUOTED.sub("", item.why), _QUOTED.sub("", item.fix))
        groups.setdefault(key, []).append(item)
    return [(group[0], len(group)) for group in groups.values()]


class Ledger:
    """Accounts for one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.items: list[Item] = []
        self.problems: list[Problem] = []
        #: the problems of invalid parts that are left out
        self.omitted: list[Problem] = []
        self.carried: set[KeyPath] = set()
        self.listed: set[KeyPath] = set()
        self.looked: set[KeyPath] = set()
        self.doubtful: dict[KeyPath, tuple[str, str]] = {}

    def carry(self, *paths: KeyPath) -> None:
        """Mark a value and its contents as imported."""
        self.carried.update(paths)

    def look(self, path: KeyPath) -> None:
        """Mark a mapping or list as read: its unread keys are listed one by one."""
        self.looked.add(path)

    def leave(self, path: KeyPath, why: str, fix: str = "", key: str = "") -> None:
        """List a value and its contents as not imported; `key` is its name if that differs from its path."""
        self.listed.add(path)
        self._add("left out", path, why, fix, key)

    def omit(self, path: KeyPath, problems: Iterable[Problem]) -> None:
        """List an invalid part as left out, with its problems."""
        for problem in problems:
            why = f"invalid: {problem.where}: expected {problem.expected} · got {problem.got}"
            self.leave(path, why, problem.fix)
            if problem not in self.omitted:
                self.omitted.append(problem)

    def doubt(self, path: KeyPath, why: str, fix: str = "") -> None:
        """List a value at the end, unless it is imported for another purpose."""
        self.doubtful[path] = (why, fix)

    def change(self, path: KeyPath, why: str, fix: str = "", key: str = "") -> None:
        """List a value as imported in another form. `carry` decides whether it and its contents count as imported."""
        self._add("changed", path, why, fix, key)

    def unidentified(self, path: KeyPath, places: Iterable[str]) -> None:
        """List files and folders that a command names: their contents are not part of the identity of a cell."""
        for place in places:
            self._add(
                "changed",
                path,
                f"the contents of `{place}` are not part of the cell identity",
                _KEEP_APART,
                "",
            )

    def _add(self, kind: Kind, path: KeyPath, why: str, fix: str, key: str) -> None:
        mark = self.document.mark(path)
        item = Item(mark.file, mark.line, key or dotted_path(path), kind, why, fix)
        if item not in self.items:
            self.items.append(item)

    def problem(self, path: KeyPath, expected: str, got: Any, fix: str = "") -> None:
        """Add a problem of the input."""
        found = Problem(self.document.where(path), expected, found_at(self.document, path, got), fix)
        if found not in self.problems:
            self.problems.append(found)

    def close(self, explain: Explain) -> list[Item]:
        """List unread keys, and return all items in the order of the input.

        A part without any read key is listed once, as a whole.
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
