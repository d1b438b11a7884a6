"""The schemas as JSON Schema for editors, and as the reference page `docs/spec.md`."""

from __future__ import annotations

import copy
import textwrap
import types
import typing
from decimal import Decimal
from pkgutil import resolve_name
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from regatta.spec import fields, plan_size
from regatta.spec.flow import flow_yaml
from regatta.spec.minheaps import MinheapsFile
from regatta.spec.references import ReferenceFile
from regatta.spec.registry_schema import CollectorsFile, ModifiersFile, RuntimesFile
from regatta.spec.spec_schema import Spec
from regatta.spec.suite_schema import SuiteFile

Kind = Literal[
    "spec", "suite", "reference", "minheap", "runtimes", "collectors", "modifiers", "system", "application",
    "primitives", "calls",
]  # fmt: skip

KINDS: dict[Kind, type[BaseModel]] = {
    "spec": Spec,
    "suite": SuiteFile,
    "reference": ReferenceFile,
    "minheap": MinheapsFile,
    "runtimes": RuntimesFile,
    "collectors": CollectorsFile,
    "modifiers": ModifiersFile,
    # of the models, which this package must not import
    "system": resolve_name("regatta.models.vectors.schema:SystemFile"),
    "application": resolve_name("regatta.models.vectors.schema:ApplicationFile"),
    "primitives": resolve_name("regatta.models.vectors.primitives:PrimitivesFile"),
    "calls": resolve_name("regatta.models.vectors.calls:CallsFile"),
}

_TITLES: dict[Kind, str] = {
    "spec": "Spec",
    "suite": "Suite: `configs/suites/<suite>.yml`",
    "reference": "Reference machine: `configs/suites/reference/<suite>.yml`",
    "minheap": "Kept minheaps: `configs/suites/minheap/<suite>.yml`",
    "runtimes": "Runtimes: `configs/runtimes.yml`",
    "collectors": "Collectors: `configs/collectors.yml`",
    "modifiers": "Modifiers: `configs/modifiers.yml`",
    "system": "System vector: `results/<experiment>/vectors/*.yml`, `configs/systems/*.yml`",
    "application": "Application vector: `configs/applications/*.yml`",
    "primitives": "Table of primitives: `configs/primitives/os.yml`",
    "calls": "Table of system calls: `configs/primitives/os-calls.yml`",
}

_INTRODUCTION = """\
# Spec reference

Every key of the YAML files that Regatta reads. `regatta schema --markdown` prints this page.

`regatta schema` prints a JSON Schema of the spec, for editors. For the other files, add `--kind`:
`suite`, `reference`, `minheap`, `runtimes`, `collectors`, `modifiers`, `system`, `application`,
`primitives` or `calls`. Name the schema in the first line of a file:

    # yaml-language-server: $schema=spec.schema.json

Rules for all files:

- The format is YAML 1.2 without tags and merge keys (`<<`). A duplicate key is an error.
- A key that is not listed here is an error.
- Where a string is expected, a number is read as written, so `-9` in a command needs no quotes.
- Names of experiments, runtimes, collectors, modifiers, suites, benchmarks and hosts consist of
  letters, digits and `. _ + -`. They start with a letter or digit and have at most 64 characters.

The size of a plan is limited. Regatta checks these limits before it builds anything. The number of
cells includes cells that `exclude` removes.

"""
_BOUNDS = f"""\
| limit | one host | all hosts |
|---|---|---|
| cells | {plan_size.MAX_CELLS:,} | {plan_size.MAX_ALL_CELLS:,} |
| invocations | {plan_size.MAX_INVOCATIONS:,} | {plan_size.MAX_ALL_INVOCATIONS:,} |
| segments (jobs) | {plan_size.MAX_SEGMENTS:,} | {plan_size.MAX_JOBS:,} |

Planning takes about 0.5 ms per cell. Each start of Snakemake takes about 5 ms per segment.
"""

#: Annotated types with a name
_NAMED: list[tuple[Any, str]] = [
    (fields.Text, "string"),
    (fields.Line, "string"),
    (fields.Name, "name"),
    (fields.ModifierName, "name"),
    (fields.Variable, "variable"),
    (fields.ParameterName, "name"),
    (fields.UnitName, "unit"),
    (fields.Sha256, "SHA-256"),
    (fields.InsidePath, "relative path"),
    (fields.AbsolutePath, "absolute path"),
    (fields.FileName, "file name"),
    (fields.InputFile, "path"),
    (fields.OutputFile, "path"),
    (fields.Names, "name or list of names"),
    (fields.ModifierNames, "name or list of names"),
    (fields.Lines, "string or list of strings"),
    (fields.Command, "list of strings"),
    (fields.Flags, "list of strings"),
    (fields.Scalars, "string, number, boolean, or a list of these"),
    (fields.ScalarValue, "string, number or boolean"),
    (fields.Exact, "number"),
]


