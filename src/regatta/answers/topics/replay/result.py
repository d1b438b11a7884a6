"""Conclusions under controlled compilation against those of the plain configuration. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from regatta.answers.parts import HEAP, INLINED, Place
from regatta.host.values.experiment import Scalar
from regatta.stats.estimate import Interval

#: table 5's classes
Agreement = Literal["agree", "inconclusive", "disagree"]


@dataclass(frozen=True)
class ControlledPair:
    """Two collectors compared twice: on the plain configuration, and under a set of modifiers that controls compilation."""

    place: Place = field(metadata={INLINED: ("host", "benchmark", "runtime", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    a: str
    b: str
    #: a/b with simultaneous intervals
    plain: Interval
    controlled: Interval
    agreement: Agreement


@dataclass(frozen=True)
class CompilationControl:
    """All comparisons under one set of modifiers and in one phase."""

    modifiers: str
    #: "mix" or "stable" under replay, else "startup" or "steady state"
    phase: str
    #: what it is held against: "startup" or "steady state", without control
    against: str
    pairs: tuple[ControlledPair, ...]
    #: comparisons without an interval on one side
    left_out: int
    words: str

    def count(self, agreement: Agreement) -> int:
        """How many comparisons are in a class."""
        return sum(pair.agreement == agreement for pair in self.pairs)
