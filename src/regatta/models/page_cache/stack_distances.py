"""Reuse distances of page accesses: the hit ratios of LRU for all sizes of the cache in one pass.

The distance of an access is the number of distinct pages that were accessed since the last access to its
page, that page included. LRU hits if and only if the distance is at most its capacity.

Source: R. L. Mattson, J. Gecsei, D. R. Slutz and I. L. Traiger, Evaluation techniques for storage
hierarchies, IBM Systems Journal 9(2), 1970, 78-117.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regatta.models.page_cache.cache import FILE_PAGES, PAGE_BYTES
from regatta.models.page_cache.operations import Kind, Operations

#: distance of the first access to a page
FIRST = 0


def page_accesses(operations: Operations) -> NDArray[np.int64]:
    """Return the numbers of the pages that reads, writes and maps access, in order.

    Maps end with their file: at its size, or at the last byte that is read or written. If neither is known,
    they do not.
    """
    data = np.isin(operations["kind"], (Kind.READ, Kind.WRITE, Kind.MAP))
    data &= ~operations["failed"] & (operations["bytes"] > 0)
    kind, file, offset, count = (operations[name][data] for name in ("kind", "file", "offset", "bytes"))
    maps = kind == Kind.MAP
    ends = operations.sizes_bytes.copy()
    np.maximum.at(ends, file[~maps], (offset + count)[~maps])
    cut = maps & (ends[file] >= 0)
    count = np.where(cut, np.minimum(count, ends[file] - offset), count)
    file, offset, count = (column[count > 0] for column in (file, offset, count))
    first, last = offset // PAGE_BYTES, (offset + count - 1) // PAGE_BYTES
    pages = last - first + 1
    begins = np.cumsum(pages) - pages
    within = np.arange(pages.sum()) - np.repeat(begins, pages)
    base = file.astype(np.int64) * FILE_PAGES + first
    accesses: NDArray[np.int64] = np.repeat(base, pages) + within
    return accesses


def stack_distances(pages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distance of each access, from 1; `FIRST` for the first access to a page.

    The pages between an access t and the last one p to the same page are distinct where they were not
    accessed before in that stretch. So the distance is the number of accesses j < t with previous(j) <= p,
    less the p + 1 of them up to p, plus 1 for the page itself. Merge sort counts the former, with numpy, in
    O(n log² n).

    Args:
        pages: numbers of the accessed pages, in order.
    """
    previous = _previous(pages)
    again = previous >= 0
    earlier = _earlier_and_not_larger(previous)
    return np.where(again, earlier - previous, FIRST)


def _previous(pages: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the last access to the same page; -1: there is none."""
    order = np.argsort(pages, kind="stable")
    same = pages[order[1:]] == pages[order[:-1]]
    previous = np.full(len(pages), -1, np.int64)
    previous[order[1:][same]] = order[:-1][same]
    return previous


def _earlier_and_not_larger(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each index, the number of earlier values that are not larger."""
    size = 1 << max(len(values) - 1, 0).bit_length()
    # Unique ranks: among equal values, the earlier is the smaller.
    rank = np.full(size, size, np.int64)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    rank[len(values) :] = np.arange(len(values), size)
    counts = np.zeros(size, np.int64)
    width = 1
    while width < size:
        blocks = rank.reshape(-1, 2 * width)
        order = np.argsort(blocks, axis=1)
        left = np.cumsum(order < width, axis=1)
        into = counts.reshape(-1, 2 * width)
        np.put_along_axis(
            into, order, np.take_along_axis(into, order, 1) + np.where(order < width, 0, left), 1
        )
        width *= 2
    return counts[: len(values)]
