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
    DUET,
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
    #: neither factor nor size: no heap
    heap: Heap

    @property
    def label(self) -> str:
        return cell_label(
            self.benchmark.label, self.runtime.name, self.collector_name, self.modifiers_name, self.heap
        )

    @property
    def modifiers_name(self) -> str:
        return "+".join(m.name for m in self.modifiers) or NO_MODIFIERS

    @property
    def collector_name(self) -> str:
        return self.collector.name if self.collector else ""

    def sized(self, minheaps: Minheaps) -> _Choice:
        """Return the choice with the size of its heap, if that is a factor of a known minheap."""
        minheap_mib = minheaps.get((self.benchmark.label, self.runtime.name))
        factor = self.heap.factor
        if factor is None or minheap_mib is None:
            return self
        return replace(self, heap=Heap(factor, math.ceil(round(factor * minheap_mib, 6))))

    def plan_of(self, modifier: Modifier) -> str:
        """Return the name of the modifier's compilation plan in templates; "" if it has none."""
        return USER_FILE + modifier.plan_key(self.runtime.name) if modifier.plans else ""

    def flags(self, files: Mapping[str, File] | None = None, *, training: bool = False) -> list[str]:
        """Return the flags of runtime, collector, heap and modifiers.

        Args:
            files: by name; paths of compilation plans replace their placeholders. None: those stay.
            training: whether they are those of the training run.
        """
        flags = [*self.runtime.flags, *(self.collector.flags if self.collector else ())]
        if self.heap.mib is not None:
            flags += heap_flags(self.heap.mib)
        for modifier in self.modifiers:
            own = modifier.training.flags if training and modifier.training else modifier.flags
            if files is not None and modifier.plans:
                path = files[self.plan_of(modifier)].path
                flags += [flag.replace(PLAN, path) for flag in own]
            else:
                flags += own
        return flags

    def environment(self, *before: Mapping[str, str]) -> dict[str, str]:
        """Return these variables and then those of the modifiers; the last one of a name counts."""
        environment: dict[str, str] = {}
        for variables in (*before, *(modifier.environment for modifier in self.modifiers)):
            environment.update(variables)
        return environment


def is_canary(experiment: Experiment, benchmark: Benchmark) -> bool:
    """Return whether a benchmark is the frozen program, which is compared with no other."""
    return benchmark.label == experiment.canary


def _choices(experiment: Experiment) -> Iterator[_Choice]:
    """Yield the points of the crossing; the size of a heap that is a factor is not known yet."""
    for benchmark in experiment.benchmarks:
        if is_canary(experiment, benchmark):
            native = next(runtime for runtime in experiment.runtimes if runtime.kind == "native")
            yield _Choice(benchmark, native, None, (), Heap())
            continue
        java = benchmark.kind == "java"
        collectors: tuple[Collector | None, ...] = (experiment.collectors or (None,)) if java else (None,)
        heaps = (experiment.heaps or (Heap(),)) if java else (Heap(),)
        for heap in heaps:
            for runtime in experiment.runtimes:
                if runtime.kind != benchmark.kind:
                    continue
                on_runtime = replace(benchmark, command=benchmark.command_on(runtime))
                for collector in collectors:
                    for modifiers in experiment.modifiers or ((),):
                        yield _Choice(on_runtime, runtime, collector, modifiers, heap)


def _matches(exclude: Exclude, choice: _Choice, host: str) -> bool:
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
        and exclude.heap.factor in (None, choice.heap.factor)
        and exclude.heap.mib in (None, choice.heap.mib)
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
        return (
            f"a container does not contain the directory {choice.benchmark.directory}: "
            "remove `directory`, or use no container"
        )
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
    for choice in (point.sized(minheaps) for point in _choices(experiment)):
        excludes = () if is_canary(experiment, choice.benchmark) else experiment.excludes
        if any(_matches(exclude, choice, host.name) for exclude in excludes):
            crossing.excluded += 1
            continue
        refusal = _refusal(choice, host) or _outside(experiment, choice, host)
        if refusal:
            crossing.impossible.append((choice.label, refusal))
            continue
        if choice.heap.factor is not None and choice.heap.mib is None:
            label, runtime = choice.benchmark.label, choice.runtime.name
            problems[f"{label} {runtime}"] = Problem(
                f"{experiment.spec_path}: heap.factors",
                f"a measured minheap of {label} on {runtime}",
                "missing",
                f"run `regatta minheap {experiment.spec_path}`",
            )
            continue
        cell, _ = _make(experiment, host, choice)
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
        elif _differ_in_factor_only(twin, cell):
            same = heap_label(replace(cell.heap, factor=twin.heap.factor))
            crossing.impossible.append((cell.label, f"same heap as {same}"))
        else:
            problems[cell.cell_id] = _identical(experiment, twin, cell)
    for first, cell in repeated:
        # Without an effect on one runtime, the same command is measured beside another runtime at each value.
        if cell.benchmark.label not in has_own:
            problems.setdefault(cell.cell_id, _identical(experiment, first, cell))
    if problems:
        raise SpecError(list(problems.values()))
    if all(is_canary(experiment, cell.benchmark) for cell in crossing.cells):
        # It runs beside others, of which this host has none.
        crossing.cells.clear()
    return crossing


