"""Places where primitives are measured for a prediction: hosts and JVMs, and the spec of the experiment that measures them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

from regatta.cli.derived_spec import DIGITS, entry_of
from regatta.host.errors import Problem, RegattaError
from regatta.host.values.cell import configuration_name
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Experiment
from regatta.models.cli.trace import JAVA_CALLS, OS_CALLS
from regatta.models.predict.times import USER_WORK
from regatta.models.system_calls.java_configuration import check_flags, flags_of, named_jvm
from regatta.models.vectors.primitives import PrimitiveTable
from regatta.models.vectors.values import ApplicationVector
from regatta.spec.registries import Registries

EXPERIMENTS = Path("configs") / "experiments"
#: the runtime that a Java command without a path starts
HOST_JAVA = "host-java"
#: the collector that a JVM chooses itself
DEFAULT = "default"
_JAVA = "java"


@dataclass(frozen=True)
class Domain:
    """A kind of calls of a program that are counted, and the primitives with their costs."""

    #: of the calls, for people
    words: str
    #: in configs/primitives
    table: str
    #: in configs/primitives, how calls count as primitives
    calls: str
    #: in configs/experiments, with a benchmark for each primitive
    experiment: str
    #: whether a system is a JVM
    of_java: bool
    #: about how long one invocation of a benchmark takes
    invocation_s: float


SYSTEM_CALLS = Domain("system calls", "os", OS_CALLS, "hbench-os.yml", False, 4.0)
SYSTEM_CLASSES = Domain("calls into Java's system classes", "java", JAVA_CALLS, "hbench-java.yml", True, 15.0)


def domain_of(command: Sequence[str]) -> Domain:
    """Return which calls of a command are counted: those into system classes if it is `java`, else system calls."""
    return SYSTEM_CLASSES if Path(command[0]).name == _JAVA else SYSTEM_CALLS


@dataclass(frozen=True)
class Place:
    """Hosts of a platform in one configuration. `runtime` and `collector`: "" if no JVM is measured."""

    platform: str
    runtime: str = ""
    collector: str = ""
    modifiers: tuple[str, ...] = ()

    @property
    def configuration(self) -> str:
        """Return the name of its configuration in system vectors."""
        return configuration_name(self.runtime or "native", self.collector, "+".join(self.modifiers))

    @property
    def name(self) -> str:
        """Return the words that name it."""
        return " ".join(filter(None, (self.platform, self.runtime, self.collector, "+".join(self.modifiers))))


class Places:
    """Finds places by their words: a platform, and of a JVM a runtime, a collector and modifiers, in any order."""

    def __init__(self, domain: Domain, registries: Registries, experiment: Experiment) -> None:
        """Take the names from the registries and from the experiment that measures the domain."""
        self._domain = domain
        own = {modifier.name: modifier for chosen in experiment.modifiers for modifier in chosen}
        java = {name: one for name, one in registries.runtimes.items() if one.kind == "java"}
        self._names: dict[str, Mapping[str, Any]] = {
            "platform": registries.platforms,
            **(
                {"runtime": java, "collector": {**registries.collectors, DEFAULT: None}}
                if domain.of_java
                else {}
            ),
            "modifier": {
                name: one
                for name, one in {**registries.modifiers, **own}.items()
                # A compiled program has no flags of a JVM.
                if domain.of_java or not one.flags
            },
        }
        self._registries = registries

    @property
    def here(self) -> str:
        """Return the platform that is this machine and nothing else; "" without one."""
        platforms = self._registries.platforms.items()
        return next((name for name, hosts in platforms if [one.is_local for one in hosts] == [True]), "")

    def place(self, text: str) -> Place | Problem:
        """Return the place that a text names, or what is wrong with it. Without a platform, it is on this machine."""
        found: dict[str, list[str]] = {kind: [] for kind in self._names}
        for word in text.replace("+", " ").split():
            kind = next((kind for kind, known in self._names.items() if word in known), None)
            if kind is None:
                return self._unknown(text, word)
            found[kind].append(word)
        twice = next((kind for kind in found if kind != "modifier" and len(found[kind]) > 1), None)
        if twice or not text.strip():
            got = " and ".join(found[twice]) if twice else "nothing"
            return Problem(
                f"--on {text!r}", f"one {twice or 'platform'} in a place", got, "name each place apart"
            )
        platform = next(iter(found["platform"]), self.here)
        if not platform:
            return Problem(
                f"--on {text!r}", "a platform", "none", "name one of the inventory (configs/hosts)"
            )
        runtime = next(iter(found.get("runtime", ())), HOST_JAVA if self._domain.of_java else "")
        collector = next(iter(found.get("collector", ())), DEFAULT if self._domain.of_java else "")
        # In one order, so that places with the same modifiers are equal.
        modifiers = tuple(name for name in self._names["modifier"] if name in found["modifier"])
        return Place(platform, runtime, collector, modifiers)

    def _unknown(self, text: str, word: str) -> Problem:
        kinds = list(self._names)
        near = get_close_matches(word, [name for names in self._names.values() for name in names], 3, 0.5)
        fix = f"did you mean {' or '.join(near)}?" if near else "choose one that `regatta list` shows"
        others = {**self._registries.runtimes, **self._registries.collectors, **self._registries.modifiers}
        if not self._domain.of_java and word in others:
            fix = "name a JVM, a collector or their modifiers only with a command that is `java`"
        expected = f"a system, an experiment, or a place ({', '.join(kinds[:-1])} or {kinds[-1]})"
        return Problem(f"--on {text!r}", expected, repr(word), fix)

    def traced(self, command: Sequence[str], environment: Mapping[str, str]) -> Place | None:
        """Return the place that this command runs in: this machine, and the JVM that it starts. None if it has no name.

        Args:
            command: with its arguments.
            environment: of the command, from which a JVM reads options.
        """
        if not self.here or not self._domain.of_java:
            return Place(self.here) if self.here else None
        flags = flags_of(command, environment)
        collectors = {one.name: one.flags for one in self._registries.collectors.values()}
        fitting = [name for name, own in collectors.items() if own and set(own) <= set(flags)]
        collector = max(fitting, key=lambda name: len(collectors[name]), default=DEFAULT)
        compilers = (one for one in self._registries.modifiers.values() if one.controls_compilation)
        modifiers = tuple(one.name for one in compilers if one.flags and set(one.flags) <= set(flags))
        for name in self._names["runtime"]:
            place = Place(self.here, name, collector, modifiers)
            named = named_jvm(place.configuration, self._registries)
            if named.is_started_by(command[0]):
                try:
                    check_flags(flags, place.configuration, named)
                except RegattaError:
                    # A part of the flags of a modifier is no configuration.
                    return None
                return place
        return None


def needed_benchmarks(vector: ApplicationVector, table: PrimitiveTable) -> set[tuple[str, str]]:
    """Return (suite, benchmark) of all benchmarks that measure what an application counts, and what scales its own code."""
    counted = {count.primitive for count in vector.counts} | {USER_WORK}
    rules = [rule.series for name, rule in table.primitives.items() if name in counted]
    return {(one.suite, one.benchmark) for one in rules}


def primitives_name(domain: Domain, places: Sequence[Place]) -> str:
    """Return the name of the experiment that measures the primitives of these places."""
    return f"primitives-{domain.table}-{digest_of(sorted(place.name for place in places))[:DIGITS]}"


def primitives_spec(
    domain: Domain,
    places: Sequence[Place],
    experiment: Experiment,
    spec: Path,
    hosts: Mapping[str, Sequence[str]],
    benchmarks: Collection[str],
    rounds: int,
    application: Path,
) -> dict[str, Any]:
    """Return the spec that measures primitives in places: that of the domain's experiment, without its applications.

    Args:
        domain: of the primitives.
        places: at least one.
        experiment: that of the domain.
        spec: its file.
        hosts: platform -> names of its hosts.
        benchmarks: labels of its benchmarks that are needed.
        rounds: of invocations.
        application: file of the vector that the report predicts.
    """
    runtimes, collectors, sets = (
        list(dict.fromkeys(values))
        for values in (
            (place.runtime for place in places),
            (place.collector for place in places),
            (place.modifiers for place in places),
        )
    )
    wanted = {
        (host, place.runtime, place.collector, place.modifiers)
        for place in places
        for host in hosts[place.platform]
    }
    names = list(dict.fromkeys(place.platform for place in places))
    every_host = dict.fromkeys(host for name in names for host in hosts[name])
    excluded = [
        {
            "host": host,
            **({"runtime": runtime} if runtime else {}),
            **({"collector": collector} if collector else {}),
            "modifiers": list(modifiers),
        }
        for host, runtime, collector, modifiers in product(every_host, runtimes, collectors, sets)
        if (host, runtime, collector, modifiers) not in wanted
    ]
    return {
        "include": str(spec.absolute()),
        "name": primitives_name(domain, places),
        "question": f"What do {domain.words} cost: {', '.join(place.name for place in places)}?",
        "platforms": names,
        "benchmarks": [entry_of(one.label) for one in experiment.benchmarks if one.label in benchmarks],
        "runtimes": list(filter(None, runtimes)),
        "collectors": list(filter(None, collectors)),
        **({"define": {"collectors": {DEFAULT: {"flags": []}}}} if domain.of_java else {}),
        "modifier_sets": [list(modifiers) for modifiers in sets],
        "exclude": excluded,
        "baseline": dict.fromkeys(experiment.baseline),
        "invocations": {"fixed": rounds},
        "predict": {"applications": [str(application.absolute())], "primitives": domain.table},
    }
