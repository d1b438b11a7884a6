"""Text from outside, made fit for a plot: plotly reads a small HTML in every label, tick and hover text."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from regatta.host.units import display_scale
from regatta.host.values.experiment import Scalar

#: How many characters of 11 px text fit beside the figures of a row on a phone 390 px wide.
ROW_LABEL_CHARACTERS = 36
#: What plotly's labels give a meaning to; dollars would enclose a formula.
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"})


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


def heap_label(factor: float | None, mib: int | None) -> str:
    """The heap setting as a person says it: `1.5× (96 MiB)`, `96 MiB`, or nothing for a cell without a heap."""
    if factor is None:
        return "" if mib is None else f"{mib:,} MiB"
    return f"{factor:g}×" if mib is None else f"{factor:g}× ({mib:,} MiB)"


def heap_order(factor: float | None, mib: int | None) -> tuple[float, float]:
    """Sort key of heap settings: by factor, then by size; cells without a heap first."""
    return (-1.0 if factor is None else factor, -1.0 if mib is None else float(mib))


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
        factor, unit = display_scale(value, "bytes")
        return f"{value * factor:g} {unit}"
    return str(value)


def parameters_key(parameters: Mapping[str, Scalar]) -> tuple[tuple[str, str], ...]:
    """Hashable identity of a set of parameters. The type is part of it only through its text: 1 and 1.0 are one."""
    return tuple(
        sorted(
            (name, f"{value:g}" if _is_number(value) else str(value)) for name, value in parameters.items()
        )
    )


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
