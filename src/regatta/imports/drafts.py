"""Specs and suites before they are files, and the files: written atomically, headed by the list of parts not imported."""

from __future__ import annotations

import io
import os
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from regatta.host.errors import Problem, SpecError
from regatta.host.files import write_whole
from regatta.host.printable import printable
from regatta.imports.ledger import Item
from regatta.spec.flow import flow_yaml

_WIDTH = 120
#: a list of scalars up to this number of characters is written on one line
_ONE_LINE = 160
_ORDER = (
    "name", "question", "platforms", "define", "runtimes", "collectors", "modifiers", "modifier_sets", "heap", "suites",
    "benchmarks", "invocations", "iterations", "timeout_s", "output_kib", "exclude",
)  # fmt: skip


@dataclass
class SuiteDraft:
    """One suite file; `body` is its YAML content."""

    name: str
    body: dict[str, Any]
    comments: list[str] = field(default_factory=list)

    @property
    def file(self) -> str:
        """Return its file name in the folder of the specs."""
        return f"{self.name}.suite.yml"


@dataclass
class SpecDraft:
    """One spec file with the suites that it names."""

    name: str
    body: dict[str, Any]
    suites: list[SuiteDraft]
    comments: list[str] = field(default_factory=list)

    @property
    def file(self) -> str:
        """Return its file name."""
        return f"{self.name}.yml"


@dataclass
class Imported:
    """The result of an import: the specs, the main one first, and the list."""

    #: the input, as named by the user, and its tool
    source: str
    tool: str
    specs: list[SpecDraft]
    items: list[Item]

    def files(self) -> dict[str, str]:
        """Return file name to text."""
        found = {}
        for index, spec in enumerate(self.specs):
            body = {**spec.body, "suites": [suite.file for suite in spec.suites]}
            found[spec.file] = self._head(spec, index == 0) + to_yaml(_in_order(body))
            for suite in spec.suites:
                lines = [f"Imported from {self.source} ({self.tool}).", *suite.comments]
                found[suite.file] = _comment(lines) + to_yaml(suite.body)
        return found

    def _head(self, spec: SpecDraft, main: bool) -> str:
        lines = [f"Imported from {self.source} ({self.tool}).", *spec.comments]
        if not self.items:
            lines.append("Everything was imported.")
        elif main:
            lines.append("Excluded or changed:")
            lines += [f"- {item}" for item in self.items]
        else:
            lines.append(f"{self.specs[0].file} lists the parts that were excluded or changed.")
        return _comment(lines)


def write_files(files: dict[str, str], folder: Path, force: bool) -> None:
    """Write the files of an import, each atomically.

    Raises:
        SpecError: files exist, and `force` is not given.
        OSError: the folder cannot be written.
    """
    there = sorted(name for name in files if os.path.lexists(folder / name))
    if there and not force:
        fix = "choose another folder with `--output`, or replace the files with `--force`"
        raise SpecError([Problem(str(folder / there[0]), "a new file", "an existing file", fix)])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_whole(folder / name, text)


def to_yaml(body: dict[str, Any]) -> str:
    """Write plain values in readable YAML: a list of scalars on one line, the rest in blocks."""
    yaml = YAML()
    # A folded pattern is hard to read and to change.
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(_styled(body), stream)
    return stream.getvalue()


def _styled(value: Any) -> Any:
    if isinstance(value, dict):
        return CommentedMap((key, _styled(item)) for key, item in value.items()) if value else _flow({})
    if isinstance(value, list | tuple):
        scalars = all(not isinstance(item, dict | list | tuple) for item in value)
        if scalars and sum(len(str(item)) + 2 for item in value) <= _ONE_LINE:
            return _flow([_quoted(item) for item in value])
        return CommentedSeq(_styled(item) for item in value)
    return _quoted(value)


def _flow(value: Any) -> Any:
    made: Any = CommentedMap(value) if isinstance(value, dict) else CommentedSeq(value)
    made.fa.set_flow_style()
    return made


def _quoted(value: Any) -> Any:
    """Quote text that YAML 1.1 or a reader could misinterpret."""
    return (
        DoubleQuotedScalarString(value) if isinstance(value, str) and flow_yaml(value)[:1] == '"' else value
    )


def _in_order(body: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a spec in the order of the reference, without empty ones."""
    return {key: body[key] for key in _ORDER if body.get(key) not in (None, {}, "")}


def _comment(lines: list[str]) -> str:
    wrapped = []
    for line in lines:
        text = printable(line)
        wrapped += textwrap.wrap(
            text, _WIDTH - 2, subsequent_indent="  " if text.startswith("- ") else "", break_long_words=False,
            break_on_hyphens=False,
        ) or [""]  # fmt: skip
    return "".join(f"# {line}".rstrip() + "\n" for line in wrapped) + "\n"
