"""Looks up what a spec names, and assembles the experiment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from regatta.errors import Problem
from regatta.model.experiment import (
    Baseline,
    Benchmark,
    Collector,
    Cores,
    Exclude,
    Experiment,
    Heap,
    Host,
    Modifier,
    PerturbationLimits,
    ProcessEnvironment,
    Rlimits,
    Runtime,
    SteadyState,
)
from regatta.spec.chooser import Chooser
from regatta.spec.problems import shown, unknown
from regatta.spec.registries import Registries, as_collector, as_runtime, check_refusals
from regatta.spec.spec_schema import ExcludeSpec, FactorRange, SizeRange, Spec
from regatta.spec.yaml_lines import Document, KeyPath

#: what the collector is called when the spec names none and the JVM chooses
DEFAULT_COLLECTOR = Collector("default", ())
NATIVE = Runtime("native", "native", "none")


def modifiers_label(names: Sequence[str]) -> str:
    """What a set of modifiers is called in results: `a+b`, or `none`."""
    return "+".join(names) or "none"


class Resolver:
    """One spec on its way to an experiment; every reference that leads nowhere becomes a problem.

    `known` holds the keys that the user wrote and that are right: nothing is said about the others. `indices` gives, for
    lists that lost wrong entries, where the others stood.
    """

    def __init__(
        self,
        document: Document,
        spec: Spec,
        known: set[str],
        indices: dict[str, list[int]],
        registries: Registries,
        home: Path,
        path: Path,
        problems: list[Problem],
    ) -> None:
        self.document = document
        self.spec = spec
        self.known = known
        self.indices = indices
        self.registries = registries
        self.path = path
        self.problems = problems
        #: the user's own list of the key cannot be judged, because part of it is wrong
        self.partial = set(document.value) - known | set(indices)
        self.chooser = Chooser(document, spec, self.item, home, path, problems)

    def item(self, key: str, index: int) -> KeyPath:
        """The path of an entry of a list at the top; of the key itself when a single value stands for a list of one."""
        if not isinstance(self.document.value.get(key), list):
            return (key,)
        places = self.indices.get(key)
        return (key, places[index] if places else index)

    def problem(self, path: KeyPath, expected: str, got: Any, fix: str = "") -> None:
        """Note a problem at a path of the spec."""
        self.problems.append(Problem(self.document.where(path), expected, shown(got), fix))

    def experiment(self) -> Experiment | None:
        """The experiment, or None when there is a problem."""
        spec = self.spec
        self.define()
        benchmarks = self.chooser.benchmarks() if "benchmarks" in self.known else []
        hosts = self.hosts()
        runtimes = self.runtimes(benchmarks)
        collectors = self.collectors(benchmarks)
        modifiers = self.modifiers()
        heaps = self.heaps(benchmarks)
        self.unique("compare", spec.compare)
        excludes = self.excludes(benchmarks, runtimes, collectors, modifiers, heaps, hosts)
        baseline = self.baseline(runtimes, collectors, modifiers)
        if self.problems:
            return None
        method = spec.iterations.method or ("startup" if spec.iterations.count == 1 else "fixed")
        return Experiment(
            name=spec.name,
            question=spec.question,
            spec_path=str(self.path),
            hosts=tuple(hosts),
            runtimes=tuple(runtimes),
            collectors=tuple(collectors),
            modifiers=tuple(modifiers),
            heaps=tuple(heaps),
            benchmarks=tuple(benchmarks),
            invocations=spec.invocations.fixed or 0,
            steady=SteadyState(method, spec.iterations.count, spec.iterations.warmup),
            order=spec.order,
            seed=int(spec.seed),
            compare=tuple(spec.compare),
            rounds_per_segment=spec.segment.rounds,
            timeout_s=float(spec.timeout_s),
            output_kib=spec.output_kib,
            cores=Cores(spec.cores.use, tuple(spec.cores.cpus), spec.cores.housekeeping),
            limits=PerturbationLimits(**spec.perturbation.model_dump()),
            environment=ProcessEnvironment(
                tuple(spec.environment.allow), dict(spec.environment.set), spec.environment.padding_bytes
            ),
            rlimits=Rlimits(**spec.limits.model_dump()),
            excludes=tuple(excludes),
            baseline=baseline,
            minheap_passes=spec.minheap.passes,
            level=float(spec.level),
            results_directory=spec.results.directory,
        )

    def define(self) -> None:
        """Add the spec's own runtimes and collectors to the registries."""
        registries = self.registries
        own = self.spec.define
        for name, runtime in own.runtimes.items():
            if name in registries.runtimes:
                self.problem(
                    ("define", "runtimes", name),
                    "a name that configs/runtimes.yml does not have",
                    name,
                    "another name",
                )
            registries.runtimes[name] = as_runtime(name, runtime)
        for name, collector in own.collectors.items():
            if name in registries.collectors:
                self.problem(
                    ("define", "collectors", name),
                    "a name that configs/collectors.yml does not have",
                    name,
                    "another name",
                )
            registries.collectors[name] = as_collector(name, collector)
        refusals = {name: collector.refused_by for name, collector in own.collectors.items()}
        known = {*registries.runtimes, *registries.broken}
        check_refusals(self.document, ("define", "collectors"), refusals, known, self.problems)
        # What a wrong `define` was to bring is not unknown.
        raw = self.document.value.get("define")
        if "define" not in self.known and isinstance(raw, dict):
            for part in raw.values():
                registries.broken.update(part if isinstance(part, dict) else ())

    def unique(self, key: str, names: Sequence[str]) -> None:
        """Every name once in a list at the top."""
        for index, name in enumerate(names):
            if name in names[:index]:
                self.problem(self.item(key, index), "every name once", name, "remove one")

    def look_up(self, key: str, what: str, names: Sequence[str], table: dict[str, Any]) -> list[Any]:
        """The things that a list of names at the top means."""
        self.unique(key, names)
        found = []
        for index, name in enumerate(names):
            if name in table:
                found.append(table[name])
            elif name not in self.registries.broken:
                self.problems.append(unknown(self.document.where(self.item(key, index)), what, name, table))
        return found

    def hosts(self) -> list[Host]:
        """The hosts of the platforms, each in one platform only."""
        names = self.spec.platforms
        table = {name: (name, hosts) for name, hosts in self.registries.platforms.items()}
        found: dict[str, Host] = {}
        for platform, hosts in self.look_up("platforms", "a platform", names, table):
            for host in hosts:
                if host in found and found[host].platform != platform:
                    expected = f"platforms that share no host (`{host}` is in `{found[host].platform}` too)"
                    self.problem(
                        self.item("platforms", names.index(platform)), expected, platform, "remove one"
                    )
                found[host] = Host(host, platform)
        return list(found.values())

    def runtimes(self, benchmarks: list[Benchmark]) -> list[Runtime]:
        """The runtimes; `native` is added where native benchmarks need it."""
        names = self.spec.runtimes
        found: list[Runtime] = self.look_up("runtimes", "a runtime", names, self.registries.runtimes)
        if not benchmarks or self.chooser.incomplete or "benchmarks" in self.partial:
            return found
        kinds = {benchmark.kind for benchmark in benchmarks}
        for index, name in enumerate(names):
            runtime = self.registries.runtimes.get(name)
            if runtime is not None and runtime.kind not in kinds:
                expected = f"a runtime that a benchmark of the spec can use (this one is {runtime.kind}, they are not)"
                self.problem(
                    self.item("runtimes", index), expected, name, "remove it, or add such a benchmark"
                )
        usable = {runtime.kind for runtime in found}
        if (
            "java" in kinds
            and "java" not in usable
            and len(found) == len(names)
            and "runtimes" not in self.partial
        ):
            java = [name for name, runtime in self.registries.runtimes.items() if runtime.kind == "java"]
            listed = f"`runtimes: [{sorted(java)[-1]}]`" if java else ""
            self.problem(
                ("runtimes",), "a java runtime, because a benchmark of the spec needs it", names, listed
            )
        if "native" in kinds and "native" not in usable:
            found.append(self.registries.runtimes.get("native", NATIVE))
        return found

    def collectors(self, benchmarks: list[Benchmark]) -> list[Collector]:
        """The collectors; none without Java benchmarks, and the JVM's own choice when none is named."""
        found: list[Collector] = self.look_up(
            "collectors", "a collector", self.spec.collectors, self.registries.collectors
        )
        if not any(benchmark.kind == "java" for benchmark in benchmarks):
            return []
        return found if self.spec.collectors else [DEFAULT_COLLECTOR]

    def modifiers(self) -> list[tuple[Modifier, ...]]:
        """The sets of modifiers."""
        table = {
            name: Modifier(name, tuple(model.flags), dict(model.environment))
            for name, model in self.spec.modifiers.items()
        }
        sets = self.spec.modifier_sets
        if sets is None:
            return [(), *((modifier,) for modifier in table.values())]
        found: list[tuple[Modifier, ...]] = []
        seen: list[frozenset[str]] = []
        for index, names in enumerate(sets):
            place = self.item("modifier_sets", index)
            if len(set(names)) != len(names) or frozenset(names) in seen:
                self.problem(
                    place,
                    "every modifier once in a set, and every set once",
                    modifiers_label(names),
                    "remove one",
                )
            seen.append(frozenset(names))
            for position, name in enumerate(names):
                if name not in table and not {"modifiers"} & self.partial:
                    where = self.document.where((*place, position))
                    self.problems.append(unknown(where, "a key of `modifiers`", name, table))
            found.append(tuple(table[name] for name in names if name in table))
        return found

    def heaps(self, benchmarks: list[Benchmark]) -> list[Heap]:
        """The heap settings; none without Java benchmarks."""
        java = [benchmark for benchmark in benchmarks if benchmark.kind == "java"]
        if self.spec.heap is None:
            if java and "heap" not in self.partial:
                expected = "`heap`, because a benchmark of the spec is Java's"
                self.problem(("heap",), expected, None, "`heap: {factors: [1.5, 4]}`")
            return []
        found = [Heap(factor=float(factor)) for factor in self.factors()]
        found += [Heap(size_mib=int(size)) for size in self.sizes()]
        key = "factors" if self.spec.heap.factors is not None else "sizes_mib"
        for index, heap in enumerate(found):
            if heap in found[:index]:
                self.problem(
                    ("heap", key, index), "every value once", heap.factor or heap.size_mib, "remove one"
                )
        return found if java else []

    def factors(self) -> list[Decimal]:
        """The heap factors, exact."""
        given = self.spec.heap.factors if self.spec.heap else None
        return given.values() if isinstance(given, FactorRange) else list(given or ())

    def sizes(self) -> list[int]:
        """The heap sizes in MiB."""
        given = self.spec.heap.sizes_mib if self.spec.heap else None
        return given.values() if isinstance(given, SizeRange) else list(given or ())

    def one_of(self, path: KeyPath, key: str, name: Any, used: Iterable[Any]) -> None:
        """A name in `exclude` or `baseline` must be one that the spec uses."""
        names = [str(entry) for entry in used]
        if str(name) not in names:
            self.problems.append(
                unknown(self.document.where(path), f"one of the spec's {key}", str(name), names)
            )

    def set_name(self, path: KeyPath, names: Sequence[str], sets: list[tuple[Modifier, ...]]) -> str:
        """The label of the set that `names` means, in whatever order they come."""
        labels = {
            frozenset(m.name for m in entry): modifiers_label([m.name for m in entry]) for entry in sets
        }
        label = labels.get(frozenset(names))
        if label is None and not {"modifiers", "modifier_sets"} & self.partial:
            expected = "one of the spec's sets of modifiers"
            self.problems.append(
                unknown(self.document.where(path), expected, modifiers_label(names), labels.values())
            )
        return label or ""

    def baseline(
        self, runtimes: list[Runtime], collectors: list[Collector], sets: list[tuple[Modifier, ...]]
    ) -> Baseline:
        """The baseline, checked against what the spec uses."""
        given = self.spec.baseline
        if given.runtime is not None and "runtimes" not in self.partial:
            self.one_of(
                ("baseline", "runtime"),
                "runtimes",
                given.runtime,
                [*self.spec.runtimes, *(r.name for r in runtimes)],
            )
        if given.collector is not None and "collectors" not in self.partial:
            names = [*self.spec.collectors, *(c.name for c in collectors)]
            self.one_of(("baseline", "collector"), "collectors", given.collector, names)
        modifiers = None
        if given.modifiers is not None:
            modifiers = self.set_name(("baseline", "modifiers"), given.modifiers, sets)
        return Baseline(given.runtime, given.collector, modifiers)

    def excludes(
        self,
        benchmarks: list[Benchmark],
        runtimes: list[Runtime],
        collectors: list[Collector],
        sets: list[tuple[Modifier, ...]],
        heaps: list[Heap],
        hosts: list[Host],
    ) -> list[Exclude]:
        """The excludes; one that names benchmarks becomes one for each of their labels."""
        used: dict[str, Iterable[Any]] = {
            "runtime": [*self.spec.runtimes, *(r.name for r in runtimes)],
            "collector": [*self.spec.collectors, *(c.name for c in collectors)],
            "heap_mib": self.sizes(),
            "host": [h.name for h in hosts],
        }
        lists = {"runtime": "runtimes", "collector": "collectors", "heap_mib": "heap", "host": "platforms"}
        words = lists | {"heap_mib": "heap sizes", "host": "hosts"}
        found: list[Exclude] = []
        for index, given in enumerate(self.spec.exclude):
            path = self.item("exclude", index)
            for key, names in used.items():
                value = getattr(given, key)
                if value is not None and lists[key] not in self.partial:
                    self.one_of((*path, key), words[key], value, names)
            if (
                given.heap_factor is not None
                and "heap" not in self.partial
                and given.heap_factor not in self.factors()
            ):
                factors = [f"{factor.normalize():f}" for factor in self.factors()]
                self.one_of(
                    (*path, "heap_factor"), "heap factors", f"{given.heap_factor.normalize():f}", factors
                )
            label = None
            if given.modifiers is not None:
                label = self.set_name((*path, "modifiers"), given.modifiers, sets)
            for benchmark in self.excluded_benchmarks(given, path, benchmarks):
                found.append(
                    Exclude(
                        benchmark=benchmark,
                        runtime=given.runtime,
                        collector=given.collector,
                        modifiers=label,
                        heap_factor=None if given.heap_factor is None else float(given.heap_factor),
                        heap_mib=given.heap_mib,
                        host=given.host,
                    )
                )
        return found

    def excluded_benchmarks(
        self, given: ExcludeSpec, path: KeyPath, benchmarks: list[Benchmark]
    ) -> list[str | None]:
        """The labels that an exclude means; one None when it says nothing of benchmarks."""
        wanted = {"suite": given.suite, "name": given.benchmark, "size": given.size}
        named = {key: value for key, value in wanted.items() if value is not None}
        if not named:
            return [None]
        labels: list[str | None] = [
            b.label for b in benchmarks if all(getattr(b, key) == value for key, value in named.items())
        ]
        if labels or self.chooser.incomplete or "benchmarks" in self.partial:
            return labels
        before = len(self.problems)
        for key, value in named.items():
            shown_key = "benchmark" if key == "name" else key
            self.one_of((*path, shown_key), f"{shown_key}s", value, [getattr(b, key) for b in benchmarks])
        if len(self.problems) == before:
            self.problem(
                path, "a benchmark and size that the spec chooses together", " ".join(named.values())
            )
        return []
