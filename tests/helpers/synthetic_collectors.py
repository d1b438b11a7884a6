"""An answer made up from a seed: a sweep of heaps under five collectors, with pauses, requests and overheads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from helpers.synthetic_answers import estimate, java_answer, undefined
from regatta.answers.spine.result import Answer, CellAnswer
from regatta.answers.topics.collectors.compute import DistilledCost, Overhead, Overheads
from regatta.host.values.experiment import Heap, Scalar
from regatta.stats.estimate import Interval

COLLECTORS = ("serial", "parallel", "g1", "z", "shenandoah")
#: the sweep of 1 to 6 x minheap by 0.25
SWEEP = tuple(1 + 0.25 * i for i in range(21))
#: collector -> (lower-bound overhead in a large heap, growth towards the small one, longest pause in ms)
_KINDS = {
    "serial": (1.03, 0.5, 40.0),
    "parallel": (1.02, 0.45, 25.0),
    "g1": (1.08, 0.35, 9.0),
    "z": (1.12, 1.4, 0.06),
    "shenandoah": (1.10, 1.1, 0.12),
}


def collector_answer(*, heaps: Sequence[float] = SWEEP, n: int = 10, seed: int = 4) -> Answer:
    """One benchmark, one runtime; in the least heap the concurrent collectors run out of memory."""
    rng = np.random.default_rng(seed)
    answer = java_answer(
        benchmarks=("apps/h2:small",),
        runtimes=("temurin-21",),
        collectors=COLLECTORS,
        heaps=heaps,
        n=n,
        seed=seed,
    )
    more: list[CellAnswer] = []
    overheads: list[Overhead] = []
    for cell in answer.cells:
        base, growth, longest = _KINDS[cell.place.collector]
        heap = cell.place.heap.factor or 1.0
        fails = cell.place.collector in ("z", "shenandoah") and heap < 1.2
        point = base + growth / heap**2.5
        for resource, extra in (("wall", 0.0), ("cpu", 0.15 * growth)):
            half = 0.02 * point * math.exp(rng.normal(0, 0.2))
            middle = point + extra + rng.normal(0, 0.008)
            ratio = (
                undefined("no values")
                if fails
                else Interval(n, middle, middle - half, middle + half, 0.95, "lower-bound-overhead")
            )
            overheads.append(
                Overhead(
                    cell.cell_id, cell.place, "wall" if resource == "wall" else "cpu", ratio,
                )
            )  # fmt: skip
        if fails:
            continue
        percentile: float
        for percentile, share in ((50, 0.2), (90, 0.5), (99, 0.8), (100, 1.0)):
            value = longest * share * (1 + 1 / heap) * 1e6
            more.append(_series(cell, "gc_pause", {"percentile": percentile}, value, rng, n))
        for kind, window, worse in (
            ("simple", "", 1.0),
            ("metered", "10 ms", 2.0),
            ("metered", "100 ms", 4.0),
            ("metered", "full", 6.0),
        ):
            for percentile, wait in (
                (50, 0.05),
                (90, 0.1),
                (99, 0.2 + 0.1 * longest),
                (99.9, 0.3 + 0.6 * longest),
                (100, 0.5 + longest),
            ):
                parameters: dict[str, Scalar] = {"kind": kind, "percentile": percentile}
                if window:
                    parameters["window"] = window
                slower = worse if percentile > 90 else 1.0
                more.append(
                    _series(cell, "latency", parameters, wait * slower * (1 + 0.5 / heap) * 1e6, rng, n)
                )
    first = answer.cells[0]
    distilled = DistilledCost(
        replace(first.place, collector="", heap=Heap()), "wall", estimate([0.8, 0.81, 0.82]), "parallel", Heap(6.0, 144)
    )  # fmt: skip
    return replace(
        answer,
        cells=(*answer.cells, *more),
        topics={"collectors": Overheads((distilled,), tuple(overheads))},
        findings={"Collectors": ("pauses on h2 at 2 x minheap ...",)},
    )


def _series(
    cell: CellAnswer,
    metric: str,
    parameters: dict[str, Scalar],
    value: float,
    rng: np.random.Generator,
    n: int,
) -> CellAnswer:
    values = value * np.exp(rng.normal(0, 0.08, n))
    return replace(
        cell,
        metric=metric,
        parameters=parameters,
        estimate=estimate([float(v) for v in values]),
        samples=(),
        perturbed=(),
    )
