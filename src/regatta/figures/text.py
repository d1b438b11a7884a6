"""How numbers, names and heaps read: the one place that makes text of them, for tables, figures and sentences.

One unit and one number of decimals for everything that stands in one column. Text from outside is made fit for a plot here, too:
plotly reads a small HTML in every label, tick and hover text.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from regatta.host.units import display_scale
from regatta.host.values.experiment import Heap, Scalar
from regatta.stats.estimate import Interval

#: What stands for a number that does not exist.
ABSENT = "–"
_SPELLED = {"us": "µs", "percent": "%", "ratio": "", "count": ""}
#: Past this ratio of the largest to the smallest value a common number of decimals hides the small ones.
_WIDE = 1000.0
#: How many characters of 11 px text fit beside the figures of a row on a phone 390 px wide.
ROW_LABEL_CHARACTERS = 36
#: What plotly's labels give a meaning to; dollars would enclose a formula.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"})


class Ends(Protocol):
    """Whatever has both ends of an interval."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


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
        return Scale(1.0, show_unit(unit), 0 if unit == "count" else None)
    middle = median(points)
    factor, shown = display_scale(middle, unit)
    spelled = show_unit(shown)
    if unit == "percent":
        factor = 1.0
    if max(points) / min(points) > _WIDE:
        return Scale(factor, spelled, None)
    widths = [
        (e.high - e.low) / 2 * factor for e in estimates if math.isfinite(e.high - e.low) and e.high > e.low
    ]
    finest = median(widths) if widths else middle * factor / 100
    return Scale(factor, spelled, min(6, max(0, 1 - math.floor(math.log10(finest)))))


def show_number(value: float, digits: int = 4) -> str:
    """A number with that many significant digits."""
    return significant(value, digits) if math.isfinite(value) else ABSENT


def show_brief(value: float, digits: int = 3) -> str:
    """A number with at most that many significant digits (`12.5`, `3`), large ones whole."""
    if not math.isfinite(value):
        return ABSENT
    return f"{value:.{digits}g}" if abs(value) < 10.0**digits - 0.5 else f"{value:,.0f}"


def show_ratio(value: float) -> str:
    """A ratio with three decimals, or four significant digits when it is far from 1."""
    if not math.isfinite(value):
        return ABSENT
    return f"{value:.3f}" if 0.05 <= value < 20 else significant(value, 4)


def show_ends(estimate: Ends, show: Callable[[float], str] = show_ratio) -> str:
    """Both ends of an interval (`0.951 to 1.020`), each as `show` has it; nothing for an exact number or without an end."""
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)) or estimate.low == estimate.high:
        return ""
    return f"{show(estimate.low)} to {show(estimate.high)}"


def show_interval(estimate: Interval, show: Callable[[float], str] = show_ratio) -> str:
    """A point with its interval: `0.985 (0.951 to 1.020)`, or why there is no point."""
    if not math.isfinite(estimate.point):
        return f"{ABSENT} {shorten(estimate.reason, 24)}".strip()
    point, ends = show(estimate.point), show_ends(estimate, show)
    return f"{point} ({ends})" if ends else point


def estimate_texts(estimate: Interval, scale: Scale) -> tuple[str, str]:
    """Two lines on a mean, for a pointer that hovers over it: mean with n, and the interval or why there is none."""
    ends = show_ends(estimate, scale.show)
    return (
        f"mean {scale.with_unit(estimate.point)}, n {estimate.n}",
        f"{show_percent(estimate.level)} interval {ends} {scale.unit}" if ends else estimate.reason,
    )


def show_p(value: float) -> str:
    """A p value; below 0.0001 only that it is."""
    if not math.isfinite(value):
        return ABSENT
    return "<0.0001" if value < 1e-4 else f"{value:.4f}"


def show_df(df: float) -> str:
    """Degrees of freedom: `27`, or `17.9` where they are estimated."""
    return f"{df:g}" if df == round(df) else f"{df:.1f}"


def show_percent(share: float, digits: int = 6) -> str:
    """A share as `95 %`, with at most that many significant digits."""
    return f"{show_brief(100 * share, digits)} %" if math.isfinite(share) else ABSENT


def show_share(share: float) -> str:
    """A share of a whole in per cent with one decimal, so that a column of them lines up."""
    return f"{100 * share:.1f} %" if math.isfinite(share) else ABSENT


def show_unit(unit: str) -> str:
    """A unit as a person writes it; nothing for a count and a ratio."""
    return _SPELLED.get(unit, unit)


def with_unit(number: str, unit: str) -> str:
    """A number with its unit, if that has a name."""
    return f"{number} {show_unit(unit)}".rstrip()


def show_quantity(value: float, unit: str, digits: int = 3) -> str:
    """A measured value in the unit that fits it (`57.1 µs`, `48 KiB`), with at most that many significant digits."""
    if not math.isfinite(value):
        return ABSENT
    factor, fitting = display_scale(value, unit)
    return with_unit(show_brief(value * factor, digits), fitting)


def show_heap(heap: Heap, before: str = "") -> str:
    """A heap setting after `before`: `1.5× (96 MiB)`, `96 MiB`; nothing at all for a cell without a heap."""
    size = "" if heap.mib is None else f"{heap.mib:,} MiB"
    if heap.factor is None:
        return before + size if size else ""
    return f"{before}{heap.factor:g}×" + (f" ({size})" if size else "")


def finite(values: Iterable[float]) -> list[float]:
    """Those values that are numbers."""
    return [v for v in values if math.isfinite(v)]


def joined(*parts: str) -> str:
    """The parts that are not empty, as `temurin-21 g1 · 2×`."""
    return " · ".join(part for part in parts if part)


def visible(text: str) -> str:
    """Replace what has no glyph of its own: control characters, marks that turn the writing direction, surrogates."""
    if text.isprintable():
        # Nothing of the kind is printable; a large report has 400,000 texts to look at.
        return text
    return "".join(c if unicodedata.category(c) not in {"Cc", "Cf", "Cs"} else " " for c in text)


def shorten(text: str, limit: int = ROW_LABEL_CHARACTERS) -> str:
    """Cut the middle out of a text longer than `limit` characters: names differ at their ends."""
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def plot_text(text: str) -> str:
    """Make a text inert inside plotly's pseudo-HTML; to be called once, as late as possible."""
    return visible(text).translate(_ENTITIES)


def hover(*lines: str) -> str:
    """One hover text of several lines, each escaped; empty lines are left out."""
    return "<br>".join(plot_text(shorten(line, 80)) for line in lines if line)


def parameters_text(parameters: Mapping[str, Scalar], without: frozenset[str] = frozenset()) -> str:
    """`op read, stride 64`, leaving out the names in `without`."""
    return ", ".join(
        f"{name} {parameter_text(name, value)}"
        for name, value in sorted(parameters.items())
        if name not in without
    )


def parameter_text(name: str, value: Scalar) -> str:
    """The value of one parameter; a size in bytes in the unit in which a person says it."""
    if name.endswith("bytes") and isinstance(value, int) and not isinstance(value, bool):
        return show_quantity(value, "bytes", 6)
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def parameters_key(parameters: Mapping[str, Scalar]) -> tuple[tuple[str, str], ...]:
    """Hashable identity of a set of parameters. The type is part of it only through its text: 1 and 1.0 are one."""
    return tuple(
        sorted(
            (name, f"{value:g}" if _is_number(value) else str(value)) for name, value in parameters.items()
        )
    )


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
