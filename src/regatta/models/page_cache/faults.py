"""Predict the page faults of a program whose memory is limited, from its references.

Source of the method: HBench:FS, in X. Zhang, Application-Specific Benchmarking, Harvard University 2001,
section 3.1.3, which proposes it for virtual memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regatta.models.page_cache.mapped_cache import MapCounts, MapSettings, simulate_maps
from regatta.models.page_cache.references import References
from regatta.models.page_cache.stack_distances import FIRST, stack_distances


@dataclass(frozen=True)
class FaultCurve:
    """The faults of LRU for every size of memory.

    A page is read again if LRU took it. First touches are the same with every size.

    Args:
        first_touches_of_files: distinct pages of files: each is read from the disk once, unless it is cached.
        first_touches_anonymous: distinct pages of anonymous memory: each needs a zeroed page, and no disk.
        needs: for each later reference that can fault, the least pages of memory without a fault; ascending.
        least_pages: with less memory, the program cannot run.
        exact_from_pages: with less memory, faults can be missing; see `Reducer`.
    """

    first_touches_of_files: int
    first_touches_anonymous: int
    needs: NDArray[np.int64]
    least_pages: int
    exact_from_pages: int

    @property
    def touched_pages(self) -> int:
        """Distinct pages that the program touches."""
        return self.first_touches_of_files + self.first_touches_anonymous

    def refaults(self, memory_pages: int) -> int | None:
        """Return the number of pages that are read again; None if the program cannot run."""
        if memory_pages < self.least_pages:
            return None
        return len(self.needs) - int(np.searchsorted(self.needs, memory_pages, side="right"))


def fault_curve(references: References, swap: bool = False) -> FaultCurve:
    """Return the faults of LRU for every size of memory.

    Without swap, anonymous pages stay once they are touched, and the pages of files share the rest of the
    memory. Anonymous memory never shrinks here: what a program returns to the kernel counts as used until its
    address is used again.

    Args:
        references: a trace.
        swap: anonymous pages can leave as those of files do.
    """
    anonymous = references.anonymous
    total, own = (len(np.unique(part)) for part in (references.pages, references.pages[anonymous]))
    if swap:
        distances = stack_distances(references.pages)
        needs, least = distances[distances != FIRST], 1
    else:
        of_files = ~anonymous
        distances = stack_distances(references.pages[of_files])
        pinned = np.cumsum(references.first_touches & anonymous)[of_files]
        # The rest of the memory never grows, and a page only moves down. It stays if it fits at its next use.
        needs = (distances + pinned)[distances != FIRST]
        least = own + (total > own)
    return FaultCurve(total - own, own, np.sort(needs), least, references.facts.exact_from_pages)


@dataclass(frozen=True)
class Faults:
    """The predicted faults with one size of memory.

    Args:
        memory_pages: of 4 KiB.
        lru: pages that LRU reads again; None if the program cannot run in so little memory.
        linux: what the lists and the read-ahead of Linux do; None likewise, and with swap.
    """

    memory_pages: int
    lru: int | None
    linux: MapCounts | None


def predict_faults(
    references: References, curve: FaultCurve, memory_pages: int, settings: MapSettings, swap: bool = False
) -> Faults:
    """Return the faults with one size of memory, by LRU and by the lists of Linux."""
    lru = curve.refaults(memory_pages)
    linux = None if lru is None or swap else simulate_maps(references, memory_pages, settings)
    return Faults(memory_pages, lru, linux)
