"""Prepare the hosts of an experiment."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regatta.fleet.supplies import make_stock
from regatta.host.errors import HostError, RegattaError
from regatta.host.printable import Lines, printable
from regatta.host.ready.resolving import resolve
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Experiment
from regatta.host.values.host import Host, Wish
from regatta.host.values.resolved import ResolvedHost

if TYPE_CHECKING:
    from regatta.fleet.agent import Agent


@dataclass
class Readiness:
    """Prepared hosts of an experiment."""

    hosts: dict[str, ResolvedHost] = field(default_factory=dict)
    #: host -> why it is excluded now; the others continue
    left_out: dict[str, str] = field(default_factory=dict)
    #: agents of remote hosts
    agents: dict[str, Agent] = field(default_factory=dict)


def make_hosts_ready(experiment: Experiment, home: Path, wish: Wish) -> Readiness:
    """Prepare all possible hosts of an experiment.

    Raises:
        HostError: no host is ready, a local build fails, or this machine is a host and fails.
    """
    stock = make_stock(experiment, home)
    found = Readiness()
    machines = [machine for host in experiment.hosts for machine in host.members or (host,)]
    for host in machines:
        try:
            if host.way(wish) == "local":
                found.hosts[host.name] = resolve(experiment, host, stock.supplies_here(platform.machine()))
            else:
                # Only here: an experiment on this machine starts sooner without them.
                from regatta.fleet.agent import Agent
                from regatta.fleet.remote.connect import connect

                found.agents[host.name] = Agent(connect(host, wish))
        except HostError as error:
            if len(machines) == 1:
                raise
            found.left_out[host.name] = reason_of(error)
    if found.agents:
        from regatta.fleet.preparing_remote import reach

        reach(home, stock, found)
    for host in experiment.hosts:
        _join(host, found)
    if not found.hosts:
        raise HostError(
            experiment.spec_path,
            "at least one ready host",
            Lines("\n  ".join(f"{name}: {reason}" for name, reason in found.left_out.items())),
            "correct the reasons above",
        )
    # In inventory order, independent of the order of answers.
    found.hosts = {host.name: found.hosts[host.name] for host in experiment.hosts if host.name in found.hosts}
    for name, reason in found.left_out.items():
        print(f"excluded: {name}: {printable(Lines(reason))}", file=sys.stderr, flush=True)
    return found


def _join(host: Host, found: Readiness) -> None:
    """Replace hosts that measure together by one, which is excluded if one of them is."""
    if not host.members:
        return
    members = {member.name: found.hosts.pop(member.name, None) for member in host.members}
    ready = {name: resolved for name, resolved in members.items() if resolved is not None}
    if len(ready) == len(members):
        found.hosts[host.name] = together(host, ready)
    else:
        reasons = [
            f"{name}: {found.left_out.pop(name, 'not ready')}" for name in members if name not in ready
        ]
        found.left_out[host.name] = "; ".join(reasons)


def together(host: Host, members: Mapping[str, ResolvedHost]) -> ResolvedHost:
    """Return the resources of hosts that measure together. What belongs to one machine is that of the first."""
    first = next(iter(members.values()))
    if len(members) == 1:
        return replace(first, members=members)
    addresses = {member.name: member.reached_at for member in host.members}
    members = {name: replace(member, address=addresses[name]) for name, member in members.items()}

    def each(of: Callable[[ResolvedHost], Mapping[str, str]]) -> dict[str, str]:
        return {
            f"{name} {key}": value for name, member in members.items() for key, value in of(member).items()
        }

    return replace(
        first,
        name=host.name,
        platform=host.platform,
        facts=each(lambda member: member.facts),
        fingerprint=each(lambda member: member.fingerprint),
        host_class=digest_of([member.host_class for member in members.values()]),
        memory_mib=min(member.memory_mib for member in members.values()),
        members=members,
    )


def reason_of(error: RegattaError) -> str:
    """Return all problems of an error in one line."""
    return "; ".join(str(problem) for problem in error.problems)
