"""Assign colours and marks to cells: a collector looks the same in every figure, table and legend of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regatta.answers.result import CellAnswer
from regatta.figures.looks import HUES, MARKS, LegendEntry, Look

_MARK_NAMES = tuple(MARKS)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
#: Factors that distinguish alternatives, most important first.
_FACTORS: tuple[tuple[str, Callable[[CellAnswer], str]], ...] = (
    ("collector", lambda cell: cell.place.collector),
    ("runtime", lambda cell: cell.place.runtime),
    ("modifiers", lambda cell: cell.place.modifiers),
)


class Looks:
    """The looks of cells: hue by the first factor that varies, mark and dash by the others."""

    def __init__(self, cells: Sequence[CellAnswer]) -> None:
        named = any(cell.place.collector for cell in cells)
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
        """Return the look of a cell."""
        return self._look(self._hue(cell), self._other(cell))

    def legend(self, cells: Sequence[CellAnswer]) -> list[LegendEntry]:
        """Return entries for the factors that differ among `cells`, and no others."""
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
