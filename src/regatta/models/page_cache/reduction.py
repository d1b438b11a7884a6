"""Reduce references to pages while they arrive, so that LRU of all but the smallest memories stays exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: changes of the page in a block
BLOCK = 1024


class Reducer:
    """Keeps the first and the last reference to each page in each block of 1,024 changes of the page.

    The pages between two references of one page in different blocks stay the same set, so LRU distances across blocks
    are exact. A reference that is left out has a distance of at most the number of distinct pages in its block. The
    largest such number is `exact_from`: LRU of at least so many pages has the same faults with and without reduction.
    This is a form of stack deletion.

    Source: A. J. Smith, Two methods for the efficient analysis of memory address trace data, IEEE Transactions on
    Software Engineering SE-3(1), 1977, 94-101.
    """

    def __init__(self) -> None:
        #: most distinct pages in one block
        self.exact_from = 0
        self._waiting: list[NDArray[np.int64]] = []
        self._waits = 0
        self._last: int | None = None

    def add(self, pages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add references, and return what is kept of the blocks that are now complete.

        Args:
            pages: numbers of pages in the order of references, from 0.
        """
        if not len(pages):
            return pages
        changed = np.ones(len(pages), bool)
        changed[1:] = pages[1:] != pages[:-1]
        changed[0] = self._last is None or pages[0] != self._last
        self._last = int(pages[-1])
        pages = pages[changed]
        self._waiting.append(pages)
        self._waits += len(pages)
        if self._waits < BLOCK:
            return pages[:0]
        whole = np.concatenate(self._waiting)
        cut = len(whole) - len(whole) % BLOCK
        self._waiting, self._waits = [whole[cut:]], len(whole) - cut
        return self._reduced(whole[:cut])

    def finish(self) -> NDArray[np.int64]:
        """Return what is kept of the last block."""
        rest = np.concatenate([np.zeros(0, np.int64), *self._waiting])
        self._waiting, self._waits = [], 0
        return self._reduced(rest)

    def _reduced(self, pages: NDArray[np.int64]) -> NDArray[np.int64]:
        if not len(pages):
            return pages
        block = np.arange(len(pages)) // BLOCK
        order = np.lexsort((pages, block))
        new = np.ones(len(pages) + 1, bool)
        new[1:-1] = (pages[order[1:]] != pages[order[:-1]]) | (block[order[1:]] != block[order[:-1]])
        self.exact_from = max(self.exact_from, int(np.bincount(block[order[new[:-1]]]).max()))
        kept = np.zeros(len(pages), bool)
        kept[order[new[:-1]]] = True
        kept[order[new[1:]]] = True
        found: NDArray[np.int64] = pages[kept]
        return found
