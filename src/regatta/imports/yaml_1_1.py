"""What a plain scalar means in YAML 1.1, which both tools read: `010` is 8, `1e3` is text, `yes` is true.

A number has no text of its own here: what the tools put into a command is the number as Python writes it.
Source: the types of yaml.org/type, as PyYAML's safe loader has them.
"""

from __future__ import annotations

import re
from pathlib import Path

from regatta.spec.yaml_lines import Budget, Document, read_yaml

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"(?:y|Y)es|YES|(?:t|T)rue|TRUE|(?:o|O)n|ON")
_FALSE = re.compile(r"(?:n|N)o|NO|(?:f|F)alse|FALSE|(?:o|O)ff|OFF")
_SIXTIES = r"(?::[0-5]?[0-9])+"
_INT = re.compile(
    rf"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*|[1-9][0-9_]*{_SIXTIES})", re.ASCII
)
_FLOAT = re.compile(
    rf"[-+]?[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+][0-9]+)?|{_SIXTIES}\.[0-9_]*)|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
)
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|"
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?"
)
_MAXIMUM_DIGITS = 100


def read_yaml_1_1(path: Path, name: str | None = None, budget: Budget | None = None) -> Document:
    """Read a file of another tool: YAML 1.1, `<<` included. Raises what `read_yaml` raises."""
    return read_yaml(path, name, merge_keys=True, resolve=resolve_plain_1_1, budget=budget)


def resolve_plain_1_1(text: str) -> str | int | float | bool | None:
    """What a plain scalar means.

    Raises:
        ValueError: a date, `=`, or a number that none can be made of; nothing in these files is meant to be one.
    """
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return bool(_TRUE.fullmatch(text))
    if _DATE.fullmatch(text) or text == "=":
        raise ValueError(f"{text}, which is {'a date' if text != '=' else 'no text'} in YAML 1.1")
    whole, broken = _INT.fullmatch(text), _FLOAT.fullmatch(text)
    if (whole or broken) and len(text) > _MAXIMUM_DIGITS:
        raise ValueError(f"a number of more than {_MAXIMUM_DIGITS} digits")
    if whole:
        return _whole(text.replace("_", ""))
    if broken:
        return _broken(text.replace("_", ""))
    # `.inf` and `.nan` are `inf` and `nan` to Python.
    return float(text.replace(".", "")) if _INFINITE.fullmatch(text) else text


def _whole(text: str) -> int:
    sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("-+")
    if ":" in digits:
        return sign * _sixties([int(part) for part in digits.split(":")])
    if digits[:2] in ("0b", "0x"):
        return sign * int(digits[2:], 2 if digits[1] == "b" else 16)
    return sign * int(digits, 8 if digits[0] == "0" else 10)


def _broken(text: str) -> float:
    sign, digits = (-1 if text[0] == "-" else 1), text.lstrip("-+")
    if ":" not in digits:
        return sign * float(digits)
    *front, last = digits.split(":")
    return sign * (_sixties([int(part) for part in front]) * 60 + float(last))


def _sixties(parts: list[int]) -> int:
    """Degrees and minutes, or hours and minutes, as one number."""
    total = 0
    for part in parts:
        total = total * 60 + part
    return total
