"""A benchmark of ReBench: its settings, from layers, and its command line, with words instead of shell text.

The layers are machine, runs, experiment, execution, executor, suite, benchmark; the last wins.
A number with `!` is important: it overrides unmarked numbers of layers closer to the benchmark.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.values.template import literal
from regatta.imports.reader import Reader
from regatta.imports.words import assignments, at_home, settable, shell_syntax, split
from regatta.spec.yaml_lines import KeyPath, as_plain, as_text

#: the layers of all executors: experiment, runs
_OUTER = (1, 0)
_COUNT = re.compile(r"([0-9]{1,9})(!?)")
#: placeholders while a command is split: private-use characters of Unicode, which no file uses
_OPEN, _CLOSE = "\ue000", "\ue001"
#: limit of combinations of values of one benchmark in a spec
MAX_COMBINATIONS = 1000

#: keys of any layer without an equivalent in Regatta, the reason, and a fix
FOREIGN = {
    "min_iteration_time": (
        "it only makes ReBench warn about short iterations",
        "check the confidence intervals of the results",
    ),
    "ignore_timeouts": (
        "an invocation that reaches `timeout_s` gets the status timeout and gives no measurement",
        "increase `timeout_s`",
    ),
    "parallel_interference_factor": ("Regatta runs one invocation at a time on a host", ""),
    "execute_exclusively": ("Regatta runs one invocation at a time on a host", ""),
    "retries_after_failure": (
        "Regatta records a failed invocation and does not retry it",
        "to repeat perturbed invocations, set `perturbation: {retries: ...}`",
    ),
}

#: dimension -> the placeholder of its value, and the default value
DIMENSIONS = {
    "input_sizes": ("input", ""),
    "cores": ("cores", 1),
    "variable_values": ("variable", ""),
    "tags": ("tag", ""),
}


@dataclass(frozen=True)
class Dimension:
    """The values of one variable, as ReBench inserts them into a command."""

    path: KeyPath | None
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Settings:
    """The settings of one benchmark."""

    invocations: int
    iterations: int
    warmup: int
    #: None: no limit
    timeout_s: int | None
    environment: dict[str, str]
    #: the environment that the experiment gives all executors, as in the file
    common: Any
    dimensions: dict[str, Dimension]
    #: key -> place of its effective value
    places: dict[str, KeyPath]


class Layers:
    """Resolves the settings of one benchmark; `layers` are paths of mappings, the last wins; the first two are
    `runs` and the experiment."""

    def __init__(self, reader: Reader, layers: Sequence[KeyPath]) -> None:
        self.reader = reader
        self.layers = layers
        self.places: dict[str, KeyPath] = {}
        for layer in layers:
            reader.leave(layer, FOREIGN)

    def settings(self) -> Settings:
        """Return all settings; repetitions and the time limit are marked as imported at their use."""
        timeout = self.last("max_invocation_time")
        limit = self.reader.whole(timeout, -1) if timeout else None
        if timeout:
            self.places["max_invocation_time"] = timeout
        return Settings(
            invocations=self.count("invocations", 1, 1),
            iterations=self.count("iterations", 1, 1),
            warmup=self.count("warmup", 0, 0),
            timeout_s=limit if limit and limit > 0 else None,
            environment=self.environment(),
            common=next(
                (env for layer in _OUTER if (env := self.reader.at((*self.layers[layer], "env")))), None
            ),
            dimensions={key: self.dimension(key, default) for key, (_, default) in DIMENSIONS.items()},
            places=self.places,
        )

    def last(self, key: str) -> KeyPath | None:
        """Return the place of a key in the nearest layer."""
        return next(
            ((*layer, key) for layer in reversed(self.layers) if self.reader.has((*layer, key))), None
        )

    def count(self, key: str, default: int, least: int) -> int:
        """Return a number that may be important."""
        found: tuple[KeyPath, int, bool] | None = None
        for layer in self.layers:
            path = (*layer, key)
            if not self.reader.has(path):
                continue
            match = _COUNT.fullmatch(as_text(self.reader.at(path)) or "")
            if match is None or int(match[1]) < least:
                expected = f"an integer >= {least}, optionally followed by `!`"
                fix = f"write `{key}: {max(least, 1)}`"
                self.reader.ledger.problem(path, expected, self.reader.at(path), fix)
                continue
            important = bool(match[2])
            if important or found is None or not found[2]:
                found = (path, int(match[1]), important)
        if found is None:
            return default
        self.places[key] = found[0]
        return found[1]

    def environment(self) -> dict[str, str]:
        """Return the variables of the nearest layer with any: layers are not merged."""
        path = self.last("env")
        found = {}
        for name in self.reader.mapping(path) if path else ():
            assert path is not None
            at = (*path, name)
            value = self.reader.text(at, "NAME: value")
            if value is None:
                continue
            if not settable(name, value):
                why = "Regatta cannot set a variable with this name or value"
                self.reader.ledger.leave(at, why, "set it in the program")
                continue
            found[name] = at_home(value)
            self.reader.ledger.carry(at)
        if path and not found:
            self.reader.ledger.carry(path)
        return found

    def dimension(self, key: str, default: Any) -> Dimension:
        """Return the distinct values of a variable."""
        path = self.last(key)
        fix = f"write `{key}: [1, 10]`"
        entries = self.reader.entries(path, "a list of at least 1 value", fix) if path else []
        values: dict[str, Any] = {}
        for at, value in entries:
            if isinstance(value, dict | list):
                self.reader.ledger.problem(at, "a string or a number", value)
                continue
            plain = "" if value is None else as_plain(value)
            values.setdefault(
                str(plain), plain if isinstance(plain, int) and not isinstance(plain, bool) else str(plain)
            )
        return Dimension(path, tuple(values.values()) or (default,))


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
