"""Answers made up from a seed, in the shapes that a report must bear. Statistics here are only as good as a picture needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from regatta.answers.spine.families.result import Family
from regatta.answers.spine.parts import FamilyPair, Place, Sample
from regatta.answers.spine.result import Answer, CellAnswer, Comparison, Failure
from regatta.answers.spine.verdicts import judge
from regatta.answers.topics.dependence.topic import DEPENDENCE, dependence_words, dependences
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import Interval

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&{{7*7}}<b>%{x}$x^2$"
START_NS = 1_767_261_600_000_000_000
_SLOWNESS = {"serial": 1.0, "parallel": 0.9, "g1": 0.96, "z": 1.25, "shenandoah": 1.18}
_NOTHING = float("nan")


def undefined(reason: str, n: int = 0) -> Interval:
    return Interval(n, _NOTHING, _NOTHING, _NOTHING, 0.95, "", reason)


def estimate(values: Sequence[float], method: str = "t interval of the mean") -> Interval:
    n = len(values)
    if n == 0:
        return undefined("no invocation succeeded")
    mean = float(np.mean(values))
    if n == 1:
        return Interval(1, mean, _NOTHING, _NOTHING, 0.95, method, "one invocation has no interval")
    half = float(stats.t.ppf(0.975, n - 1) * np.std(values, ddof=1) / math.sqrt(n))
    return Interval(n, mean, mean - half, mean + half, 0.95, method)


def java_answer(
    *,
    seed: int = 1,
    benchmarks: Sequence[str] = ("vm/compress:s10", "apps/h2:small"),
    runtimes: Sequence[str] = ("temurin-21", "temurin-25"),
    collectors: Sequence[str] = ("serial", "parallel", "g1"),
    heaps: Sequence[float] = (1.5, 4.0),
    hosts: Sequence[str] = ("alpha",),
    n: int = 10,
) -> Answer:
    """Full crossing of what is given, baseline the first collector; a few failures and perturbed invocations."""
    rng = np.random.default_rng(seed)
    cells: list[CellAnswer] = []
    comparisons: list[Comparison] = []
    families: list[Family] = []
    started = START_NS
    for host in hosts:
        for b, benchmark in enumerate(benchmarks):
            for r, runtime in enumerate(runtimes):
                for heap in heaps:
                    group = []
                    for collector in collectors:
                        base = (
                            8e8
                            * (b + 1)
                            * _SLOWNESS.get(collector, 1.1)
                            * (1 - 0.05 * r)
                            * (1 + 0.5 / heap**2)
                        )
                        values = (base * np.exp(rng.normal(0, 0.02, n))).tolist()
                        mib = int(24 * (b + 1) * heap)
                        cell_id = f"{len(cells):04d}c0ffee"
                        group.append(
                            _cell(cell_id, host, benchmark, runtime, collector, heap, mib, values, started)
                        )
                        started += 3_000_000_000
                        cells.append(group[-1])
                    comparisons += [_comparison(cell, group[0]) for cell in group[1:]]
                    families.append(_family(group))
    cells = _disturb(cells, rng)
    depending = dependences(cells, 0.95)
    disturbed = sum(len(c.perturbed) + sum(s.perturbed for s in c.samples) for c in cells)
    return Answer(
        experiment="demo",
        question="Which garbage collector is fastest on a small and on a roomy heap, on OpenJDK 21 and 25?",
        seed=20070101,
        order="randomized-blocks",
        level=0.95,
        hosts={
            h: {"cpu": "AMD EPYC 7763 64-Core", "cores": "2", "memory": "7.7 GiB", "kernel": "6.1.0-28"}
            for h in hosts
        },
        runtimes={name: f'openjdk version "{name[-2:]}.0.4" 2025-07-15 LTS' for name in runtimes},
        cells=tuple(cells),
        comparisons=tuple(comparisons),
        families=tuple(families),
        failures=(
            Failure(
                cells[0].cell_id,
                "apps/h2:small temurin-21 serial 1.5x",
                cells[0].place.host,
                "oom",
                "java.lang.OutOfMemoryError: Java heap space",
                2,
                ("i-0007", "i-0031"),
            ),
        ),
        impossible=(("vm/compress:s10 temurin-21 epsilon 1.5x", "temurin-21 refuses -XX:+UseEpsilonGC"),),
        warnings=("2 comparisons could not be paired by block and are unpaired (Welch).",),
        planned=len(cells) * n,
        recorded=len(cells) * n,
        statuses={"ok": len(cells) * n - disturbed - 2, "perturbed": disturbed, "oom": 2},
        headline=(
            "On a heap of 1.5x, parallel is 10.0 % faster than serial (95 % interval 9.1 to 10.9 %) on every benchmark.",
            "On a heap of 4x, parallel and g1 are not shown to differ.",
        ),
        topics={"dependence": depending},
        findings={"dependence": dependence_words(depending, 0.95)},
    )


def shared_cells_answer() -> Answer:
    """Two hosts of one platform: the second, half as fast and with other ratios, has the same cells."""
    first = java_answer(runtimes=("r",), n=8)
    other = java_answer(runtimes=("r",), n=8, seed=5, hosts=("beta",))
    return replace(
        first,
        hosts={**first.hosts, **other.hosts},
        cells=first.cells + other.cells,
        comparisons=first.comparisons + other.comparisons,
        families=first.families + other.families,
        topics={"dependence": DEPENDENCE.of(first) + DEPENDENCE.of(other)},
    )


def curve_answer(*, seed: int = 2, sizes: int = 18, n: int = 8, hosts: Sequence[str] = ("alpha",)) -> Answer:
    """Memory latency against size at two strides, on machines without Java."""
    rng = np.random.default_rng(seed)
    cells = []
    for h, host in enumerate(hosts):
        for stride in (64, 256):
            for step in range(sizes):
                size = 2 ** (10 + step)
                level = (
                    1.2 + 3 * (size > 48 * 1024) + 12 * (size > 2**20) + 70 / (1 + math.exp(-(step - 15) * 2))
                )
                values = (1 + 0.2 * h) * level * (stride / 64) ** 0.2 * np.exp(rng.normal(0, 0.03, n))
                cell = _cell(
                    "lat0", host, "lm/lat_mem_rd:default", "native", "", None, None, values, START_NS
                )
                cells.append(
                    replace(
                        cell,
                        cell_id=f"lat-{host}",
                        metric="latency",
                        unit="ns",
                        parameters={"size_bytes": size, "stride": stride},
                    )
                )
    empty = empty_answer()
    return replace(
        empty, experiment="memory", cells=tuple(cells), planned=n * len(hosts), recorded=n * len(hosts)
    )


def hostile_answer() -> Answer:
    """Every name that comes from outside attacks the page."""
    answer = java_answer(
        benchmarks=(HOSTILE, "plain"), runtimes=(HOSTILE, "b"), collectors=(HOSTILE, "serial")
    )
    return replace(
        answer,
        experiment=HOSTILE,
        question=HOSTILE,
        order=HOSTILE,
        hosts={"alpha": {HOSTILE: HOSTILE}},
        cells=tuple(
            replace(
                c,
                metric=HOSTILE,
                place=replace(c.place, modifiers=HOSTILE),
                cell_id=HOSTILE + c.cell_id,
                parameters={HOSTILE: HOSTILE},
            )
            for c in answer.cells
        ),
        comparisons=tuple(
            replace(
                c,
                a=HOSTILE + c.a,
                b=HOSTILE + c.b,
                metric=HOSTILE,
                parameters={HOSTILE: HOSTILE},
                words=HOSTILE,
            )
            for c in answer.comparisons
        ),
        families=tuple(replace(f, words=HOSTILE, reason=HOSTILE, method=HOSTILE) for f in answer.families),
        failures=(Failure(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, 1, (HOSTILE,)),),
        impossible=((HOSTILE, HOSTILE),),
        warnings=(HOSTILE, "bytes that are no text: \udcff\x00\u202e"),
        headline=(HOSTILE, HOSTILE),
    )


def failed_answer() -> Answer:
    """Every invocation failed: each cell's estimate is undefined."""
    answer = java_answer()
    nothing = undefined("all 10 invocations failed (oom)")
    return replace(
        answer,
        cells=tuple(
            replace(c, estimate=nothing, samples=(), perturbed=(), statuses={"oom": 10}) for c in answer.cells
        ),
        comparisons=tuple(
            replace(c, ratio=undefined("the alternative has no value"), p=_NOTHING)
            for c in answer.comparisons
        ),
        families=(),
        headline=(),
    )


