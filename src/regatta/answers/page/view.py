"""An answer as its sections see it: with its panels and looks, made once."""

from __future__ import annotations

from functools import cached_property

from regatta.answers.page.looks import Looks
from regatta.answers.page.panels import Panel, panels_of
from regatta.answers.result import Answer


class View:
    """An answer, the panels of its cells, and which cell is drawn in which colour and mark."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    @cached_property
    def panels(self) -> list[Panel]:
        """The cells that may stand in one figure, in the answer's order."""
        return panels_of(self.answer)

    @cached_property
    def compared(self) -> list[Panel]:
        """Of each host and benchmark the panels of the metric that is compared, which comes first."""
        metrics = {(panel.host, panel.benchmark): panel.metric for panel in reversed(self.panels)}
        return [panel for panel in self.panels if metrics[panel.host, panel.benchmark] == panel.metric]

    def host(self, name: str, before: str = "") -> str:
        """A host's name after `before`; "" where the experiment has one host only, which needs no name."""
        return f"{before}{name}" if self._several_hosts else ""

    def on_host(self, name: str) -> str:
        """`on alpha`; "" where the experiment has one host only."""
        return self.host(name, "on ")

    @cached_property
    def _several_hosts(self) -> bool:
        return len({cell.place.host for cell in self.answer.cells}) > 1

    @cached_property
    def looks(self) -> Looks:
        """The look of every cell."""
        return Looks(self.answer.cells)
