"""Convert running-ng's list of configs to a spec, which crosses runtimes, collectors, modifiers and heaps, with excludes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from regatta.imports.reader import Reader
from regatta.imports.running_ng_modifiers import AROUND, Applied, Config, heap_of, without_effect
from regatta.imports.running_ng_suites import JAVASCRIPT, SPIDERMONKEY, Around, SelectedBenchmark
from regatta.imports.words import Names
from regatta.spec.registries import Registries
from regatta.spec.yaml_lines import KeyPath

#: option that running-ng passes to every OpenJDK of release 9 and later, for its probes
_EXPORTS = "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED"
_OTHER = "import it from a separate file"
#: type of a runtime -> kind of its benchmarks
KINDS = {
    "OpenJDK": "java", "NativeExecutable": "native", "D8": "program", "SpiderMonkey": "program", "JavaScriptCore": "program",
}  # fmt: skip
#: type of a JavaScript engine -> its language: whether `--` stands before the arguments of a program
_LANGUAGES = {"D8": JAVASCRIPT, "JavaScriptCore": JAVASCRIPT, "SpiderMonkey": SPIDERMONKEY}

#: indices of runtime, collector, modifiers, heap: combinations that may suffice for an entry of `exclude`, the simplest first
_FEW = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 1, 2), (0, 1, 3))


@dataclass(frozen=True)
class Point:
    """One config in the terms of a spec; `heap_mib` is None if the spec's heap applies."""

    runtime: str
    collector: str | None
    modifiers: tuple[str, ...]
    heap_mib: int | None
    config: KeyPath