def schema_of(kind: Kind) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of one kind of file."""
    schema = KINDS[kind].model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    found: dict[str, Any] = _without_titles(schema)
    if kind == "spec":
        # An included spec may supply required keys.
        required = found.pop("required")
        found["anyOf"] = [{"required": required}, {"required": ["include"]}]
    return found


def spec_markdown() -> str:
    """Return the reference page of all kinds of files: every key with type, default, description and example."""
    parts = [_INTRODUCTION + _BOUNDS]
    done: set[type[BaseModel]] = set()
    for kind, model in KINDS.items():
        parts.append(f"## {_TITLES[kind]}\n")
        parts += _sections(model, "", done)
    return "\n".join(parts).rstrip("\n") + "\n"


def _without_titles(value: Any, names: bool = False) -> Any:
    """Remove pydantic's generated titles, which repeat the keys. `names`: the keys of this mapping are the user's."""
    if isinstance(value, dict):
        return {
            key: _without_titles(copy.copy(item), names=key in ("properties", "$defs") and not names)
            for key, item in value.items()
            if names or key != "title" or not isinstance(item, str)
        }
    return [_without_titles(item) for item in value] if isinstance(value, list) else value


def _sections(model: type[BaseModel], path: str, done: set[type[BaseModel]]) -> list[str]:
    """Return the table of a model, then those of its inner models, each once."""
    if model in done:
        return []
    done.add(model)
    heading = [f"### `{path}`\n"] if path else []
    lines = [
        *heading,
        f"{textwrap.fill(str(model.__doc__), 100, break_on_hyphens=False)}\n",
        "| key | type | default | description | example |",
        "|---|---|---|---|---|",
    ]
    inner: list[tuple[str, type[BaseModel]]] = []
    for name, field in model.model_fields.items():
        key = field.alias or name
        example = f"`{key}: {flow_yaml(field.examples[0])}`" if field.examples else ""
        row = (f"`{key}`", _type(model, name, field), _default(field), field.description or "", example)
        lines.append("| " + " | ".join(_cell(part) for part in row) + " |")
        inner += [
            (f"{path}.{key}".lstrip(".") + suffix, found) for suffix, found in _models(field.annotation)
        ]
    sections = ["\n".join(lines) + "\n"]
    for where, found in inner:
        sections += _sections(found, where, done)
    return sections


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is None or field.default in ("", [], {}):
        return ""
    return f"`{flow_yaml(field.default)}`"


def _models(annotation: Any, suffix: str = "") -> list[tuple[str, type[BaseModel]]]:
    """Return the models within a type with their paths: `[]` through a list, `.<name>` through a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [(suffix, annotation)]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _models(arguments[0], suffix)
    if origin is list:
        return _models(arguments[0], suffix + "[]")
    if origin is dict:
        return _models(arguments[1], suffix + ".<name>")
    if origin in (typing.Union, types.UnionType):
        return [found for part in arguments for found in _models(part, suffix)]
    return []


def _type(model: type[BaseModel], name: str, field: FieldInfo) -> str:
    hints = typing.get_type_hints(model, include_extras=True)
    return _words(hints[name])


def _words(annotation: Any) -> str:
    """Describe a type in the terms of YAML."""
    for known, words in _NAMED:
        if annotation is known or annotation == known:
            return words
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        one = any(isinstance(extra, fields.OneOrList) for extra in arguments[1:])
        alone = f"{_words(typing.get_args(arguments[0])[0])} or " if one else ""
        return alone + _words(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    if origin is list:
        return f"list of {_plural(_words(arguments[0]))}"
    if origin is dict:
        return f"mapping of {_words(arguments[0])} to {_words(arguments[1])}"
    if origin in (typing.Union, types.UnionType):
        parts = [_words(part) for part in arguments if part is not type(None)]
        null = type(None) in arguments and parts[0] in ("number", "integer")
        return " or ".join(dict.fromkeys(parts)) + (" or null" if null else "")
    plain = {str: "string", int: "integer", float: "number", Decimal: "number", bool: "boolean"}
    return plain.get(annotation, "any")


def _plural(words: str) -> str:
    if words.startswith("`"):
        return words
    first, _, rest = words.partition(" of ")
    return f"{first}s of {rest}" if rest else f"{words}s"
