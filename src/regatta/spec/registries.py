"""The registries of a home, which are runtimes, collectors, modifiers and platforms, and definitions in a spec."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from regatta.host.errors import Problem, SpecError
from regatta.host.values.counters import Counted
from regatta.host.values.events import Events, Probe
from regatta.host.values.experiment import Archive, Collector, Modifier, Runtime, Training
from regatta.host.values.host import Host
from regatta.host.values.isolation import Isolation
from regatta.spec.inventory import read_inventory
from regatta.spec.problems import check, shown_path, unknown
from regatta.spec.process_schema import CounterSpec, IsolationSpec
from regatta.spec.registry_schema import (
    CollectorsFile,
    CollectorSpec,
    EventsSpec,
    ModifiersFile,
    ModifierSpec,
    RuntimesFile,
    RuntimeSpec,
)
from regatta.spec.yaml_lines import Budget, Document, KeyPath, read_yaml

#: a URL, or `user@host:path` of SSH
_REMOTE = re.compile(r"[a-z+]+://|[^/]+@[^/]+:")

M = TypeVar("M", RuntimeSpec, CollectorSpec, ModifierSpec)


@dataclass
class Registries:
    """Definitions by name. `broken` has the names with an invalid definition, whose problems are already reported."""

    runtimes: dict[str, Runtime] = field(default_factory=dict)
    collectors: dict[str, Collector] = field(default_factory=dict)
    modifiers: dict[str, Modifier] = field(default_factory=dict)
    #: platform -> its hosts
    platforms: dict[str, tuple[Host, ...]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    #: kind -> name -> description; kept apart from the values, because the values identify cells
    descriptions: dict[str, dict[str, str]] = field(default_factory=dict)


def read_registries(home: Path, problems: list[Problem]) -> Registries:
    """Read `configs/{runtimes,collectors,modifiers}.yml` and the inventory; a missing file counts as empty.

    Args:
        home: the result of `find_home`.
        problems: every problem found is appended.
    """
    found = Registries()
    runtimes = _entries(home, RuntimesFile, RuntimeSpec, "runtimes", found, problems)
    found.runtimes = {name: as_runtime(name, model, home) for name, model in runtimes.items()}
    collectors = _entries(home, CollectorsFile, CollectorSpec, "collectors", found, problems)
    found.collectors = {name: as_collector(name, model) for name, model in collectors.items()}
    modifiers = _entries(home, ModifiersFile, ModifierSpec, "modifiers", found, problems)
    found.modifiers = {name: as_modifier(name, model, home) for name, model in modifiers.items()}
    found.platforms = read_inventory(home, problems)
    return found


def read_registry(path: Path, problems: list[Problem], budget: Budget | None = None) -> Document | None:
    """Read one file of the home; None if it is missing or is not YAML (then with a problem)."""
    if not os.path.lexists(path):
        return None
    try:
        return read_yaml(path, shown_path(path), budget=budget)
    except SpecError as error:
        problems.extend(error.problems)
        return None


def _entries(
    home: Path,
    whole: type[BaseModel],
    each: type[M],
    key: str,
    registries: Registries,
    problems: list[Problem],
) -> dict[str, M]:
    """Return the valid entries of a registry, though others may be invalid."""
    document = read_registry(home / "configs" / f"{key}.yml", problems)
    if document is None:
        return {}
    model = check(whole, document, problems)
    good: dict[str, M] = {} if model is None else getattr(model, key)
    raw: Any = document.value.get(key) if model is None and isinstance(document.value, dict) else None
    for name, value in raw.items() if isinstance(raw, dict) else ():
        try:
            good[name] = each.model_validate(value)
        except ValidationError:
            registries.broken.add(name)
    check_refusals(document, (key,), good, registries, problems)
    registries.descriptions[key] = {name: one.description for name, one in good.items()}
    return good


def check_refusals(
    document: Document,
    path: KeyPath,
    entries: Mapping[str, BaseModel],
    registries: Registries,
    problems: list[Problem],
) -> None:
    """Check that the names in `refused_by` are runtimes."""
    names = {*registries.runtimes, *registries.broken}
    for entry, model in entries.items():
        for runtime in model.refused_by if isinstance(model, CollectorSpec | ModifierSpec) else ():
            if runtime not in names:
                where = document.where((*path, entry, "refused_by", runtime))
                problems.append(unknown(where, "a runtime", runtime, names))


def as_runtime(name: str, spec: RuntimeSpec, root: Path) -> Runtime:
    """Return the frozen value of a runtime's entry. `root`: the folder that its paths are relative to."""
    remote = spec.repository and _REMOTE.match(spec.repository)
    return Runtime(
        name=name,
        kind=spec.kind,
        provider=spec.provider,
        path=spec.path,
        package=spec.package or "",
        version=spec.version or "",
        archives={arch: Archive(entry.url, entry.sha256) for arch, entry in spec.archives.items()},
        directory=_absolute(spec.directory, root),
        repository=spec.repository if spec.repository and remote else _absolute(spec.repository, root),
        revision=spec.revision or "",
        command=tuple(spec.command or ()),
        needs=tuple(spec.needs),
        program=spec.program,
        requires=spec.requires,
        flags=tuple(spec.flags),
        architectures=tuple(spec.architectures),
        image=spec.image or "",
        language=spec.language or "",
        aa=spec.aa,
    )


def as_collector(name: str, spec: CollectorSpec) -> Collector:
    """Return the frozen value of a collector's entry."""
    return Collector(name, tuple(spec.flags), dict(spec.refused_by))


def as_modifier(name: str, spec: ModifierSpec, root: Path) -> Modifier:
    """Return the frozen value of a modifier's entry. `root`: the folder that its paths are relative to."""
    training = None if spec.train is None else Training(tuple(spec.train.flags), spec.train.output)
    return Modifier(
        name,
        tuple(spec.flags),
        dict(spec.environment),
        spec.controls_compilation,
        dict(spec.refused_by),
        training,
        tuple(spec.keep),
        None if spec.isolation is None else as_isolation(spec.isolation),
        _absolute(spec.plans, root),
        None if spec.events is None else as_events(spec.events),
    )


def as_events(spec: EventsSpec) -> Events:
    """Return the frozen value of a recording of events."""
    probes = tuple(Probe(one.program, one.function, one.at, tuple(one.means)) for one in spec.probes)
    return Events(tuple(spec.groups), probes, spec.after_s, spec.for_s, spec.buffer_mib)


def _absolute(path: str | None, root: Path) -> str:
    return os.path.normpath(root.absolute() / Path(path).expanduser()) if path else ""


def as_counters(specs: Sequence[CounterSpec]) -> Counted:
    """Return the frozen value of a list of counters."""
    raw = {one.name: one.event for one in specs if one.event is not None}
    return Counted(tuple(one.name for one in specs if one.name not in raw), raw)


def as_isolation(spec: IsolationSpec) -> Isolation:
    """Return the frozen value of an `isolation`."""
    return Isolation(
        spec.kind,
        spec.memory_mib,
        spec.network,
        dict(spec.images),
        spec.image or "",
        spec.processors,
        spec.cpu_quota,
        tuple(spec.capabilities),
    )
