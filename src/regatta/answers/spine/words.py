"""Build sentences of answers, without claims beyond the evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from regatta.figures.text import show_df, show_p, show_quantity, with_unit
from regatta.host.units import UNITS, display_scale
from regatta.host.values.experiment import Better
from regatta.stats.estimate import DISTURBED, Interval

#: of percentages; ends of intervals that are closer to 0 are shown as 0
_MOST_DECIMALS = 6


def is_speed(unit: str, better: Better) -> bool:
    """Return whether the metric is a speed: a time that should be low, or a rate that should be high."""
    dimension = UNITS.get(unit, ("", 1.0))[0]
    return (dimension, better) in (("time", "lower"), ("rate", "higher"), ("bandwidth", "higher"))


def compared(a: str, b: str, ratio: Interval, metric: str, unit: str, better: Better) -> str:
    """Return `g1 is 4.1 % [3.2, 5.0] faster than serial`, for a ratio a/b that differs from 1."""
    verb = "is" if is_speed(unit, better) else "has"
    return f"{a} {verb} {difference(b, ratio, metric, unit, better)}"


def difference(b: str, ratio: Interval, metric: str, unit: str, better: Better) -> str:
    """Return `4.1 % [3.2, 5.0] faster than serial`: percent of b's value."""
    if is_speed(unit, better):
        word = "faster" if (ratio.point < 1.0) == (better == "lower") else "slower"
    else:
        word = f"{'lower' if ratio.point < 1.0 else 'higher'} {metric}"
    return f"{how_much(ratio)} {word} than {b}"


def superlative(metric: str, unit: str, better: Better) -> str:
    """Return `is fastest`, or `has the lowest max_rss`."""
    if is_speed(unit, better):
        return "is fastest"
    return f"has the {'lowest' if better == 'lower' else 'highest'} {metric}"


def bound_words(ratios: Sequence[Interval]) -> str:
    """Return `likely at most 2.3 %`, the largest difference that the intervals include, of a/b and of b/a.

    Above 1,000 % it is a factor: `likely at most 76x`.
    Of an interval that reaches 0 or less, which only differences of means have, only a/b is bounded.
    """
    if ratios and all(ratio.is_exact and ratio.point == 1.0 for ratio in ratios):
        return "exactly equal"
    ends = [end for r in ratios for end in (r.low, r.high)]
    if not ends or not all(map(math.isfinite, ends)):
        return "size unknown"
    largest = max(max(abs(end - 1.0), 1.0 / end - 1.0 if end > 0.0 else 0.0) for end in ends) * 100.0
    if largest > 1000.0:
        return f"likely at most {math.ceil(largest / 100.0 + 1.0):,}x"
    decimals = _decimals(largest / 2)
    up = math.ceil(largest * 10**decimals - 1e-9) / 10**decimals
    return f"likely at most {up:.{decimals}f} %"


def no_difference(a: str, b: str, ratio: Interval) -> str:
    """Return `no significant difference between g1 and serial, likely at most 2.3 %`, or that exact values are equal."""
    if ratio.is_exact and ratio.point == 1.0:
        return f"{a} and {b} are exactly equal"
    return f"no significant difference between {a} and {b}, {bound_words([ratio])}"


def too_small(theta_percent: float) -> str:
    """Describe a difference that is statistically but not practically significant."""
    return f"not practically significant (within ±{theta_percent:g} %)"


def f_words(f: float, df_between: float, df_error: float, p: float) -> str:
    """Return `F(2, 27) = 5.12, p = 0.0131`."""
    return f"F({show_df(df_between)}, {show_df(df_error)}) = {f:.3g}, {p_words(p)}"


def p_words(p: float) -> str:
    """Return `p = 0.60`, `p = 0.0131` or `p < 0.0001`."""
    shown = f"{p:.2f}" if p >= 0.1 else show_p(p)
    return f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"


