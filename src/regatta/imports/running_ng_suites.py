"""Convert running-ng's benchmark suites to suite files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from regatta.imports.reader import Reader
from regatta.imports.running_ng_modifiers import Applied, expanded
from regatta.imports.words import braces_doubled
from regatta.spec.yaml_lines import KeyPath

#: DaCapo's default: it stops when 3 iterations vary by less than 3 percent, and after 20 at the latest
_CONVERGE = {"method": "cov", "count": 20, "window": 3, "threshold_percent": 3}
_JAVA = ("DaCapo", "SPECjbb2015", "SPECjvm98")
_MINHEAP = (
    "Regatta measures the least heap itself, on the machine and with the runtimes and collectors of the spec",
    "`regatta minheap SPEC`",
)
#: keys of a suite that are not imported
_FOREIGN = {
    "minheap": _MINHEAP,
    "minheap_values": _MINHEAP,
    "companion": ("Regatta starts no second program beside a measured one", ""),
}
_JUST_ONCE = {"method": "fixed", "count": 1}


@dataclass(frozen=True)
class Wanted:
    """One benchmark that a configuration selects."""

    suite: str
    #: names in results and in the suite
    name: str
    program: str
    path: KeyPath
    kind: Literal["java", "native"]
    type: str
    #: of a spec, because all benchmarks of a spec share it
    iterations: dict[str, Any]
    timeout_s: int | None
    timeout_path: KeyPath | None
    size: str = ""


@dataclass
class Around:
    """Wrapping of a benchmark's program by the modifiers of all configs."""

    applied: list[Applied] = field(default_factory=list)

    def words(self, wanted: Wanted, *kinds: str) -> list[str]:
        """Return the words of the modifiers of some types that apply to the benchmark."""
        return [
            word
            for one in self.applied
            if one.kind in kinds and not one.spares(wanted.suite, wanted.name)
            for word in one.words
        ]

    def class_path(self, wanted: Wanted, *own: str) -> list[str]:
        """Return `-cp` and the class path around the suite's; nothing if it is empty. The last prepended entry comes first."""
        before: list[str] = []
        for one in self.applied:
            if one.kind == "JVMClasspathPrepend" and not one.spares(wanted.suite, wanted.name):
                before = [*one.words, *before]
        classes = [*before, *own, *self.words(wanted, "JVMClasspath", "JVMClasspathAppend")]
        return ["-cp", ":".join(classes)] if classes else []


