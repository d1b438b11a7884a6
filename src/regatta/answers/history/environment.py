"""Differences between the environments of successive experiments: hosts, runtimes, flags, and Regatta itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.answers.spine.facts import Facts
from regatta.answers.spine.words import counted, listed
from regatta.host.facts import changes
from regatta.host.files import read_object
from regatta.host.values.digest import digest_of

#: names in a change of flags; more are counted
_NAMES_AT_MOST = 3
#: flags whose numbers follow from the minheap
_OF_HEAP = ("-Xmx", "-Xms", "-Xmn")


@dataclass(frozen=True)
class EnvironmentChange:
    """What differs on a host from the previous experiment that measured there.

    `since`: index of the experiment. `host`: "" for changes that are not of one host. `changes`: a clause each, such as
    `kernel: 6.2, before 6.1`.
    """

    since: int
    host: str
    changes: tuple[str, ...]


#: host, label of a benchmark, name of a configuration
_Cell = tuple[str, str, str]


@dataclass(frozen=True)
class Environment:
    """What an experiment ran in.

    `settings`: host -> setting -> value, for variables and cores of all its cells. `flags`: of each cell, flags, variables and
    isolation by what identifies them; the values are for display.
    """

    facts: Facts
    settings: Mapping[str, Mapping[str, str]]
    flags: Mapping[_Cell, Mapping[str, str]]


def environment_of(
    folder: Path, facts: Facts, names: Mapping[tuple[str, str], tuple[str, str]]
) -> Environment:
    """Return the environment of an experiment.

    Args:
        folder: of the experiment.
        facts: of its plan.
        names: host and cell id -> label of the benchmark and name of the configuration, of the cells to read flags of.
    """
    flags: dict[_Cell, Mapping[str, str]] = {}
    settings: dict[str, Mapping[str, str]] = {}
    for host in sorted({host for host, _ in names}):
        header = read_object(folder / "plan" / host / "plan.json")
        settings[host] = dict(_settings(header))
        cells = header.get("cells")
        for cell in cells if isinstance(cells, list) else ():
            name = names.get((host, str(cell.get("cell_id")))) if isinstance(cell, dict) else None
            if name is not None:
                flags[(host, *name)] = dict(_flags(cell))
    return Environment(facts, settings, flags)


def _settings(header: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    environment, cores = header.get("environment"), header.get("cores")
    variables = environment.get("set") if isinstance(environment, dict) else None
    for name, value in variables.items() if isinstance(variables, dict) else ():
        yield _variable(name, value)
    if isinstance(cores, dict):
        yield "cores", json.dumps(cores, sort_keys=True)


def _variable(name: str, value: object) -> tuple[str, str]:
    """Return a variable by name. Its value can be a secret."""
    return f"variable {name}", f"value {digest_of(str(value))[:6]}"


def _flags(cell: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the flags of a command, its variables, and its isolation, each as what identifies it and what to show.

    Heaps and paths differ without a change of the spec. The value of a property can be a secret.
    """
    argv, variables, isolation = cell.get("argv"), cell.get("environment"), cell.get("isolation")
    for word in argv if isinstance(argv, list) else ():
        if (
            isinstance(word, str)
            and word.startswith("-")
            and "/" not in word
            and not word.startswith(_OF_HEAP)
        ):
            name, equals, _ = word.partition("=")
            yield word, f"{name}=..." if equals and word.startswith("-D") else word
    for name, value in variables.items() if isinstance(variables, dict) else ():
        if "/" not in str(value):
            key, shown = _variable(name, value)
            yield f"{key} {shown}", key
    for name, value in isolation.items() if isinstance(isolation, dict) else ():
        if isinstance(value, str | int | float) and value != "":
            yield f"isolation.{name}={value}", f"isolation.{name}={value}"


def changes_of(environments: Sequence[Environment]) -> tuple[EnvironmentChange, ...]:
    """Return the changes of each experiment, in order. A fact that one of two experiments does not know is no change."""
    found = []
    for since, now in enumerate(environments):
        earlier = environments[:since][::-1]
        for host, facts in now.facts.hosts.items():
            clauses = _since([one.facts.hosts[host] for one in earlier if host in one.facts.hosts], facts)
            clauses += _since(
                [one.settings[host] for one in earlier if host in one.settings], now.settings.get(host, {})
            )
            found.append(EnvironmentChange(since, host, (*clauses, *_flag_changes(earlier, now, host))))
        # Versions that differ between hosts name them.
        alike = [one for one in earlier if set(one.facts.hosts) == set(now.facts.hosts)]
        clauses = _since([one.facts.runtimes for one in alike], now.facts.runtimes)
        clauses += _since([{"Regatta": one.facts.regatta} for one in alike], {"Regatta": now.facts.regatta})
        found.append(EnvironmentChange(since, "", tuple(clauses)))
    return tuple(one for one in found if one.changes)


def _since(earlier: Sequence[Mapping[str, str]], now: Mapping[str, str]) -> list[str]:
    """Return the changes from the latest earlier value of each name."""
    before = {
        name: next((one[name] for one in earlier if one.get(name)), "")
        for name, value in now.items()
        if value
    }
    known = {name: value for name, value in before.items() if value}
    return changes(known, {name: now[name] for name in known})


def _flag_changes(earlier: Sequence[Environment], now: Environment, host: str) -> list[str]:
    by_change: dict[str, dict[str, None]] = {}
    for cell, flags in now.flags.items():
        before = next((one.flags[cell] for one in earlier if cell in one.flags), flags)
        more, less = _without(flags, before), _without(before, flags)
        if cell[0] == host and (more or less):
            parts = [f"with {more}" if more else "", f"without {less}" if less else ""]
            by_change.setdefault(", ".join(filter(None, parts)), {})[cell[2]] = None
    return [f"flags of {_some([*names])}: {change}" for change, names in by_change.items()]


def _without(these: Mapping[str, str], those: Iterable[str]) -> str:
    return " ".join(sorted(shown for flag, shown in these.items() if flag not in those))


def _some(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _NAMES_AT_MOST else counted(len(names), "configuration")
