"""Read an input. A value of a wrong type is recorded as a problem, and reading continues.

Both tools read plain scalars as YAML 1.1: `010` is 8, `1e3` is text, `yes` is true. PyYAML resolves them, because both tools
use its safe loader. Numbers do not keep their text: both tools insert numbers into commands as Python formats them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from regatta.host.errors import Problem, SpecError
from regatta.imports.drafts import Imported, SpecDraft
from regatta.imports.ledger import Explain, Ledger
from regatta.spec.problems import unknown
from regatta.spec.yaml_lines import Budget, Document, KeyPath, as_text, read_yaml

#: the longest limit of a spec; without a setting, neither tool has a limit
_NO_LIMIT_S = 604_800
_PYYAML = yaml.SafeLoader("")
_MADE = {
    "null": _PYYAML.construct_yaml_null,
    "bool": _PYYAML.construct_yaml_bool,
    "int": _PYYAML.construct_yaml_int,
    "float": _PYYAML.construct_yaml_float,
}
_MAXIMUM_DIGITS = 100


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

    def expanded(self, path: KeyPath, example: str = "", text: str | None = None) -> str:
        """Return a string with variables replaced from the environment, and record the change.

        Args:
            path: its place.
            example: of the key and its value, if the key is required.
            text: the string, if it is not the whole value at the place.
        """
        given = (self.text(path, example) or "") if text is None else text
        made = os.path.expandvars(given)
        if made != given:
            why = f"`{given}` is replaced by `{made}` from the environment"
            self.ledger.change(path, why, "import on the host that measures")
        elif "$" in given:
            why = f"`{given}` is not replaced, because the variable is not set"
            self.ledger.change(path, why, "set the variable and import again")
        return made

    def words(self, path: KeyPath, text: str) -> list[str]:
        """Return a string split as by a shell, with variables replaced; a quote that is not closed is a problem."""
        try:
            given = shlex.split(text)
        except ValueError as error:
            self.ledger.problem(path, "arguments with closed quotes", f"{text} ({error})", "close the quote")
            return []
        return [self.expanded(path, text=word) for word in given]

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

        `convert`: converts it from a separate reader, so that an invalid part marks nothing as imported.
        """
        trial = Reader(self.document)
        convert(trial)
        self.ledger.omit(path, trial.ledger.problems)
        return not trial.ledger.problems

    def refuse(self) -> None:
        """Stop if a part that the whole input needs is invalid.

        Raises:
            SpecError: with every problem, also those of other parts.
        """
        if self.ledger.problems:
            raise SpecError([*self.ledger.problems, *self.ledger.omitted])

    def imported(
        self, source: Path, tool: str, specs: list[SpecDraft], explain: Explain, needed: tuple[KeyPath, str]
    ) -> Imported:
        """Return the result of an import, with the list of all parts that were not imported.

        Args:
            source: the input.
            tool: its tool.
            specs: the main one first.
            explain: see `Ledger.close`.
            needed: the parts of which at least one must be importable: their place, and their name.

        Raises:
            SpecError: a part that the whole input needs is invalid, or no part can be imported.
        """
        self.refuse()
        items = self.ledger.close(explain)
        if specs:
            return Imported(str(source), tool, specs, items)
        if self.ledger.omitted:
            raise SpecError(self.ledger.omitted)
        path, expected = needed
        first = Problem(self.document.where(path), expected, "none", "see the following problems")
        rest = (Problem(f"{i.file}:{i.line}:{i.key}", "a supported key", i.why, i.fix) for i in items)
        raise SpecError([first, *rest])


def read_yaml_1_1(path: Path, name: str | None = None, budget: Budget | None = None) -> Document:
    """Read a file of another tool: YAML 1.1, including `<<`. Raises the errors of `read_yaml`."""
    return read_yaml(path, name, merge_keys=True, resolve=resolve_plain_1_1, budget=budget)


def resolve_plain_1_1(text: str) -> str | int | float | bool | None:
    """Return the value of a plain scalar.

    Raises:
        ValueError: a date, `=`, or an invalid number; these files have no such values.
    """
    tag = _PYYAML.resolve(yaml.ScalarNode, text, (True, False))
    kind = tag.rpartition(":")[2]
    if kind in ("timestamp", "value"):
        raise ValueError(
            f"{text}, which is {'a date' if kind == 'timestamp' else 'a special value'} in YAML 1.1"
        )
    if kind in ("int", "float") and len(text) > _MAXIMUM_DIGITS:
        raise ValueError(f"a number of more than {_MAXIMUM_DIGITS} digits")
    found: int | float | bool | None = _MADE[kind](yaml.ScalarNode(tag, text)) if kind in _MADE else None
    return found if kind in _MADE else text
