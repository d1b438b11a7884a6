"""Convert running-ng's benchmark suites to suite files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from regatta.host.values.template import literal
from regatta.imports.reader import Reader
from regatta.imports.running_ng_modifiers import Applied
from regatta.spec.yaml_lines import KeyPath

#: DaCapo's default: it stops when 3 iterations vary by less than 3 percent, and after 20 at the latest
_CONVERGE = {"method": "cov", "count": 20, "window": 3, "threshold_percent": 3}
#: type of a suite -> kind of its benchmarks
_KINDS: dict[str, Literal["java", "native", "program"]] = {
    "DaCapo": "java", "SPECjbb2015": "java", "SPECjvm98": "java", "BinaryBenchmarkSuite": "native", "Octane": "program",
}  # fmt: skip
#: languages of JavaScript engines: with `--` before the arguments of a program, and without
JAVASCRIPT, SPIDERMONKEY = "javascript", "spidermonkey"
_MINHEAP = (
    "Regatta measures minheaps on each host, for the runtimes and collectors of the spec",
    "run `regatta minheap SPEC`",
)
#: keys of a suite that are not imported
_FOREIGN = {
    "minheap": _MINHEAP,
    "minheap_values": _MINHEAP,
    "companion": ("Regatta does not start companion programs", ""),
}
_JUST_ONCE = {"method": "fixed", "count": 1}


@dataclass(frozen=True)
class SelectedBenchmark:
    """One benchmark that a configuration selects."""

    suite: str
    #: names in results and in the suite
    name: str
    program: str
    path: KeyPath
    kind: Literal["java", "native", "program"]
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

    def words(self, wanted: SelectedBenchmark, *kinds: str) -> list[str]:
        """Return the words of the modifiers of some types that apply to the benchmark."""
        return [
            word
            for one in self.applied
            if one.kind in kinds and not one.spares(wanted.suite, wanted.name)
            for word in one.words
        ]

    def class_path(self, wanted: SelectedBenchmark, *own: str) -> list[str]:
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

    def wanted(self) -> list[SelectedBenchmark]:
        """Return the selected benchmarks, without those that have no equivalent in Regatta."""
        found = []
        fix = "write `benchmarks: {dacapochopin: [fop]}`"
        for suite in self.reader.mapping(("benchmarks",), "a mapping of suites to benchmarks", fix):
            if self.reader.valid(("benchmarks", suite), partial(self.attempt_suite, suite)):
                found += self.of_suite(suite)
        return found

    def attempt_suite(self, suite: str, reader: Reader) -> None:
        """Convert the benchmarks of one suite alone, to find the problems of the suite."""
        Suites(reader, self.base).of_suite(suite)

    def of_suite(self, suite: str) -> list[SelectedBenchmark]:
        """Return the selected benchmarks of a suite."""
        at: KeyPath = ("benchmarks", suite)
        suites = self.reader.mapping(("suites",), "a mapping of suites")
        if not self.reader.one_of(at, "a suite of `suites`", suite, suites):
            return []
        path: KeyPath = ("suites", suite)
        kind = self.reader.text((*path, "type"), "type: DaCapo") or ""
        self.ledger.look(path)
        if kind not in _KINDS:
            why, fix = (
                f"Regatta does not support suites of type `{kind}`",
                "write a suite file (docs/spec.md)",
            )
            self.ledger.leave(path, why, fix)
            self.ledger.leave(at, why, fix)
            return []
        self.ledger.carry((*path, "type"))
        self.reader.leave(path, _FOREIGN)
        fix = "add a benchmark, or remove the suite"
        return [
            self.one(suite, kind, entry, value)
            for entry, value in self.reader.entries(at, "a list of at least 1 benchmark", fix)
            if self.reader.valid(entry, partial(self.attempt, suite, kind, entry, value))
        ]

    def attempt(self, suite: str, kind: str, entry: KeyPath, value: Any, reader: Reader) -> None:
        """Convert one benchmark alone, to find its problems."""
        trial = Suites(reader, self.base)
        trial.body(trial.one(suite, kind, entry, value), Around())

    def one(self, suite: str, kind: str, entry: KeyPath, value: Any) -> SelectedBenchmark:
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
            name = program = self.reader.text(entry, "fop") or ""
            self.ledger.carry(entry)
        timeout = self.nearest(own, path, "timeout")
        limit = self.reader.whole(timeout, 1) if timeout else None
        size = self.nearest(own, path, "size") if kind == "DaCapo" else None
        return SelectedBenchmark(
            suite, name, program, entry, _KINDS.get(kind, "java"), kind,
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
            fix = "write `timing_iteration: 5`"
            self.ledger.problem((*suite, "timing_iteration"), "a number of iterations", None, fix)
            return _JUST_ONCE
        if kind == "DaCapo" and self.reader.at(path) == "converge":
            self.ledger.change(
                path,
                "Regatta runs 20 iterations and uses the first 3 consecutive ones that vary by less than 3 %; DaCapo stops "
                "after these",
                "change `iterations` in the spec",
            )
            return _CONVERGE
        count = self.reader.whole(path, 1, "write a number, or `converge` with DaCapo") or 1
        return {"method": "fixed", "count": count} | ({"warmup": count - 1} if count > 1 else {})

    def body(self, wanted: SelectedBenchmark, around: Around) -> dict[str, Any]:
        """Return one benchmark of a suite file."""
        wrapper = [*self.wrapper(wanted), *around.words(wanted, "Wrapper")]
        arguments = around.words(wanted, "ProgramArg")
        make = {
            "DaCapo": self.dacapo, "SPECjbb2015": self.specjbb2015, "SPECjvm98": self.specjvm98,
            "BinaryBenchmarkSuite": self.binary, "Octane": self.octane,
        }  # fmt: skip
        body = make[wanted.type](wanted, around)
        self.unidentified(wanted, around, bool(wrapper))

        def whole(command: list[str]) -> list[str]:
            return [*map(literal, wrapper), *command, *map(literal, arguments)]

        if "commands" in body:
            body["commands"] = {name: whole(command) for name, command in body["commands"].items()}
        else:
            body["command"] = whole(body["command"])
        if wanted.kind != "native":
            body = {"kind": wanted.kind, **body}
        if wanted.type == "DaCapo":
            body["sizes"] = {wanted.size: {"parameters": {"input": wanted.size}}}
        return body

    def unidentified(self, wanted: SelectedBenchmark, around: Around, wrapped: bool) -> None:
        """List the files that a benchmark's command names, except its program, which is identified."""
        path: KeyPath = ("suites", wanted.suite, "path")
        if wanted.kind == "native":
            path = ("suites", wanted.suite, "programs", wanted.program, "path")
        text = self.reader.text(path)
        if wanted.type == "Octane":
            wrapper: KeyPath = ("suites", wanted.suite, "wrapper")
            named = self.reader.expanded(wrapper)
            self.ledger.unidentified(wrapper, [os.path.normpath(self.base / named)])
        if text and (wanted.kind != "native" or wrapped):
            self.ledger.unidentified(path, [os.path.normpath(self.base / self.reader.expanded(path))])
        for one in around.applied:
            if one.kind.startswith("JVMClasspath") and not one.spares(wanted.suite, wanted.name):
                places = [place for word in one.words for place in word.split(":") if place]
                self.ledger.unidentified((*one.path, "val"), places)

    def release(self, suite: KeyPath, name: str, example: str) -> str:
        """Return the name of a suite with its release."""
        self.ledger.carry((*suite, "release"))
        return f"{name} {self.reader.text((*suite, 'release'), f'release: {example}')}"

    def dacapo(self, wanted: SelectedBenchmark, around: Around) -> dict[str, Any]:
        path: KeyPath = ("suites", wanted.suite)
        self.ledger.carry((*path, "callback"))
        jar = self.path((*path, "path"), "path: /opt/dacapo.jar")
        callback = self.reader.text((*path, "callback"))
        if callback:
            command = [*around.class_path(wanted, jar), "Harness", "-c", callback]
        else:
            command = [*around.class_path(wanted), "-jar", jar]
        return {
            "description": self.release(path, "DaCapo", "23.11"),
            "command": [
                "{runtime}", *map(literal, command), "-n", "{iterations}", "-s", "{input}", literal(wanted.program)
            ],
            "adapter": "dacapo",
        }  # fmt: skip

    def specjbb2015(self, wanted: SelectedBenchmark, around: Around) -> dict[str, Any]:
        path: KeyPath = ("suites", wanted.suite)
        if wanted.program != "composite":
            expected = "`composite`, the only mode that running-ng supports"
            self.ledger.problem(wanted.path, expected, wanted.program, "write `composite`")
        jar = self.path((*path, "path"), "path: /opt/specjbb2015/specjbb2015.jar")
        properties = os.path.normpath(f"{jar}/../config/specjbb2015.props")
        options = ["-jar", jar, "-p", properties, "-m", "COMPOSITE", "-skipReport"]
        command = [*around.class_path(wanted), *options]
        return {
            "description": self.release(path, "SPECjbb2015", "1.03"),
            "command": ["{runtime}", *map(literal, command)],
            "adapter": "specjbb2015",
            "metric": "max_jops",
            "better": "higher",
        }

    def specjvm98(self, wanted: SelectedBenchmark, around: Around) -> dict[str, Any]:
        path: KeyPath = ("suites", wanted.suite)
        folder = self.path((*path, "path"), "path: /opt/specjvm98")
        classes = around.class_path(wanted, folder)
        return {
            "description": self.release(path, "SPECjvm98", "1.03_05"),
            "command": [
                "env", f"--chdir={literal(folder)}", "{runtime}", *map(literal, classes),
                "SpecApplication", "-i{iterations}", literal(wanted.program),
            ],
            "adapter": "specjvm98",
        }  # fmt: skip

    def octane(self, wanted: SelectedBenchmark, around: Around) -> dict[str, Any]:
        path: KeyPath = ("suites", wanted.suite)
        fix = "write `timing_iteration: 5`"
        count = self.reader.whole((*path, "timing_iteration"), 1, fix)
        if count is None:
            self.ledger.problem((*path, "timing_iteration"), "a number of iterations", None, fix)
        self.ledger.carry((*path, "timing_iteration"))
        program = literal(self.path((*path, "wrapper"), "wrapper: /opt/octane/wrapper.js"))
        folder = literal(self.path((*path, "path"), "path: /opt/octane"))
        given = [folder, literal(wanted.program), str(count)]
        self.ledger.change(
            path,
            "the time of the whole process with all iterations is measured; it fails by its exit code, not without `PASSED`",
            "use `adapter: regex` with a pattern for the output of the wrapper",
        )
        return {
            "description": "Octane",
            "commands": {
                JAVASCRIPT: ["{runtime}", program, "--", *given],
                SPIDERMONKEY: ["{runtime}", program, *given],
            },
            "adapter": "process",
        }

    def binary(self, wanted: SelectedBenchmark, around: Around) -> dict[str, Any]:
        path: KeyPath = ("suites", wanted.suite, "programs")
        table = self.reader.mapping(path, "a mapping of programs")
        if not self.reader.one_of(wanted.path, "a program of the suite", wanted.program, table):
            return {"command": []}
        own: KeyPath = (*path, wanted.program)
        program = self.path((*own, "path"), "path: /opt/programs/sort")
        arguments = self.split((*own, "args"))
        return {"command": [literal(program), *map(literal, arguments)], "adapter": "process"}

    def wrapper(self, wanted: SelectedBenchmark) -> list[str]:
        """Return the wrapper in front of the runtime: one for all benchmarks of a suite, or one for each."""
        path: KeyPath = ("suites", wanted.suite, "wrapper")
        if wanted.type == "Octane":
            # There it is the program.
            return []
        if isinstance(self.reader.at(path), dict):
            path = (*path, wanted.program)
        return self.split(path) if self.reader.has(path) else []

    def split(self, path: KeyPath) -> list[str]:
        """Split text into words."""
        self.ledger.carry(path)
        return self.reader.words(path, self.reader.text(path) or "")

    def path(self, path: KeyPath, example: str) -> str:
        """Return a path; a relative one is relative to the configuration's folder."""
        text = self.reader.expanded(path, example)
        self.ledger.carry(path)
        if text and not text.startswith("/"):
            why = f"`{text}` is resolved relative to the folder of the file"
            self.ledger.change(path, why, "use an absolute path")
        return os.path.normpath(self.base / text)

    def minheaps(self, those: Sequence[SelectedBenchmark]) -> str:
        """Return running-ng's minheaps, as a comment for users."""
        path: KeyPath = ("suites", those[0].suite)
        chosen = self.reader.text((*path, "minheap"))
        table = self.reader.at((*path, "minheap_values", chosen)) if chosen else None
        if not isinstance(table, dict):
            return ""
        given = [f"{one.name} {table[one.name]}" for one in those if one.name in table]
        return f"Minheaps in running-ng ({chosen}), MiB: {', '.join(given)}." if given else ""
