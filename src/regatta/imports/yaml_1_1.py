"""Plain scalars of YAML 1.1, which both tools read: `010` is 8, `1e3` is text, `yes` is true.

Numbers do not keep their text: both tools insert numbers into commands as Python formats them.
PyYAML resolves scalars, because both tools use its safe loader.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from regatta.spec.yaml_lines import Budget, Document, read_yaml

_PYYAML = yaml.SafeLoader("")
_MADE = {
    "null": _PYYAML.construct_yaml_null,
    "bool": _PYYAML.construct_yaml_bool,
    "int": _PYYAML.construct_yaml_int,
    "float": _PYYAML.construct_yaml_float,
}
_MAXIMUM_DIGITS = 100


def read_yaml_1_1(path: Path, name: str | None = None, budget: Budget | None = None) -> Document:
    """Read a file of another tool: YAML 1.1, including `<<`. Raises the errors of `read_yaml`."""
    return read_yaml(path, name, merge_keys=True, resolve=resolve_plain_1_1, budget=budget)


def resolve_plain_1_1(text: str) -> str | int | float | bool | None:
    """Return the value of a plain scalar.

    Raises:
        ValueError: a date, `=`, or an invalid number; these files have no such values.
    """
    tag = _PYYAML.resolve(yaml.ScalarNode, text, (True, False))
    kind = tag.rpartition(":")[2]
    if kind in ("timestamp", "value"):
        raise ValueError(
            f"{text}, which is {'a date' if kind == 'timestamp' else 'a special value'} in YAML 1.1"
        )
    if kind in ("int", "float") and len(text) > _MAXIMUM_DIGITS:
        raise ValueError(f"a number of more than {_MAXIMUM_DIGITS} digits")
    found: int | float | bool | None = _MADE[kind](yaml.ScalarNode(tag, text)) if kind in _MADE else None
    return found if kind in _MADE else text