class Suites:
    """Reads suites and converts them to benchmarks. `base`: the folder of relative paths."""

    def __init__(self, reader: Reader, base: Path) -> None:
        self.reader = reader
        self.ledger = reader.ledger
        self.base = base

    def wanted(self) -> list[Wanted]:
        """Return the selected benchmarks, without those that have no equivalent in Regatta."""
        found = []
        for suite in self.reader.mapping(
            ("benchmarks",), "benchmarks by suite, such as `benchmarks: {dacapochopin: [fop]}`"
        ):
            at: KeyPath = ("benchmarks", suite)
            if not self.reader.one_of(
                at, "a suite of `suites`", suite, self.reader.mapping(("suites",), "suites")
            ):
                continue
            path: KeyPath = ("suites", suite)
            kind = self.reader.text((*path, "type"), "type: DaCapo") or ""
            self.ledger.look(path)
            if kind not in (*_JAVA, "BinaryBenchmarkSuite"):
                self.ledger.leave(
                    path, f"Regatta runs no suites of type {kind}", "write a suite file by hand: docs/spec.md"
                )
                self.ledger.leave(
                    at, f"its suite is of type {kind}", "write a suite file by hand: docs/spec.md"
                )
                continue
            self.ledger.carry((*path, "type"))
            self.reader.leave(path, _FOREIGN)
            for entry, value in self.reader.entries(at, "benchmarks, such as `[fop, h2]`"):
                one = self.one(suite, kind, entry, value)
                if one is not None:
                    found.append(one)
        return found

    def one(self, suite: str, kind: str, entry: KeyPath, value: Any) -> Wanted | None:
        """Convert one entry of `benchmarks`."""
        path: KeyPath = ("suites", suite)
        name = program = ""
        own: KeyPath | None = None
        if isinstance(value, dict) and kind == "DaCapo":
            own = entry
            name = self.reader.text((*entry, "name"), "name: fop_large") or ""
            program = self.reader.text((*entry, "bm_name"), "bm_name: fop") or ""
            self.ledger.carry((*entry, "name"), (*entry, "bm_name"))
        else:
            name = program = self.reader.text(entry, "a benchmark's name") or ""
            self.ledger.carry(entry)
        timeout = self.nearest(own, path, "timeout")
        limit = self.reader.whole(timeout, 1) if timeout else None
        size = self.nearest(own, path, "size") if kind == "DaCapo" else None
        return Wanted(
            suite, name, program, entry, "native" if kind == "BinaryBenchmarkSuite" else "java", kind,
            self.iterations(own, path, kind), limit, timeout,
            (self.reader.text(size) or "default") if size else "default",
        )  # fmt: skip

    def nearest(self, own: KeyPath | None, suite: KeyPath, key: str) -> KeyPath | None:
        """Return the place of a key in a benchmark, or else in its suite; marked as imported, except for a time limit."""
        for path in ((*own, key) if own else None, (*suite, key)):
            if path and self.reader.has(path):
                self.ledger.carry(*([path] if key != "timeout" else []))
                return path
        return None

    def iterations(self, own: KeyPath | None, suite: KeyPath, kind: str) -> dict[str, Any]:
        """Convert `timing_iteration`: it is the number of iterations, of which the last counts."""
        if kind not in ("DaCapo", "SPECjvm98"):
            return _JUST_ONCE
        path = self.nearest(own, suite, "timing_iteration")
        if path is None:
            self.ledger.problem(
                (*suite, "timing_iteration"), "a number of iterations", None, "timing_iteration: 5"
            )
            return _JUST_ONCE
        if kind == "DaCapo" and self.reader.at(path) == "converge":
            self.ledger.change(
                path,
                "20 iterations are run, and the first 3 in a row that vary by less than 3 % count; DaCapo stops there",
                "`iterations` in the spec",
            )
            return _CONVERGE
        count = self.reader.whole(path, 1, "5, or `converge` with DaCapo") or 1
        return {"method": "fixed", "count": count} | ({"warmup": count - 1} if count > 1 else {})

    def body(self, wanted: Wanted, around: Around) -> dict[str, Any]:
        """Return one benchmark of a suite file."""
        wrapper = [*self.wrapper(wanted), *around.words(wanted, "Wrapper")]
        arguments = around.words(wanted, "ProgramArg")
        make = {
            "DaCapo": self.dacapo,
            "SPECjbb2015": self.specjbb2015,
            "SPECjvm98": self.specjvm98,
            "BinaryBenchmarkSuite": self.binary,
        }
        body = make[wanted.type](wanted, around)
        self.unidentified(wanted, around, bool(wrapper))
        body["command"] = [
            *map(braces_doubled, wrapper), *body["command"], *map(braces_doubled, arguments)
        ]  # fmt: skip
        if wanted.kind == "java":
            body = {"kind": "java", **body}
        if wanted.type == "DaCapo":
            body["sizes"] = {wanted.size: {"parameters": {"input": wanted.size}}}
        return body

    def unidentified(self, wanted: Wanted, around: Around, wrapped: bool) -> None:
        """List the files that a benchmark's command names, except its program, which is identified."""
        path: KeyPath = ("suites", wanted.suite, "path")
        if wanted.kind == "native":
            path = ("suites", wanted.suite, "programs", wanted.program, "path")
        text = self.reader.text(path)
        if text and (wanted.kind == "java" or wrapped):
            self.ledger.unidentified(path, [os.path.normpath(self.base / expanded(self.reader, path, text))])
        for one in around.applied:
            if one.kind.startswith("JVMClasspath") and not one.spares(wanted.suite, wanted.name):
                places = [place for word in one.words for place in word.split(":") if place]
                self.ledger.unidentified((*one.path, "val"), places)

    def dacapo(self, wanted: Wanted, around: Around) -> dict[str, Any]:
        path: KeyPath = ("suites", wanted.suite)
        self.ledger.carry((*path, "release"), (*path, "callback"))
        jar = self.path((*path, "path"), "path: /opt/dacapo.jar")
        callback = self.reader.text((*path, "callback"))
        if callback:
            command = [*around.class_path(wanted, jar), "Harness", "-c", callback]
        else:
            command = [*around.class_path(wanted), "-jar", jar]
        return {
            "description": f"DaCapo {self.reader.text((*path, 'release'), 'release: 23.11')}",
            "command": [
                "{runtime}", *map(braces_doubled, command), "-n", "{iterations}", "-s", "{input}", braces_doubled(wanted.program)
            ],
            "adapter": "dacapo",
        }  # fmt: skip

    def specjbb2015(self, wanted: Wanted, around: Around) -> dict[str, Any]:
        path: KeyPath = ("suites", wanted.suite)
        self.ledger.carry((*path, "release"))
        if wanted.program != "composite":
            self.ledger.problem(wanted.path, "composite, the one mode that running-ng has", wanted.program)
        jar = self.path((*path, "path"), "path: /opt/specjbb2015/specjbb2015.jar")
        properties = os.path.normpath(f"{jar}/../config/specjbb2015.props")
        command = [
            *around.class_path(wanted),
            "-jar",
            jar,
            "-p",
            properties,
            "-m",
            "COMPOSITE",
            "-skipReport",
        ]
        return {
            "description": f"SPECjbb2015 {self.reader.text((*path, 'release'), 'release: 1.03')}",
            "command": ["{runtime}", *map(braces_doubled, command)],
            "adapter": "specjbb2015",
            "metric": "max_jops",
            "better": "higher",
        }

    def specjvm98(self, wanted: Wanted, around: Around) -> dict[str, Any]:
        path: KeyPath = ("suites", wanted.suite)
        self.ledger.carry((*path, "release"))
        folder = self.path((*path, "path"), "path: /opt/specjvm98")
        classes = around.class_path(wanted, folder)
        return {
            "description": f"SPECjvm98 {self.reader.text((*path, 'release'), 'release: 1.03_05')}",
            "command": [
                "env", f"--chdir={braces_doubled(folder)}", "{runtime}", *map(braces_doubled, classes),
                "SpecApplication", "-i{iterations}", braces_doubled(wanted.program),
            ],
            "adapter": "specjvm98",
        }  # fmt: skip

    def binary(self, wanted: Wanted, around: Around) -> dict[str, Any]:
        path: KeyPath = ("suites", wanted.suite, "programs")
        table = self.reader.mapping(path, "programs")
        if not self.reader.one_of(wanted.path, "a program of the suite", wanted.program, table):
            return {"command": []}
        own: KeyPath = (*path, wanted.program)
        program = self.path((*own, "path"), "path: /opt/programs/sort")
        arguments = self.split((*own, "args"))
        return {"command": [braces_doubled(program), *map(braces_doubled, arguments)], "adapter": "process"}

    def wrapper(self, wanted: Wanted) -> list[str]:
        """Return the wrapper in front of the runtime: one for all benchmarks of a suite, or one for each."""
        path: KeyPath = ("suites", wanted.suite, "wrapper")
        if isinstance(self.reader.at(path), dict):
            path = (*path, wanted.program)
        return self.split(path) if self.reader.has(path) else []

    def split(self, path: KeyPath) -> list[str]:
        """Split text into words."""
        text = self.reader.text(path) or ""
        self.ledger.carry(path)
        try:
            return [expanded(self.reader, path, word) for word in shlex.split(text)]
        except ValueError as error:
            self.ledger.problem(path, "words with closed quotes", f"{text} ({error})")
            return []

    def path(self, path: KeyPath, example: str) -> str:
        """Return a path; a relative one is relative to the configuration's folder."""
        text = expanded(self.reader, path, self.reader.text(path, example) or "")
        self.ledger.carry(path)
        if text and not text.startswith("/"):
            self.ledger.change(
                path, f"`{text}` is taken from the folder of the file on", "write an absolute path"
            )
        return os.path.normpath(self.base / text)

    def minheaps(self, those: Sequence[Wanted]) -> str:
        """Return running-ng's minheaps, as a comment for users."""
        path: KeyPath = ("suites", those[0].suite)
        chosen = self.reader.text((*path, "minheap"))
        table = self.reader.at((*path, "minheap_values", chosen)) if chosen else None
        if not isinstance(table, dict):
            return ""
        given = [f"{one.name} {table[one.name]}" for one in those if one.name in table]
        return f"Least heaps that running-ng had ({chosen}), in MiB: {', '.join(given)}." if given else ""
