"""`regatta init`: create a spec and a suite for a program of the user."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from regatta.cli.options import split_command
from regatta.host.values.template import literal

_SUITE = """\
# The programs to measure. All keys: docs/spec.md, section "A suite".
suite: {name}
{files}benchmarks:
  {name}:
    kind: {kind}
    # Program and arguments; no shell reads them. Each invocation runs in an empty directory.
    command: {command}
    # `process` measures wall time, CPU time and memory of the process. If the program prints a measurement, read that:
    #   adapter: regex
    #   adapter_options: {{pattern: "time: (?P<value>[0-9.]+) s"}}
    adapter: process
"""
_FILES = """\
# Files next to this one that the command uses. If one changes, Regatta measures again instead of mixing results.
files:
"""
_SPEC = """\
# The experiment. All keys: docs/spec.md. Show the plan: regatta plan {name}.yml. Run it: regatta run {name}.yml
name: {name}
question: {question}

suites: [{name}-suite.yml]
platforms: [local]         # this machine; for other machines see docs/fleet.md
benchmarks: [{{suite: {name}, benchmark: {name}}}]
{factors}
{invocations}
timeout_s: 300             # of one invocation
seed: 1                    # Regatta draws the order of all invocations from it
"""
_FIXED = "invocations: {fixed: 10}   # each is a fresh process; more invocations give narrower intervals"
_DECIDED = "invocations: {decide: {relevance_percent: 2}}   # measure until each difference, or its absence within 2 %, is clear"
_JAVA = """
runtimes: [temurin-21]     # all names: regatta list runtimes
collectors: [serial, parallel, g1]
heap: {sizes_mib: [512]}   # `heap: {factors: [1.5, 4]}` takes multiples of the smallest heap in which the program completes
baseline: {collector: g1}  # the collector that the others are compared with
iterations: {count: 1}     # an invocation runs the program once
"""
_COMPARED = """
# The variable selects the command. Both commands run next to each other in every round, in random order.
modifiers:
  a: {environment: {VARIANT: a}}
  b: {environment: {VARIANT: b}}
modifier_sets: [[a], [b]]
baseline: {modifiers: a}   # the answer is the ratio b / a
"""


@click.command()
@click.argument("name", required=False)
@click.option("--command", metavar="COMMAND", help="Measure a program: COMMAND with its arguments.")
@click.option(
    "--jar",
    metavar="COMMAND",
    help="Measure a Java program under three collectors: FILE.jar with its arguments.",
)
@click.option(
    "--compare", nargs=2, metavar="A B", help="Compare two commands, for example two versions of a program."
)
@click.option(
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="Where to write the files.",
)
def init(
    name: str | None, command: str | None, jar: str | None, compare: tuple[str, str] | None, directory: Path
) -> None:
    """Write a commented spec and suite for your own program: NAME.yml and NAME-suite.yml.

    Ask for everything that is not given. Both files are validated. Existing files are never overwritten.
    """
    from regatta.host.errors import Problem, SpecError
    from regatta.host.files import write_output
    from regatta.spec.fields import NAME, NAME_WORDS
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec

    given = [one for one in (command, jar, compare) if one]
    if len(given) > 1:
        raise click.UsageError("expected one of --command, --jar and --compare, got several")
    name = name or str(click.prompt("Name of the experiment"))
    if not NAME.fullmatch(name):
        raise click.BadParameter(f"expected {NAME_WORDS} · got {name!r}", param_hint="NAME")
    if not given:
        asked = {"command": "Command", "jar": "Jar file and arguments", "compare": "Command A"}
        question = "Measure a command, a jar, or compare two commands"
        kind = click.prompt(question, type=click.Choice(list(asked)))
        first = click.prompt(asked[kind])
        command = first if kind == "command" else None
        jar = first if kind == "jar" else None
        compare = (first, click.prompt("Command B")) if kind == "compare" else None
    words = _Words(directory)
    if jar:
        argv, kind, factors = ["{runtime}", "-jar", *words.of(jar)], "java", _JAVA
        question = f"Which collector is fastest for {jar}?"
    elif compare:
        argv, kind, factors = _either(*map(words.of, compare)), "native", _COMPARED
        question = f"Is {compare[1]} (b) faster than {compare[0]} (a)?"
    else:
        assert command is not None
        argv, kind, factors = words.of(command), "native", ""
        question = f"How long does {command} take?"
    spec, suite = directory / f"{name}.yml", directory / f"{name}-suite.yml"
    files = {
        suite: _SUITE.format(name=name, files=words.files_text(), kind=kind, command=json.dumps(argv)),
        spec: _SPEC.format(
            name=name,
            question=json.dumps(question),
            factors=factors,
            invocations=_DECIDED if factors else _FIXED,
        ),
    }
    for path in files:
        if path.exists():
            raise SpecError([Problem(str(path), "a new file", "an existing file", "choose another name")])
    try:
        for path, text in files.items():
            write_output(path, text)
        load_spec(spec, find_home(spec))
    except BaseException:
        # One file without the other, or an invalid spec, is useless: remove them.
        for path in files:
            path.unlink(missing_ok=True)
        raise
    click.echo(f"wrote {spec} and {suite}")
    for outside in words.outside:
        click.echo(
            f"note: {outside} is outside {directory}, so that Regatta does not detect changes of it", err=True
        )
    click.echo(f"next: regatta run {shlex.quote(str(spec))}")


@dataclass
class _Words:
    """Converts commands for a suite; files below the folder of the suite become its files."""

    directory: Path
    #: name in the suite -> path relative to the folder
    files: dict[str, str] = field(default_factory=dict)
    #: files outside the folder
    outside: list[str] = field(default_factory=list)

    def of(self, command: str) -> list[str]:
        """Return the words of a command: the path of a file becomes `{file.name}`, or absolute outside the folder."""
        return [self._word(word, first=not at) for at, word in enumerate(split_command(command))]

    def _word(self, word: str, first: bool) -> str:
        path = Path(word)
        if first and "/" not in word and (program := _program(word)):
            return literal(program)
        if not path.is_file():
            return literal(word)
        path = path.absolute()
        try:
            inside = str(path.relative_to(self.directory.absolute()))
        except ValueError:
            if not first:
                self.outside.append(str(path))
            return literal(str(path))
        known = {own: name for name, own in self.files.items()}
        name = known.get(inside) or f"file{len(self.files) + 1}"
        self.files[name] = inside
        return f"{{file.{name}}}"

    def files_text(self) -> str:
        """Return the `files` section of the suite; empty without files."""
        if not self.files:
            return ""
        rows = (
            f"  {name}: {{name: {json.dumps(path)}, from: this directory}}\n"
            for name, path in self.files.items()
        )
        return "\n" + _FILES + "".join(rows) + "\n"


def _program(name: str) -> str:
    """Return the name of a program on PATH; its absolute path if the system path has another one; "" without one.

    The path makes every later run measure what the shell of the user would start now.
    """
    from regatta.host.ready.resolving import MEASURED_PATH

    found = shutil.which(name)
    if found is None:
        return ""
    return name if found == shutil.which(name, path=MEASURED_PATH) else str(Path(found).absolute())


def _either(a: Sequence[str], b: Sequence[str]) -> list[str]:
    """Return a command that becomes `a` or `b` depending on the variable VARIANT."""
    script = f'if [ "$VARIANT" = b ]; then shift {len(a)}; exec "$@"; fi; '
    script += "exec " + " ".join(f'"${{{{{at}}}}}"' for at in range(1, len(a) + 1))
    return ["sh", "-c", script, "sh", *a, *b]
