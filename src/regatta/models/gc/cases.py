"""What the collections of the microbenchmarks of suite `gc` have to do, from their parameters."""

from __future__ import annotations

from collections.abc import Mapping

from regatta.host.values.experiment import Scalar
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.gc.heap_policy import CONCURRENT, Policy
from regatta.models.gc.work import Sizes, Work

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


def work_of_case(
    policy: Policy, metric: str, parameters: Mapping[str, Scalar]
) -> tuple[str, Work, str] | None:
    """Return the kind of collection, its work and a label; None for other metrics, and for cases that no prediction needs.

    Args:
        policy: of the heap. The time of a collection of a concurrent collector is that of its concurrent phases; the processor time
            of its threads is a kind of its own.
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
        # Predictions have no unloaded classes. A sparse case has live and dead objects, of which one does not know the cost.
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
    """Survivors go to the survivor space, as far as they fit, and to the old generation after `policy.copies` copies.

    References are far in `spread` bytes, if any, until the first collection has copied the objects by the order of references.
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
