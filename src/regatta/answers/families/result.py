"""Comparison of all collectors of one place. Frozen values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.answers.parts import HEAP, INLINED, Place, TukeyPair
from regatta.host.values.experiment import Scalar


@dataclass(frozen=True)
class Family:
    """All collectors of one benchmark, runtime, modifiers, heap and host: ANOVA with block as factor, and Tukey's HSD."""

    #: place of all its cells, so without a collector
    place: Place = field(metadata={INLINED: ("host", "benchmark", "runtime", "modifiers", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    names: tuple[str, ...]
    f: float
    df_between: float
    df_error: float
    p: float
    method: str
    pairs: tuple[TukeyPair, ...]
    #: "g1 is fastest ..." or "no difference shown; ..."
    words: str
    reason: str = ""
    #: p adjusted over all families of the answer (Benjamini-Hochberg), for exploration
    q: float = math.nan
