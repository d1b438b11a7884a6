"""Results over several hosts. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.answers.spine.parts import HEAP, INLINED, FamilyPair, Place
from regatta.answers.spine.verdicts import VERDICT, Verdict
from regatta.host.values.experiment import Better, Scalar
from regatta.stats.estimate import Interval
from regatta.stats.hosts import HostInteraction


@dataclass(frozen=True)
class HostRatio:
    """The ratio on one host."""

    host: str
    ratio: Interval


@dataclass(frozen=True)
class HostComparison:
    """An alternative against its baseline on all hosts of one platform."""

    #: of the alternative, with "" for host; the heap without its size if that differs between hosts
    place: Place = field(metadata={INLINED: ("platform", "runtime", "modifiers", "benchmark", *HEAP)})
    #: hosts with data
    hosts: tuple[str, ...]
    #: cell of the alternative on one of the hosts
    a: str
    a_name: str
    b_name: str
    #: factors in which the two differ
    factors: tuple[str, ...]
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    #: over these hosts; with one host, the ratio on it
    ratio: Interval
    p: float
    #: adjusted over all comparisons on platforms with several hosts (Holm)
    p_holm: float
    #: by Holm's p, and among all pairs of a family; with one host, the verdict there
    verdict: Verdict = field(metadata={INLINED: VERDICT})
    per_host: tuple[HostRatio, ...]
    interaction: HostInteraction
    #: hosts that differ from the others, if the others agree
    differing: tuple[str, ...]
    words: str


@dataclass(frozen=True)
class HostFamily:
    """All alternatives of one place: does their order of speed depend on the host of the platform?"""

    #: with "" for host and compared factors; the heap without its size if that differs between hosts
    place: Place = field(metadata={INLINED: ("platform", "benchmark", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    names: tuple[str, ...]
    interaction: HostInteraction
    words: str


@dataclass(frozen=True)
class PlatformFamily:
    """All levels of a factor at one place of a platform: the leaders over its hosts."""

    #: place of all its cells, with "" for host and factor; the heap without its size if that differs between hosts
    place: Place = field(
        metadata={INLINED: ("platform", "benchmark", "runtime", "collector", "modifiers", *HEAP)}
    )
    #: the factors in which its alternatives differ
    factor: str
    #: hosts with data
    hosts: tuple[str, ...]
    metric: str
    parameters: Mapping[str, Scalar]
    names: tuple[str, ...]
    pairs: tuple[FamilyPair, ...]
    #: significantly better than all others; "" if none is
    winner: str
    interaction: HostInteraction
    words: str


@dataclass(frozen=True)
class PlatformHosts:
    """A platform and its planned hosts. `title`: its name in sentences: `on x86 (2 hosts)`."""

    name: str
    hosts: tuple[str, ...]
    #: the hosts that have a record
    measured: tuple[str, ...]
    title: str


@dataclass(frozen=True)
class OverHosts:
    """The results over several hosts, separate for each platform. With one host, only its identity."""

    hosts: tuple[str, ...] = ()
    #: False: the result is for these hosts; True: for similar hosts
    random: bool = False
    comparisons: tuple[HostComparison, ...] = ()
    families: tuple[HostFamily, ...] = ()
    platforms: tuple[PlatformHosts, ...] = ()
    leaders: tuple[PlatformFamily, ...] = ()
    #: warnings about machines: emulated, virtual
    machines: tuple[str, ...] = ()
