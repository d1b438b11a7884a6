"""Windows of sequential read-ahead, as Linux chooses them.

Source: Linux, mm/readahead.c: get_init_ra_size, get_next_ra_size, page_cache_sync_ra and page_cache_async_ra.
The windows of the tests were observed on Linux 6.18.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

#: the order of large folios grows by 2 with each window (page_cache_async_ra)
_ORDER_STEP = 2


@dataclass(eq=False, slots=True)
class Stream:
    """The read-ahead of one open file (struct file_ra_state). Numbers are pages.

    Args:
        start: first page of the window.
        size: length of the window; 0: there is none.
        ahead: length of the last part of the window. A read of the first page of that part begins the next
            window.
        position: byte after the last read; -1: none.
        order: the window ends at a multiple of 2^order pages, because of large folios.
    """

    start: int = 0
    size: int = 0
    ahead: int = 0
    position: int = -1
    order: int = 0

    @property
    def mark(self) -> int:
        """The page whose read begins the next window."""
        return self.start + self.size - self.ahead

    def begins(self, index: int, pages: int, most: int) -> None:
        """Open the first window of a stream at page `index`, for a read of `pages` pages."""
        self.start = index
        self.size = initial_size(pages, most)
        self.ahead = self.size - pages if self.size > pages else self.size >> 1
        self.order = 0

    def continues(self, index: int, cached: int, pages: int, most: int) -> None:
        """Open a window after `cached` pages of history that an earlier stream left in the cache."""
        self.start = index
        self.size = min(cached + pages, most)
        self.ahead = 1
        self.order = 0

    def advances(self, most: int, large_folios: bool) -> None:
        """Push the window forward when its mark is read."""
        self.start += self.size
        self.size = max(self.size, next_size(self.size, most))
        self._align(most, large_folios)

    def resumes(self, start: int, size: int, most: int, large_folios: bool) -> None:
        """Open a window at `start` when a mark of an unknown window was read."""
        self.start = start
        self.size = next_size(size, most)
        self._align(most, large_folios)

    def follows(
        self, index: int, pages: int, most: int, large_folios: bool, is_cached: Callable[[int], bool]
    ) -> bool:
        """Move to the next window, because a mark was read.

        Args:
            index: page with the mark.
            pages: pages of the read from there.
            most: largest window.
            large_folios: the window ends at a multiple of a power of two.
            is_cached: whether a page of the file is in the cache.

        Returns:
            Whether there is a next window: not if all pages that it could have are in the cache.
        """
        if index == self.mark and self.size:
            self.advances(most, large_folios)
            return True
        start = next((page for page in range(index + 1, index + most + 1) if not is_cached(page)), None)
        if start is not None:
            self.resumes(start, start - index + pages, most, large_folios)
        return start is not None

    def _align(self, most: int, large_folios: bool) -> None:
        if large_folios:
            self.order = min(self.order + _ORDER_STEP, most.bit_length() - 1)
            end = (self.start + self.size) >> self.order << self.order
            if end > self.start:
                self.size = end - self.start
        self.ahead = self.size


def initial_size(pages: int, most: int) -> int:
    """Return the length of the first window.

    Args:
        pages: pages of the read, from 1.
        most: largest window, in pages, from 1.
    """
    size = 1 << (pages - 1).bit_length()
    if size <= most // 32:
        return size * 4
    if size <= most // 4:
        return size * 2
    return most


def next_size(size: int, most: int) -> int:
    """Return the length of the window that follows one of `size` pages; at most `most`."""
    if size < most // 16:
        return 4 * size
    if size <= most // 2:
        return 2 * size
    return most
