"""All collectors of one place at once: which differ, and by how much. Frozen values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from regatta.answers.parts import TukeyPair
from regatta.host.values.experiment import Scalar


@dataclass(frozen=True)
class Family:
    """All collectors of one benchmark, runtime, modifiers, heap and host: ANOVA with block as factor, and Tukey HSD."""

    host: str
    benchmark: str
    runtime: str
    modifiers: str
    heap_factor: float | None
    heap_mib: int | None
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
    #: p after Benjamini and Hochberg over all families of the answer, for exploration
    q: float = math.nan
