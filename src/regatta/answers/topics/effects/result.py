"""Which factor explains how much, over a whole experiment. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field

from regatta.answers.parts import HEAP, INLINED, Place
from regatta.stats.factorial import FactorialRow


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
    rows: tuple[FactorialRow, ...]
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

    place: Place = field(metadata={INLINED: ("host", "runtime", "modifiers", *HEAP)})
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
