"""The full crossing of an experiment on one host, without excluded and impossible cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from regatta.host.errors import Problem, SpecError
from regatta.host.values.cell import (
    NO_MODIFIERS,
    PLAN,
    Cell,
    CellRole,
    TrainingRun,
    cell_label,
    heap_label,
)
from regatta.host.values.commands import expand_command, named_files, template_values, values_of_roles
from regatta.host.values.digest import digest_of
from regatta.host.values.events import ABOUT_FILE, TRACE_FILE
from regatta.host.values.experiment import (
    ONLY_ZERO,
    USER_FILE,
    Benchmark,
    Collector,
    Exclude,
    Experiment,
    Heap,
    Modifier,
    Role,
    Runtime,
)
from regatta.host.values.isolation import CellIsolation
from regatta.host.values.levels import levels_of_cell, place_key
from regatta.host.values.resolved import File, ResolvedHost, ResolvedRuntime
from regatta.host.values.template import fill, placeholders

#: (benchmark label, runtime name) -> minheap in MiB
Minheaps = Mapping[tuple[str, str], int]

#: Increased when the meaning of the numbers in a record changes, so that old records are not reused.
IDENTITY_VERSION = 1


@dataclass
class Crossing:
    """The cells of a host in the order of the spec, and the omitted ones with reasons."""

    cells: list[Cell] = field(default_factory=list)
    #: Cells that cannot exist: (label, reason).
    impossible: list[tuple[str, str]] = field(default_factory=list)
    #: Number of cells that the spec excludes.
    excluded: int = 0


@dataclass(frozen=True)
class _Choice:
    """A point of the crossing before its command is built."""

    benchmark: Benchmark
    runtime: Runtime
    collector: Collector | None
    modifiers: tuple[Modifier, ...]
    heap: Heap | None

    @property
    def modifiers_name(self) -> str:
        return "+".join(m.name for m in self.modifiers) or NO_MODIFIERS

    @property
    def collector_name(self) -> str:
        return self.collector.name if self.collector else ""


def _choices(experiment: Experiment) -> Iterator[_Choice]:
    for benchmark in experiment.benchmarks:
        java = benchmark.kind == "java"
        collectors: tuple[Collector | None, ...] = (experiment.collectors or (None,)) if java else (None,)
        heaps: tuple[Heap | None, ...] = (experiment.heaps or (None,)) if java else (None,)
        for heap in heaps:
            for runtime in experiment.runtimes:
                if runtime.kind != benchmark.kind:
                    continue
                on_runtime = replace(benchmark, command=benchmark.command_on(runtime))
                for collector in collectors:
                    for modifiers in experiment.modifiers or ((),):
                        yield _Choice(on_runtime, runtime, collector, modifiers, heap)


def _matches(exclude: Exclude, choice: _Choice, heap_mib: int | None, host: str) -> bool:
    heap = choice.heap
    names = (
        choice.benchmark.label,
        choice.benchmark.name,
        f"{choice.benchmark.suite}/{choice.benchmark.name}",
    )
    return (
        (exclude.benchmark is None or exclude.benchmark in names)
        and exclude.runtime in (None, choice.runtime.name)
        and exclude.collector in (None, choice.collector_name)
        and exclude.modifiers in (None, choice.modifiers_name)
        and (exclude.heap_factor is None or (heap is not None and heap.factor == exclude.heap_factor))
        and exclude.heap_mib in (None, heap_mib)
        and exclude.host in (None, host)
    )


def _refusal(choice: _Choice, host: ResolvedHost) -> str:
    """Return why this cell cannot exist on the host; "" if it can."""
    runtime = choice.runtime
    if runtime.name not in host.runtimes:
        return host.missing_runtimes.get(runtime.name, "the runtime is not available on this host")
    if not choice.benchmark.command:
        return f"the benchmark has no command for the language {runtime.language or '(none given)'}"
    refused = host.refused_benchmarks.get(choice.benchmark.label, {}).get(runtime.name, "")
    if refused:
        return refused
    for member in host.members.values():
        refused = _refusal(choice, member)
        if refused:
            return f"{member.name}: {refused}" if len(host.members) > 1 else refused
    for modifier in choice.modifiers:
        refused = _modifier_refusal(modifier, choice, host)
        if refused:
            return f"{modifier.name}: {refused}"
    collector = choice.collector
    if collector is None:
        return ""
    if runtime.name in collector.refused_by:
        return collector.refused_by[runtime.name]
    return host.runtimes[runtime.name].collectors.get(collector.name, "not probed on this runtime")


def _outside(experiment: Experiment, choice: _Choice, host: ResolvedHost) -> str:
    """Return why the cell cannot run in its container; "" if it can, or without a container."""
    boxed = experiment.isolation_under(choice.modifiers).kind == "docker"
    if boxed and choice.benchmark.directory:
        return f"a container does not contain the directory {choice.benchmark.directory}: remove `directory`, or use no container"
    if boxed and (choice.benchmark.input or choice.benchmark.output):
        return "a container has its own standard streams: remove `input` and `output`, or use no container"
    if boxed and choice.runtime.kind == "program" and not host.runtimes[choice.runtime.name].root:
        return "a program of the host cannot run in a container: use another provider, or no isolation"
    return ""


def _modifier_refusal(modifier: Modifier, choice: _Choice, host: ResolvedHost) -> str:
    if choice.runtime.name in modifier.refused_by:
        return modifier.refused_by[choice.runtime.name]
    if modifier.events and any(m.events and m is not modifier for m in choice.modifiers):
        return "at most one recording of events; another modifier of the set also has one"
    if choice.benchmark.directory and (modifier.training or modifier.keep or modifier.events):
        return "its files are in the working directory, and the benchmark has another `directory`"
    if choice.benchmark.input and modifier.training:
        return "its training run has no standard input, and the benchmark has `input`"
    if choice.benchmark.roles and (
        modifier.training or modifier.keep or modifier.events or modifier.isolation or modifier.plans
    ):
        return "it is for one host, and the benchmark has roles"
    if choice.benchmark.kind == "native":
        return "its flags are for a JVM" if modifier.flags and not modifier.environment else ""
    if modifier.training and any(m.training and m is not modifier for m in choice.modifiers):
        return "at most one training run per command; another modifier of the set also has one"
    if modifier.plans:
        if any(m.plans and m is not modifier for m in choice.modifiers):
            return "at most one compilation plan per command; another modifier of the set also has one"
        if modifier.plan_key(choice.runtime.name) not in choice.benchmark.files:
            return f"no compilation plan in {modifier.plans}: make one with `regatta jit-plan`"
    return host.runtimes[choice.runtime.name].modifiers.get(modifier.name, "")


def heap_flags(heap_mib: int | str) -> tuple[str, str]:
    """Return the flags of a fixed heap size (MiB): resizing would add a difference between cells."""
    return f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m"


def cross(experiment: Experiment, host: ResolvedHost, minheaps: Minheaps) -> Crossing:
    """Return all cells of an experiment on a host.

    Args:
        experiment: the validated experiment.
        host: the resolved host.
        minheaps: required for every Java benchmark and runtime if heaps are factors.

    Raises:
        SpecError: a minheap is missing (with the command that measures it), or two cells are identical.
    """
    crossing = Crossing()
    seen: dict[str, Cell] = {}
    run_by: dict[tuple[object, ...], Cell] = {}
    compared: dict[tuple[object, ...], Cell] = {}
    #: cells that execute what a cell of another label does, and the labels with a cell that does not
    repeated: list[tuple[Cell, Cell]] = []
    has_own: set[str] = set()
    problems: dict[str, Problem] = {}
    for choice in _choices(experiment):
        refusal = _refusal(choice, host) or _outside(experiment, choice, host)
        factor = choice.heap.factor if choice.heap else None
        heap_mib: int | None = choice.heap.mib if choice.heap else None
        key = (choice.benchmark.label, choice.runtime.name)
        if factor is not None and key in minheaps:
            heap_mib = math.ceil(round(factor * minheaps[key], 6))
        if any(_matches(e, choice, heap_mib, host.name) for e in experiment.excludes):
            crossing.excluded += 1
            continue
        label = cell_label(
            choice.benchmark.label,
            choice.runtime.name,
            choice.collector_name,
            choice.modifiers_name,
            factor,
            heap_mib,
        )
        if refusal:
            crossing.impossible.append((label, refusal))
            continue
        if factor is not None and heap_mib is None:
            problems[" ".join(key)] = Problem(
                f"{experiment.spec_path}: heap.factors",
                f"a measured minheap of {key[0]} on {key[1]}",
                "missing",
                f"run `regatta minheap {experiment.spec_path}`",
            )
            continue
        cell, _ = _make(experiment, host, choice, heap_mib)
        executed = _executed(cell)
        place = place_key(levels_of_cell(cell), experiment.compare)
        first = run_by.setdefault(executed, cell)
        if first is cell:
            has_own.add(cell.benchmark.label)
        elif first.benchmark.label != cell.benchmark.label:
            repeated.append((first, cell))
        twin = seen.get(cell.cell_id) or compared.get((place, executed))
        if twin is None:
            seen[cell.cell_id] = compared[place, executed] = cell
            crossing.cells.append(cell)
        elif (
            twin.heap_factor != factor
            and twin.collector == cell.collector
            and twin.modifiers == cell.modifiers
        ):
            crossing.impossible.append((label, f"same heap as {heap_label(twin.heap_factor, heap_mib)}"))
        else:
            problems[cell.cell_id] = _identical(experiment, twin, cell)
    for first, cell in repeated:
        # Without an effect on one runtime, the same command is measured beside another runtime at each value.
        if cell.benchmark.label not in has_own:
            problems.setdefault(cell.cell_id, _identical(experiment, first, cell))
    if problems:
        raise SpecError(list(problems.values()))
    return crossing


def _identical(experiment: Experiment, one: Cell, other: Cell) -> Problem:
    return Problem(
        experiment.spec_path, "different alternatives", f"the same command for {one.label} and {other.label}",
        "remove one of them" if one.benchmark.chosen == other.benchmark.chosen
        else "use the parameter in this command, or `exclude` one of them",
    )  # fmt: skip


def _executed(cell: Cell) -> tuple[object, ...]:
    """Return what a cell executes, independent of the names and parameters that lead to it."""
    benchmark = cell.benchmark
    return (
        (
            benchmark.suite,
            benchmark.name,
            benchmark.adapter,
            tuple(sorted(benchmark.adapter_options.items())),
        ),
        (cell.runtime, cell.argv, cell.prepare, cell.check, cell.conclude, cell.training),
        (tuple(sorted(cell.environment.items())), tuple(sorted(cell.arrange.items()))),
        (benchmark.directory, cell.input, benchmark.output),
        (repr(cell.isolation), cell.events, repr([(role.host, role.argv) for role in cell.roles])),
    )


def only_cell(experiment: Experiment, host: ResolvedHost) -> tuple[Cell, dict[str, Any]]:
    """Return the only cell of an experiment without a heap, and the identity that its id is the digest of."""
    (choice,) = _choices(experiment)
    return _make(experiment, host, choice, None)


def _make(
    experiment: Experiment, host: ResolvedHost, choice: _Choice, heap_mib: int | None
) -> tuple[Cell, dict[str, Any]]:
    benchmark, runtime = choice.benchmark, host.runtimes[choice.runtime.name]
    plain = [
        *choice.runtime.flags,
        *(choice.collector.flags if choice.collector else ()),
        *(() if heap_mib is None else heap_flags(heap_mib)),
    ]
    flags = [*plain, *(flag for modifier in choice.modifiers for flag in modifier.flags)]
    plans = {m.name: USER_FILE + m.plan_key(choice.runtime.name) for m in choice.modifiers if m.plans}
    training = next((modifier.training for modifier in choice.modifiers if modifier.training), None)
    named = named_files(benchmark, host)
    values = template_values(experiment, benchmark, named) | values_of_roles(benchmark)
    commands = (benchmark.command, *benchmark.around)
    templates = [*benchmark.command, *benchmark.beside]
    used = {name: named[name] for t in templates for name in placeholders(t) if name in named}
    # Files next to a file that the user provides have no name in a template.
    used.update({name: file for name, file in named.items() if name.partition("/")[0] in used})
    used.update({name: named[name] for name in plans.values()})

    def flags_of(modifier: Modifier, flags: tuple[str, ...]) -> list[str]:
        plan = plans.get(modifier.name)
        return [flag.replace(PLAN, named[plan].path) for flag in flags] if plan else [*flags]

    given = [*plain, *(flag for modifier in choice.modifiers for flag in flags_of(modifier, modifier.flags))]

    def expand(command: tuple[str, ...], flags: list[str] = given) -> list[str]:
        return expand_command(command, runtime, flags, values, host)

    files = [*runtime.files, *used.values()]
    files += [host.programs[c[0]] for c in commands if c and c[0] in host.programs]
    isolation = _isolation(experiment, host, choice, runtime, files)
    # The digest of the image identifies the files inside it.
    files = [file for file in files if file.path not in isolation.programs]
    environment = {**benchmark.environment}
    for modifier in choice.modifiers:
        environment.update(modifier.environment)
    identity: dict[str, Any] = {
        "version": IDENTITY_VERSION,
        "benchmark": [benchmark.label, benchmark.command, benchmark.adapter, dict(benchmark.adapter_options)],
        "parameters": dict(benchmark.parameters),
        "check": [benchmark.check, dict(benchmark.arrange)],
        "expect": [benchmark.expect.digest, benchmark.expect.stdout_sha256, benchmark.expect.check_sha256],
        "files": sorted((n, file.sha256) for n, file in used.items() if file.path not in isolation.programs),
        "programs": sorted(f.sha256 for f in files),
        "runtime": runtime.identity,
        "flags": flags,
        "environment": [environment, dict(host.environment)],
        "padding": experiment.environment.padding_bytes,
        "iterations": experiment.steady.iterations,
        "seed": experiment.seed,
        "limits": vars(experiment.rlimits),
        "cores": vars(host.cores),
        "host_class": host.host_class,
        # A kernel update during an experiment makes different cells, so that no comparison spans it.
        "host_fingerprint": dict(host.fingerprint),
    }
    if choice.runtime.aa:
        identity["aa"] = choice.runtime.name
    paths = _paths_of_user(host, benchmark.programs)
    if paths and not isolation.programs:
        identity["paths"] = paths
    if isolation.identity():
        identity["isolation"] = isolation.identity()
    if benchmark.expect.exit_codes != ONLY_ZERO:
        identity["exit_codes"] = benchmark.expect.exit_codes
    if benchmark.prepare:
        identity["prepare"] = benchmark.prepare
    if benchmark.conclude:
        identity["conclude"] = benchmark.conclude
    if benchmark.input or benchmark.output:
        identity["streams"] = [benchmark.input, benchmark.output]
    if benchmark.directory:
        identity["directory"] = benchmark.directory
    roles = tuple(_role(experiment, host, choice, role, given) for role in benchmark.roles)
    if roles:
        identity["roles"] = [
            [given.command, given.ready and vars(given.ready), *_role_identity(host, role, runtime.name)]
            for given, role in zip(benchmark.roles, roles, strict=True)
        ]
        # Each role has its own.
        files = []
    counters = experiment.counters | benchmark.counters
    if counters:
        identity["counters"] = counters.to_json()
    events = next((modifier.events for modifier in choice.modifiers if modifier.events), None)
    recorded: tuple[str, ...] = ()
    if events is not None:
        identity["events"] = events.to_json()
        recorded = (TRACE_FILE, ABOUT_FILE)
    run = None
    if training is not None:
        # The command identifies the file, because two runs of a command produce different bytes.
        identity["training"] = [training.flags, training.output]
        own = (flags_of(m, m.training.flags if m.training else m.flags) for m in choice.modifiers)
        trained = [*plain, *(flag for each in own for flag in each)]
        run = TrainingRun(tuple(expand(benchmark.command, trained)), training.output)
    cell = Cell(
        cell_id=digest_of(identity),
        host=host.name,
        platform=host.platform,
        benchmark=benchmark,
        runtime=choice.runtime.name,
        collector=choice.collector_name,
        modifiers=choice.modifiers_name,
        heap_factor=choice.heap.factor if choice.heap else None,
        heap_mib=heap_mib,
        argv=roles[-1].argv if roles else tuple(expand(benchmark.command)),
        environment=environment,
        arrange={name: fill(source, values) for name, source in benchmark.arrange.items()},
        prepare=tuple(expand(benchmark.prepare)),
        check=tuple(expand(benchmark.check)),
        conclude=tuple(expand(benchmark.conclude)),
        input=fill(benchmark.input, values),
        files=tuple(_unique(files)),
        keep=tuple(
            dict.fromkeys([*benchmark.keep, *(f for m in choice.modifiers for f in m.keep), *recorded])
        ),
        events=events,
        counters=counters,
        training=run,
        roles=roles,
        isolation=isolation,
    )
    return cell, identity


def _role_identity(host: ResolvedHost, role: CellRole, runtime: str) -> list[object]:
    on = host.members[role.host]
    files = sorted(file.sha256 for file in role.files)
    # Hosts of one class are connected differently.
    place = [role.host, on.address, on.host_class, vars(on.cores)]
    paths = [path for path in _paths_of_user(on, tuple(on.programs)) if path in role.argv[:1]]
    return [role.name, place, on.runtimes[runtime].identity, dict(role.environment), files, *paths]


def _paths_of_user(host: ResolvedHost, names: Sequence[str]) -> list[str]:
    """Return the paths of named programs that only PATH of the user has: of two virtual environments with one interpreter, say.

    They are part of the identity, because the packages of such environments differ.
    """
    folders = host.environment.get("PATH", "").split(":")
    found = {host.programs[name].path for name in names if name in host.programs and "/" not in name}
    return sorted(path for path in found if path.rpartition("/")[0] not in folders)


def _role(
    experiment: Experiment, host: ResolvedHost, choice: _Choice, role: Role, given: Sequence[str]
) -> CellRole:
    """Return a role of a cell on its host. `given`: flags of the configuration, for the first role."""
    on = host.members[role.host]
    benchmark = choice.benchmark
    runtime = on.runtimes[choice.runtime.name]
    named = named_files(benchmark, on)
    values = template_values(experiment, benchmark, named) | values_of_roles(benchmark)
    is_first = role == benchmark.roles[0]
    environment = {**on.environment, **benchmark.environment}
    if is_first:
        for modifier in choice.modifiers:
            environment.update(modifier.environment)
    names = {name for argument in role.command for name in placeholders(argument)}
    files = [
        *(runtime.files if "runtime" in names else ()),
        # Files next to a file that the user provides have no name in a template.
        *(named[name] for name in sorted(named) if name in names or name.partition("/")[0] in names),
        *([on.programs[role.command[0]]] if role.command[0] in on.programs else []),
    ]
    ready = role.ready and replace(role.ready, port=fill(role.ready.port, values))
    argv = expand_command(role.command, runtime, given if is_first else (), values, on)
    return CellRole(role.name, role.host, tuple(argv), environment, tuple(_unique(files)), ready)


def _isolation(
    experiment: Experiment,
    host: ResolvedHost,
    choice: _Choice,
    runtime: ResolvedRuntime,
    files: Sequence[File],
) -> CellIsolation:
    """Return the isolation of a cell that needs these files.

    Raises:
        SpecError: its image was not resolved.
    """
    wanted = experiment.isolation_under(choice.modifiers)
    if wanted.kind != "docker":
        return CellIsolation(
            wanted.kind,
            memory_mib=wanted.memory_mib,
            processors=wanted.processors,
            cpu_quota=wanted.cpu_quota,
        )
    image = wanted.image_of(choice.runtime.name, choice.runtime.image)
    if image not in host.images:
        raise SpecError(
            [
                Problem(
                    f"host {host.name}", f"Docker image {image}", "missing", "build it, or use another image"
                )
            ]
        )
    # A program with a folder in its name is copied to the host like other files; it is not a system program.
    on_path = {file.path for name, file in host.programs.items() if "/" not in name}
    return CellIsolation(
        "docker",
        image,
        host.images[image],
        wanted.network,
        wanted.memory_mib,
        tuple(sorted({file.path for file in files if file.path in on_path})),
        (runtime.root,) if runtime.root else (),
        wanted.processors,
        wanted.cpu_quota,
        wanted.capabilities,
    )


def _unique(files: list[File]) -> list[File]:
    return list({file.path: file for file in files}.values())