def empty_answer() -> Answer:
    return Answer("empty", "", 1, "", 0.95, {}, {}, (), (), (), (), ())


def _cell(
    cell_id: str,
    host: str,
    benchmark: str,
    runtime: str,
    collector: str,
    heap: float | None,
    mib: int | None,
    values: Sequence[float],
    started: int,
) -> CellAnswer:
    samples = tuple(
        Sample(f"i-{cell_id}-{i}", float(v), i, i, 0, started + i * 120_000_000_000, False)
        for i, v in enumerate(values)
    )
    return CellAnswer(
        cell_id, Place(host, "local", benchmark, runtime, collector, "none", Heap(heap, mib)), "elapsed", "ns", "lower", {},
        estimate([float(v) for v in values]), samples, (), {"ok": len(values)}, len(values),
    )  # fmt: skip


def _comparison(cell: CellAnswer, base: CellAnswer) -> Comparison:
    logs = np.log([a.value / b.value for a, b in zip(cell.samples, base.samples, strict=True)])
    log = estimate([float(v) for v in logs])
    ratio = replace(log.mapped(math.exp), level=0.95, method="t on log ratios, paired by block")
    p = float(stats.ttest_1samp(logs, 0).pvalue) if len(logs) > 1 else _NOTHING
    return Comparison(
        cell.cell_id, base.cell_id, cell.place.configuration, base.place.configuration, cell.place, cell.metric, {}, ratio, p, "", verdict=judge(ratio, 1.0),
    )  # fmt: skip


