"""Differences between the environments of successive experiments: hosts, runtimes, flags, and Regatta itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.answers.spine.facts import Facts
from regatta.answers.spine.parts import Place
from regatta.answers.spine.words import counted, listed
from regatta.host.facts import changes
from regatta.host.files import read_object

#: changes of flags that are listed by configuration; more are counted
_CONFIGURATIONS_AT_MOST = 3


@dataclass(frozen=True)
class EnvironmentChange:
    """What differs on a host from the previous experiment that measured there.

    `since`: index of the experiment. `host`: "" for changes that are not of one host. `changes`: a clause each, such as
    `kernel: 6.2, before 6.1`.
    """

    since: int
    host: str
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Environment:
    """What an experiment ran in. `flags`: host and configuration -> flags and variables of its cells, without those of the heap."""

    facts: Facts
    flags: Mapping[tuple[str, str], tuple[str, ...]]


def environment_of(folder: Path, facts: Facts, places: Mapping[tuple[str, str], Place]) -> Environment:
    """Return the environment of an experiment.

    Args:
        folder: of the experiment.
        facts: of its plan.
        places: host and cell id -> place of the cells to read flags of.
    """
    found: dict[tuple[str, str], dict[str, None]] = {}
    for host in sorted({host for host, _ in places}):
        cells = read_object(folder / "plan" / host / "plan.json").get("cells")
        for cell in cells if isinstance(cells, list) else ():
            place = places.get((host, str(cell.get("cell_id")))) if isinstance(cell, dict) else None
            if place is not None:
                found.setdefault((host, place.configuration), {}).update(dict.fromkeys(_flags(cell)))
    return Environment(facts, {key: tuple(sorted(flags)) for key, flags in found.items()})


def _flags(cell: Mapping[str, Any]) -> Iterator[str]:
    """Yield the flags of a command, its variables, and its isolation. Sizes of heaps and paths differ without a change of the spec."""
    argv, variables, isolation = cell.get("argv"), cell.get("environment"), cell.get("isolation")
    for word in argv if isinstance(argv, list) else ():
        if (
            isinstance(word, str)
            and word.startswith("-")
            and "/" not in word
            and word[:4] not in ("-Xmx", "-Xms")
        ):
            yield word
    for name, value in variables.items() if isinstance(variables, dict) else ():
        if "/" not in str(value):
            yield f"{name}={value}"
    for name, value in isolation.items() if isinstance(isolation, dict) else ():
        if isinstance(value, str | int | float) and value != "":
            yield f"isolation.{name}={value}"


def changes_of(environments: Sequence[Environment]) -> tuple[EnvironmentChange, ...]:
    """Return the changes of each experiment, in order. A fact that one of two experiments does not know is no change."""
    found = []
    for since, now in enumerate(environments):
        for host in now.facts.hosts:
            before = _previous(environments[:since], host)
            if before is not None:
                clauses = [
                    *_between(before.facts.hosts[host], now.facts.hosts[host]),
                    *_flag_changes(before, now, host),
                ]
                found.append(EnvironmentChange(since, host, tuple(clauses)))
        if since:
            before = environments[since - 1]
            clauses = _between(before.facts.runtimes, now.facts.runtimes)
            clauses += _between({"Regatta": before.facts.regatta}, {"Regatta": now.facts.regatta})
            found.append(EnvironmentChange(since, "", tuple(clauses)))
    return tuple(one for one in found if one.changes)


def _previous(environments: Sequence[Environment], host: str) -> Environment | None:
    return next((one for one in reversed(environments) if host in one.facts.hosts), None)


def _between(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    known = [name for name in now if now[name] and before.get(name)]
    return changes({name: before[name] for name in known}, {name: now[name] for name in known})


def _flag_changes(before: Environment, now: Environment, host: str) -> list[str]:
    by_change: dict[str, list[str]] = {}
    for key, flags in now.flags.items():
        if key[0] == host and key in before.flags and flags != before.flags[key]:
            more, less = _without(flags, before.flags[key]), _without(before.flags[key], flags)
            parts = [f"with {more}" if more else "", f"without {less}" if less else ""]
            by_change.setdefault(", ".join(filter(None, parts)), []).append(key[1])
    return [f"flags of {_some(names)}: {change}" for change, names in by_change.items()]


def _without(these: Iterable[str], those: Iterable[str]) -> str:
    return " ".join(sorted({*these} - {*those}))


def _some(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _CONFIGURATIONS_AT_MOST else counted(len(names), "configuration")
