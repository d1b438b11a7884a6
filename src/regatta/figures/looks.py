"""Colors and marks: a collector looks the same in every figure, table and legend of a report.

The eight hues follow Okabe and Ito's set for color-blind readers. Their lightness is chosen so that each has a contrast of at
least 3:1 with the paper, and any two differ by at least 7 (CIEDE2000) for protan, deutan and tritan vision too (tested).
Only `report.css` defines both. A figure names a slot, which the script of the page resolves. `in_light` resolves slots for
pictures in papers.
Sources: Okabe, Ito: Color Universal Design (2008), https://jfly.uni-koeln.de/color/. Machado, Oliveira, Fernandes: A
Physiologically-based Model for Simulation of Color Vision Deficiency (2009). WCAG 2.2, criterion 1.4.11.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HUES = 8
_CSS = Path(__file__).parent / "templates" / "report.css"
_SLOT = re.compile(r"@([a-z0-9]+)(?:/([0-9.]+))?")
#: The plotly name -> the same mark as an SVG path in a box of 12 x 12, for legends.
MARKS: dict[str, str] = {
    "circle": "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z",
    "square": "M2 2h8v8h-8z",
    "diamond": "M6 .5L11.5 6L6 11.5L.5 6z",
    "triangle-up": "M6 1L11 10.5H1z",
    "triangle-down": "M6 11L11 1.5H1z",
    "cross": "M4 1h4v3h3v4h-3v3h-4v-3h-3v-4h3z",
}


@dataclass(frozen=True)
class Look:
    """The look of a cell. `colour` is a slot such as `@c0` that the page resolves for its scheme."""

    colour: str
    mark: str
    dash: str

    def faint(self, opacity: float) -> str:
        """Return the color with `opacity` (0 to 1)."""
        return f"{self.colour}/{opacity}"

    @property
    def path(self) -> str:
        """Return the mark as an SVG path."""
        return MARKS[self.mark]

    @property
    def css(self) -> str:
        """Return the CSS class that gives an element this color."""
        return self.colour.removeprefix("@")


@dataclass(frozen=True)
class LegendEntry:
    """A name with its look."""

    name: str
    look: Look


@cache
def light_colours() -> dict[str, str]:
    """Return slot name (`ink`, `c0` ...) -> `#rrggbb`, from the style sheet for white paper."""
    block = _CSS.read_text(encoding="utf-8").split("}", 1)[0]
    return dict(re.findall(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6})", block))


def in_light(value: Any, key: str = "") -> Any:
    """Return a copy of a part of a figure with colors instead of slots. Only color attributes change."""
    if isinstance(value, str):
        return _colour(value) if key.endswith(("color", "colors")) else value
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
