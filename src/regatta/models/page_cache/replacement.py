"""Which page leaves a full cache: LRU, or the two lists of Linux."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from math import isqrt

#: bits of a page's flags
REFERENCED = 1
ACTIVE = 2
#: the first read of the page begins the next window of read-ahead
MARK = 4
#: read ahead, and not used so far
AHEAD = 8
#: an access to such a page must be seen by the simulator
SPECIAL = MARK | AHEAD
#: a program has the page in its page table
MAPPED = 16
#: the program used the page since the kernel last looked at its page table
YOUNG = 32
#: a page of an executable map
CODE = 64
_PAGES_PER_GIB = 1 << 18


class Policy(ABC):
    """The pages of a cache. A page is a number; flags are the bits above."""

    def __init__(self) -> None:
        self._flags: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._flags)

    def pages(self) -> Mapping[int, int]:
        """Return the pages in the cache with their flags; the order has no meaning."""
        return self._flags

    def flags(self, page: int) -> int | None:
        """Return the flags of a page; None: it is absent."""
        return self._flags.get(page)

    def clear(self, page: int, flags: int) -> None:
        """Clear flags of a page in the cache."""
        self._flags[page] &= ~flags

    @abstractmethod
    def touch(self, page: int, end: int) -> int:
        """Access pages from `page` to `end` - 1; stop at an absent or `SPECIAL` one. Return it, or `end`."""

    @abstractmethod
    def add(self, page: int, flags: int, accessed: bool, written: bool) -> None:
        """Add an absent page; it is accessed, or only read ahead, or written."""

    @abstractmethod
    def read_on(self, page: int) -> bool:
        """Read further within the last page of a stream. Return False if it is absent or `SPECIAL`."""

    @abstractmethod
    def write(self, page: int) -> None:
        """Write to a page in the cache."""

    @abstractmethod
    def evict(self) -> tuple[int, int]:
        """Remove the page that leaves next. Return it and its flags."""

    @abstractmethod
    def drop(self, page: int) -> int:
        """Remove a page whose contents are gone. Return its flags."""


class Lru(Policy):
    """Least recently used: reads, writes and read-ahead are all uses."""

    def __init__(self) -> None:
        super().__init__()
        self._flags: OrderedDict[int, int] = OrderedDict()

    def touch(self, page: int, end: int) -> int:
        """Make pages the most recent ones."""
        get, move = self._flags.get, self._flags.move_to_end
        for one in range(page, end):
            if get(one, SPECIAL):
                return one
            move(one)
        return end

    def add(self, page: int, flags: int, accessed: bool, written: bool) -> None:
        """Add a page as the most recent one."""
        self._flags[page] = flags

    def read_on(self, page: int) -> bool:
        """Make a page the most recent one."""
        return self.touch(page, page + 1) > page

    def write(self, page: int) -> None:
        """Make a page the most recent one."""
        self._flags.move_to_end(page)

    def evict(self) -> tuple[int, int]:
        """Remove the least recently used page."""
        return self._flags.popitem(last=False)

    def drop(self, page: int) -> int:
        """Remove a page."""
        return self._flags.pop(page)


class TwoLists(Policy):
    """The active and inactive lists of Linux, with activation of pages that return soon after their eviction.

    A page enters the inactive list. Its second read makes it active; writes make no page active. The page
    that leaves is the oldest inactive one, whether referenced or not. The oldest active pages become inactive
    while the inactive list is too short. A page that returns is activated if the number of evictions and
    activations since its eviction is at most the length of the active list.

    Simplified: one list for one memory, without programs' own memory; pages instead of large folios;
    references by page tables are not seen; pages move one by one and not in batches of 32; shadow entries are
    never lost; the active list is not shortened early after refaults; dirty pages are written and leave,
    where Linux may rotate them.

    Source: Linux, mm/workingset.c (refault distance), mm/swap.c (folio_mark_accessed) and mm/vmscan.c
    (inactive_is_low, folio_check_references, shrink_active_list).
    """

    def __init__(self) -> None:
        super().__init__()
        self._inactive: OrderedDict[int, None] = OrderedDict()
        self._active: OrderedDict[int, None] = OrderedDict()
        #: page that left -> age of the cache at that time
        self._shadows: dict[int, int] = {}
        #: evictions and activations so far
        self._age = 0
        self.activations = 0
        self.refaults = 0

    def touch(self, page: int, end: int) -> int:
        """Access pages; see `Policy`."""
        get, flags = self._flags.get, self._flags
        for one in range(page, end):
            found = get(one, SPECIAL)
            if found & SPECIAL:
                return one
            if not found & REFERENCED:
                flags[one] = found | REFERENCED
            elif not found & ACTIVE:
                self._activate(one, found & ~REFERENCED)
        return end

    def add(self, page: int, flags: int, accessed: bool, written: bool) -> None:
        """Add a page to the inactive list, or to the active one if it left only recently."""
        shadow = self._shadows.pop(page, None)
        self._flags[page] = flags | REFERENCED if accessed and not written else flags
        self._inactive[page] = None
        if shadow is not None and not written:
            self.refaults += 1
            if self._age - shadow <= len(self._active):
                self._activate(page, self._flags[page])

    def read_on(self, page: int) -> bool:
        """Leave the page where it is: this is no second access (filemap_read)."""
        return not self._flags.get(page, SPECIAL) & SPECIAL

    def write(self, page: int) -> None:
        """Leave the page where it is: Linux counts no write as an access."""

    def evict(self) -> tuple[int, int]:
        """Remove the oldest inactive page."""
        while self._inactive_is_low():
            self._deactivate(next(iter(self._active)))
        page, _ = (self._inactive or self._active).popitem(last=False)
        self._shadows[page] = self._age
        self._age += 1
        return page, self._flags.pop(page)

    def drop(self, page: int) -> int:
        """Remove a page; no shadow remains."""
        flags = self._flags.pop(page)
        del (self._active if flags & ACTIVE else self._inactive)[page]
        return flags

    def _inactive_is_low(self) -> bool:
        """Whether the oldest active page must become inactive."""
        gib = len(self._flags) // _PAGES_PER_GIB
        ratio = isqrt(10 * gib) if gib else 1
        return len(self._inactive) * ratio < len(self._active)

    def _deactivate(self, page: int) -> None:
        del self._active[page]
        self._inactive[page] = None
        self._flags[page] &= ~ACTIVE

    def _activate(self, page: int, flags: int) -> None:
        del self._inactive[page]
        self._active[page] = None
        self._flags[page] = flags | ACTIVE
        self._age += 1
        self.activations += 1


class MappedTwoLists(TwoLists):
    """The same lists for pages of mapped files: the kernel sees uses only when it looks at page tables.

    It looks when a page is the oldest of a list. A used page at the end of the inactive list gets another
    turn. If it had one before, or has code, it becomes active. A used page at the end of the active list
    stays there only if it has code.

    Args:
        looks: use page tables. Linux does not do so for maps with MADV_RANDOM or MADV_SEQUENTIAL.

    Source: Linux, mm/vmscan.c (folio_check_references, shrink_active_list) and vma_has_recency in
    mm_inline.h.
    """

    def __init__(self, looks: bool = True) -> None:
        super().__init__()
        self._looks = looks

    def use(self, page: int) -> bool:
        """Use a page. Return False, and do nothing, if no page table has it: the use is a fault."""
        flags = self._flags.get(page, 0)
        if not flags & MAPPED:
            return False
        self._flags[page] = flags | YOUNG
        return True

    def map(self, page: int, more: int = 0) -> None:
        """Put a page of the cache into the page table, which counts as a use."""
        self._flags[page] |= MAPPED | YOUNG | more

    def evict(self) -> tuple[int, int]:
        """Remove the oldest inactive page that was not used since the kernel last looked."""
        while True:
            self._shorten_active()
            page = next(iter(self._inactive or self._active))
            if not self._used(page) or page in self._active:
                return super().evict()
            flags = self._flags[page]
            if flags & (REFERENCED | CODE):
                self._activate(page, flags | REFERENCED)
            else:
                self._flags[page] = flags | REFERENCED
                self._inactive.move_to_end(page)

    def _used(self, page: int) -> bool:
        flags = self._flags[page]
        self._flags[page] = flags & ~YOUNG
        return self._looks and bool(flags & YOUNG)

    def _shorten_active(self) -> None:
        while self._inactive_is_low():
            page = next(iter(self._active))
            if self._used(page) and self._flags[page] & CODE:
                self._active.move_to_end(page)
            else:
                self._deactivate(page)
