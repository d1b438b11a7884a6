"""What several hosts say together of one comparison. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from regatta.model.estimate import Estimate
from regatta.model.experiment import Better, Scalar


@dataclass(frozen=True)
class HostRatio:
    """The ratio on one host by itself."""

    host: str
    ratio: Estimate


@dataclass(frozen=True)
class HostTest:
    """The F test of "the alternatives differ by the same amounts on every host". NaN with a reason when undefined."""

    f: float
    df_interaction: int
    df_error: int
    p: float
    reason: str = ""


@dataclass(frozen=True)
class HostComparison:
    """One alternative against its baseline on all hosts."""

    a_name: str
    b_name: str
    benchmark: str
    heap_factor: float | None
    #: None where it differs between the hosts
    heap_mib: int | None
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    #: over all hosts
    ratio: Estimate
    p: float
    practical: str
    per_host: tuple[HostRatio, ...]
    interaction: HostTest
    words: str


@dataclass(frozen=True)
class HostFamily:
    """All alternatives of one benchmark and heap at once: does it depend on the host which is how fast?"""

    benchmark: str
    heap_factor: float | None
    heap_mib: int | None
    metric: str
    parameters: Mapping[str, Scalar]
    names: tuple[str, ...]
    interaction: HostTest
    words: str


@dataclass(frozen=True)
class OverHosts:
    """All that several hosts say together. Empty with one host."""

    hosts: tuple[str, ...] = ()
    #: False: the answer is for these hosts; True: for hosts like these
    random: bool = False
    comparisons: tuple[HostComparison, ...] = ()
    families: tuple[HostFamily, ...] = ()
