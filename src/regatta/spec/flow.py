"""Plain values as one line of YAML, for examples in messages and in the reference."""

from __future__ import annotations

import re
from typing import Any

from regatta.spec.yaml_lines import resolve_plain

_BARE = re.compile(r"[A-Za-z0-9_./+-][A-Za-z0-9_./+:=@ -]*")


def flow_yaml(value: Any) -> str:
    """Write a value in YAML's flow style, such as `{from: 1, to: 6, step: 0.25}`."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow_yaml(key)}: {flow_yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow_yaml(item) for item in value) + "]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) and value == int(value) else str(value)
    text = str(value)
    plain = _BARE.fullmatch(text) and not text.endswith((" ", ":")) and ": " not in text
    if plain and not text.startswith("- ") and text != "-" and isinstance(resolve_plain(text), str):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
