"""Which factor explains how much, over a whole experiment. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EffectRow:
    """One factor or interaction ("collector:heap"). NaN where undefined, and `reason` says why; `note` qualifies a number."""

    source: str
    df: int
    ss: float
    ms: float
    f: float
    p: float
    #: share of the variance that the other terms leave: SS / (SS + SSE), 0 to 1
    eta2_partial: float
    #: the same, less biased; may be negative
    omega2_partial: float
    reason: str = ""
    note: str = ""


@dataclass(frozen=True)
class EffectTable:
    """Analysis of variance of the logarithms of one metric over all crossed factors that have several levels."""

    metric: str
    #: factor -> its levels, in the order of the plan
    factors: tuple[tuple[str, tuple[str, ...]], ...]
    #: type of the sums of squares: 1, 2 or 3
    kind: int
    #: factors in the highest interaction of the model
    order: int
    rows: tuple[EffectRow, ...]
    df_error: int
    ss_error: float
    n: int
    method: str
    words: tuple[str, ...]
    reason: str = ""
    #: whose hosts these are; "" where the experiment has one platform
    platform: str = ""


@dataclass(frozen=True)
class ManovaRow:
    """One statistic with its approximation by F."""

    statistic: str
    value: float
    f: float
    df_between: float
    df_error: float
    p: float


@dataclass(frozen=True)
class Manova:
    """All benchmarks of one host, runtime, modifiers and heap at once: do the collectors differ in any?"""

    host: str
    runtime: str
    modifiers: str
    heap_factor: float | None
    heap_mib: int | None
    metric: str
    factor: str
    groups: tuple[str, ...]
    benchmarks: tuple[str, ...]
    #: rounds in which a collector was measured on all benchmarks, over all collectors
    n: int
    rows: tuple[ManovaRow, ...]
    words: str
    reason: str = ""


@dataclass(frozen=True)
class Effects:
    """Tables over the whole experiment."""

    tables: tuple[EffectTable, ...] = ()
    manovas: tuple[Manova, ...] = ()
