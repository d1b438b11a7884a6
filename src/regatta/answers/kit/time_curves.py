"""Build curves of time over one numeric parameter, such as the read size or the requested sleep duration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import CellAnswer
from regatta.figures.text import parameters_text
from regatta.host.units import UNITS
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.experiment import Scalar


@dataclass(frozen=True)
class TimeCurve:
    """Mean times of one host, benchmark, configuration and set of other parameters."""

    place: Place
    #: values of the parameter, ascending, one per cell
    at: tuple[float, ...]
    #: parameters without this one
    parameters: Mapping[str, Scalar]
    cells: tuple[CellAnswer, ...]

    @property
    def name(self) -> str:
        """Return `lat_mem_rd (stride 64 B)`: the program with its other parameters."""
        # One process is the default that readers expect.
        alone = frozenset({"parallel"}) if self.parameters.get("parallel") == 1 else frozenset()
        given = parameters_text(self.parameters, alone)
        program = parts_of_label(self.place.benchmark).name
        return f"{program} ({given})" if given else program


def time_curves(cells: Sequence[CellAnswer], over: str) -> list[TimeCurve]:
    """Return the time series over a parameter, in cell order, without those of the fastest and slowest process."""
    groups: dict[tuple[object, ...], list[CellAnswer]] = {}
    for cell in cells:
        if _usable(cell, over):
            others = sorted((name, str(value)) for name, value in cell.parameters.items() if name != over)
            key = (cell.place.host, cell.cell_id, cell.metric, cell.unit, tuple(others))
            groups.setdefault(key, []).append(cell)
    curves = []
    for many in groups.values():
        many.sort(key=lambda cell: float(cell.parameters[over]))
        first = many[0]
        parameters = {name: value for name, value in first.parameters.items() if name != over}
        at = tuple(float(cell.parameters[over]) for cell in many)
        curves.append(TimeCurve(first.place, at, parameters, tuple(many)))
    return curves


def _usable(cell: CellAnswer, over: str) -> bool:
    value = cell.parameters.get(over)
    number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    time = UNITS.get(cell.unit, ("", 1.0))[0] == "time" and math.isfinite(cell.estimate.point)
    return number and time and not cell.metric.endswith(("_fastest", "_slowest"))
