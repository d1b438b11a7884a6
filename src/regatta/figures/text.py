"""Numbers, names and heaps as text, for all tables, figures and sentences.

All numbers in a column have one unit and one number of decimals. External text is also escaped here, because plotly interprets
a subset of HTML in every label, tick and hover text.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from regatta.host.units import display_scale
from regatta.host.values.cell import heap_label
from regatta.host.values.experiment import Heap, Scalar
from regatta.stats.estimate import Interval

#: Placeholder for a missing number.
ABSENT = "–"
#: to show that an end differs from 1; closer ends are as good as 1
_MOST_DECIMALS = 6
_SPELLED = {"us": "µs", "percent": "%", "ratio": "", "count": ""}
#: Above this ratio of the largest to the smallest value, a common number of decimals hides the small ones.
_WIDE = 1000.0
#: Number of characters of 11 px text that fit next to the figures of a row on a phone 390 px wide.
ROW_LABEL_CHARACTERS = 36
#: Characters with a meaning in plotly's labels; dollars enclose a formula.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"})


class Ends(Protocol):
    """An object with both ends of an interval."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


@dataclass(frozen=True)
class Scale:
    """A display unit: multiply by `factor` for `unit`. `decimals` None: four significant digits per value."""

    factor: float
    unit: str
    decimals: int | None

    def show(self, value: float) -> str:
        """Format `value` (in the measured unit) in the display unit, without the name of the unit."""
        if not math.isfinite(value):
            return ABSENT
        shown = value * self.factor
        if self.decimals is not None:
            return f"{shown:,.{self.decimals}f}"
        if shown and not 1e-4 <= abs(shown) < 1e9:
            return f"{shown:.3e}"
        return significant(shown, 4)

    def with_unit(self, value: float) -> str:
        """Format `value` with its unit."""
        text = self.show(value)
        return text if text == ABSENT or not self.unit else f"{text} {self.unit}"

    def tidy(self, value: float) -> float | None:
        """Return `value` in the display unit for a plot; None if undefined."""
        return tidy(value * self.factor)


def tidy(value: float) -> float | None:
    """Round to seven significant digits, beyond the resolution of a pixel, for small files. None if JSON has no such value."""
    return float(f"{value:.7g}") if math.isfinite(value) else None


def significant(value: float, digits: int) -> str:
    """Format `value` with this number of significant digits and thousands separators, never in powers of ten."""
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}"


