"""Colours and marks: the same collector looks the same in every figure, table and legend of a report.

The eight hues follow Okabe and Ito's set for colour-blind readers, darkened where white paper asks for it and
lightened on a dark screen (`report.css` holds both; a figure only names the slot).
Source: Okabe, Ito: Color Universal Design (2008), https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regatta.model.answer import CellAnswer

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
_MARK_NAMES = tuple(MARKS)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
#: What tells alternatives apart, most telling first.
_FACTORS: tuple[tuple[str, Callable[[CellAnswer], str]], ...] = (
    ("collector", lambda cell: cell.collector),
    ("runtime", lambda cell: cell.runtime),
    ("modifiers", lambda cell: cell.modifiers),
)


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


class Looks:
    """Gives every cell its look: hue by the first factor that varies, mark and dash by the others."""

    def __init__(self, cells: Sequence[CellAnswer]) -> None:
        named = any(cell.collector for cell in cells)
        varying = [
            entry for entry in _FACTORS if len({entry[1](cell) for cell in cells if entry[1](cell)}) > 1
        ]
        _, self._hue = varying[0] if varying else _FACTORS[0 if named else 1]
        self._others = list(varying[1:])
        self._hues: dict[str, int] = {}
        self._marks: dict[str, int] = {}
        for cell in cells:
            if hue := self._hue(cell):
                self._hues.setdefault(hue, len(self._hues))
                self._marks.setdefault(self._other(cell), len(self._marks))

    def of(self, cell: CellAnswer) -> Look:
        """The look of a cell."""
        return self._look(self._hue(cell), self._other(cell))

    def legend(self, cells: Sequence[CellAnswer]) -> list[LegendEntry]:
        """Entries for what tells `cells` apart, and only for that."""
        hues = list(dict.fromkeys(self._hue(cell) for cell in cells))
        others = list(dict.fromkeys(self._other(cell) for cell in cells))
        if len(hues) < 2 and len(others) < 2:
            return []
        entries = [
            LegendEntry(hue or "native", Look(self._look(hue, "").colour, "circle", "solid"))
            for hue in sorted(hues, key=lambda hue: self._hues.get(hue, HUES))
        ]
        if len(others) > 1:
            entries += [
                LegendEntry(other, Look("@ink", self._look("", other).mark, self._look("", other).dash))
                for other in sorted((o for o in others if o), key=lambda o: self._marks.get(o, 0))
            ]
        return entries

    def _other(self, cell: CellAnswer) -> str:
        return " ".join(part for _, read in self._others if (part := read(cell)) and part != "none")

    def _look(self, hue: str, other: str) -> Look:
        number = self._hues.get(hue)
        if number is None:
            colour, turn = "@muted", 0
        else:
            colour, turn = f"@c{number % HUES}", number // HUES
        mark = self._marks.get(other, 0) + turn
        return Look(colour, _MARK_NAMES[mark % len(_MARK_NAMES)], _DASHES[mark % len(_DASHES)])
