"""Assign colours and marks to cells: a collector looks the same in every figure, table and legend of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from regatta.answers.spine.result import CellAnswer
from regatta.figures.looks import HUES, MARKS, LegendEntry, Look

_Key = TypeVar("_Key")
_MARK_NAMES = tuple(MARKS)
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
#: Factors that distinguish alternatives, most important first.
_FACTORS: tuple[tuple[str, Callable[[CellAnswer], str]], ...] = (
    ("collector", lambda cell: cell.place.collector),
    ("runtime", lambda cell: cell.place.runtime),
    ("modifiers", lambda cell: cell.place.modifiers),
)


class Looks:
    """The looks of cells: hue by the first factor that varies, dash by the others.

    Every alternative has its own mark, so that a figure can be read without colours. If the combinations of factors exceed
    the marks, the mark shows the other factors only.
    """

    def __init__(self, cells: Sequence[CellAnswer]) -> None:
        named = any(cell.place.collector for cell in cells)
        varying = [
            entry for entry in _FACTORS if len({entry[1](cell) for cell in cells if entry[1](cell)}) > 1
        ]
        first, self._hue = varying[0] if varying else _FACTORS[0 if named else 1]
        self._by_collector = first == _FACTORS[0][0]
        self._factors = list(varying[1:])
        pairs = dict.fromkeys(self._pair(cell) for cell in cells if self._hue(cell))
        self._hues = _numbered(hue for hue, _ in pairs)
        self._others = _numbered(other for _, other in pairs)
        self._pairs = _numbered(pairs)
        self._own_marks = len(self._others) < 2 or len(self._pairs) <= len(MARKS)

    def of(self, cell: CellAnswer) -> Look:
        """Return the look of a cell."""
        return self._look(*self._pair(cell))

    def legend(self, cells: Sequence[CellAnswer]) -> list[LegendEntry]:
        """Return entries for the factors that differ among `cells`, and no others."""
        pairs = dict.fromkeys(self._pair(cell) for cell in cells)
        hues, others = ({pair[at] for pair in pairs} for at in (0, 1))
        if len(pairs) < 2:
            return []
        if self._own_marks:
            return [
                LegendEntry(
                    f"{other if len(others) > 1 else ''} {hue if len(hues) > 1 else ''}".strip() or "native",
                    self._look(hue, other),
                )
                for hue, other in sorted(pairs, key=lambda pair: self._pairs.get(pair, len(self._pairs)))
            ]
        entries = [
            LegendEntry(hue or "native", replace(self._look(hue, ""), mark="circle", dash="solid"))
            for hue in sorted(hues, key=lambda hue: self._hues.get(hue, len(self._hues)))
        ]
        if len(others) > 1:
            entries += [
                LegendEntry(other, replace(self._look("", other), colour="@ink"))
                for other in sorted(
                    (o for o in others if o in self._others and o), key=lambda o: self._others[o]
                )
            ]
        return entries

    def of_collector(self, cell: CellAnswer) -> Look:
        """Return the look of a cell in a figure whose title names everything but the collector: the same for each runtime."""
        if not self._by_collector:
            return self.of(cell)
        number = self._hues.get(self._hue(cell), 0)
        return replace(self.of(cell), mark=_MARK_NAMES[number % len(_MARK_NAMES)], dash="solid")

    def legend_of_collectors(self, cells: Sequence[CellAnswer]) -> list[LegendEntry]:
        """Return an entry for each collector among `cells`; none if it is the only one."""
        found = {cell.place.collector: cell for cell in cells if cell.place.collector}
        if len(found) < 2:
            return []
        named = sorted(found.items(), key=lambda item: self._hues.get(item[0], len(self._hues)))
        return [LegendEntry(name, self.of_collector(cell)) for name, cell in named]

    def _pair(self, cell: CellAnswer) -> tuple[str, str]:
        others = (part for _, read in self._factors if (part := read(cell)) and part != "none")
        return self._hue(cell), " ".join(others)

    def _look(self, hue: str, other: str) -> Look:
        number, dash = self._hues.get(hue), self._others.get(other, 0)
        mark = self._pairs.get((hue, other), 0) if self._own_marks else dash + (number or 0) // HUES
        colour = "@muted" if number is None else f"@c{number % HUES}"
        return Look(colour, _MARK_NAMES[mark % len(_MARK_NAMES)], _DASHES[dash % len(_DASHES)])


def _numbered(keys: Iterable[_Key]) -> dict[_Key, int]:
    """Return each key with the number of its first appearance."""
    return {key: number for number, key in enumerate(dict.fromkeys(keys))}
