"""What one collection has to do, as numbers that have a cost each.

Source: thesis, section 5.2.1.2, T = C_fixed(h) + sum over s of C_live(s) N_live(s) + C_dead N_dead, with these additions. Objects
that move have a cost apart from those that stay in place. A reference has a cost, and one that leads far away has another.
C_dead depends on the size, as in table 5-4.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: mean size in bytes -> objects
Sizes = Mapping[float, float]

#: features without a size
PLAIN = ("fixed", "heap", "old", "class", "reference", "far", "weak")
#: features for each size
SIZED = ("moved", "promoted", "live", "dead")
_MIB = 2.0**20


@dataclass(frozen=True)
class Work:
    """The contents of a heap, or of its young generation, at a collection."""

    heap_bytes: float
    #: live objects that are copied or compacted for the first time
    moved: Sizes = field(default_factory=dict)
    #: of a young collection: those that move to the old generation
    promoted: Sizes = field(default_factory=dict)
    #: live objects that are where the last full collection has put them
    live: Sizes = field(default_factory=dict)
    dead: Sizes = field(default_factory=dict)
    #: references between live objects
    references: float = 0.0
    #: of these, references to an object that is not close in memory
    far: float = 0.0
    #: of a young collection: occupancy of the old generation, bytes
    old_bytes: float = 0.0
    #: loaded classes beyond those of a JVM that does nothing
    classes: float = 0.0
    #: objects of java.lang.ref
    weak: float = 0.0


def names_of(knots: Sequence[float]) -> list[str]:
    """Return the names of all features for some sizes, in the order of `features`."""
    return [*PLAIN, *(f"{kind} {size:g}" for kind in SIZED for size in knots)]


def features(work: Work, knots: Sequence[float]) -> Floats:
    """Return the numbers that have a cost.

    An object between two sizes counts as a part of an object of each, so that costs are lines between sizes. Beyond the largest
    size, the line goes on.

    Args:
        work: of one collection.
        knots: sizes in bytes, ascending, at least one.

    Returns:
        Shape (len(names_of(knots)),).
    """
    plain = [
        1.0,
        work.heap_bytes / _MIB,
        work.old_bytes / _MIB,
        work.classes,
        work.references,
        work.far,
        work.weak,
    ]
    return np.concatenate((plain, *(_spread(getattr(work, kind), knots) for kind in SIZED)))


def _spread(sizes: Sizes, knots: Sequence[float]) -> Floats:
    found = np.zeros(len(knots))
    for size, count in sizes.items():
        if len(knots) == 1:
            found[0] += count
            continue
        at = min(max(bisect_right(knots, size) - 1, 0), len(knots) - 2)
        part = max((size - knots[at]) / (knots[at + 1] - knots[at]), 0.0)
        found[at] += count * (1.0 - part)
        found[at + 1] += count * part
    return found
