"""Numbers as a person reads them: one unit and one number of decimals for everything that stands in one column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from regatta.host.units import display_scale
from regatta.stats.estimate import Interval

#: What stands for a number that does not exist.
ABSENT = "–"
_SPELLED = {"us": "µs", "percent": "%", "ratio": "", "count": ""}
#: Past this ratio of the largest to the smallest value a common number of decimals hides the small ones.
_WIDE = 1000.0


@dataclass(frozen=True)
class Scale:
    """Multiply by `factor` to read in `unit`. `decimals` None: four significant digits each."""

    factor: float
    unit: str
    decimals: int | None

    def show(self, value: float) -> str:
        """`value` (in the measured unit) as text in the shown unit, without the unit's name."""
        if not math.isfinite(value):
            return ABSENT
        shown = value * self.factor
        if self.decimals is not None:
            return f"{shown:,.{self.decimals}f}"
        if shown and not 1e-4 <= abs(shown) < 1e9:
            return f"{shown:.3e}"
        return significant(shown, 4)

    def with_unit(self, value: float) -> str:
        """`value` as text with its unit."""
        text = self.show(value)
        return text if text == ABSENT or not self.unit else f"{text} {self.unit}"

    def tidy(self, value: float) -> float | None:
        """`value` in the shown unit for a plot; None where there is no number."""
        return tidy(value * self.factor)


def tidy(value: float) -> float | None:
    """Seven significant digits, which no pixel can show, keep the file small; None for what JSON cannot say."""
    return float(f"{value:.7g}") if math.isfinite(value) else None


def significant(value: float, digits: int) -> str:
    """`value` with that many significant digits, thousands separated, never in powers of ten."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def choose_scale(estimates: Sequence[Interval], unit: str) -> Scale:
    """Choose how a column of estimates is shown, so that its rows can be compared at a glance.

    The unit fits the median; the decimals give the median interval's half-width two significant digits.

    Args:
        estimates: of one metric, in `unit`; undefined ones are passed over.
        unit: the measured unit.
    """
    points = [abs(e.point) for e in estimates if math.isfinite(e.point) and e.point != 0]
    if not points:
        return Scale(1.0, _SPELLED.get(unit, unit), 0 if unit == "count" else None)
    middle = median(points)
    factor, shown = display_scale(middle, unit)
    spelled = _SPELLED.get(shown, shown)
    if unit == "percent":
        factor = 1.0
    if max(points) / min(points) > _WIDE:
        return Scale(factor, spelled, None)
    widths = [
        (e.high - e.low) / 2 * factor for e in estimates if math.isfinite(e.high - e.low) and e.high > e.low
    ]
    finest = median(widths) if widths else middle * factor / 100
    return Scale(factor, spelled, min(6, max(0, 1 - math.floor(math.log10(finest)))))


def interval(low: str, high: str) -> str:
    """Both ends of an interval; nothing when an end does not exist."""
    return "" if ABSENT in (low, high) else f"{low} to {high}"


def show_ratio(value: float) -> str:
    """A ratio with three decimals, or four significant digits when it is far from 1."""
    if not math.isfinite(value):
        return ABSENT
    return f"{value:.3f}" if 0.05 <= value < 20 else significant(value, 4)


def show_p(value: float) -> str:
    """A p value; below 0.0001 only that it is."""
    if not math.isfinite(value):
        return ABSENT
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def show_percent(level: float) -> str:
    """A confidence level as `95 %`."""
    return f"{100 * level:g} %"


def finite(values: Iterable[float]) -> list[float]:
    """Those values that are numbers."""
    return [v for v in values if math.isfinite(v)]
