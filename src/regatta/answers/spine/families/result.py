"""Comparison of all alternatives of one place that differ in one factor. Frozen values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.answers.spine.parts import HEAP, INLINED, FamilyPair, Place
from regatta.host.values.experiment import Better, Scalar


@dataclass(frozen=True)
class Family:
    """All levels of a factor at one benchmark, heap and host: ANOVA with block as factor, and the ratios of all pairs."""

    #: place of all its cells, with "" for the factor
    place: Place = field(metadata={INLINED: ("host", "benchmark", "runtime", "modifiers", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    names: tuple[str, ...]
    f: float
    df_between: float
    df_error: float
    p: float
    method: str
    pairs: tuple[FamilyPair, ...]
    #: "g1 is fastest ..." or "no difference shown; ..."
    words: str
    reason: str = ""
    #: smallest adjusted p of the pairs: whether any differ, without the assumption of F that alternatives vary equally
    p_pairs: float = math.nan
    #: `p_pairs` adjusted over all families of the factor (Benjamini-Hochberg), for exploration; by the paper's method, `p`
    q: float = math.nan
    #: the factors in which its alternatives differ
    factor: str = "collector"
    better: Better = "lower"
    #: labels of its alternatives' benchmarks, in plan order
    benchmarks: tuple[str, ...] = ()
