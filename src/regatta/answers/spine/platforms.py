"""Describe platforms and hosts: their names in sentences, and warnings about incomplete hosts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from regatta.answers.spine.facts import Facts
from regatta.answers.spine.samples import Samples
from regatta.answers.spine.words import counted, listed
from regatta.store.folder import Folder

#: with more hosts, sentences give their number
_NAMED = 4
EMULATED, VIRTUAL, CONTAINER = "emulated", "virtual machine", "container"
#: substring of a host's fact `machine` -> its description
_KINDS = (("emulat", EMULATED), ("virtual", VIRTUAL), ("container", CONTAINER))


@dataclass(frozen=True)
class Platform:
    """A platform with the hosts of the plan, in plan order."""

    name: str
    hosts: tuple[str, ...]
    #: the emulated hosts among them
    emulated: frozenset[str] = frozenset()
    #: the hosts that have a record
    measured: frozenset[str] = frozenset()

    def title(self, taken: Collection[str] | None = None, random: bool = False) -> str:
        """Return `x86 (2 hosts)`, `x86 (1 of 2 hosts: xeon)`, `arm (1 host, emulated)`.

        Args:
            taken: hosts with data; None: all.
            random: whether the hosts are a random sample, so that the result applies to similar hosts.
        """
        used = [host for host in self.hosts if taken is None or host in taken]
        many = counted(len(self.hosts), "host")
        if len(used) < len(self.hosts):
            many = f"{len(used)} of {many}"
            if used and len(used) <= _NAMED:
                many += f": {listed(used)}"
        which = [host for host in used if host in self.emulated]
        if which:
            many += ", emulated" if len(which) == len(used) else f", {len(which)} emulated"
        return f"hosts like those of {self.name} ({many})" if random else f"{self.name} ({many})"


def planned_platforms(folder: Folder, samples: Samples, facts: Facts) -> tuple[Platform, ...]:
    """Return the platforms of a planned experiment, including hosts without cells."""
    known = {cell.place.host for cell in samples.measured_cells}
    planned = {
        host: str(folder.host_header(host).get("platform", ""))
        for host in folder.planned_hosts()
        if host not in known
    }
    return platforms_of(samples, facts.hosts, planned)


def platforms_of(
    samples: Samples, facts: Mapping[str, Mapping[str, str]], planned: Mapping[str, str]
) -> tuple[Platform, ...]:
    """Return the platforms of a plan with their hosts, in plan order.

    Args:
        planned: host -> platform, for the hosts that have a plan, with or without cells.
    """
    found: dict[str, dict[str, None]] = {}
    for cell in samples.measured_cells:
        found.setdefault(cell.place.platform, {})[cell.place.host] = None
    for host, platform in planned.items():
        found.setdefault(platform, {})[host] = None
    emulated = frozenset(host for host, own in facts.items() if machine_kind(own) == EMULATED)
    rounds = rounds_recorded(samples)
    measured = frozenset(host for host, count in rounds.items() if count)
    return tuple(
        Platform(name, tuple(hosts), emulated & set(hosts), measured & set(hosts))
        for name, hosts in found.items()
    )


def impossible_by_platform(
    impossible: Sequence[tuple[str, str, tuple[str, ...]]], platforms: Sequence[Platform]
) -> tuple[tuple[str, str], ...]:
    """Return impossible cells with reasons, and with platforms or hosts if they are possible on others.

    Args:
        impossible: label, reason and hosts (empty: unknown).
        platforms: all, from `platforms_of`.
    """
    every = {host for platform in platforms for host in platform.hosts}
    found = []
    for cell, reason, hosts in impossible:
        whole = [platform for platform in platforms if set(platform.hosts) <= set(hosts)]
        rest = set(hosts) - {host for platform in whole for host in platform.hosts}
        where = [platform.name for platform in whole] + [host for host in hosts if host in rest]
        named = f"{listed(where)}: " if hosts and not every <= set(hosts) else ""
        found.append((cell, named + reason))
    return tuple(found)


def machine_kind(facts: Mapping[str, str]) -> str:
    """Return `emulated`, `virtual machine` or `container` from the fact `machine`; "" for other machines."""
    machine = str(facts.get("machine", "")).lower()
    return next((kind for word, kind in _KINDS if word in machine), "")


def machine_words(facts: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Describe machines that are not bare metal."""
    kinds: dict[str, list[str]] = {}
    for host, own in facts.items():
        if kind := machine_kind(own):
            kinds.setdefault(kind, []).append(host)
    caveats = {EMULATED: "times are those of the emulator, not of a real processor"}
    hidden = "other load on the physical machine is not visible"
    return tuple(f"{_named(hosts)}: {kind}; {caveats.get(kind, hidden)}" for kind, hosts in kinds.items())


def _named(hosts: Sequence[str]) -> str:
    return listed(hosts) if len(hosts) <= _NAMED else counted(len(hosts), "host")


def shortfalls_of_hosts(
    samples: Samples, platforms: Sequence[Platform], left_out: Mapping[str, str]
) -> list[str]:
    """Report hosts that were excluded, have no records yet, or have fewer rounds than others; nothing with one host.

    Args:
        platforms: all, from `platforms_of`.
        left_out: host -> reason of its exclusion.
    """
    hosts = [host for platform in platforms for host in platform.hosts]
    sentences = [f"{host} excluded: {why}" for host, why in left_out.items()]
    if len(hosts) < 2:
        return sentences
    rounds = rounds_recorded(samples)
    none = [host for host in hosts if not rounds.get(host) and host not in left_out]
    if none:
        sentences.append(f"no records yet: {_named(none)}")
    most = max(rounds.values(), default=0)
    fewer = [f"{host} {rounds[host]}" for host in hosts if 0 < rounds.get(host, 0) < most]
    if fewer:
        who = ", ".join(fewer) if len(fewer) <= _NAMED else f"{len(fewer)} of {counted(len(hosts), 'host')}"
        sentences.append(
            f"unequal numbers of rounds: {who}, others up to {most}; all hosts have equal weight in pooled results"
        )
    return sentences


def rounds_recorded(samples: Samples) -> dict[str, int]:
    """Return host -> maximum number of recorded invocations over its cells; 0 without any."""
    found: dict[str, int] = {}
    for cell in samples.measured_cells:
        own = sum(samples.statuses.get(cell.number, {}).values())
        found[cell.place.host] = max(found.get(cell.place.host, 0), own)
    return found