def _family(group: list[CellAnswer]) -> Family:
    first = group[0]
    pairs = tuple(
        FamilyPair(
            b.place.collector,
            a.place.collector,
            ratio := replace(_comparison(b, a).ratio, method="Tukey HSD on logs"),
            0.0123,
            judge(ratio, 1.0),
        )
        for i, a in enumerate(group)
        for b in group[i + 1 :]
    )
    return Family(
        replace(first.place, collector=""), "elapsed", {},
        tuple(c.place.collector for c in group), 41.7, len(group) - 1, 9.0 * (len(group) - 1), 1.3e-7,
        "ANOVA on logs with block as factor", pairs,
        "parallel is fastest; it is 6.2 % faster than g1 (95 % interval 4.9 to 7.6 %).",
        benchmarks=(first.place.benchmark,),
    )  # fmt: skip


def _disturb(cells: list[CellAnswer], rng: np.random.Generator) -> list[CellAnswer]:
    """Two cells get perturbed invocations, one loses all its values and one all but one."""
    changed = list(cells)
    for at in (1, min(4, len(cells) - 1)):
        cell = cells[at]
        perturbed = tuple(
            replace(
                s,
                value=s.value * float(rng.uniform(1.08, 1.15)),
                perturbed=True,
                started_utc_ns=s.started_utc_ns - 10**9,
            )
            for s in cell.samples[:2]
        )
        changed[at] = replace(cell, perturbed=perturbed)
    if len(cells) > 12:
        changed[6] = replace(
            cells[6], estimate=undefined("all 10 invocations failed (oom)"), samples=(), statuses={"oom": 10}
        )
        changed[7] = replace(
            cells[7], estimate=estimate([cells[7].samples[0].value]), samples=cells[7].samples[:1]
        )
    return changed
