"""What the collections of the microbenchmarks of suite `gc` have to do, from their parameters."""

from __future__ import annotations

from collections.abc import Mapping

from regatta.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.gc.heap_policy import CONCURRENT
from regatta.gc.work import Sizes, Work
from regatta.host.values.experiment import Scalar

SUITE = "gc"
#: metrics: pauses of a collection, and its concurrent phases
_PAUSES, _PHASES = "collection", "concurrent"


def work_of_case(
    collector: str, metric: str, parameters: Mapping[str, Scalar], heap_bytes: float
) -> tuple[str, Work, str] | None:
    """Return the kind of collection, its work and a label; None for other metrics and for warm-up.

    Args:
        collector: name of the collector; of a concurrent one, the time of a collection is that of its concurrent phases.
        metric, parameters: of the measurement; benchmarks/java/README.md describes them.
        heap_bytes: size of the heap.
    """
    concurrent = collector in CONCURRENT
    if metric != (_PHASES if concurrent else _PAUSES) or "moment" not in parameters:
        return None
    moment = str(parameters["moment"])
    size, objects = float(parameters.get("size", 0)), float(parameters.get("objects", 0))
    own: Sizes = {size: objects} if size and objects else {}
    references = float(parameters.get("refs", 0))
    far: Sizes = {size * objects: references} if parameters.get("shape") == "shuffled" else {}
    label = " ".join(f"{name}={value}" for name, value in parameters.items())
    label += f" heap={heap_bytes / 2**20:.0f}"
    kind = CYCLE if concurrent else FULL
    if moment == "empty":
        return kind, Work(heap_bytes), label
    if moment == "dead":
        return kind, Work(heap_bytes, dead=own), label
    if moment == "live":
        return kind, Work(heap_bytes, live=own, references=references, far=far), label
    if moment == "live_new":
        return kind, Work(heap_bytes, moved=own, references=references, far_moved=far), label
    if moment == YOUNG and not concurrent:
        return YOUNG, Work(heap_bytes, moved=own, references=references, far_moved=far), label
    return None
