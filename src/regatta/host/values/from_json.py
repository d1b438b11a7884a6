"""Convert JSON to dataclasses and TypedDicts with exact types. No I/O; Python 3.9, as on hosts."""

from __future__ import annotations

import collections.abc
import dataclasses
import sys
from functools import cache
from typing import Any, Literal, Optional, TypeVar, Union, get_args, get_origin

from regatta.host.errors import HostError

T = TypeVar("T")

_SCALARS = (str, int, float, bool)


def value_from_json(kind: type[T], value: Any, where: str) -> T:
    """Convert JSON to a dataclass whose fields are scalars, dataclasses, tuples and mappings with text keys.

    Args:
        kind: the dataclass.
        value: from `json.loads`; its objects have exactly the keys of their types.
        where: name of the value in errors.

    Raises:
        HostError: the value has another shape.
    """
    made = _made(kind, value, where)
    assert isinstance(made, kind)
    return made


def _made(kind: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if _has_keys(kind):
        types = _types_of(kind)
        needed = getattr(kind, "__required_keys__", types.keys())
        if not isinstance(value, dict) or not needed <= value.keys() <= types.keys():
            raise _wrong(where, f"an object of {', '.join(types)}", value)
        return kind(**{key: _made(types[key], item, f"{where}.{key}") for key, item in value.items()})
    if origin in (tuple, list):
        if not isinstance(value, list):
            raise _wrong(where, "a list", value)
        return origin([_made(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value)])
    if origin in (collections.abc.Mapping, dict):
        if not isinstance(value, dict):
            raise _wrong(where, "an object", value)
        return {key: _made(arguments[1], item, f"{where}.{key}") for key, item in value.items()}
    if origin is Literal:
        if value not in arguments:
            raise _wrong(where, "one of " + ", ".join(arguments), value)
        return value
    if origin is Union:
        if value is None and type(None) in arguments:
            return None
        if type(value) in arguments:
            return value
        (kind,) = (one for one in arguments if one is not type(None)) if len(arguments) == 2 else (None,)
        if kind is None:
            raise _wrong(where, "a string, a number or a boolean", value)
        return _made(kind, value, where)
    if kind not in _SCALARS:
        raise TypeError(f"{where}: {kind} cannot be made from JSON")
    # Some JSON writers omit the decimal point of whole numbers, so a float field accepts an integer.
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise _wrong(where, kind.__name__, value)
    return value


def _has_keys(kind: Any) -> bool:
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "__required_keys__"))


@cache
def _types_of(kind: Any) -> dict[str, Any]:
    """Return the type of each key. `get_type_hints` of Python 3.9 rejects `|`, which annotations use only before `None`."""
    names = {**vars(sys.modules[kind.__module__]), "Optional": Optional}
    if dataclasses.is_dataclass(kind):
        texts = {field.name: str(field.type) for field in dataclasses.fields(kind)}
    else:
        texts = {key: hint.__forward_arg__ for key, hint in kind.__annotations__.items()}
    found = {}
    for key, text in texts.items():
        plain, _, none = text.partition(" | ")
        found[key] = eval(f"Optional[{plain}]" if none else plain, names)
    return found


def _wrong(where: str, expected: str, value: Any) -> HostError:
    got = type(value).__name__
    if isinstance(value, dict):
        got = f"an object of {', '.join(map(str, value))}"
    elif isinstance(value, (str, int, float)):
        got = repr(value)
    return HostError(
        where,
        expected,
        got if len(got) <= 300 else f"{got[:300]}...",
        "use the same version of Regatta on both sides",
    )
