"""Tables of a simulated page cache and of predicted faults, and a page of faults by size of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from regatta.figures.axes import Figure, Group, log_axis
from regatta.figures.curves import Point
from regatta.figures.labelled import Mark, NamedLine, labelled_figure, plain_quantity
from regatta.figures.section import Column, Section, Table, table_of
from regatta.figures.sections_page import write_sections_page
from regatta.figures.text import ABSENT, hover, show_percent
from regatta.models.page_cache.cache import PAGE_BYTES, CacheCounts
from regatta.models.page_cache.faults import FaultCurve, Faults
from regatta.models.page_cache.mapped_cache import MapCounts

_POINTS = 60
_MIB = 1 << 20
WORDS = (
    "lru: pages that the least recently used order reads again, without read-ahead. linux: pages that the lists "
    "of Linux read again, with read-ahead; major faults wait for the disk. First touches of files are read once "
    "with every size, and are in neither."
)
#: counts of operations, not of pages
_OPERATIONS = frozenset({
    "opens_cold", "opens_warm", "opens_failed", "creates", "stats_cold", "stats_warm", "stats_failed", "unlinks",
    "renames", "truncates", "syncs", "closes",
})  # fmt: skip


def mib_of(pages: int) -> float:
    """Return pages as MiB."""
    return pages * PAGE_BYTES / _MIB


def faults_table(curve: FaultCurve, found: Sequence[Faults]) -> Table:
    """Return one row per size of memory."""

    def linux(text: Callable[[MapCounts], str]) -> Callable[[Faults], str]:
        return lambda one: ABSENT if one.linux is None else text(one.linux)

    columns: dict[str, Callable[[Faults], str]] = {
        "memory, MiB": lambda one: f"{mib_of(one.memory_pages):,.2f}",
        "first touches, files": lambda _: f"{curve.first_touches_of_files:,}",
        "first touches, anonymous": lambda _: f"{curve.first_touches_anonymous:,}",
        "read again, lru": lambda one: ABSENT if one.lru is None else f"{one.lru:,}",
        "read again, linux": linux(lambda counts: f"{counts.read_again:,}"),
        "major faults, linux": linux(lambda counts: f"{counts.major:,}"),
        "read from disk, MiB": linux(lambda counts: f"{mib_of(counts.read):,.1f}"),
    }
    return table_of("", found, [Column(title, text, numeric=True) for title, text in columns.items()])


def caches_table(found: Sequence[tuple[int, CacheCounts]]) -> Table:
    """Return one row per limit of memory, in bytes, with the counts of its cache."""
    columns: dict[str, Callable[[tuple[int, CacheCounts]], str]] = {
        "memory, MiB": lambda row: f"{row[0] / _MIB:,.1f}",
        "hits of reads": lambda row: show_percent(row[1].hit_ratio, 4),
        "read misses": lambda row: f"{row[1].read_misses:,}",
        "map misses": lambda row: f"{row[1].map_misses:,}",
        "read from disk, MiB": lambda row: f"{mib_of(row[1].fetched):,.1f}",
        "written, MiB": lambda row: f"{mib_of(row[1].written):,.1f}",
        "evictions": lambda row: f"{row[1].evictions:,}",
    }
    return table_of("", found, [Column(title, text, numeric=True) for title, text in columns.items()])


def operations_table(counts: CacheCounts) -> Table:
    """Return the number of operations of each kind that occurs."""
    vector = counts.vector()
    rows = [
        (name.replace("_", " "), f"{vector[name]:,}")
        for name in vector
        if vector[name] and name in _OPERATIONS
    ]
    return Table("", ("operations", "number"), rows, frozenset({1}))


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
    tables, groups = [faults_table(curve, found)], [Group("", [_figure(curve, found)])]
    write_sections_page(title, "", (), [Section("faults", "Page faults", WORDS, (), tables, groups)], path)


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
