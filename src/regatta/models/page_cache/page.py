"""A page with the predicted faults over the size of memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regatta.figures.axes import Figure, Group, log_axis
from regatta.figures.curves import Point
from regatta.figures.html import encoded, fill, number_figures, write_page
from regatta.figures.labelled import Mark, NamedLine, labelled_figure, plain_quantity
from regatta.figures.section import Section, Table
from regatta.figures.text import ABSENT, hover
from regatta.models.page_cache.cache import PAGE_BYTES
from regatta.models.page_cache.faults import FaultCurve, Faults

_POINTS = 60
_MIB = 1 << 20
WORDS = (
    "lru: pages that the least recently used order reads again, without read-ahead. linux: pages that the lists of Linux read again, "
    "with read-ahead; major faults wait for the disk. First touches of files are read once with every size, and are in neither."
)
_COLUMNS = ("memory, MiB", "first touches, files", "first touches, anonymous", "read again, lru", "read again, linux", "major faults, linux", "read from disk, MiB")  # fmt: skip


def mib_of(pages: int) -> float:
    """Return pages as MiB."""
    return pages * PAGE_BYTES / _MIB


def faults_table(curve: FaultCurve, found: Sequence[Faults]) -> Table:
    """Return one row per size of memory."""
    rows = []
    for one in found:
        linux = one.linux
        shown = [f"{linux.read_again:,}", f"{linux.major:,}", f"{mib_of(linux.read):,.1f}"] if linux else [ABSENT] * 3  # fmt: skip
        lru = ABSENT if one.lru is None else f"{one.lru:,}"
        touches = [f"{curve.first_touches_of_files:,}", f"{curve.first_touches_anonymous:,}"]
        rows.append((f"{mib_of(one.memory_pages):,.2f}", *touches, lru, *shown))
    return Table("", _COLUMNS, rows, frozenset(range(len(_COLUMNS))))


def write_faults(curve: FaultCurve, found: Sequence[Faults], title: str, path: Path) -> None:
    """Write the table and a figure as one self-contained HTML file.

    Args:
        curve: the faults of LRU.
        found: faults with some sizes of memory.
        title: of the page.
        path: the file; its folder is created if missing. The write is atomic.

    Raises:
        StoreError: the file cannot be written.
    """
    section = Section(
        "faults",
        "Page faults",
        WORDS,
        (),
        [faults_table(curve, found)],
        [Group("", [_figure(curve, found)])],
    )
    text = fill("sections.html.j2", [number_figures(section)], title=title, question="", sentences=())
    write_page(path, encoded(text))


def _figure(curve: FaultCurve, found: Sequence[Faults]) -> Figure:
    low = max(1, curve.least_pages, curve.exact_from_pages)
    high = max(low + 1, curve.touched_pages, *(one.memory_pages for one in found))
    sizes = np.unique(np.geomspace(low, high, _POINTS).astype(int))
    lines = [NamedLine("LRU", [_point(int(size), curve.refaults(int(size)), "LRU") for size in sizes])]
    by_size = sorted((one.memory_pages, one.linux.read_again) for one in found if one.linux is not None)
    if by_size:
        lines.append(NamedLine("Linux", [_point(size, again, "Linux") for size, again in by_size]))
    mark = Mark(mib_of(curve.touched_pages), "all touched")
    x_axis = log_axis("memory (MiB), log scale", mib_of(low), mib_of(high))
    return labelled_figure(
        "Pages read again", lines, x_axis, plain_quantity("pages read again", "", lines), [mark]
    )


def _point(pages: int, faults: int | None, name: str) -> Point:
    nan = float("nan")
    text = hover(name, f"{mib_of(pages):,.2f} MiB", "cannot run" if faults is None else f"{faults:,} pages")
    return Point(mib_of(pages), nan if faults is None else float(faults), nan, nan, text)
