"""Prior distributions of the curve of run time over heap size, and their origin."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HeapPriors:
    """Normal prior distributions: mean and standard deviation of each."""

    #: live data that count for collections / minimum heap
    live_share: float = 0.8
    live_sd: float = 0.15
    #: power of the free heap
    power: float = 1.5
    power_sd: float = 0.5
    #: log of the overhead at 2 x minheap, as a share of the asymptote
    extra_log_at_2x: float = -2.3
    extra_log_sd: float = 2.0
    #: log of overhead / (time in pauses / rest of the time)
    pause_log_ratio: float = 0.3
    pause_log_sd: float = 1.0
    #: model error of the mean time at a heap without overhead, and of the overhead at one heap, both on the log scale
    model_sd: float = 0.008
    overhead_sd: float = 0.15


#: From G1 on OpenJDK 21 at 1 to 10 x minheap, 22 programs of DaCapo Chopin (github.com/dacapobench/dacapobench, commit 4e3de06,
#: Apache License 2.0), whose means are in `tests/reference/dacapo_heaps.csv`. `perf/run heap_advice` chooses these values, and
#: predicts each program with values that are chosen without it.
HEAP_PRIORS = HeapPriors()