class Crossing:
    """The configs of one file, and their conversion."""

    def __init__(self, reader: Reader, registries: Registries, configs: Sequence[Config], base: Path) -> None:
        self.reader = reader
        self.ledger = reader.ledger
        self.base = base
        self.registries = registries
        self.runtime_names = Names(registries.runtimes)
        self.collector_names = Names(registries.collectors)
        self.modifier_names = Names([*registries.modifiers, "none"], plus=False)
        self.runtimes: dict[str, tuple[str, dict[str, Any]]] = {}
        self.collectors: dict[tuple[str, ...], str] = {}
        self.defined: dict[str, list[str]] = {}
        self.modifiers: dict[str, tuple[str, dict[str, Any]]] = {}
        self.sets: dict[frozenset[str], tuple[str, ...]] = {}
        #: new name -> the modifiers of running-ng that it combines
        self.made_of: dict[str, list[Applied]] = {}
        #: comments on runtimes at the head of a spec
        self.told: list[str] = []
        self.arounds = {"java": Around(), "native": Around(), "program": Around()}
        #: entry of `benchmarks` -> names of its suite and of itself
        self.called: dict[KeyPath, tuple[str, str]] = {}
        kinds = {kind: self.alike(configs, kind) for kind in self.arounds}
        java = self.with_heaps(kinds["java"])
        for config in java:
            self.ledger.carry(*config.uses)
        self.chooses = any(one.chooses_collector for config in java for one in config.applied)
        self.points = {
            "java": self.unique([self.java(config) for config in java]),
            "native": self.unique([self.without_jvm(config, "EnvVar") for config in kinds["native"]]),
            "program": self.unique(
                [self.without_jvm(config, "JSArg", "EnvVar") for config in kinds["program"]]
            ),
        }

    def alike(self, configs: Sequence[Config], kind: str) -> list[Config]:
        """Return the configs of one kind of runtime with the same wrapping of the program as the first."""
        those = [
            c for c in configs if KINDS.get(str(self.reader.at(("runtimes", c.runtime, "type")))) == kind
        ]
        kept = [c for c in those if c.of(*AROUND) == those[0].of(*AROUND)]
        for config in those:
            if config not in kept:
                self.ledger.carried.discard(config.path)
                names = ", ".join(one.name for one in config.of(*AROUND)) or "none"
                why = f"its wrapper, class path or program arguments (`{names}`) differ from those of the first config"
                self.ledger.leave(config.path, why, _OTHER)
        self.arounds[kind] = Around(those[0].of(*AROUND) if those else [])
        return kept

    def with_heaps(self, configs: list[Config]) -> list[Config]:
        """Omit configs without a heap size if some have one: a spec has one kind of heap."""
        sized = [config for config in configs if self.heap_of(config) is not None]
        for config in configs if sized else ():
            if config not in sized:
                self.ledger.carried.discard(config.path)
                why = "it sets no heap size and other configs do; a spec has either sizes or factors"
                self.ledger.leave(config.path, why, _OTHER)
        return sized or configs

    def heap_of(self, config: Config) -> int | None:
        """Return the heap that a config's flags set."""
        least, most, _ = heap_of([word for one in config.of("JVMArg") for word in one.words])
        if least is not None and least != most:
            got = "unset" if most is None else f"{most}m"
            self.ledger.change(
                config.path,
                f"initial and maximum heap are equal in Regatta, not `-Xms{least}m` and `-Xmx` `{got}`",
                "change `heap` in the spec",
            )
        for one in config.of("JVMArg"):
            for word in without_effect(one.words):
                why = f"`{word}` is removed, because Regatta sets a fixed heap size"
                self.ledger.change((*one.path, "val"), why, "change `heap` in the spec")
        return most

    def java(self, config: Config) -> Point:
        """Convert a config on a JVM."""
        self.without_effect(config, "JSArg")
        flags = config.of("JVMArg", "EnvVar")
        choosing = [one for one in flags if one.chooses_collector]
        names = [self.modifier(one) for one in flags if one not in choosing]
        return Point(
            self.runtime(config.runtime), self.collector(choosing, config) if self.chooses else None,
            self.set_of(config, [name for name in names if name]), self.heap_of(config), config.path,
        )  # fmt: skip

    def without_jvm(self, config: Config, *kinds: str) -> Point:
        """Convert a config for native programs or a JavaScript engine. `kinds`: the modifiers that have an effect there."""
        self.ledger.carry(("runtimes", config.runtime, "type"))
        idle = self.without_effect(config, *({"JVMArg", "JSArg"} - {*kinds}))
        self.ledger.carry(*(path for path in config.uses if path[:2] not in idle))
        names = [self.modifier(one) for one in config.of(*kinds)]
        runtime = self.engine(config.runtime) if "JSArg" in kinds else "native"
        return Point(runtime, None, self.set_of(config, [name for name in names if name]), None, config.path)

    def without_effect(self, config: Config, *kinds: str) -> set[KeyPath]:
        """List the modifiers that have no effect on the runtime of a config, and return their places."""
        idle = {one.path for one in config.of(*kinds)}
        for path in sorted(idle):
            self.ledger.doubt(path, f"its flags have no effect on the runtime of `{config.text}`")
        return idle

    def engine(self, name: str) -> str:
        """Return the new name of a JavaScript engine."""
        if name not in self.runtimes:
            at: KeyPath = ("runtimes", name)
            self.ledger.carry((*at, "executable"))
            text = self.reader.expanded((*at, "executable"), "executable: /opt/v8/d8")
            body = {
                "kind": "program",
                "provider": "path",
                "path": os.path.normpath(self.base / text),
                "language": _LANGUAGES[self.reader.text((*at, "type")) or ""],
            }
            self.runtimes[name] = (self.runtime_names.give(self.ledger, at, "the runtime", name), body)
            why = "running-ng sets the heap of JavaScript engines, Regatta does not"
            self.ledger.change(
                at, why, "add a modifier with the flag of the engine, such as `--max-heap-size=64`"
            )
        return self.runtimes[name][0]

    def unique(self, points: Sequence[Point]) -> list[Point]:
        """Return each point once."""
        found: dict[tuple[object, ...], Point] = {}
        for point in points:
            key = (point.runtime, point.collector, point.modifiers, point.heap_mib)
            if key in found:
                self.ledger.change(point.config, "duplicate configuration, measured once")
            found.setdefault(key, point)
        return list(found.values())

    def runtime(self, name: str) -> str:
        """Return the new name of a JVM."""
        if name not in self.runtimes:
            at: KeyPath = ("runtimes", name)
            self.ledger.carry((*at, "type"), (*at, "home"), (*at, "release"))
            home = self.reader.expanded((*at, "home"), "home: /usr/lib/jvm/java-21")
            if not home.startswith("/"):
                self.ledger.change(
                    (*at, "home"),
                    f"`{home}` is resolved relative to the folder of the file",
                    "use an absolute path",
                )
            release = self.reader.whole((*at, "release"), 1, "write `release: 21`")
            if release is None and not self.reader.has((*at, "release")):
                self.ledger.problem((*at, "release"), "the release of the JDK", None, "write `release: 21`")
            program = os.path.normpath(self.base / home / "bin" / "java")
            body: dict[str, Any] = {"provider": "path", "path": program}
            if (release or 0) >= 9:
                body["flags"] = [_EXPORTS]
            self.runtimes[name] = (self.runtime_names.give(self.ledger, at, "the runtime", name), body)
            self.told.append(f"Runtime `{self.runtimes[name][0]}`: OpenJDK {release}.")
        return self.runtimes[name][0]

    def collector(self, choosing: Sequence[Applied], config: Config) -> str:
        """Return the collector that some modifiers select; that of the registry if the flags are the same."""
        flags = tuple(heap_of([word for one in choosing for word in one.words])[2])
        if flags not in self.collectors:
            known = [name for name, known in self.registries.collectors.items() if known.flags == flags]
            text = "-".join(one.name for one in choosing) or "jvm-choice"
            if known:
                name = known[0]
                if name != text:
                    self.ledger.change(choosing[0].path, f"`{text}` becomes the collector `{name}`")
            else:
                path = choosing[0].path if choosing else config.path
                name = (
                    self.collector_names.give(self.ledger, path, "the collector of", text)
                    if choosing
                    else self.collector_names.free(text)
                )
                self.defined[name] = list(flags)
            self.collectors[flags] = name
        name = self.collectors[flags]
        self.made_of[name] = [*choosing]
        return name

    def modifier(self, applied: Applied) -> str:
        """Return the new name of a modifier; empty if it only had heap flags."""
        if applied.name not in self.modifiers:
            flags = heap_of(applied.words)[2]
            body: dict[str, Any] = {"flags": flags} if flags else {}
            if applied.environment:
                body = {"environment": dict(applied.environment)}
            if applied.words and not flags:
                return ""
            name = self.modifier_names.give(self.ledger, applied.path, "the modifier", applied.name)
            self.modifiers[applied.name] = (name, body)
            self.made_of[name] = [applied]
        return self.modifiers[applied.name][0]

    def set_of(self, config: Config, names: list[str]) -> tuple[str, ...]:
        """Return a set of modifiers: the same order for the same names."""
        once = tuple(dict.fromkeys(names))
        found = self.sets.setdefault(frozenset(once), once)
        if found != once:
            why = f"its modifiers have the same order as in another config: `{', '.join(found)}`"
            self.ledger.change(config.path, why)
        return found

    def runs(self, wanted: SelectedBenchmark) -> bool:
        """Return whether a config has a runtime for a benchmark."""
        return bool(self.points[wanted.kind])

    def heap(self) -> dict[str, Any]:
        """Return the heap sizes of the configs; empty without any."""
        sizes = {point.heap_mib for point in self.points["java"] if point.heap_mib is not None}
        return {"sizes_mib": sorted(sizes)} if sizes else {}

    def keys(self, those: Sequence[SelectedBenchmark]) -> dict[str, Any]:
        """Return the keys of a spec that select where its benchmarks run."""
        kinds = [kind for kind in ("java", "program", "native") if any(one.kind == kind for one in those)]
        points = [point for kind in kinds for point in self.points[kind]]
        runtimes = list(dict.fromkeys(point.runtime for point in points if point.runtime != "native"))
        java = {point.runtime for point in self.points["java"]}
        collectors = list(dict.fromkeys(point.collector for point in points if point.collector))
        sets = list(dict.fromkeys(point.modifiers for point in points))
        used = {name for names in sets for name in names}
        define: dict[str, Any] = {
            "runtimes": {name: body for name, body in self.runtimes.values() if name in runtimes}
        }
        own = {name: {"flags": flags} for name, flags in self.defined.items() if name in collectors}
        define |= {"collectors": own} if own else {}
        return {
            "define": define if runtimes else {},
            "runtimes": [*runtimes, *(["native"] if "native" in kinds else [])],
            "collectors": collectors or None,
            "modifiers": {name: body for name, body in self.modifiers.values() if name in used},
            "modifier_sets": [list(names) for names in sets] if sets != [()] else None,
            "exclude": [
                *self.excluded(points, [name for name in runtimes if name in java], collectors, sets),
                *self.spared(those, collectors, sets),
            ]
            or None,
        }

    def excluded(
        self, points: Sequence[Point], runtimes: list[str], collectors: list[str], sets: list[tuple[str, ...]]
    ) -> list[dict[str, Any]]:
        """Return `exclude` entries for crossed points without a config, as few as are easy to read."""
        heaps: list[int | None] = list(self.heap().get("sizes_mib", [None]))
        keys = ("runtime", "collector", "modifiers", "heap_mib")
        there = [(p.runtime, p.collector, p.modifiers, p.heap_mib) for p in points]
        of_jvms: list[str | None] = [*collectors] or [None]
        full: list[tuple[str, str | None, tuple[str, ...], int | None]] = list(
            product(runtimes, of_jvms, sets, heaps)
        )
        others = dict.fromkeys(p.runtime for p in points if p.runtime not in runtimes)
        full += [(name, None, names, None) for name in others for names in sets]
        found: list[dict[str, Any]] = []
        for one in full:
            if one in there or any(all(one[keys.index(k)] == v for k, v in entry.items()) for entry in found):
                continue
            whole = tuple(i for i in range(4) if one[i] is not None)
            chosen = next((few for few in _FEW if set(few) <= set(whole) and not _in(one, few, there)), whole)
            found.append({keys[i]: one[i] for i in chosen})
        return [{key: list(v) if isinstance(v, tuple) else v for key, v in entry.items()} for entry in found]

    def spared(
        self, those: Sequence[SelectedBenchmark], collectors: list[str], sets: list[tuple[str, ...]]
    ) -> list[dict[str, Any]]:
        """Return `exclude` entries for benchmarks that a modifier excludes."""
        found: list[dict[str, Any]] = []
        choices = [("collector", name, [name]) for name in collectors] + [
            ("modifiers", list(s), list(s)) for s in sets
        ]
        for wanted in those:
            suite, name = self.called[wanted.path]
            for key, value, members in choices:
                for applied in (one for member in members for one in self.made_of.get(member, ())):
                    for given in applied.excludes:
                        if given[:2] != (wanted.suite, wanted.name):
                            continue
                        entry = {"suite": suite, "benchmark": name, key: value}
                        if entry not in found:
                            found.append(entry)
                        self.ledger.carry(given[2])
                        self.ledger.change(
                            given[2],
                            f"Regatta excludes `{wanted.name}` from configurations with `{applied.name}`; running-ng runs it "
                            "without the modifier under the same name",
                            "add a set without the modifier to `modifier_sets`",
                        )
        for around in self.arounds.values():
            for given in (given for one in around.applied for given in one.excludes):
                if any(given[:2] == (one.suite, one.name) for one in those):
                    self.ledger.carry(given[2])
        return found


def _in(one: Sequence[object], parts: Sequence[int], there: Sequence[Sequence[object]]) -> bool:
    """Return whether a wanted point equals another in some of its parts."""
    return any(all(other[i] == one[i] for i in parts) for other in there)