def choose_scale(estimates: Sequence[Interval], unit: str) -> Scale:
    """Choose the display unit and decimals of a column of estimates, so that its rows are easy to compare.

    The unit fits the median; the decimals give the median interval's half-width two significant digits.

    Args:
        estimates: of one metric, in `unit`; undefined ones are ignored.
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
    """Format a number with this number of significant digits."""
    return significant(value, digits) if math.isfinite(value) else ABSENT


def show_brief(value: float, digits: int = 3) -> str:
    """Format a number with at most this number of significant digits (`12.5`, `3`); large numbers as integers."""
    if not math.isfinite(value):
        return ABSENT
    return f"{value:.{digits}g}" if abs(value) < 10.0**digits - 0.5 else f"{value:,.0f}"


def show_ratio(value: float) -> str:
    """Format a ratio with three decimals, or with four significant digits if far from 1."""
    if not math.isfinite(value):
        return ABSENT
    return f"{value:.3f}" if 0.05 <= value < 20 else significant(value, 4)


def show_ends(estimate: Ends, show: Callable[[float], str] = show_ratio) -> str:
    """Format an interval (`[0.951, 1.020]`) with `show`; "" for an exact number or without an end."""
    if not (math.isfinite(estimate.low) and math.isfinite(estimate.high)) or estimate.low == estimate.high:
        return ""
    shown = _end_of_ratio if show is show_ratio else show
    return f"[{shown(estimate.low)}, {shown(estimate.high)}]"


def ends_or_absent(estimate: Ends, show: Callable[[float], str] = show_ratio) -> str:
    """Format an interval as `show_ends` does; `ABSENT` if an end is undefined."""
    known = math.isfinite(estimate.low) and math.isfinite(estimate.high)
    return show_ends(estimate, show) if known else ABSENT


def _end_of_ratio(value: float) -> str:
    """Format an end that differs from 1 with enough decimals to see it: a reader takes 1.000 for "no difference"."""
    texts = [show_ratio(value), *(f"{value:.{decimals}f}" for decimals in range(4, _MOST_DECIMALS + 1))]
    return next((text for text in texts if value == 1.0 or float(text.replace(",", "")) != 1.0), texts[0])


def show_ci(ratio: Interval) -> str:
    """Format the interval of a ratio; `exact` for values without variance, "" if it is undefined."""
    return "exact" if ratio.is_exact else show_ends(ratio)


def show_interval(estimate: Interval, show: Callable[[float], str] = show_ratio) -> str:
    """Format a point with its interval: `0.985 [0.951, 1.020]`, `1.020 exact`, or why there is no point."""
    if not math.isfinite(estimate.point):
        return f"{ABSENT} {estimate.reason}".strip()
    point, ends = show(estimate.point), "exact" if estimate.is_exact else show_ends(estimate, show)
    return f"{point} {ends}" if ends else point


def estimate_texts(estimate: Interval, scale: Scale) -> tuple[str, str]:
    """Return two lines of hover text: mean with n, and the interval or why it is undefined."""
    ends = show_ends(estimate, scale.show)
    return (
        f"mean {scale.with_unit(estimate.point)}, n = {estimate.n}",
        f"{show_percent(estimate.level)} CI {ends} {scale.unit}" if ends else estimate.reason,
    )


def show_p(value: float) -> str:
    """Format a p value; below 0.0001 only as an upper bound."""
    if not math.isfinite(value):
        return ABSENT
    return "<0.0001" if value < 1e-4 else f"{value:.4f}"


def show_significance(practical: str) -> str:
    """Return practical significance for people: `yes`, `no` or `inconclusive`; "" if undefined."""
    return "inconclusive" if practical == "open" else practical


def show_df(df: float) -> str:
    """Format degrees of freedom: `27`, or `17.9` if they are estimated."""
    return f"{df:g}" if df == round(df) else f"{df:.1f}"


def show_percent(share: float, digits: int = 6) -> str:
    """Format a share as `95 %`, with at most this number of significant digits."""
    return f"{show_brief(100 * share, digits)} %" if math.isfinite(share) else ABSENT


def show_share(share: float) -> str:
    """Format a share in per cent with one decimal, so that columns align."""
    return f"{100 * share:.1f} %" if math.isfinite(share) else ABSENT


def show_unit(unit: str) -> str:
    """Return the display form of a unit; "" for counts and ratios."""
    return _SPELLED.get(unit, unit)


def with_unit(number: str, unit: str) -> str:
    """Append a unit to a number, if the unit has a name."""
    return f"{number} {show_unit(unit)}".rstrip()


def show_quantity(value: float, unit: str, digits: int = 3) -> str:
    """Format a measured value in a suitable unit (`57.1 µs`, `48 KiB`), with at most this number of significant digits."""
    if not math.isfinite(value):
        return ABSENT
    factor, fitting = display_scale(value, unit)
    return with_unit(show_brief(value * factor, digits), fitting)


def show_heap(heap: Heap, before: str = "") -> str:
    """Format a heap setting after `before`: `1.5x (96 MiB)`, `96 MiB`; "" for a cell without a heap."""
    text = heap_label(heap)
    return before + text if text else ""


def finite(values: Iterable[float]) -> list[float]:
    """Return the finite values."""
    return [v for v in values if math.isfinite(v)]


def joined(*parts: str) -> str:
    """Join the nonempty parts, as in `temurin-21 g1 · 2x`."""
    return " · ".join(part for part in parts if part)


def visible(text: str) -> str:
    """Replace characters without a glyph: control characters, bidirectional marks, surrogates."""
    if text.isprintable():
        # No such character is printable. This fast path matters for the 400,000 texts of a large report.
        return text
    return "".join(c if unicodedata.category(c) not in {"Cc", "Cf", "Cs"} else " " for c in text)


def shorten(text: str, limit: int = ROW_LABEL_CHARACTERS) -> str:
    """Cut the middle out of a text longer than `limit` characters, because names differ at their ends."""
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def plot_text(text: str) -> str:
    """Escape a text for plotly's pseudo-HTML. Call this once, as late as possible."""
    return visible(text).translate(_ENTITIES)


def hover(*lines: str) -> str:
    """Return a hover text of several lines, each escaped; empty lines are omitted."""
    return "<br>".join(plot_text(shorten(line, 80)) for line in lines if line)


def parameters_text(parameters: Mapping[str, Scalar], without: frozenset[str] = frozenset()) -> str:
    """Format parameters as `op read, stride 64`, without the names in `without`."""
    return ", ".join(
        f"{name} {parameter_text(name, value)}"
        for name, value in sorted(parameters.items())
        if name not in without
    )


def parameter_text(name: str, value: Scalar) -> str:
    """Format the value of one parameter; a size in bytes in a readable unit."""
    if name.endswith("bytes") and isinstance(value, int) and not isinstance(value, bool):
        return show_quantity(value, "bytes", 6)
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def parameters_key(parameters: Mapping[str, Scalar]) -> tuple[tuple[str, str], ...]:
    """Return a hashable identity of a set of parameters. Values are compared by their text: 1 and 1.0 are equal."""
    return tuple(
        sorted(
            (name, f"{value:g}" if _is_number(value) else str(value)) for name, value in parameters.items()
        )
    )


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
