"""What several hosts say together of one comparison. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from regatta.answers.parts import TukeyPair
from regatta.host.values.experiment import Better, Heap, Scalar
from regatta.stats.estimate import Interval
from regatta.stats.hosts import HostInteraction


@dataclass(frozen=True)
class HostRatio:
    """The ratio on one host by itself."""

    host: str
    ratio: Interval


@dataclass(frozen=True)
class HostComparison:
    """One alternative against its baseline on all hosts of one platform."""

    platform: str
    #: on which it rests
    hosts: tuple[str, ...]
    #: of the alternative
    runtime: str
    modifiers: str
    a_name: str
    b_name: str
    benchmark: str
    #: without its size where that differs between the hosts
    heap: Heap
    metric: str
    unit: str
    better: Better
    parameters: Mapping[str, Scalar]
    #: over these hosts; with one, what was found on it
    ratio: Interval
    p: float
    practical: str
    per_host: tuple[HostRatio, ...]
    interaction: HostInteraction
    #: hosts that differ from the others, where these agree
    differing: tuple[str, ...]
    words: str


@dataclass(frozen=True)
class HostFamily:
    """All alternatives of one benchmark and heap at once: does it depend on the platform's host which is how fast?"""

    platform: str
    benchmark: str
    heap: Heap
    metric: str
    parameters: Mapping[str, Scalar]
    names: tuple[str, ...]
    interaction: HostInteraction
    words: str


@dataclass(frozen=True)
class PlatformFamily:
    """All collectors of one benchmark, runtime, modifiers, heap and platform: who leads on its hosts together."""

    platform: str
    #: on which it rests
    hosts: tuple[str, ...]
    benchmark: str
    runtime: str
    modifiers: str
    #: without its size where that differs between the hosts
    heap: Heap
    metric: str
    parameters: Mapping[str, Scalar]
    names: tuple[str, ...]
    pairs: tuple[TukeyPair, ...]
    #: shown to be better than every other; "" when none is
    winner: str
    interaction: HostInteraction
    words: str


@dataclass(frozen=True)
class PlatformHosts:
    """A platform and its planned hosts. `title` is how sentences call it: `on x86 (2 hosts)`."""

    name: str
    hosts: tuple[str, ...]
    #: of these, those that have a record
    measured: tuple[str, ...]
    title: str


@dataclass(frozen=True)
class OverHosts:
    """All that several hosts say together, each platform by itself. With one host only which it is."""

    hosts: tuple[str, ...] = ()
    #: False: the answer is for these hosts; True: for hosts like these
    random: bool = False
    comparisons: tuple[HostComparison, ...] = ()
    families: tuple[HostFamily, ...] = ()
    platforms: tuple[PlatformHosts, ...] = ()
    leaders: tuple[PlatformFamily, ...] = ()
    #: what is to be known of the machines: emulated, virtual
    machines: tuple[str, ...] = ()
