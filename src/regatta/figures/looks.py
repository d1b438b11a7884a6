"""Colours and marks: the same collector looks the same in every figure, table and legend of a report.

The eight hues follow Okabe and Ito's set for colour-blind readers, darkened where white paper asks for it and
lightened on a dark screen (`report.css` holds both; a figure only names the slot).
Source: Okabe, Ito: Color Universal Design (2008), https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

from dataclasses import dataclass

HUES = 8
#: plotly's name -> the same mark as an SVG path in a box of 12 x 12, for legends
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
    """How one cell is drawn. `colour` is a slot such as `@c0` that the page resolves for its scheme."""

    colour: str
    mark: str
    dash: str

    def faint(self, opacity: float) -> str:
        """The same colour, let through by `opacity` (0 to 1)."""
        return f"{self.colour}/{opacity}"

    @property
    def path(self) -> str:
        """The mark as an SVG path."""
        return MARKS[self.mark]

    @property
    def css(self) -> str:
        """The class that gives an element of the page this colour."""
        return self.colour.removeprefix("@")


@dataclass(frozen=True)
class LegendEntry:
    """A name beside its look."""

    name: str
    look: Look