def _differ_in_factor_only(one: Cell, other: Cell) -> bool:
    """Return whether two cells with one command have different heap factors, and the same names otherwise."""
    return one.heap.factor != other.heap.factor and (one.collector, one.modifiers) == (
        other.collector,
        other.modifiers,
    )


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
    return _make(experiment, host, choice)


def _make(experiment: Experiment, host: ResolvedHost, choice: _Choice) -> tuple[Cell, dict[str, Any]]:
    """Return the cell of a choice whose heap has its size, and the identity that its id is the digest of."""
    benchmark, runtime = choice.benchmark, host.runtimes[choice.runtime.name]
    named = named_files(benchmark, host)
    values = template_values(experiment, benchmark, named) | values_of_roles(benchmark)
    flags = choice.flags(named)

    def expand(command: Sequence[str], flags: Sequence[str] = flags) -> tuple[str, ...]:
        return tuple(expand_command(command, runtime, flags, values, host))

    used = _used_files(choice, named)
    commands = (benchmark.command, *benchmark.around)
    files = [*runtime.files, *used.values()]
    files += [host.programs[c[0]] for c in commands if c and c[0] in host.programs]
    isolation = _isolation(experiment, host, choice, runtime, files)
    # The digest of the image identifies the files inside it.
    files = [file for file in files if file.path not in isolation.programs]
    roles = tuple(_role(experiment, host, choice, role, flags) for role in benchmark.roles)
    training = next((modifier.training for modifier in choice.modifiers if modifier.training), None)
    run = None
    if training is not None:
        run = TrainingRun(expand(benchmark.command, choice.flags(named, training=True)), training.output)
    events = next((modifier.events for modifier in choice.modifiers if modifier.events), None)
    kept = [*benchmark.keep, *(file for modifier in choice.modifiers for file in modifier.keep)]
    identity = {
        **_identity_of_process(experiment, host, choice, isolation, used, files),
        **_identity_of_options(experiment, host, choice, isolation, roles),
    }
    cell = Cell(
        cell_id=digest_of(identity),
        host=host.name,
        platform=host.platform,
        benchmark=benchmark,
        runtime=choice.runtime.name,
        collector=choice.collector_name,
        modifiers=choice.modifiers_name,
        heap=choice.heap,
        argv=roles[-1].argv if roles else expand(benchmark.command),
        environment=choice.environment(benchmark.environment),
        arrange={name: fill(source, values) for name, source in benchmark.arrange.items()},
        prepare=expand(benchmark.prepare),
        check=expand(benchmark.check),
        conclude=expand(benchmark.conclude),
        input=fill(benchmark.input, values),
        # Each role has its own.
        files=() if roles else _unique(files),
        keep=tuple(dict.fromkeys([*kept, *((TRACE_FILE, ABOUT_FILE) if events else ())])),
        events=events,
        counters=experiment.counters | benchmark.counters,
        training=run,
        roles=roles,
        isolation=isolation,
    )
    return cell, identity


def _used_files(choice: _Choice, named: Mapping[str, File]) -> dict[str, File]:
    """Return the files that the templates of a choice name, and those beside them."""
    templates = [*choice.benchmark.command, *choice.benchmark.beside]
    used = {name: named[name] for t in templates for name in placeholders(t) if name in named}
    # Files next to a file that the user provides have no name in a template.
    used.update({name: file for name, file in named.items() if name.partition("/")[0] in used})
    used.update({plan: named[plan] for plan in map(choice.plan_of, choice.modifiers) if plan})
    return used


