"""Convert pydantic's errors to where · expected · got · fix, in plain words."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from regatta.host.errors import Problem
from regatta.spec.flow import flow_yaml
from regatta.spec.yaml_lines import Document, KeyPath, WrittenFloat, as_text

M = TypeVar("M", bound=BaseModel)

#: maximum number of existing names in a message
SHORT_LIST = 12

#: names of other tools for `invocations`
_REPETITIONS = ("repetitions", "repetition", "repeats", "repeat", "runs", "rounds", "executions")

#: pydantic's error type -> the expected value
_WORDS = {
    "string_type": "a string",
    "string_unicode": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "int_parsing_size": "a smaller integer",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "a boolean",
    "list_type": "a list",
    "dict_type": "a mapping",
    "none_required": "null",
}


def shown_path(path: Path) -> str:
    """Return a path as shown to users."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def check(model: type[M], document: Document, problems: list[Problem]) -> M | None:
    """Validate a document against a model.

    Args:
        model: type of the document.
        document: values and places.
        problems: every problem found is appended.

    Returns:
        the model, or None if there was a problem.
    """
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        # An Annotated list of names reports one error for the list and its item; one line suffices.
        seen: set[Problem] = set()
        for detail in error.errors(include_url=False):
            problem = _translate(model, document, dict(detail))
            if problem not in seen:
                seen.add(problem)
                problems.append(problem)
        return None


def is_called(document: Document, suite: str, name: str, problems: list[Problem]) -> bool:
    """Return whether the suite of a file has the file's name; a mismatch is a problem."""
    if suite == name:
        return True
    where = document.where(("suite",))
    problems.append(Problem(where, f"`{name}`, the name of the file", shown(suite), f"write `suite: {name}`"))
    return False


def unknown(where: str, what: str, got: str, known: Iterable[str]) -> Problem:
    """Return the problem of an unknown name: `what` is such as "a runtime"."""
    names = sorted(set(known))
    fix = nearest(got, names)
    if len(names) <= SHORT_LIST:
        expected = f"{what} ({', '.join(names)})" if names else f"{what} (none defined)"
    else:
        expected = f"{what} ({len(names)} defined)"
    return Problem(where, expected, shown(got), fix)


class Reporter:
    """Collects the problems of a document, each at a path of it."""

    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self.document = document
        #: shared with other reporters
        self.problems = problems

    def report(self, path: KeyPath, expected: str, got: str, fix: str = "") -> None:
        """Add a problem."""
        self.problems.append(Problem(self.document.where(path), expected, got, fix))

    def report_unknown(self, path: KeyPath, what: str, got: str, known: Iterable[str]) -> None:
        """Add the problem of an unknown name (see `unknown`)."""
        self.problems.append(unknown(self.document.where(path), what, got, known))


def nearest(got: str, known: Sequence[str]) -> str:
    """Return the fix of a typo: to use the closest known name; empty if none is close."""
    name = closest(got, known)
    return f"use `{name}`" if name else ""


def closest(got: str, known: Sequence[str]) -> str:
    """Return the known name closest to a typo; empty if none is close."""
    lower = {name.lower(): name for name in reversed(known)}
    found = difflib.get_close_matches(got.lower()[:80], list(lower), n=1, cutoff=0.6)
    return lower[found[0]] if found else ""


