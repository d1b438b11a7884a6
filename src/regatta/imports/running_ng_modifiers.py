"""Resolve running-ng's configs, `runtime|modifier|modifier-value`, into the changes of each."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, field

from regatta.imports.reader import Reader
from regatta.imports.words import settable
from regatta.spec.problems import unknown
from regatta.spec.yaml_lines import KeyPath

_COLLECTOR = re.compile(
    r"-XX:\+Use(Serial|Parallel|ParallelOld|ParNew|ConcMarkSweep|G1|Z|Shenandoah|Epsilon)GC"
)
#: the launcher of HotSpot reads `-ms` as `-Xms`
_HEAP = re.compile(r"(?:-X?(m[sx])|-XX:(Initial|Max)HeapSize=)([0-9]{1,15})([kKmMgGtT]?)")
#: flags by which a JVM chooses a default heap, or which must not exceed the given heap
_HEAP_BY = re.compile(r"-XX:(?:MinHeapSize|MaxRAM|(?:Initial|Min|Max)RAM(?:Percentage|Fraction))=.*", re.S)
_MIB = {"": 2.0**-20, "k": 2.0**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20}
_MAX_SETS = 16

#: types without an equivalent in Regatta, the reason, and whether a config without it would be a different one
_FOREIGN = {
    "JuliaArg": ("Regatta does not support Julia", True),
    "Companion": ("Regatta does not start companion programs", False),
    "NoImplicitHeapsizeModifier": ("Regatta always sets a heap size", False),
}
#: types of modifiers around a program, and all whose values are words
AROUND = ("JVMClasspath", "JVMClasspathAppend", "JVMClasspathPrepend", "ProgramArg", "Wrapper")
_WORDS = ("JVMArg", "JSArg", *AROUND)


@dataclass(frozen=True)
class Applied:
    """One modifier with its values in a config."""

    name: str
    kind: str
    path: KeyPath
    words: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    #: suite and benchmark that it excludes, and the place of that entry
    excludes: tuple[tuple[str, str, KeyPath], ...] = ()

    @property
    def chooses_collector(self) -> bool:
        """Return whether its flags select a garbage collector."""
        return self.kind == "JVMArg" and any(_COLLECTOR.fullmatch(word) for word in self.words)

    def spares(self, suite: str, benchmark: str) -> bool:
        """Return whether it excludes a benchmark."""
        return any((suite, benchmark) == given[:2] for given in self.excludes)


@dataclass
class Config:
    """One entry of `configs`."""

    path: KeyPath
    text: str
    runtime: str
    applied: list[Applied] = field(default_factory=list)
    #: places that are imported with it
    uses: list[KeyPath] = field(default_factory=list)
    #: why it cannot be imported, and a fix; empty: it can
    refused: tuple[str, str] = ("", "")

    def of(self, *kinds: str) -> list[Applied]:
        """Return its modifiers of some types."""
        return [one for one in self.applied if one.kind in kinds]


class Modifiers:
    """Resolves configs."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.ledger = reader.ledger

    def config(self, path: KeyPath, text: str) -> Config:
        """Resolve one entry of `configs`, with a lookup of all its names."""
        parts = [part.strip() for part in text.split("|")]
        config = Config(path, text, parts[0])
        self.reader.one_of(
            path, "a runtime", parts[0], self.reader.mapping(("runtimes",), "a mapping of runtimes")
        )
        self.add(config, parts[1:], 0)
        self.ledger.carry(path)
        return config

    def add(self, config: Config, names: Sequence[str], depth: int) -> None:
        """Add the modifiers of a config or of a set; an empty name ends the list, as in running-ng."""
        table = self.reader.mapping(("modifiers",))
        for index, whole in enumerate(names):
            if not whole.strip():
                if any(name.strip() for name in names[index:]):
                    self.ledger.change(
                        config.path, "modifiers after an empty one are ignored, as in running-ng"
                    )
                return
            name, *values = whole.strip().split("-")
            if name not in table:
                problem = unknown(self.reader.document.where(config.path), "a modifier", name, table)
                self.ledger.problems.extend([problem] if problem not in self.ledger.problems else [])
                continue
            self.one(config, ("modifiers", name), whole.strip(), values, depth)

    def one(self, config: Config, path: KeyPath, name: str, values: list[str], depth: int) -> None:
        """Add one modifier, or the members of a set."""
        kind = self.reader.text((*path, "type"), "type: JVMArg") or ""
        self.ledger.look(path)
        if kind in _FOREIGN:
            why, needed = _FOREIGN[kind]
            self.ledger.leave(path, why)
            if needed:
                config.refused = (f"modifier `{name}`: {why}", "remove it from the config")
            return
        config.uses += [(*path, "type"), (*path, "val")]
        value = self.filled((*path, "val"), values)
        if kind == "ModifierSet":
            if depth >= _MAX_SETS:
                expected = f"at most {_MAX_SETS} nested sets of modifiers"
                self.ledger.problem(path, expected, name, "remove the set from itself")
                return
            self.add(config, value.split("|"), depth + 1)
        elif kind == "EnvVar":
            config.uses.append((*path, "var"))
            variable = self.filled((*path, "var"), values)
            if not settable(variable, value):
                config.refused = (
                    f"modifier `{name}`: Regatta cannot set the variable `{variable}` to this value",
                    "use another variable",
                )
                return
            self.keep(config, Applied(name, kind, path, (), ((variable, value),), self.excludes(path)))
        elif kind in _WORDS:
            words = tuple(self.reader.words((*path, "val"), value))
            self.keep(config, Applied(name, kind, path, words, (), self.excludes(path)))
        else:
            why = f"Regatta does not support modifiers of type `{kind}`"
            self.ledger.leave(path, why)
            config.refused = (f"modifier `{name}`: {why}", "remove it from the config")

    def keep(self, config: Config, applied: Applied) -> None:
        """Add a modifier once."""
        if applied not in config.applied:
            config.applied.append(applied)

    def filled(self, path: KeyPath, values: list[str]) -> str:
        """Return text with `{0}`, `{1}` replaced by the values of a config; unchanged if values are missing."""
        text = self.reader.text(path, f"{path[-1]}: ...") or ""
        if not values:
            return text
        made = ""
        automatic = 0
        try:
            for before, name, form, conversion in string.Formatter().parse(text):
                made += before
                if name is None:
                    continue
                if form or conversion or not (name == "" or name.isdigit()):
                    raise ValueError("only `{0}`, `{1}` ... are supported")
                number = int(name) if name else automatic
                automatic += not name
                if number >= len(values):
                    return text
                made += values[number]
        except ValueError as error:
            expected = "a string with `{0}` for the first value of a config"
            self.ledger.problem(path, expected, f"{text} ({error})")
            return text
        return made

    def excludes(self, path: KeyPath) -> tuple[tuple[str, str, KeyPath], ...]:
        """Return the benchmarks that a modifier excludes."""
        found = []
        for suite in self.reader.mapping((*path, "excludes")):
            for at, _ in self.reader.entries((*path, "excludes", suite)):
                self.ledger.look(at)
                found.append((suite, self.reader.text(at) or "", at))
        return tuple(found)


def heap_of(words: Sequence[str]) -> tuple[int | None, int | None, list[str]]:
    """Return the initial and the maximum heap of flags, in MiB, rounded up; and the words without heap flags."""
    found: dict[str, int] = {}
    rest = []
    for word in words:
        match = _HEAP.fullmatch(word)
        if match:
            name = match[1] or {"Initial": "ms", "Max": "mx"}[match[2]]
            found[name] = max(1, -int(-int(match[3]) * _MIB[match[4].lower()] // 1))
        elif not _HEAP_BY.fullmatch(word):
            rest.append(word)
    return found.get("ms"), found.get("mx"), rest


def without_effect(words: Sequence[str]) -> list[str]:
    """Return the words that choose a default heap: they have no effect if every heap has a size."""
    return [word for word in words if _HEAP_BY.fullmatch(word)]
