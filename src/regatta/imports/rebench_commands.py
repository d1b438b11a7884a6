"""Convert ReBench's command lines to commands: words instead of shell text, parameters instead of `%(input)s`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.values.template import literal
from regatta.imports.rebench_settings import DIMENSIONS, Dimension
from regatta.imports.words import assignments, shell_syntax, split

#: placeholders while a command is split: private-use characters of Unicode, which no file uses
_OPEN, _CLOSE = "\ue000", "\ue001"
#: limit of combinations of values of one benchmark in a spec
MAX_COMBINATIONS = 1000


class NotACommand(ValueError):
    """A command that cannot be imported; `expected` is set if the file itself is wrong."""

    def __init__(self, why: str, fix: str = "", expected: str = "") -> None:
        super().__init__(why)
        self.why, self.fix, self.expected = why, fix, expected


@dataclass(frozen=True)
class Line:
    """One command line of ReBench: text with `%(name)s`, its working directory, and its fixed values."""

    text: str
    #: the parts of `text` that belong to the executor: its program with its `args`, and its program alone
    starts: tuple[str, str]
    #: also text with `%(name)s`
    location: str
    fixed: Mapping[str, Any]
    dimensions: Mapping[str, Dimension]

    def used(self) -> list[str]:
        """Return the dimensions that the command uses."""
        whole = self.text + self.location
        return [key for key, (name, _) in DIMENSIONS.items() if f"%({name})" in whole]

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the used values, as parameter to value; the last varies fastest."""
        used = self.used()
        names = [DIMENSIONS[key][0] for key in used]
        for values in itertools.product(*(self.dimensions[key].values for key in used)):
            yield dict(zip(names, values, strict=True))

    def words(self, values: Mapping[str, Any]) -> list[str]:
        """Return the words of the command for given values, as a shell would split it.

        Raises:
            NotACommand: a placeholder is unknown, or the command needs a shell.
        """
        given = {**dict(DIMENSIONS.values()), **self.fixed, **values}
        text = self.filled(self.text, given)
        bad = shell_syntax(text)
        if bad:
            raise NotACommand(
                f"the command needs a shell for `{bad}`, Regatta runs commands without a shell: `{text}`",
                "put the command into a script and run the script",
            )
        try:
            found = split(text)
            folder = os.path.expanduser(self.filled(self.location, given))
        except ValueError as error:
            raise NotACommand(str(error), "close the quote", "a command with closed quotes") from error
        if len(found) == assignments(found):
            raise NotACommand("a command without a program", "add a program", "a program")
        return ["env", f"--chdir={folder}", *found] if folder else found

    def start_words(self) -> list[str]:
        """Return the words of the executor that are the same for every benchmark."""
        for start in self.starts:
            try:
                text = self.filled(start, {"executor": self.fixed["executor"]})
                if not shell_syntax(text):
                    return split(text)
            except ValueError:
                continue
        return []

    def filled(self, text: str, values: Mapping[str, Any]) -> str:
        """Return text with its placeholders replaced; twice, as ReBench does for `%(invocation)s`."""
        try:
            once = text % {**values, "invocation": "%(invocation)s"}
            return once % {"invocation": 1}
        except KeyError as error:
            known = ", ".join(f"%({name})s" for name in [*values, "invocation"])
            raise NotACommand(f"%({error.args[0]})s", "", f"one of {known}") from error
        except (ValueError, TypeError) as error:
            raise NotACommand(
                f"{text} ({error})", "write `%(name)s`, or `%%` for %", "valid %-formatting"
            ) from error

    def template(self) -> list[str] | None:
        """Return the command with a parameter for each value that varies; None if no template gives every combination.

        Raises:
            NotACommand: see `words`.
        """
        combinations = list(itertools.islice(self.combinations(), MAX_COMBINATIONS + 1))
        if len(combinations) > MAX_COMBINATIONS:
            raise NotACommand(
                f"more than `{MAX_COMBINATIONS}` combinations of values", "split the experiment"
            )
        real = [self.words(values) for values in combinations]
        marks = {name: f"{_OPEN}{name}{_CLOSE}" for name in combinations[0]}
        try:
            words = self.words(marks)
        except NotACommand:
            return None
        for values, wanted in zip(combinations, real, strict=True):
            filled = words
            for name, mark in marks.items():
                filled = [word.replace(mark, str(values[name])) for word in filled]
            if filled != wanted:
                return None
        templates = [literal(word) for word in words]
        for name, mark in marks.items():
            templates = [word.replace(mark, f"{{{name}}}") for word in templates]
        return templates


def base_folder(path: str, base: Path) -> str:
    """Return a folder of a configuration, relative to `base`. A home folder is left for the shell to expand."""
    return path if path.startswith("~") else str(base / path)
