"""Plain values as one line of YAML: for files, and for examples in messages and in the reference."""

from __future__ import annotations

import re
from typing import Any

from regatta.spec.yaml_lines import resolve_plain

_BARE = re.compile(r"[A-Za-z0-9_./+-][A-Za-z0-9_./+:=@ -]*")


def flow_yaml(value: Any, bare: re.Pattern[str] = _BARE) -> str:
    """Return a value in YAML's flow style, such as `{from: 1, to: 6, step: 0.25}`; every number with all its digits.

    Args:
        value: plain data.
        bare: pattern of text without quotes, unless it would be parsed as another type.
    """
    if isinstance(value, dict):
        entries = (f"{flow_yaml(key, bare)}: {flow_yaml(item, bare)}" for key, item in value.items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow_yaml(item, bare) for item in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))
    if isinstance(value, int):
        return str(value)
    text = str(value)
    plain = bare.fullmatch(text) and not text.endswith((" ", ":")) and ": " not in text
    if plain and not text.startswith("- ") and text != "-" and isinstance(resolve_plain(text), str):
        return text
    return '"' + "".join(map(_character, text)) + '"'


def _character(one: str) -> str:
    if one in '"\\':
        return "\\" + one
    if one == " " or one.isprintable():
        return one
    code = ord(one)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
