"""Read suites, and resolve them into benchmarks with every template checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import PydanticCustomError

from regatta.host.errors import Problem
from regatta.host.values.experiment import (
    ADDRESS,
    Benchmark,
    Build,
    Expectation,
    Input,
    Role,
    RoleReady,
    Scalar,
    UserFile,
)
from regatta.host.values.template import placeholders
from regatta.spec.adapter_options import check_adapter
from regatta.spec.fields import refusal
from regatta.spec.problems import check, closest, is_called, shown, unknown
from regatta.spec.registries import as_counters
from regatta.spec.suite_schema import RoleSpec, SizeSpec, SuiteFile
from regatta.spec.yaml_lines import Document, KeyPath

#: the valid braces of a template: around a name, or doubled
_FINE = re.compile(r"\{\{|\}\}|\{[A-Za-z_][A-Za-z0-9_.-]*\}")
_ALWAYS = ("benchmark", "iterations", "seed")
#: names in a command that makes a file, in addition to the parameters
_MAKING = ("seed", "output")


def names_in(text: str) -> list[str]:
    """Return the names in a template, in order.

    Raises:
        PydanticCustomError: a brace without a name that is not doubled.
    """
    if re.search(r"[{}]", _FINE.sub("", text)):
        raise refusal("`{name}` or doubled braces", "write `{{` and `}}` for braces")
    return placeholders(text)


@dataclass
class Suite:
    """One suite file. `root` is the prefix of the directories of its builds: "" for suites of the home."""

    document: Document
    model: SuiteFile
    root: str = ""


def check_suite(
    document: Document, problems: list[Problem], name: str | None = None, root: str = ""
) -> Suite | None:
    """Validate a suite file.

    Args:
        document: its values and places.
        problems: every problem found is appended.
        name: required name of the suite; any name when None.
        root: folder that its builds' directories are relative to; "" for the home.
    """
    model = check(SuiteFile, document, problems)
    if model is None:
        return None
    if name is not None:
        is_called(document, model.suite, name, problems)
    if "all" in model.benchmarks:
        where = document.where(("benchmarks", "all"))
        problems.append(Problem(where, "a benchmark name other than `all`", "'all'", "rename it"))
    return Suite(document, model, root)


def resolve_benchmark(
    suite: Suite,
    name: str,
    size: str,
    problems: list[Problem],
    chosen: Mapping[str, Scalar] | None = None,
) -> Benchmark:
    """Return the benchmark of one size, with only the builds and inputs that it uses.

    Args:
        suite: holds the benchmark and its size.
        name: the benchmark.
        size: one of its sizes.
        problems: every problem of its templates is appended.
        chosen: values that replace those of the size's parameters.
    """
    spec = suite.model.benchmarks[name]
    sized = spec.sizes[size]
    checker = _Templates(suite, sized, size, problems)
    path: KeyPath = ("benchmarks", name)
    commands: dict[KeyPath, Sequence[str]] = {
        ("commands", language): command for language, command in spec.commands.items()
    }
    if not commands and spec.command is not None:
        commands = {("command",): spec.command}
    for key, command in commands.items():
        checker.runtimes = 0
        checker.command(command, (*path, *key), runtime=True)
        where = suite.document.where((*path, *key))
        if spec.kind != "native" and checker.runtimes != 1:
            expected, got = f"`{{runtime}}` once, because of `kind: {spec.kind}`", f"{checker.runtimes} times"
            checker.add(Problem(where, expected, got, 'begin with "{runtime}"'))
        if spec.kind == "native" and checker.runtimes:
            fix = "write `kind: program`, or `kind: java`"
            checker.add(Problem(where, "no `{runtime}`, because of `kind: native`", "`{runtime}`", fix))
    checker.roles(spec.roles, (*path, "roles"), spec.kind)
    for file, source in spec.arrange.items():
        checker.text(source, (*path, "arrange", file))
    if spec.input is not None:
        checker.text(spec.input, (*path, "input"))
    for around, by in (("prepare", spec.prepare), ("check", spec.check), ("conclude", spec.conclude)):
        if by is not None:
            checker.command(by.command, (*path, around, "command"), runtime=spec.kind != "native")
    if spec.probe is not None:
        checker.command(spec.probe.command, (*path, "probe", "command"), runtime=True)
    for used in sorted(checker.inputs):
        checker.making(("inputs", used, "command"), suite.model.inputs[used].command)
    for used in sorted(checker.files):
        making = suite.model.files[used].command
        if making is not None:
            checker.making(("files", used, "command"), making)
    for expected in sized.expect.inputs:
        if expected not in checker.inputs:
            where = suite.document.where((*path, "sizes", size, "expect", "inputs", expected))
            checker.add(unknown(where, "an input of the benchmark", expected, checker.inputs))
    check_adapter(suite.document, path, spec, checker.add)
    return _assemble(suite, name, size, checker, chosen or {})


def _assemble(
    suite: Suite, name: str, size: str, used: _Templates, chosen: Mapping[str, Scalar]
) -> Benchmark:
    spec = suite.model.benchmarks[name]
    sized = spec.sizes[size]
    builds = {
        build: Build(
            name=build,
            directory=str(Path(suite.root) / model.directory) if suite.root else model.directory,
            command=tuple(model.command),
            outputs=dict(model.outputs),
            needs=tuple(model.needs),
            portable=model.portable,
        )
        for build, model in suite.model.builds.items()
        if build in used.builds
    }
    inputs = {
        key: Input(key, tuple(model.command))
        for key, model in suite.model.inputs.items()
        if key in used.inputs
    }
    files = {
        key: UserFile(
            model.name,
            model.origin,
            model.sha256 or "",
            tuple(model.beside),
            tuple(model.holds),
            tuple(model.command or ()),
        )
        for key, model in suite.model.files.items()
        if key in used.files
    }
    expect = sized.expect
    return Benchmark(
        suite=suite.model.suite,
        name=name,
        size=size,
        kind=spec.kind,
        command=tuple(spec.command or ()),
        commands={language: tuple(command) for language, command in spec.commands.items()},
        adapter=spec.adapter,
        adapter_options=dict(spec.adapter_options),
        metric=spec.metric,
        better=spec.better,
        parameters={**sized.parameters, **chosen},
        environment=dict(spec.environment),
        arrange=dict(spec.arrange),
        directory=spec.directory or "",
        input=spec.input or "",
        output=spec.output or "",
        prepare=tuple(spec.prepare.command) if spec.prepare else (),
        check=tuple(spec.check.command) if spec.check else (),
        conclude=tuple(spec.conclude.command) if spec.conclude else (),
        expect=Expectation(
            digest=expect.digest or "",
            stdout_sha256=expect.stdout_sha256 or "",
            check_sha256=expect.check_sha256 or "",
            inputs=dict(expect.inputs),
            exit_codes=() if isinstance(expect.exit_codes, str) else tuple(expect.exit_codes),
        ),
        probe=tuple(spec.probe.command) if spec.probe else (),
        keep=tuple(spec.keep),
        counters=as_counters(spec.counters),
        roles=tuple(_role(key, role) for key, role in spec.roles.items()),
        files=files,
        builds=builds,
        inputs=inputs,
        chosen=dict(chosen),
        summary=spec.summary,
    )


def _role(name: str, spec: RoleSpec) -> Role:
    given = spec.ready
    ready = RoleReady(given.output or "", given.port or "", given.file or "") if given is not None else None
    return Role(name, tuple(spec.command), ready)


class _Templates:
    """Checks the templates of one benchmark and size, and collects the builds and inputs that they name."""

    def __init__(self, suite: Suite, sized: SizeSpec, size: str, problems: list[Problem]) -> None:
        self.suite = suite
        self.parameters = set(sized.parameters)
        self.size = size
        self.problems = problems
        self.builds: set[str] = set()
        self.inputs: set[str] = set()
        self.files: set[str] = set()
        self.runtimes = 0
        #: `{role.value}` that the commands of the present role can contain
        self.of_roles: list[str] = []

    def add(self, problem: Problem) -> None:
        """Add a problem once, though every size of a benchmark has it."""
        if problem not in self.problems:
            self.problems.append(problem)

    def command(
        self, arguments: Sequence[str], path: KeyPath, runtime: bool = False, making: bool = False
    ) -> list[str]:
        """Check each argument; return the names in them."""
        named: list[str] = []
        for index, argument in enumerate(arguments):
            named += self.text(argument, (*path, index), runtime=runtime, making=making)
        return named

    def text(self, text: str, path: KeyPath, runtime: bool = False, making: bool = False) -> list[str]:
        """Check one template; return the names in it. `making`: it is part of a command that makes a file."""
        where = self.suite.document.where(path)
        try:
            names = names_in(text)
        except PydanticCustomError as error:
            context = error.context or {}
            self.add(Problem(where, str(context["expected"]), shown(text), str(context["fix"])))
            return []
        for name in names:
            if name == "runtime" and runtime:
                self.runtimes += 1
                if text != "{runtime}":
                    fix = 'make "{runtime}" a separate argument'
                    self.add(Problem(where, "`{runtime}` as a whole argument", shown(text), fix))
            elif name not in self.parameters and name not in (_MAKING if making else _ALWAYS):
                self.reference(name, where, making)
        return names

    def roles(self, roles: Mapping[str, RoleSpec], path: KeyPath, kind: str) -> None:
        """Check the templates of roles; each can name values of earlier ones, and the addresses of all."""
        for role in roles:
            if role in self.suite.model.builds or role in ("input", "file", "program"):
                where = self.suite.document.where((*path, role))
                self.add(
                    Problem(
                        where,
                        "a name that is no build, `input`, `file` or `program`",
                        shown(role),
                        "rename it",
                    )
                )
        self.of_roles = [f"{role}.{ADDRESS}" for role in roles]
        for index, (role, spec) in enumerate(roles.items()):
            self.runtimes = 0
            self.command(spec.command, (*path, role, "command"), runtime=kind != "native")
            if index == 0 and kind != "native" and self.runtimes != 1:
                where = self.suite.document.where((*path, role, "command"))
                expected = f"`{{runtime}}` once in the first role, because of `kind: {kind}`"
                self.add(Problem(where, expected, f"{self.runtimes} times", 'begin with "{runtime}"'))
            if spec.ready is not None and spec.ready.port is not None:
                self.text(spec.ready.port, (*path, role, "ready", "port"))
            if spec.ready is not None and spec.ready.output is not None:
                self.of_roles += [f"{role}.{group}" for group in re.compile(spec.ready.output).groupindex]
        self.of_roles = []

    def reference(self, name: str, where: str, making: bool) -> None:
        """Check that a name is `{build.output}`, `{input.name}`, `{file.name}` or `{program.name}`.

        A command that makes a file has none of them.
        """
        model = self.suite.model
        first, _, second = name.partition(".")
        if first == "input" and not making and second in model.inputs:
            self.inputs.add(second)
        elif first == "file" and not making and second in model.files:
            self.files.add(second)
        elif (first == "program" and not making and second) or name in self.of_roles:
            pass
        elif not making and first in model.builds and second in model.builds[first].outputs:
            self.builds.add(first)
        else:
            known = [*self.parameters, *(_MAKING if making else _ALWAYS), *self.of_roles]
            if not making:
                known += [
                    f"{build}.{output}" for build, entry in model.builds.items() for output in entry.outputs
                ]
                known += [f"input.{entry}" for entry in model.inputs]
                known += [f"file.{entry}" for entry in model.files]
            problem = unknown(where, f"a name available for size `{self.size}`", name, known)
            near = closest(name, known)
            fix = f"use `{{{near}}}`" if near else ""
            self.add(Problem(where, problem.expected, f"`{{{name}}}`", fix))

    def making(self, path: KeyPath, command: Sequence[str]) -> None:
        """Check the command that makes an input or a file."""
        if "output" not in self.command(command, path, making=True):
            where = self.suite.document.where(path)
            self.add(Problem(where, "`{output}`, the file to write", "missing", 'add an argument "{output}"'))
