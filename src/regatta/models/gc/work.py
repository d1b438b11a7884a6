"""What a collection of a program or of a microbenchmark of suite `gc` does, as numbers that have a cost each.

Source: thesis, section 5.2.1.2, T = C_fixed(h) + sum over s of C_live(s) N_live(s) + C_dead N_dead, with
these additions. Objects that move have a cost apart from those that stay in place. A reference has a cost,
and one that leads far away has another. C_dead depends on the size, as in table 5-4.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from regatta.host.values.experiment import Scalar
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.gc.heap_policy import CONCURRENT, Policy
from regatta.stats.estimate import Floats

#: mean size in bytes -> objects
Sizes = Mapping[float, float]

#: features without a size
PLAIN = ("fixed", "heap", "old", "class", "code", "reference", "weak", "dirty")
#: features for each size
SIZED = ("moved", "promoted", "live", "dead", "dead_new")
#: features for each number of bytes in which references lead anywhere
SPREAD = ("far", "far_moved")
_MIB = 2.0**20
#: bytes at which the costs of far references may change: caches of 1 to 16 MiB
_SPREADS = (_MIB, 4 * _MIB, 16 * _MIB)

#: the suite of microbenchmarks
SUITE = "gc"
#: metrics: pauses of a collection, its concurrent phases, and the processor time of the collector
_PAUSES, _PHASES, COLLECTOR_CPU = "collection", "concurrent", "collector_cpu"
#: Kind of cost: the processor time of the threads of a concurrent collector. No collection is of this kind.
CPU = "processor time"
_CLASSES, _SHUFFLED, _SPARSE = "classes", "shuffled", "sparse"
#: shape of copies of a class, and the metric with the bytes of their machine code
CODE = "code"
#: moment of a forced collection -> what the objects of the case are in it
_MOMENTS = {"empty": "", "live_new": "moved", "live": "live", "dead": "dead", "dead_new": "dead_new"}


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
    #: dead objects that an earlier collection has moved or left in place
    dead: Sizes = field(default_factory=dict)
    #: dead objects that no collection has seen before
    dead_new: Sizes = field(default_factory=dict)
    #: references between live objects
    references: float = 0.0
    #: bytes of the live objects -> references from objects in place to an object that is not close in memory:
    #: they miss caches
    far: Sizes = field(default_factory=dict)
    #: the same from moved objects
    far_moved: Sizes = field(default_factory=dict)
    #: of a young collection: occupancy of the old generation, bytes
    old_bytes: float = 0.0
    #: loaded classes beyond those of a JVM that runs suite gc; can be negative
    classes: float = 0.0
    #: bytes of machine code beyond those of such a JVM; can be negative
    code_bytes: float = 0.0
    #: objects of java.lang.ref
    weak: float = 0.0
    #: of a young collection: changed places in old arrays that refer to young objects
    dirty: float = 0.0


@dataclass(frozen=True)
class Knots:
    """Where costs are measured; between two of these, each cost is a line. Both ascend."""

    #: sizes of objects, bytes; at least one
    sizes: tuple[float, ...]
    #: bytes in which references lead anywhere
    spreads: tuple[float, ...] = ()

    @classmethod
    def of(cls, works: Sequence[Work]) -> Knots:
        """Return the knots that measured collections have."""
        sizes = {size for work in works for kind in SIZED for size in getattr(work, kind)}
        spreads = sorted(size for work in works for kind in SPREAD for size in getattr(work, kind))
        inside = [size for size in _SPREADS if spreads and spreads[0] <= size <= spreads[-1]]
        return cls(tuple(sorted(sizes)) or (16.0,), tuple(inside or spreads[:1]))

    @property
    def names(self) -> list[str]:
        """Return the names of all features, in the order of `features`."""
        sized = [f"{kind} {size:g}" for kind in SIZED for size in self.sizes]
        return [*PLAIN, *sized, *(f"{kind} {size:g}" for kind in SPREAD for size in self.spreads)]


def features(work: Work, knots: Knots) -> Floats:
    """Return the numbers that have a cost.

    An object between two sizes counts as a part of an object of each, so that costs are lines between sizes.
    Beyond the largest size, the line goes on. Far references cost less in fewer bytes than the smallest
    measured number, because the caches hold more of them, and no more in more bytes than the largest.

    Returns:
        Shape (len(knots.names),).
    """
    plain = [
        1.0,
        work.heap_bytes / _MIB,
        work.old_bytes / _MIB,
        work.classes,
        work.code_bytes / _MIB,
        work.references,
        work.weak,
        work.dirty,
    ]
    sized = [_spread(getattr(work, kind), knots.sizes, clamped=False) for kind in SIZED]
    spread = [_spread(getattr(work, kind), knots.spreads, clamped=True) for kind in SPREAD]
    return np.concatenate((plain, *sized, *spread))


def _spread(counts: Sizes, knots: Sequence[float], clamped: bool) -> Floats:
    found = np.zeros(len(knots))
    for size, count in counts.items() if knots else ():
        if len(knots) == 1 or (clamped and not knots[0] < size < knots[-1]):
            at = 0 if size <= knots[0] else -1
            found[at] += count * (min(size / knots[0], 1.0) if clamped else 1.0)
            continue
        at = min(max(bisect_right(knots, size) - 1, 0), len(knots) - 2)
        part = max((size - knots[at]) / (knots[at + 1] - knots[at]), 0.0)
        found[at] += count * (1.0 - part)
        found[at + 1] += count * part
    return found


# Cases of suite gc


def work_of_case(
    policy: Policy, metric: str, parameters: Mapping[str, Scalar]
) -> tuple[str, Work, str] | None:
    """Return the kind of collection, its work and a label; None for cases that no prediction needs.

    Args:
        policy: of the heap. The time of a collection of a concurrent collector is that of its concurrent
            phases; the processor time of its threads is a kind of its own.
        metric, parameters: of the measurement; benchmarks/java/README.md describes them.
    """
    concurrent = policy.collector in CONCURRENT
    if metric not in ((_PHASES, COLLECTOR_CPU) if concurrent else (_PAUSES,)) or "moment" not in parameters:
        return None
    moment, shape = str(parameters["moment"]), str(parameters.get("shape"))
    size, objects = float(parameters.get("size", 0)), float(parameters.get("objects", 0))
    own: Sizes = {size: objects} if size and objects else {}
    references = float(parameters.get("refs", 0))
    label = " ".join(f"{name}={value}" for name, value in parameters.items())
    label += f" heap={policy.heap / 2**20:.0f}"
    if moment == YOUNG and not concurrent:
        spread = size * objects if shape == _SHUFFLED else 0.0
        work = _young(
            policy, own, references, int(parameters.get("age", 1)), float(parameters.get("dirty", 0)), spread
        )
        return YOUNG, work, label
    if moment not in _MOMENTS or shape == _SPARSE or (shape == _CLASSES and moment.startswith("dead")):
        # Predictions have no unloaded classes. A sparse case has live and dead objects, of which one does not
        # know the cost.
        return None
    kind = _MOMENTS[moment]
    is_live = kind in ("moved", "live")
    far: Sizes = {size * objects: references} if shape == _SHUFFLED else {}
    work = Work(
        float(policy.heap),
        moved=own if kind == "moved" else {},
        live=own if kind == "live" else {},
        dead=own if kind == "dead" else {},
        dead_new=own if kind == "dead_new" else {},
        references=references if is_live else 0.0,
        far=far if kind == "live" else {},
        far_moved=far if kind == "moved" else {},
        classes=objects if is_live and shape in (_CLASSES, CODE) else 0.0,
        weak=objects if is_live and shape.startswith(("weak", "soft")) else 0.0,
    )
    return CPU if metric == COLLECTOR_CPU else CYCLE if concurrent else FULL, work, label


def _young(policy: Policy, own: Sizes, references: float, age: int, dirty: float, spread: float) -> Work:
    """Survivors go to the survivor space, if they fit, and are promoted after `policy.copies` copies.

    References are far in `spread` bytes, if any, until the first collection has copied the objects by the
    order of references.
    """
    bytes_of = sum(size * count for size, count in own.items())
    fits = min(policy.survivor / bytes_of, 1.0) if bytes_of else 1.0
    kept = {size: fits * count for size, count in own.items()}
    over = {size: (1.0 - fits) * count for size, count in own.items() if fits < 1.0}
    heap = float(policy.heap)
    if age == 1:
        far = {spread: references} if spread else {}
        return Work(heap, moved=kept, promoted=over, references=references, far_moved=far, dirty=dirty)
    if age <= policy.copies:
        return Work(heap, moved=kept, references=fits * references)
    if age == policy.copies + 1:
        return Work(heap, promoted=kept, references=fits * references)
    return Work(heap)
