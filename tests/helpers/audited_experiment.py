"""An experiment with collectors and heaps to audit, made up; a name in it may be hostile to a page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from helpers.synthetic_journal import cell, record, write_experiment

HOSTILE = "</script><img src=x onerror=alert(1)>$x^2$"


def experiment(folder: Path, collectors: tuple[str, ...] = ("serial", "g1", "z"), n: int = 6) -> Path:
    """Two benchmarks, two heaps, six iterations."""
    rng = np.random.default_rng(7)
    cells, records = [], []
    for block, (benchmark, heap) in enumerate((b, h) for b in ("s/lzw:x", "s/h2:x") for h in (1.5, 4.0)):
        for position, collector in enumerate(collectors):
            one = cell(collector, benchmark=benchmark, heap_factor=heap, heap_mib=int(32 * heap))
            cells.append(one)
            for round_ in range(n):
                level = 1e8 * (1 + 0.03 * position) * rng.normal(1, 0.02)
                iterations = [level * rng.normal(1, 0.01) for _ in range(6)]
                records.append(record(one, round_, iterations, block=block, position=position))
    return write_experiment(folder, cells, records, n, method="fixed", warmup=2)