def _identity_of_process(
    experiment: Experiment,
    host: ResolvedHost,
    choice: _Choice,
    isolation: CellIsolation,
    used: Mapping[str, File],
    files: Sequence[File],
) -> dict[str, Any]:
    """Return the part of a cell's identity that every cell has.

    Args:
        used: files that templates name.
        files: all files, without those in the image of a container.
    """
    benchmark = choice.benchmark
    return {
        "version": IDENTITY_VERSION,
        "benchmark": [benchmark.label, benchmark.command, benchmark.adapter, dict(benchmark.adapter_options)],
        "parameters": dict(benchmark.parameters),
        "check": [benchmark.check, dict(benchmark.arrange)],
        "expect": [benchmark.expect.digest, benchmark.expect.stdout_sha256, benchmark.expect.check_sha256],
        "files": sorted((n, file.sha256) for n, file in used.items() if file.path not in isolation.programs),
        "programs": sorted(f.sha256 for f in files),
        "runtime": host.runtimes[choice.runtime.name].identity,
        "flags": choice.flags(),
        "environment": [choice.environment(benchmark.environment), dict(host.environment)],
        "padding": experiment.environment.padding_bytes,
        "iterations": experiment.steady.iterations,
        "seed": experiment.seed,
        "limits": vars(experiment.rlimits),
        "cores": vars(host.cores),
        "host_class": host.host_class,
        # A kernel update during an experiment makes different cells, so that no comparison spans it.
        "host_fingerprint": dict(host.fingerprint),
    }


def _identity_of_options(
    experiment: Experiment,
    host: ResolvedHost,
    choice: _Choice,
    isolation: CellIsolation,
    roles: Sequence[CellRole],
) -> dict[str, Any]:
    """Return the part of a cell's identity that cells with the defaults lack: older cells keep their ids."""
    benchmark = choice.benchmark
    counters = experiment.counters | benchmark.counters
    exit_codes = benchmark.expect.exit_codes
    options: dict[str, Any] = {
        "aa": choice.runtime.name if choice.runtime.aa else None,
        # On half of the CPUs, beside another program.
        "order": DUET if experiment.order == DUET else None,
        "paths": None if isolation.programs else _paths_of_user(host, benchmark.programs),
        "isolation": isolation.identity(),
        "prepare": benchmark.prepare,
        "conclude": benchmark.conclude,
        "streams": [benchmark.input, benchmark.output] if benchmark.input or benchmark.output else None,
        "directory": benchmark.directory,
        "roles": [
            [
                given.command,
                given.ready and vars(given.ready),
                *_role_identity(host, role, choice.runtime.name),
            ]
            for given, role in zip(benchmark.roles, roles, strict=True)
        ],
        "counters": counters.to_json() if counters else None,
    }
    for modifier in choice.modifiers:
        if modifier.events:
            options["events"] = modifier.events.to_json()
        if modifier.training:
            # The command identifies the file, because two runs of a command produce different bytes.
            options["training"] = [modifier.training.flags, modifier.training.output]
    identity = {name: value for name, value in options.items() if value}
    # Empty: any exit code, which is no default.
    return identity if exit_codes == ONLY_ZERO else {**identity, "exit_codes": exit_codes}


def _role_identity(host: ResolvedHost, role: CellRole, runtime: str) -> list[object]:
    on = host.members[role.host]
    files = sorted(file.sha256 for file in role.files)
    # Hosts of one class are connected differently.
    place = [role.host, on.address, on.host_class, vars(on.cores)]
    paths = [path for path in _paths_of_user(on, tuple(on.programs)) if path in role.argv[:1]]
    return [role.name, place, on.runtimes[runtime].identity, dict(role.environment), files, *paths]


def _paths_of_user(host: ResolvedHost, names: Sequence[str]) -> list[str]:
    """Return the paths of named programs that only PATH of the user has.

    They are part of the identity: the packages of two virtual environments with one interpreter differ, say.
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
        environment = choice.environment(environment)
    names = {name for argument in role.command for name in placeholders(argument)}
    files = [
        *(runtime.files if "runtime" in names else ()),
        # Files next to a file that the user provides have no name in a template.
        *(named[name] for name in sorted(named) if name in names or name.partition("/")[0] in names),
        *([on.programs[role.command[0]]] if role.command[0] in on.programs else []),
    ]
    ready = role.ready and replace(role.ready, port=fill(role.ready.port, values))
    argv = expand_command(role.command, runtime, given if is_first else (), values, on)
    return CellRole(role.name, role.host, tuple(argv), environment, _unique(files), ready)


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


def _unique(files: Sequence[File]) -> tuple[File, ...]:
    return tuple({file.path: file for file in files}.values())
