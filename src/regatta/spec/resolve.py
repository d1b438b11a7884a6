"""Resolve the names in a spec, and assemble the experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regatta.host.errors import Problem
from regatta.host.journal.stopping import UNTIL_DECIDED
from regatta.host.values.counters import METRICS, higher_is_better
from regatta.host.values.experiment import (
    Benchmark,
    Better,
    CapacityTarget,
    Collector,
    Cores,
    Experiment,
    Heap,
    KeptMinheaps,
    Modifier,
    PerturbationLimits,
    Predicted,
    ProcessEnvironment,
    Rlimits,
    Runtime,
    SteadyMethod,
    SteadyState,
    Stopping,
    UserFile,
    plan_path,
)
from regatta.host.values.host import Host
from regatta.host.values.levels import PARAMETERS, label_without
from regatta.host.values.plan_cell import PROCESS_ELAPSED
from regatta.spec.adapter_options import reportable
from regatta.spec.chooser import Chooser
from regatta.spec.duet import check_duet
from regatta.spec.heap_schema import factors, sizes_mib
from regatta.spec.minheaps import kept_minheaps
from regatta.spec.plan_size import check_plan_size
from regatta.spec.predict_schema import read_predicted
from regatta.spec.problems import Reporter, found_at, shown
from regatta.spec.registries import (
    Registries,
    as_collector,
    as_counters,
    as_isolation,
    as_modifier,
    as_runtime,
    check_refusals,
)
from regatta.spec.roles import RolePlacer
from regatta.spec.selections import Selector, Used, modifiers_label
from regatta.spec.spec_schema import Spec
from regatta.spec.yaml_lines import Document, KeyPath

#: the collector if the spec names none and the JVM chooses
DEFAULT_COLLECTOR = Collector("default", ())
NATIVE = Runtime("native", "native", "none")


#: rounds of a segment after which hosts decide together, if the spec has no segment
_ROUNDS_TOGETHER = 5
#: metrics of which less is better for any program
_COSTS = ("elapsed", PROCESS_ELAPSED, "user", "system", "max_rss")


def _with_startup(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with the time of the process in place of that of its first iteration."""
    timed_inside = benchmark.kind != "native" and benchmark.adapter != "process"
    return (
        _comparing(benchmark, PROCESS_ELAPSED, "lower")
        if timed_inside and benchmark.metric == "elapsed"
        else benchmark
    )


def _comparing(benchmark: Benchmark, metric: str, better: Better) -> Benchmark:
    """Return the benchmark with another metric. A minimum or maximum is chosen for the suite's own metric."""
    if metric == benchmark.metric:
        return replace(benchmark, better=better)
    keeps = benchmark.summary == "median" and metric != PROCESS_ELAPSED
    return replace(benchmark, metric=metric, better=better, summary="median" if keeps else "mean")