def sample_words(n: int, what: str) -> str:
    """Return `(n = 10 blocks)`."""
    return f"(n = {counted(n, what)})"


def samples_words(sizes: Iterable[int], what: str) -> str:
    """Return `(n = 8 to 10 blocks per pair)`, or `(n = 10 blocks)` if all sizes are equal."""
    known = sorted(sizes)
    if known[0] == known[-1]:
        return sample_words(known[0], what)
    return f"(n = {known[0]} to {known[-1]} {what}s per pair)"


def listed(names: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counted(n: int, what: str) -> str:
    """Return `1 block`, `18 blocks`."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def measured(estimate: Interval, unit: str) -> str:
    """Return `1.23 s [1.20, 1.26]`, in a readable unit."""
    if math.isnan(estimate.point):
        return f"undefined ({estimate.reason})"
    factor, shown = display_scale(estimate.point, unit)
    if math.isnan(estimate.low):
        disturbed = f" {DISTURBED}" if estimate.is_disturbed else ""
        return f"{show_quantity(estimate.point, unit, 4)}{disturbed} (no CI: {estimate.reason})"
    half = (estimate.high - estimate.low) / 2 * factor
    decimals = min(6, max(0, 1 - math.floor(math.log10(half)))) if half > 0 else 3
    low, high = edges(estimate, factor, decimals)
    how = f" ({estimate.within_range})" if estimate.within_range else ""
    how += f" {DISTURBED}" if estimate.is_disturbed else ""
    return f"{with_unit(f'{estimate.point * factor:,.{decimals}f}', shown)} [{low}, {high}]{how}"


def edges(estimate: Interval, factor: float, decimals: int) -> tuple[str, str]:
    """Return the ends of an interval times a factor. A positive lower end has enough digits to differ from 0."""
    low, high = estimate.low * factor, estimate.high * factor
    more = 1 - math.floor(math.log10(low)) if estimate.within_range and low > 0 else 0
    return f"{low:,.{min(9, max(decimals, more))}f}", f"{high:,.{decimals}f}"


def how_much(ratio: Interval) -> str:
    """Return `4.1 % [3.2, 5.0]`: the distance of a ratio from 1; an end on the other side of 1 is negative."""
    if ratio.is_exact:
        return f"exactly {abs(ratio.point - 1.0) * 100.0:.6g} %"
    point, *edges = ((x - 1.0) * 100.0 for x in (ratio.point, ratio.low, ratio.high))
    if point < 0:
        point, edges = -point, [-edge for edge in edges]
    low, high = sorted(edges)
    decimals = decimals_beside_0((low, high), _decimals((high - low) / 2))
    return f"{point:.{decimals}f} % [{low:.{decimals}f}, {high:.{decimals}f}]"


def change(ratio: Interval) -> str:
    """Return `+4.1 % [+3.2, +5.0]`: a ratio and its ends as changes from 1."""
    if ratio.is_exact:
        return f"{(ratio.point - 1.0) * 100.0:+.6g} % exact"
    point, *ends = ((x - 1.0) * 100.0 for x in (ratio.point, ratio.low, ratio.high))
    if math.isnan(ratio.low):
        return f"{point:+.1f} %"
    decimals = decimals_beside_0(ends, _decimals((ends[1] - ends[0]) / 2))
    return f"{point:+.{decimals}f} % [{', '.join(f'{end:+.{decimals}f}' for end in ends)}]"


def decimals_beside_0(ends: Sequence[float], least: int) -> int:
    """Return the decimals with which no end that differs from 0 is shown as 0: a reader takes that for "no difference"."""
    decimals = least
    while decimals < _MOST_DECIMALS and any(
        end != 0.0 and float(f"{end:.{decimals}f}") == 0.0 for end in ends
    ):
        decimals += 1
    return decimals


def _decimals(half_width: float) -> int:
    """Return the number of decimals that the interval's width supports."""
    return next((digits for digits, least in enumerate((10.0, 0.1, 0.01)) if half_width >= least), 3)
