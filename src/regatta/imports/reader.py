"""Typed access to an input. A value of a wrong type is recorded as a problem, and reading continues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regatta.host.errors import Problem, SpecError
from regatta.imports.ledger import Item, Ledger
from regatta.spec.problems import unknown
from regatta.spec.yaml_lines import Document, KeyPath, as_text

#: the longest limit of a spec; without a setting, neither tool has a limit
_NO_LIMIT_S = 604_800


class Reader:
    """Reads one document and keeps its ledger."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.ledger = Ledger(document)

    def at(self, path: KeyPath) -> Any:
        """Return the value at a path; None if it is missing."""
        value = self.document.value
        for part in path:
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                value = value[part]
            else:
                return None
        return value

    def has(self, path: KeyPath) -> bool:
        """Return whether a path has a value other than null."""
        return self.at(path) is not None

    def mapping(self, path: KeyPath, required: str = "", fix: str = "") -> dict[str, Any]:
        """Return a mapping, empty if missing. With `required`, the expected value, an empty one is a problem."""
        value = self.at(path)
        if isinstance(value, dict) and (value or not required):
            return value
        if value is not None or required:
            self.ledger.problem(path, required or "a mapping", value, fix)
        return {}

    def entries(self, path: KeyPath, required: str = "", fix: str = "") -> list[tuple[KeyPath, Any]]:
        """Return the entries of a list with their paths. With `required`, the expected value, an empty list is a problem."""
        value = self.at(path)
        if isinstance(value, list) and (value or not required):
            return [((*path, index), entry) for index, entry in enumerate(value)]
        if value is not None or required:
            self.ledger.problem(path, required or "a list", value, fix)
        return []

    def text(self, path: KeyPath, required: str = "") -> str | None:
        """Return a string, or a number as written; `required`: an example of the key and its value."""
        value = self.at(path)
        # Both tools use Python, which writes True and False.
        text = str(value) if isinstance(value, bool) else as_text(value)
        if text is None and (required or value is not None):
            self.ledger.problem(path, "a string", value, f"write `{required}`" if required else "")
        return text

    def whole(self, path: KeyPath, least: int, fix: str = "") -> int | None:
        """Return an integer of at least `least`. Quoted numbers count, because both tools convert them."""
        value = self.at(path)
        if value is None:
            return None
        try:
            if isinstance(value, bool | float):
                raise ValueError
            number = int(value)
        except (TypeError, ValueError):
            self.ledger.problem(path, "an integer", value, fix)
            return None
        if number < least:
            self.ledger.problem(path, f"an integer >= {least}", value, fix)
            return None
        return number

    def number(self, path: KeyPath, above: float) -> float | None:
        """Return a number greater than `above`."""
        value = self.at(path)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < 1e9:
            self.ledger.problem(path, f"a number > {above:g}", value)
            return None
        return float(value)

    def one_of(self, path: KeyPath, what: str, name: str, known: Any) -> bool:
        """Return whether a name is known; an unknown name is a problem."""
        if name in known:
            return True
        problem = unknown(self.document.where(path), what, name, known)
        if problem not in self.ledger.problems:
            self.ledger.problems.append(problem)
        return False

    def leave(self, path: KeyPath, keys: Mapping[str, tuple[str, str]]) -> None:
        """List the keys of a mapping without an equivalent in Regatta: key -> reason and fix."""
        for key, (why, fix) in keys.items():
            if self.has((*path, key)):
                self.ledger.leave((*path, key), why, fix)

    def limit_s(self, limits: Sequence[tuple[KeyPath | None, int | None]]) -> int:
        """Return one time limit for a spec, the longest of its benchmarks, from (place, seconds or None)."""
        longest = max(limit or _NO_LIMIT_S for _, limit in limits)
        for path, limit in limits:
            if path and (limit or _NO_LIMIT_S) == longest:
                self.ledger.carry(path)
            elif path:
                why = f"a spec has one time limit, the longest of its benchmarks: `{longest}` s"
                self.ledger.doubt(path, why, "change `timeout_s` in the spec")
        return min(_NO_LIMIT_S, longest)

    def valid(self, path: KeyPath, convert: Callable[[Reader], object]) -> bool:
        """Return whether a part of the input can be converted; an invalid one is listed as left out.

        Args:
            path: the part.
            convert: converts it from a separate reader, so that an invalid part marks nothing as imported.
        """
        trial = Reader(self.document)
        convert(trial)
        self.ledger.omit(path, trial.ledger.problems)
        return not trial.ledger.problems

    def nothing(self, path: KeyPath, expected: str, items: Sequence[Item]) -> SpecError:
        """Return the error of an input without any importable part, with the reasons."""
        if self.ledger.omitted:
            return SpecError(self.ledger.omitted)
        first = Problem(self.document.where(path), expected, "none", "see the following problems")
        rest = (Problem(f"{i.file}:{i.line}:{i.key}", "a supported key", i.why, i.fix) for i in items)
        return SpecError([first, *rest])

    def refuse(self) -> None:
        """Stop if a part that the whole input needs is invalid.

        Raises:
            SpecError: with every problem, also those of other parts.
        """
        if self.ledger.problems:
            raise SpecError([*self.ledger.problems, *self.ledger.omitted])
