"""Resolve a benchmark's settings from ReBench's layers.

The layers are machine, runs, experiment, execution, executor, suite, benchmark; the last wins.
A number with `!` is important: it overrides unmarked numbers of layers closer to the benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regatta.imports.reader import Reader
from regatta.imports.words import at_home, settable
from regatta.spec.yaml_lines import KeyPath, as_plain, as_text

#: the layers of all executors: experiment, runs
_OUTER = (1, 0)
_COUNT = re.compile(r"([0-9]{1,9})(!?)")

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
