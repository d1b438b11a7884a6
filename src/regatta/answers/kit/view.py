"""Provide an answer to its sections, with panels and looks computed once."""

from __future__ import annotations

from functools import cached_property

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import Panel, panels_of
from regatta.answers.spine.result import Answer


class View:
    """An answer, its panels, and the colours and marks of its cells."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    @cached_property
    def panels(self) -> list[Panel]:
        """Return groups of cells that can share a figure, in the answer's order."""
        return panels_of(self.answer)

    @cached_property
    def compared(self) -> list[Panel]:
        """Return the panels of the compared metric, which is first for each host and benchmark."""
        metrics = {(panel.host, panel.benchmark): panel.metric for panel in reversed(self.panels)}
        return [panel for panel in self.panels if metrics[panel.host, panel.benchmark] == panel.metric]

    def host(self, name: str, before: str = "") -> str:
        """Return a host's name after `before`; "" in an experiment with one host."""
        return f"{before}{name}" if self._several_hosts else ""

    def on_host(self, name: str) -> str:
        """Return `on alpha`; "" in an experiment with one host."""
        return self.host(name, "on ")

    @cached_property
    def _several_hosts(self) -> bool:
        return len({cell.place.host for cell in self.answer.cells}) > 1

    @cached_property
    def looks(self) -> Looks:
        """Return the looks of all cells."""
        return Looks(self.answer.cells)
