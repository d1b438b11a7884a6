"""The light scheme: colour slots become colours where no page resolves them, in pictures for papers.

The colours stand in `report.css` alone; a page's script reads them there too.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

_CSS = Path(__file__).parent / "templates" / "report.css"
_SLOT = re.compile(r"@([a-z0-9]+)(?:/([0-9.]+))?")


@cache
def light_colours() -> dict[str, str]:
    """Slot name (`ink`, `c0` ...) -> `#rrggbb`, as the style sheet has it for white paper."""
    block = _CSS.read_text(encoding="utf-8").split("}", 1)[0]
    return dict(re.findall(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6})", block))


def in_light(value: Any, key: str = "") -> Any:
    """A copy of a figure's part in which every colour slot is a colour. Only attributes that hold colours are touched."""
    if isinstance(value, str):
        return _colour(value) if key.endswith("color") else value
    if isinstance(value, list | tuple):
        return [in_light(item, key) for item in value]
    if isinstance(value, dict):
        return {name: in_light(item, name) for name, item in value.items()}
    return value


def _colour(slot: str) -> str:
    match = _SLOT.fullmatch(slot)
    if match is None:
        return slot
    name, opacity = match.groups()
    if name == "none":
        return "rgba(0,0,0,0)"
    colour = light_colours()[name]
    if opacity is None:
        return colour
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
