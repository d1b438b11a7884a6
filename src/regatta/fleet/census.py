"""Census: ask all hosts of the inventory at once for facts, fitness, and changes since the last census."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regatta.fleet.agent import Agent
from regatta.fleet.fitness import Finding, fitness, overall
from regatta.fleet.remote.base import Remote, Unreachable
from regatta.fleet.remote.connect import connect, way_to
from regatta.fleet.remote.here import Here
from regatta.host.cache import cache_folder
from regatta.host.errors import Problem, RegattaError, SpecError
from regatta.host.facts import changes, fingerprint
from regatta.host.files import read_object
from regatta.host.values.host import Host, Wish
from regatta.spec.inventory import inventory_path, read_inventory
from regatta.store.folder import write_json

_AT_ONCE = 32


@dataclass
class HostEntry:
    """Answer of one host."""

    name: str
    platforms: list[str]
    way: str
    facts: dict[str, str] = field(default_factory=dict)
    jvms: dict[str, str] = field(default_factory=dict)
    #: level of the worst finding; `unreachable`; or `not prepared` if the host answers but cannot be asked
    fitness: str = ""
    findings: list[Finding] = field(default_factory=list)
    #: sentences; empty without changes or at the first census
    changed: list[str] = field(default_factory=list)
    #: clock of the host minus the clock of this machine, as far as network latency permits
    clock_off_s: float = 0.0
    #: reason why the host could not be asked
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON."""
        return dataclasses.asdict(self)


def take_census(home: Path, names: Sequence[str], wish: Wish) -> list[HostEntry]:
    """Ask all hosts, or the named hosts and groups.

    Raises:
        SpecError: the inventory is invalid, or a name is neither a host nor a group.
    """
    problems: list[Problem] = []
    platforms = read_inventory(home, problems)
    known = {*platforms, *(host.name for hosts in platforms.values() for host in hosts)}
    for name in names:
        if name not in known:
            problems.append(
                Problem(
                    str(inventory_path(home)), f"one of the hosts and groups {', '.join(sorted(known))}", name
                )
            )
    if problems:
        raise SpecError(problems)
    wanted: dict[str, tuple[Host, list[str]]] = {}
    for platform, hosts in platforms.items():
        for host in hosts:
            if not names or platform in names or host.name in names:
                wanted.setdefault(host.name, (host, []))
    for platform, hosts in platforms.items():
        for host in hosts:
            if host.name in wanted:
                wanted[host.name][1].append(platform)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda pair: _ask(home, pair[0], pair[1], wish), _in_order(wanted.values())))


def _in_order(pairs: Iterable[tuple[Host, list[str]]]) -> list[tuple[Host, list[str]]]:
    return sorted(pairs, key=lambda pair: (pair[1], pair[0].name))


def _ask(home: Path, host: Host, platforms: list[str], wish: Wish) -> HostEntry:
    entry = HostEntry(host.name, platforms, str(host.way(wish) or "none"))
    try:
        way_to(host, wish)
        agent = Agent(_remote(host, wish))
        before = time.time_ns()
        told = agent.facts()
        after = time.time_ns()
        quiet = agent.quiet()
    except RegattaError as error:
        entry.problem = "; ".join(str(problem) for problem in error.problems)
        no_way = host.way(wish) is None or isinstance(error, Unreachable)
        entry.fitness = "unreachable" if no_way else "not prepared"
        return entry
    entry.facts, entry.jvms = told.facts, told.jvms
    entry.findings = fitness(told.facts, quiet)
    entry.fitness = overall(entry.findings)
    off_ns = told.utc_ns - (before + after) // 2
    # An offset below the round-trip time is not measurable.
    entry.clock_off_s = off_ns / 1e9 if abs(off_ns) > after - before else 0.0
    builds = {f"JVM {folder}": version for folder, version in told.jvms.items()}
    entry.changed = _changed(home, host.name, {**fingerprint(told.facts), **builds})
    return entry


def _remote(host: Host, wish: Wish) -> Remote:
    """Use the same zipapp for this machine, from a folder of its user."""
    if host.way(wish) != "local":
        return connect(host, wish)
    return Here(dataclasses.replace(host, python=sys.executable, root=str(cache_folder("here"))))


def _changed(home: Path, name: str, now: dict[str, str]) -> list[str]:
    """Return the differences from the last census, and store this one."""
    path = cache_folder("hosts") / f"{name}.json"
    key = str(inventory_path(home))
    kept = read_object(path)
    before = kept.get(key)
    write_json(path, {**kept, key: now})
    return changes(before, now) if isinstance(before, dict) else []
