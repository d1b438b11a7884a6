"""Census: ask all hosts of the inventory at once for facts and quiesce settings, and judge their fitness for measuring."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from regatta.fleet.agent import Agent
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
Level = Literal["good", "fair", "poor"]
LEVELS: tuple[Level, ...] = ("good", "fair", "poor")
Finding = tuple[Level, str]
_VIRTUAL = "virtual machine: other guests share its processor, and steal time shows only a part of that"


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


def choose_hosts(home: Path, names: Sequence[str]) -> tuple[dict[str, tuple[Host, ...]], list[str]]:
    """Return platform -> hosts of the inventory, and the names of all hosts that are named, themselves or by their group.

    Raises:
        SpecError: the inventory is invalid, or a name is neither a host nor a group.
    """
    problems: list[Problem] = []
    platforms = read_inventory(home, problems)
    groups = {host.name: [host.name] for hosts in platforms.values() for host in hosts}
    groups |= {platform: [host.name for host in hosts] for platform, hosts in platforms.items()}
    expected = f"one of the hosts and groups {', '.join(sorted(groups))}"
    problems += [Problem(str(inventory_path(home)), expected, name) for name in names if name not in groups]
    if problems:
        raise SpecError(problems)
    return platforms, list(dict.fromkeys(host for name in names for host in groups[name]))


def take_census(home: Path, names: Sequence[str], wish: Wish) -> list[HostEntry]:
    """Ask all hosts, or the named hosts and groups.

    Raises:
        SpecError: the inventory is invalid, or a name is neither a host nor a group.
    """
    platforms, chosen = choose_hosts(home, names)
    hosts = {host.name: (host, list[str]()) for of_one in platforms.values() for host in of_one}
    for platform, of_one in platforms.items():
        for host in of_one:
            hosts[host.name][1].append(platform)
    wanted = [hosts[name] for name in (chosen if names else hosts)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda pair: _ask(home, pair[0], pair[1], wish), _in_order(wanted)))


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


def fitness(facts: Mapping[str, str], quiet: Mapping[str, Any] | None) -> list[Finding]:
    """Return the findings on a host, most severe first.

    `quiet`: the JSON of the verb `quiet status` there; None: not available.

    Returns:
        (level, sentence) each; `poor`: fix the host or use another; `fair`: wider intervals; `good`: no problem.
    """
    findings = _of_facts(facts)
    if quiet is None:
        findings.append(("fair", "host settings are unknown: the host did not report them"))
    else:
        findings += _of_knobs(quiet)
    return sorted(findings, key=lambda finding: -LEVELS.index(finding[0]))


def overall(findings: Sequence[Finding]) -> Level:
    """Return the most severe level; `good` without findings."""
    return max((level for level, _ in findings), key=LEVELS.index, default="good")


def _of_facts(facts: Mapping[str, str]) -> list[Finding]:
    findings: list[Finding] = []
    machine = facts.get("machine")
    if machine == "virtual machine":
        findings.append(("fair", _VIRTUAL))
    if machine == "emulated":
        why = "emulated: programs compute correct results, but their times are meaningless"
        findings.append(("poor", why))
    if facts.get("cpus") == "1":
        findings.append(("poor", "one CPU: any other process interrupts the measured one"))
    return findings


def _of_knobs(quiet: Mapping[str, Any]) -> list[Finding]:
    findings: list[Finding] = []
    well: list[str] = []
    for knob in _knobs(quiet):
        name, state = knob["name"].replace("_", " "), knob["state"]
        told = "; ".join(map(str, knob["told"]))
        level: Level = knob["level"]
        # A setting that is unavailable or unwanted may be harmless; a wrong setting is not.
        doubtful: Level = "good" if level == "good" else "fair"
        if state == "quiet":
            well.append(name)
        elif state == "noisy":
            findings.append((level, f"{name} is not quiet ({_values(knob)}): {knob['effect']}"))
        elif state == "not available":
            findings.append(
                (doubtful, f"{name} is not available{f' ({told})' if told else ''}: {knob['effect']}")
            )
        elif state == "not asked":
            findings.append((doubtful, f"{name} is unchanged ({told}): {knob['effect']}"))
        elif state == "left":
            findings.append((doubtful, f"{name} is unchanged by request: {knob['effect']}"))
        findings += [("fair", sentence) for sentence in map(str, knob["refused"])]
    if well:
        findings.append(("good", f"quiet: {', '.join(well)}"))
    return findings


def _values(knob: Mapping[str, Any]) -> str:
    """Return the first place with a deviating value, and the number of further ones."""
    differing = [place for place in knob["places"] if place["now"] != place["wanted"]]
    if not differing:
        return f"wanted: {knob['aim']}"
    first, further = differing[0], len(differing) - 1
    text = f"{first['where']} is {first['now']}, wanted {first['wanted']}"
    return f"{text}, and {further} more" if further else text


def _knobs(quiet: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of an untrusted answer; replace missing keys and wrong types."""
    kinds: dict[str, Any] = {
        "name": "?",
        "state": "",
        "level": "fair",
        "aim": "",
        "effect": "",
        "places": [],
        "told": [],
        "refused": [],
    }
    found = []
    knobs = quiet.get("knobs")
    for knob in knobs if isinstance(knobs, list) else []:
        if isinstance(knob, Mapping):
            entry = {
                name: knob[name] if isinstance(knob.get(name), type(default)) else default
                for name, default in kinds.items()
            }
            entry["level"] = entry["level"] if entry["level"] in LEVELS else "fair"
            entry["places"] = [
                {name: str(place.get(name, "")) for name in ("where", "now", "wanted")}
                for place in entry["places"]
                if isinstance(place, Mapping)
            ]
            found.append(entry)
    return found