def shown(value: Any) -> str:
    """Return a value for a message: short, on one line, and as written."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        if not value:
            return "an empty mapping"
        keys = ", ".join(shown(key)[1:-1] for key in list(value)[:4])
        return f"a mapping ({keys}{', ...' if len(value) > 4 else ''})"
    if isinstance(value, list):
        if not value:
            return "an empty list"
        return f"a list of length {len(value)}"
    if isinstance(value, float) and value.is_integer() and not isinstance(value, WrittenFloat):
        value = int(value)
    text = repr(value) if isinstance(value, str) else (as_text(value) or str(value))
    return text if len(text) <= 60 else text[:57] + "..."


def found_at(document: Document, path: KeyPath, value: Any) -> str:
    """Return the value at a path for a message, or that the key is missing."""
    return "missing" if value is None and path not in document.marks else shown(value)


def _translate(model: type[BaseModel], document: Document, detail: dict[str, Any]) -> Problem:
    loc = tuple(detail["loc"])
    kind = detail["type"]
    missing = kind == "missing"
    path, value = _place(document.value, loc, missing)
    context = detail.get("ctx", {})
    if kind == "regatta" and context["key"]:
        path, value = (*path, context["key"]), value.get(context["key"]) if isinstance(value, dict) else value
    where = document.where(path)
    if kind == "regatta":
        return Problem(where, context["expected"], found_at(document, path, value), context["fix"])
    if missing:
        owner = _owner(model, loc[:-1])
        key = str(loc[-1])
        return Problem(where, f"the key `{key}`{_description(owner, key)}", "missing", _example(owner, key))
    if kind == "extra_forbidden":
        owner = _owner(model, loc[:-1])
        known = _keys(owner) if owner else []
        problem = unknown(where, "a known key", str(path[-1]), known)
        fix = _fix_of_key(path, known) or problem.fix or "remove it"
        return Problem(where, problem.expected, shown(path[-1]), fix)
    return _wrong_value(model, where, loc, value, kind, context)


def _fix_of_key(path: KeyPath, known: Sequence[str]) -> str:
    """Return the fix for a key that users of other tools expect, or that has another place; "" for others."""
    if path == ("define", "modifiers"):
        return "move it to the top level: `modifiers: {NAME: ...}`"
    return "write `invocations: {fixed: 10}`" if path[-1] in _REPETITIONS and "invocations" in known else ""


def _wrong_value(
    model: type[BaseModel], where: str, loc: tuple[Any, ...], value: Any, kind: str, context: dict[str, Any]
) -> Problem:
    if kind in ("model_type", "model_attributes_type"):
        owner = _owner(model, loc)
        keys = _keys(owner) if owner else []
        short = f" ({', '.join(keys)})" if 0 < len(keys) <= SHORT_LIST else ""
        return Problem(where, f"a mapping{short}", shown(value), _as_mapping(model, loc, value))
    if kind == "literal_error":
        owner_values = _literals(_annotation(model, loc))
        return unknown_choice(where, value, owner_values)
    bounds = {
        "greater_than": "a number > {gt}",
        "greater_than_equal": "a number >= {ge}",
        "less_than": "a number < {lt}",
        "less_than_equal": "a number <= {le}",
    }
    if kind in bounds:
        return Problem(
            where,
            bounds[kind].format(**{key: shown(bound) for key, bound in context.items()}),
            shown(value),
            "",
        )
    if kind == "too_short":
        return Problem(where, f"a length >= {context['min_length']}", shown(value), "")
    if kind == "too_long":
        return Problem(where, f"a length <= {context['max_length']}", shown(value), "")
    expected = _WORDS.get(kind, "a valid value")
    fix = ""
    if isinstance(value, str) and kind.startswith(("int_", "float_")):
        fix = "write a number without quotes and unit"
    elif kind == "list_type" and isinstance(value, str | int | float):
        fix = f"write `[{str(as_text(value))[:60]}]`"
    return Problem(where, expected, shown(value), fix)


def unknown_choice(where: str, value: Any, choices: Sequence[str]) -> Problem:
    """Return the problem of a value outside of a fixed set of choices."""
    return Problem(where, f"one of {', '.join(choices)}", shown(value), nearest(str(value), choices))


def _place(value: Any, loc: tuple[Any, ...], missing: bool) -> tuple[KeyPath, Any]:
    """Return the path in the data of an error's location, without union tags and similar parts."""
    path: list[str | int] = []
    here = value
    for part in loc:
        if part == "[key]":
            # The name itself is wrong; report it instead of its value.
            here = path[-1]
        elif (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        ):
            path.append(part)
            here = here[part]
    if missing:
        path.append(loc[-1])
        here = None
    return tuple(path), here


def _owner(model: type[BaseModel], loc: tuple[Any, ...]) -> type[BaseModel] | None:
    """Return the model at a location."""
    found = _annotation(model, loc)
    for candidate in _flat(found):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def _annotation(model: type[BaseModel], loc: tuple[Any, ...]) -> Any:
    """Return the type at a location, following fields, items and values."""
    here: Any = model
    for part in loc:
        if isinstance(part, str) and part.startswith(("<", "[key]")):
            continue
        for candidate in _flat(here):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                field = _field(candidate, str(part))
                if field is not None:
                    here = field.annotation
                    break
            elif typing.get_origin(candidate) is list and isinstance(part, int):
                here = typing.get_args(candidate)[0]
                break
            elif typing.get_origin(candidate) is dict:
                here = typing.get_args(candidate)[1]
                break
    return here


def _flat(annotation: Any) -> list[Any]:
    """Return the members of a union, without annotations."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _flat(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [found for part in typing.get_args(annotation) for found in _flat(part)]
    return [annotation]


def _literals(annotation: Any) -> list[str]:
    return [
        str(choice)
        for part in _flat(annotation)
        if typing.get_origin(part) is typing.Literal
        for choice in typing.get_args(part)
    ]


def _field(model: type[BaseModel], key: str) -> Any:
    for name, field in model.model_fields.items():
        if (field.alias or name) == key:
            return field
    return None


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _description(owner: type[BaseModel] | None, key: str) -> str:
    field = _field(owner, key) if owner else None
    if field is None or not field.description:
        return ""
    sentence = str(field.description).split(". ")[0].rstrip(".")
    return f" ({sentence})"


def _as_mapping(model: type[BaseModel], loc: tuple[Any, ...], value: Any) -> str:
    """Return the fix for a value in place of a mapping: with it if there is one main key, else an example."""
    if loc == ("invocations",) and isinstance(value, int) and not isinstance(value, bool):
        return f"write `invocations: {{fixed: {value}}}`"
    owner = _owner(model, loc[:-1]) if loc else None
    field = _field(owner, str(loc[-1])) if owner else None
    return (
        f"write `{loc[-1]}: {flow_yaml(field.examples[0])}`" if field is not None and field.examples else ""
    )


def _example(owner: type[BaseModel] | None, key: str) -> str:
    field = _field(owner, key) if owner else None
    if field is None or not field.examples:
        return f"add `{key}`"
    return f"add `{key}: {flow_yaml(field.examples[0])}`"