class Resolver(Reporter):
    """Resolves one spec to an experiment; every unresolved reference becomes a problem.

    `known` holds the valid keys of the user: other keys are not checked. `indices` has the original
    indices of entries of lists that lost invalid entries.
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
        super().__init__(document, problems)
        self.spec = spec
        self.known = known
        self.indices = indices
        self.registries = registries
        self.home = home
        self.path = path
        #: relative paths of the spec start from it
        self.folder = path.parent / spec.paths_from
        #: lists of the user that cannot be checked, because a part of them is invalid
        self.partial = set(document.value) - known | set(indices)
        self.chooser = Chooser(document, spec, self.item, home, self.folder, problems)
        self.roles = RolePlacer(document, spec, self.known, registries.platforms, problems)

    def item(self, key: str, index: int) -> KeyPath:
        """Return the path of an entry of a top-level list, or of the key if one value replaces the list."""
        if not isinstance(self.document.value.get(key), list):
            return (key,)
        places = self.indices.get(key)
        return (key, places[index] if places else index)

    def problem(self, path: KeyPath, expected: str, got: Any, fix: str = "") -> None:
        """Add a problem at a path of the spec."""
        self.report(path, expected, found_at(self.document, path, got), fix)

    def experiment(self) -> Experiment | None:
        """Return the experiment, or None if there is a problem."""
        spec = self.spec
        self.define()
        benchmarks = self.chooser.benchmarks() if "benchmarks" in self.known else []
        hosts = [] if spec.roles else self.hosts()
        benchmarks, hosts = self.roles.placed(benchmarks, hosts)
        canary = self.canary(benchmarks)
        runtimes = self.runtimes(benchmarks)
        if canary is not None and not any(runtime.kind == "native" for runtime in runtimes):
            runtimes.append(self.registries.runtimes.get("native", NATIVE))
        collectors = self.collectors(benchmarks)
        modifiers = self.modifiers()
        heaps = self.heaps(benchmarks)
        self.unique("compare", spec.compare)
        incomplete = self.chooser.incomplete or "benchmarks" in self.partial
        used = Used(
            benchmarks=None if incomplete else benchmarks,
            modifiers=None if self.partial & {"modifiers", "modifier_sets"} else modifiers,
            runtimes=self.names("runtimes", spec.runtimes, runtimes),
            collectors=self.names("collectors", spec.collectors, collectors),
            hosts=self.names("platforms", (), hosts),
            platforms=None if "platforms" in self.partial else spec.platforms,
            heap_factors=None if "heap" in self.partial else factors(spec.heap),
            heap_sizes_mib=None if "heap" in self.partial else sizes_mib(spec.heap),
        )
        selector = Selector(self.document, used, self.problems)
        excludes = [
            e for i, x in enumerate(spec.exclude) for e in selector.exclude(x, self.item("exclude", i))
        ]
        selector.compared_parameters(spec.compare, self.item)
        baseline = selector.baseline(spec.baseline, spec.compare)
        self.images(runtimes)
        stopping = self.stopping(benchmarks)
        method = spec.iterations.method or self.usual_method(benchmarks)
        self.summaries(benchmarks, method)
        benchmarks = self.metrics(benchmarks, method)
        capacity = self.capacity(benchmarks)
        kept = self.kept_minheaps(benchmarks, heaps)
        predicted = self.predicted()
        if self.problems:
            return None
        benchmarks = [with_plans(benchmark, runtimes, modifiers) for benchmark in benchmarks]
        if canary is not None:
            benchmarks.append(canary)
        warmup = max(1, spec.iterations.warmup) if method == "replay" else spec.iterations.warmup
        experiment = Experiment(
            name=spec.name,
            question=spec.question,
            spec_path=str(self.path),
            # Without the key, a folder that moves with its spec needs no new plan.
            folder="" if spec.paths_from == "." else str(self.folder.absolute()),
            hosts=tuple(hosts),
            runtimes=tuple(runtimes),
            collectors=tuple(collectors),
            modifiers=tuple(modifiers),
            heaps=tuple(heaps),
            benchmarks=tuple(benchmarks),
            invocations=(stopping.most or stopping.maximum) if stopping else spec.invocations.fixed or 0,
            steady=SteadyState(
                method,
                spec.iterations.count,
                warmup,
                spec.iterations.window,
                float(spec.iterations.threshold_percent) / 100.0,
            ),
            order=spec.order,
            stopping=stopping,
            seed=int(spec.seed),
            compare=tuple(spec.compare),
            rounds_per_segment=self.rounds_per_segment(stopping),
            timeout_s=float(spec.timeout_s),
            output_kib=spec.output_kib,
            give_up_after=spec.give_up_after,
            cores=Cores(spec.cores.use, tuple(spec.cores.cpus), spec.cores.housekeeping, spec.cores.count),
            limits=PerturbationLimits(**spec.perturbation.model_dump()),
            environment=ProcessEnvironment(
                tuple(spec.environment.allow), dict(spec.environment.set), spec.environment.padding_bytes
            ),
            rlimits=Rlimits(**spec.limits.model_dump()),
            excludes=tuple(excludes),
            baseline=baseline,
            aa=spec.aa,
            minheap_passes=spec.minheap.passes,
            kept_minheaps=kept,
            level=float(spec.level),
            theta_percent=self.theta_percent(),
            capacity=capacity,
            predicted=predicted,
            results_directory=spec.results.directory,
            labels=dict(spec.labels),
            isolation=as_isolation(spec.isolation),
            counters=as_counters(spec.counters),
            discarded=spec.invocations.discarded,
            canary=canary.label if canary else "",
        )
        self.problems += check_plan_size(experiment, self.document)
        self.problems += check_duet(experiment, self.document)
        return experiment

    def canary(self, benchmarks: Sequence[Benchmark]) -> Benchmark | None:
        """Return the frozen program, which needs rounds in time and hosts that measure alone; None: none."""
        if self.spec.canary is None:
            return None
        if self.spec.order == "back-to-back":
            fix = "write `order: randomized-blocks`"
            self.problem(("order",), "an order with rounds, because of `canary`", "back-to-back", fix)
        if any(benchmark.roles for benchmark in benchmarks):
            expected = "no `canary` with benchmarks that several hosts execute together"
            self.problem(("canary",), expected, "one", "remove it")
        return self.chooser.canary(benchmarks)

    def stopping(self, benchmarks: Sequence[Benchmark]) -> Stopping | None:
        """Return the stopping rule; None for a fixed number of rounds."""
        invocations = self.spec.invocations
        adaptive, decide = invocations.adaptive, invocations.decide
        if not (adaptive or decide or invocations.each_counter or invocations.seconds):
            return None
        if self.spec.order == "back-to-back":
            self.problem(
                ("order",),
                "an order with rounds, because each host decides how many it needs",
                "back-to-back",
                "write `randomized-blocks`, or `invocations: {fixed: 30}`",
            )
        seconds, maximum = invocations.seconds, invocations.maximum
        if decide is not None:
            return Stopping(
                UNTIL_DECIDED,
                decide.pilot,
                decide.maximum,
                float(decide.relevance_percent),
                seconds=None if seconds is None else float(seconds),
                budget_s=decide.budget_s,
                most=maximum,
                together=True if decide.hosts == "together" else None,
            )
        if seconds is not None and maximum is not None:
            fixed = invocations.fixed or 0
            return Stopping("seconds", fixed, maximum, seconds=float(seconds)) if maximum > fixed else None
        if adaptive is None:
            return self.rounds_of_counters(invocations.fixed or 0, invocations.each_counter or 0, benchmarks)
        return Stopping(adaptive.rule, adaptive.pilot, adaptive.maximum, float(adaptive.target_percent))

    def rounds_per_segment(self, stopping: Stopping | None) -> int:
        """Return the rounds of a segment: fewer than usual where the hosts decide together after each."""
        if stopping is None or not stopping.together or "segment" in self.spec.model_fields_set:
            return self.spec.segment.rounds
        return _ROUNDS_TOGETHER

    def theta_percent(self) -> float:
        """Return the smallest difference of practical interest: that of `decide`, unless the spec has its own."""
        decide = self.spec.invocations.decide
        if decide is None or "theta_percent" in self.spec.model_fields_set:
            return float(self.spec.theta_percent)
        return float(decide.relevance_percent)

    def rounds_of_counters(self, fixed: int, each: int, benchmarks: Sequence[Benchmark]) -> Stopping | None:
        """Return the rule that counts each group of counters in `each` rounds; None if `fixed` suffices."""
        ours = as_counters(self.spec.counters)
        groups = max(((ours | benchmark.counters).most_groups for benchmark in benchmarks), default=0)
        if benchmarks and not groups:
            self.problem(
                ("invocations", "each_counter"),
                "`counters` of the processor, such as `instructions`",
                each,
                "add some to `counters`, or remove `each_counter`",
            )
        maximum = each * groups
        return Stopping("counters", fixed, maximum, each_counter=each) if maximum > fixed else None

    def usual_method(self, benchmarks: list[Benchmark]) -> SteadyMethod:
        """Return `startup` for a single iteration, else `fixed`. A suite with a summary has several."""
        several = self.spec.iterations.count > 1 or any(one.summary != "mean" for one in benchmarks)
        return "fixed" if several else "startup"

    def summaries(self, benchmarks: list[Benchmark], method: SteadyMethod) -> None:
        """Check summaries: only `fixed` supports others than the mean."""
        others = [benchmark for benchmark in benchmarks if benchmark.summary != "mean"]
        if not others or method == "fixed" or "iterations" in self.partial:
            return
        first = others[0]
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        self.problem(
            ("iterations", "method"),
            f"`method: fixed`, because the suite uses the {first.summary} of the repetitions for "
            f"{first.label}{more}",
            method,
            "write `iterations: {method: fixed}`",
        )

    def metrics(self, benchmarks: list[Benchmark], method: SteadyMethod) -> list[Benchmark]:
        """Return the benchmarks with the compared metric: that of the spec, else their own.

        With `startup`, the elapsed time of a program on a runtime is that of the process. The first iteration
        that a harness times follows the start of the runtime and the set-up of the harness.
        """
        given = self.spec.metric
        if given is None:
            return [_with_startup(b) if method == "startup" else b for b in benchmarks]
        without = [b for b in benchmarks if (known := reportable(b)) is not None and given.name not in known]
        if without:
            first = without[0]
            more = f" (and of {len(without) - 1} more)" if len(without) > 1 else ""
            what = f"a metric of {first.label}{more}"
            self.report_unknown(("metric",), what, given.name, reportable(first) or ())
        if (
            given.name == PROCESS_ELAPSED
            and method not in ("startup", "fixed")
            and "iterations" not in self.partial
        ):
            expected = (
                f"`method: startup` or `fixed` with `metric: {PROCESS_ELAPSED}`, which has no iterations"
            )
            self.problem(("iterations", "method"), expected, method, "write `iterations: {method: startup}`")
        better = given.better or ("lower" if without else self.better_way(given.name, benchmarks))
        return [_comparing(b, given.name, better) for b in benchmarks]

    def better_way(self, metric: str, benchmarks: list[Benchmark]) -> Better:
        """Return whether lower or higher values of a metric are better, from suites that compare it."""
        known = {b.better for b in benchmarks if b.metric == metric}
        if len(known) == 1:
            return known.pop()
        if metric in METRICS:
            return "higher" if higher_is_better(metric) else "lower"
        if metric not in _COSTS:
            self.problem(
                ("metric",),
                "`better`, because no suite of the spec compares this metric",
                metric,
                f"write `metric: {{name: {metric}, better: higher}}`, or `lower`",
            )
        return "lower"

    def capacity(self, benchmarks: Sequence[Benchmark]) -> tuple[CapacityTarget, ...]:
        """Return the targets whose highest load is wanted, and check their loads and metrics."""
        targets: list[CapacityTarget] = []
        for index, given in enumerate(self.spec.capacity):
            target = CapacityTarget(
                given.parameter, given.metric, float(given.at_most), given.unit, dict(given.parameters)
            )
            if target in targets:
                self.problem(self.item("capacity", index), "unique targets", "a duplicate", "remove it")
            targets.append(target)
            if not self.chooser.incomplete and "benchmarks" not in self.partial:
                self.loads(target, self.item("capacity", index), benchmarks)
        return tuple(targets)

    def loads(self, target: CapacityTarget, path: KeyPath, benchmarks: Sequence[Benchmark]) -> None:
        """Check that benchmarks are measured at several loads, and that they can report the metric."""
        name = target.parameter
        loaded = [benchmark for benchmark in benchmarks if name in benchmark.chosen]
        place = (*path, "parameter")
        if not loaded:
            known = {parameter for benchmark in benchmarks for parameter in benchmark.chosen}
            self.report_unknown(place, "a parameter that `benchmarks` in the spec sets", name, known)
            return
        values = [benchmark.chosen[name] for benchmark in loaded]
        wrong = [value for value in values if isinstance(value, bool | str) or value <= 0]
        if wrong:
            expected = f"positive numbers as values of `{name}`, which is the load"
            self.report(place, expected, shown(wrong[0]), "remove this value")
        alike = Counter(label_without(benchmark.label, [PARAMETERS + name]) for benchmark in loaded)
        if max(alike.values()) < 2:
            expected = f"a parameter with two or more values (`{name}` is the load)"
            got = f"one value, {shown(values[0])}"
            self.report(place, expected, got, f"write `parameters: {{{name}: [1, 2, 4]}}`")
        reported = [reportable(benchmark) for benchmark in loaded]
        if all(known is not None and target.metric not in known for known in reported):
            what = f"a metric of {loaded[0].label}"
            self.report_unknown((*path, "metric"), what, target.metric, reported[0] or ())

    def define(self) -> None:
        """Add the spec's runtimes and collectors to the registries."""
        registries = self.registries
        own = self.spec.define
        self.new_names(("define", "runtimes"), own.runtimes, registries.runtimes)
        self.new_names(("define", "collectors"), own.collectors, registries.collectors)
        for name, runtime in own.runtimes.items():
            registries.runtimes[name] = as_runtime(name, runtime, self.folder)
        for name, collector in own.collectors.items():
            registries.collectors[name] = as_collector(name, collector)
        check_refusals(self.document, ("define", "collectors"), own.collectors, registries, self.problems)
        # Names from an invalid `define` are not unknown.
        raw = self.document.value.get("define")
        if "define" not in self.known and isinstance(raw, dict):
            for part in raw.values():
                registries.broken.update(part if isinstance(part, dict) else ())

    def new_names(
        self, path: KeyPath, own: Iterable[str], there: Container[str], fix: str = "rename it"
    ) -> None:
        """Check that definitions of a spec do not redefine names of the registry."""
        for name in own:
            if name in there:
                self.problem((*path, name), f"a name not defined in configs/{path[-1]}.yml", name, fix)

    def names(self, key: str, given: Sequence[str], found: Sequence[Any]) -> list[str] | None:
        """Return the names in the list of a key, including unknown ones; None if a part of it is invalid."""
        return (
            None if key in self.partial else list(dict.fromkeys([*given, *(entry.name for entry in found)]))
        )

    def unique(self, key: str, names: Sequence[str]) -> None:
        """Check that names in a top-level list are unique."""
        for index, name in enumerate(names):
            if name in names[:index]:
                self.problem(self.item(key, index), "unique names", name, "remove one")

    def look_up(self, key: str, what: str, names: Sequence[str], table: dict[str, Any]) -> list[Any]:
        """Return the objects for a top-level list of names."""
        self.unique(key, names)
        found = []
        for index, name in enumerate(names):
            if name in table:
                found.append(table[name])
            elif name not in self.registries.broken:
                self.report_unknown(self.item(key, index), what, name, table)
        return found

    def hosts(self) -> list[Host]:
        """Return the hosts of the platforms, each in one platform only."""
        names = self.spec.platforms
        table = {name: (name, hosts) for name, hosts in self.registries.platforms.items()}
        found: dict[str, Host] = {}
        for platform, hosts in self.look_up("platforms", "a platform", names, table):
            for host in hosts:
                if host.name in found and found[host.name].platform != platform:
                    other = found[host.name].platform
                    expected = f"platforms without common hosts (`{host.name}` is also in `{other}`)"
                    self.problem(
                        self.item("platforms", names.index(platform)), expected, platform, "remove one"
                    )
                found[host.name] = host
        return list(found.values())

    def runtimes(self, benchmarks: list[Benchmark]) -> list[Runtime]:
        """Return the runtimes, with `native` if native benchmarks need it."""
        names = self.spec.runtimes
        found: list[Runtime] = self.look_up("runtimes", "a runtime", names, self.registries.runtimes)
        if not benchmarks or self.chooser.incomplete or "benchmarks" in self.partial:
            return found
        kinds = {benchmark.kind for benchmark in benchmarks}
        for index, name in enumerate(names):
            runtime = self.registries.runtimes.get(name)
            if runtime is not None and not any(
                benchmark.kind == runtime.kind and benchmark.command_on(runtime) for benchmark in benchmarks
            ):
                language = (
                    f"`language: {runtime.language}`" if runtime.language else "a command without `language`"
                )
                needed = language if runtime.kind in kinds else f"`kind: {runtime.kind}`"
                expected = f"a runtime for a benchmark of the spec (no benchmark has {needed})"
                self.problem(
                    self.item("runtimes", index), expected, name, "remove it, or add such a benchmark"
                )
        usable = {runtime.kind for runtime in found}
        whole = len(found) == len(names) and "runtimes" not in self.partial
        for kind in sorted(kinds - usable - {"native"}) if whole else ():
            known = [name for name, runtime in self.registries.runtimes.items() if runtime.kind == kind]
            listed = f"write `runtimes: [{max(known)}]`" if known else ""
            expected = f"a runtime of kind {kind}, because a benchmark has `kind: {kind}`"
            self.problem(("runtimes",), expected, names, listed)
        if "native" in kinds and "native" not in usable:
            found.append(self.registries.runtimes.get("native", NATIVE))
        return found

    def collectors(self, benchmarks: list[Benchmark]) -> list[Collector]:
        """Return the collectors: none without Java benchmarks, the JVM's default if the spec names none."""
        found: list[Collector] = self.look_up(
            "collectors", "a collector", self.spec.collectors, self.registries.collectors
        )
        if not any(benchmark.kind == "java" for benchmark in benchmarks):
            return []
        return found if self.spec.collectors else [DEFAULT_COLLECTOR]

    def images(self, runtimes: list[Runtime]) -> None:
        """Check that images belong to runtimes of the spec."""
        if self.partial & {"runtimes", "benchmarks", "isolation", "modifiers"}:
            return
        used = [runtime.name for runtime in runtimes]
        places: list[tuple[KeyPath, Sequence[str]]] = [(("isolation",), list(self.spec.isolation.images))]
        for name, modifier in self.spec.modifiers.items():
            if modifier.isolation is not None:
                places.append((("modifiers", name, "isolation"), list(modifier.isolation.images)))
        for path, names in places:
            for name in names:
                if name not in used:
                    self.report_unknown((*path, "images", name), "a runtime of this spec", name, used)

    def modifiers(self) -> list[tuple[Modifier, ...]]:
        """Return the sets of modifiers."""
        own = {name: as_modifier(name, model, self.folder) for name, model in self.spec.modifiers.items()}
        registries = self.registries
        self.new_names(("modifiers",), own, registries.modifiers, "rename it, or use the registered modifier")
        check_refusals(self.document, ("modifiers",), self.spec.modifiers, registries, self.problems)
        sets = self.spec.modifier_sets
        if sets is None:
            return [(), *((modifier,) for modifier in own.values())]
        table = registries.modifiers | own
        found: list[tuple[Modifier, ...]] = []
        seen: list[frozenset[str]] = []
        for index, names in enumerate(sets):
            place = self.item("modifier_sets", index)
            if len(set(names)) != len(names) or frozenset(names) in seen:
                self.problem(
                    place,
                    "unique modifiers in a set and unique sets",
                    modifiers_label(names),
                    "remove one",
                )
            seen.append(frozenset(names))
            for position, name in enumerate(names):
                if name not in {*table, *registries.broken} and "modifiers" not in self.partial:
                    self.report_unknown((*place, position), "a modifier", name, table)
            found.append(tuple(table[name] for name in names if name in table))
        return found

    def kept_minheaps(self, benchmarks: list[Benchmark], heaps: list[Heap]) -> KeptMinheaps | None:
        """Return the kept minheaps if the spec requests them; None if they are measured or not needed."""
        wanted = self.spec.minheap.source == "kept" and "minheap" not in self.partial
        if not wanted or not any(heap.factor is not None for heap in heaps):
            return None
        where = self.document.where(("minheap", "source"))
        return kept_minheaps(self.home, benchmarks, where, self.problems)

    def predicted(self) -> Predicted | None:
        """Return what is predicted from measured primitives."""
        if self.spec.predict is None or "predict" in self.partial:
            return None

        def where(path: KeyPath) -> str:
            return self.document.where(("predict", *path))

        return read_predicted(self.spec.predict, self.home, self.folder, where, self.problems)

    def heaps(self, benchmarks: list[Benchmark]) -> list[Heap]:
        """Return the heap settings; none without Java benchmarks."""
        java = [benchmark for benchmark in benchmarks if benchmark.kind == "java"]
        if self.spec.heap is None:
            if java and "heap" not in self.partial:
                expected = "`heap`, because a benchmark has `kind: java`"
                self.problem(("heap",), expected, None, "add `heap: {factors: [1.5, 4]}`")
            return []
        found = [Heap(factor=float(factor)) for factor in factors(self.spec.heap)]
        found += [Heap(mib=int(size)) for size in sizes_mib(self.spec.heap)]
        key = "factors" if self.spec.heap.factors is not None else "sizes_mib"
        for index, heap in enumerate(found):
            if heap in found[:index]:
                self.problem(("heap", key, index), "unique values", heap.factor or heap.mib, "remove one")
        return found if java else []


def with_plans(
    benchmark: Benchmark, runtimes: Sequence[Runtime], modifiers: Sequence[tuple[Modifier, ...]]
) -> Benchmark:
    """Return a benchmark with its compilation plans as user files: those that exist."""
    found = {}
    planned = {modifier.name: modifier for chosen in modifiers for modifier in chosen if modifier.plans}
    for modifier in planned.values():
        for runtime in runtimes:
            path = Path(modifier.plans) / plan_path(benchmark.label, runtime.name)
            if path.is_file():
                found[modifier.plan_key(runtime.name)] = UserFile(str(path), "regatta jit-plan")
    return replace(benchmark, files={**benchmark.files, **found}) if found else benchmark
