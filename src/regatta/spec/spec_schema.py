"""The spec: every key, its meaning and its default."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, field_validator, model_validator

from regatta.host.values.experiment import (
    LEAST_JUDGED_ITERATIONS,
    Better,
    Order,
    Scalar,
    SteadyMethod,
)
from regatta.host.values.template import scalar_text
from regatta.spec.capacity_schema import CapacitySpec
from regatta.spec.fields import (
    LEFT_OUT,
    MAX_ITEMS,
    MAX_PARAMETERS,
    Exact,
    FactorName,
    InsidePath,
    Line,
    Lines,
    ModifierName,
    ModifierNames,
    Name,
    Names,
    OneOrList,
    ParameterName,
    Scalars,
    ScalarValue,
    Strict,
    Text,
    listed,
    refusal,
    value_text,
)
from regatta.spec.heap_schema import HeapSpec
from regatta.spec.invocations_schema import Invocations
from regatta.spec.predict_schema import PredictSpec
from regatta.spec.process_schema import (
    CoresSpec,
    CounterSpecs,
    EnvironmentSpec,
    IsolationSpec,
    LimitsSpec,
    PerturbationSpec,
)
from regatta.spec.registry_schema import CollectorSpec, ModifierSpec, RuntimeSpec

MAX_SEED = 2**63 - 1
MAX_LABELS = 32


class BenchmarkChoice(Strict):
    """Benchmarks of one suite, in one or more sizes."""

    suite: Name = Field(description="Name of the suite.", examples=["vm"])
    benchmark: Names = Field(
        description="A benchmark, a list of benchmarks, or `all`.", examples=["h2", ["h2", "ecj"]]
    )
    size: Names = Field(
        ["default"],
        description="A size or a list of sizes that the suite defines for the benchmark. A benchmark without "
        "sizes has `default`.",
        examples=["small", ["small", "default"]],
    )
    parameters: dict[ParameterName, Scalars] = Field(
        {},
        description="Values or lists of values, by parameter. They override those of the size. Lists are crossed,"
        f" the last one varying fastest, to at most {MAX_ITEMS} combinations. Each combination is a "
        "separate benchmark, as each size is. `expect` of the size applies to all combinations, so "
        "the output of a correct run must not depend on these parameters.",
        max_length=MAX_PARAMETERS,
        examples=[{"parallel": [1, 2, 3, 4], "placement": ["free", "compact"]}],
    )

    @field_validator("parameters")
    @classmethod
    def _once(cls, parameters: dict[str, list[Scalar]]) -> dict[str, list[Scalar]]:
        for name, values in parameters.items():
            equal = [value_text(value) for value in values]
            twice = [
                scalar_text(value) for index, value in enumerate(values) if equal[index] in equal[:index]
            ]
            if twice:
                raise refusal("unique values", f"remove one `{twice[0]}`", key=name)
        return parameters


class Iterations(Strict):
    """Iterations inside an invocation, and the method that reduces them to one value."""

    count: int = Field(
        1,
        description="Number of iterations that the workload is asked for (`{iterations}`).",
        ge=1,
        le=1_000_000,
        examples=[6],
    )
    warmup: int = Field(
        0,
        description="Number of first iterations that `fixed` excludes. Must be less than `count`.",
        ge=0,
        le=1_000_000,
        examples=[3],
    )
    method: SteadyMethod | None = Field(
        None,
        description="`startup`: the first iteration, or the time of the process (count 1, warmup 0; see `metric`). `fixed`: the mean of the iterations "
        "after `warmup`, or the `summary` of the benchmark. `cov`: the mean of the first `window` "
        "consecutive iterations with a coefficient of variation below `threshold_percent`. "
        "`changepoints`: the mean after the last change of level, if the last quarter has none (count"
        f" {LEAST_JUDGED_ITERATIONS} or more). `cov` and `changepoints` take no `warmup`; an "
        "invocation that reaches no steady state gives no value. `replay`: two values, the first "
        "iteration (phase `mix`) and the mean after `warmup` (phase `stable`); count 2 or more, "
        "warmup 1 if omitted. If `method` is omitted: `fixed` if `count` is 2 or more or a suite has "
        "a `summary`, else `startup`.",
        examples=["fixed"],
    )
    window: int = Field(
        10,
        description="Number of consecutive iterations that `cov` examines; at most `count`.",
        ge=2,
        le=1_000_000,
        examples=[5],
    )
    threshold_percent: float = Field(
        2.0,
        description="Coefficient of variation (standard deviation in percent of the mean) below which `cov` "
        "accepts a window as steady.",
        gt=0,
        le=100,
        examples=[1],
    )

    @model_validator(mode="after")
    def _window(self) -> Iterations:
        if self.method == "startup" and (self.count, self.warmup) != (1, 0):
            raise refusal(
                "`count: 1` and `warmup: 0` with `method: startup`", "write `method: fixed`", key="method"
            )
        if self.method == "replay" and self.count < 2:
            raise refusal("`count` >= 2 with `method: replay`", "write `count: 2`", key="count")
        if self.method in ("cov", "changepoints"):
            least = self.window if self.method == "cov" else LEAST_JUDGED_ITERATIONS
            if self.warmup:
                raise refusal(
                    f"no `warmup` with `method: {self.method}`, which detects it", "remove it", key="warmup"
                )
            if self.count < least:
                expected = f"`count` >= {least} with `method: {self.method}`"
                raise refusal(expected, f"write `count: {least}` or more", key="count")
        if self.warmup >= self.count:
            raise refusal(
                f"`warmup` < `count` ({self.count})",
                f"write `count: {self.warmup + 1}` or more",
                key="warmup",
            )
        return self


class MetricSpec(Strict):
    """The metric to compare, for all benchmarks. `metric: cpu` is short for `{name: cpu}`."""

    name: Name = Field(
        description="A metric that every benchmark of the spec reports, or `process_elapsed`: the wall time from the "
        "start to the end of the process, which is measured for every program.",
        examples=["process_elapsed"],
    )
    better: Better | None = Field(
        None,
        description="Whether lower or higher values are better. If omitted: as in the suite that compares this metric; "
        "`lower` for times and memory of the process. Required for other metrics.",
        examples=["higher"],
    )

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, handler(schema)]}


class Segment(Strict):
    """The work of one job on a host."""

    rounds: int = Field(
        10, description="Number of consecutive rounds per job.", ge=1, le=1_000_000, examples=[10]
    )


class ExcludeSpec(Strict):
    """Exclude the cells that match every given key. Each value must be one that the spec uses."""

    suite: Name | None = Field(None, description="Benchmarks of this suite.", examples=["vm"])
    benchmark: Name | None = Field(None, description="This benchmark.", examples=["h2"])
    size: Name | None = Field(None, description="This size.", examples=["small"])
    parameters: dict[ParameterName, ScalarValue] | None = Field(
        None,
        description="Benchmarks with these parameter values.",
        min_length=1,
        max_length=MAX_PARAMETERS,
        examples=[{"parallel": 4, "placement": "compact"}],
    )
    runtime: Name | None = Field(None, description="This runtime.", examples=["temurin-21"])
    collector: Name | None = Field(None, description="This collector.", examples=["z"])
    modifiers: ModifierNames | None = Field(
        None,
        description="This set of modifiers, in any order. `[]` is the empty set.",
        examples=[["no-tiering"]],
    )
    heap_factor: Exact | None = Field(None, description="This heap factor.", examples=[1])
    heap_mib: int | None = Field(None, description="This heap size in MiB.", examples=[64])
    host: Name | None = Field(None, description="This host.", examples=["local"])

    @model_validator(mode="after")
    def _something(self) -> ExcludeSpec:
        if not self.model_dump(exclude_none=True):
            raise refusal("at least one key", "remove this entry")
        return self


class BaselineSpec(Strict):
    """The alternative that the others are compared with. If a key is omitted, alternatives are compared within each of its values. Factors other than `runtime`, `collector` and `modifiers` must be in `compare`."""

    runtime: Name | None = Field(None, description="One of `runtimes`.", examples=["temurin-21"])
    collector: Name | None = Field(None, description="One of `collectors`.", examples=["serial"])
    modifiers: ModifierNames | None = Field(
        None, description="One of the sets of modifiers. `[]` is the empty set.", examples=[[]]
    )
    heap: Exact | None = Field(
        None, description="One of the heap factors, or one of the heap sizes in MiB.", examples=[2]
    )
    benchmark: Line | None = Field(
        None,
        description="Name of one of `benchmarks`, or `suite/name:size` if that is ambiguous.",
        examples=["gzip"],
    )
    platform: Name | None = Field(None, description="One of `platforms`.", examples=["x86"])
    parameters: dict[ParameterName, ScalarValue] | None = Field(
        None,
        description="Values of parameters, each one of those in `benchmarks`.",
        min_length=1,
        max_length=MAX_PARAMETERS,
        examples=[{"threads": 1}],
    )


class MinheapSpec(Strict):
    """The search for the minheap."""

    passes: int = Field(
        3,
        description="Number of runs that must complete under every collector before a size is accepted.",
        ge=1,
        le=100,
        examples=[5],
    )
    source: Literal["measured", "kept"] = Field(
        "measured",
        description="`measured`: on this machine, for each runtime, with the collectors of the spec. `kept`: from"
        " `configs/suites/minheap/`, measured once on a reference runtime, so that a factor is the "
        "same heap on every runtime.",
        examples=["kept"],
    )


class ResultsSpec(Strict):
    """The location of results."""

    directory: InsidePath = Field(
        "results",
        description="Folder that holds one folder per experiment, relative to the current directory. `--results` "
        "on the command line overrides it.",
        examples=["results"],
    )


class Define(Strict):
    """Runtimes and collectors that exist only in this spec. A name that a registry already contains is an error."""

    runtimes: dict[Name, RuntimeSpec] = Field(
        {},
        description="As in `configs/runtimes.yml`.",
        examples=[{"my-jdk": {"provider": "path", "path": "/opt/my-jdk/bin/java"}}],
    )
    collectors: dict[Name, CollectorSpec] = Field(
        {},
        description="As in `configs/collectors.yml`.",
        examples=[{"g1-small-regions": {"flags": ["-XX:+UseG1GC", "-XX:G1HeapRegionSize=1m"]}}],
    )


class Spec(Strict):
    """An experiment: its question, and everything that is measured to answer it."""

    name: Name = Field(
        description="Name of the experiment and of its folder in the results.", examples=["demo"]
    )
    question: Text = Field(
        "",
        description="The question that the experiment answers. The report starts with it.",
        examples=["Which collector wins?"],
    )
    labels: dict[Name, Line] = Field(
        {},
        description="User-defined description of the measured system. `regatta history` distinguishes experiments"
        " by their labels. Labels change neither cells nor order.",
        max_length=MAX_LABELS,
        examples=[{"commit": "abc123", "build": "nightly-42"}],
    )
    include: Lines = Field(
        [],
        description="Other specs to include, relative to this file. Mappings are merged key by key; other values "
        "are replaced. Later files override earlier ones, and this file overrides all.",
        examples=["common.yml", ["machines.yml", "collectors.yml"]],
    )
    paths_from: Line = Field(
        ".",
        description="Folder that other relative paths of the spec start from, itself relative to this file: suites, sources, "
        "compilation plans and files of the user. If omitted: the folder of this file.",
        examples=["../benchmarks"],
    )
    platforms: Names = Field(
        ["local"],
        description="Classes of machines: groups of the inventory in `configs/hosts/`.",
        min_length=1,
        examples=[["local"]],
    )
    roles: dict[ParameterName, Name] = Field(
        {},
        description="The hosts that execute the roles of every benchmark together (docs/roles.md): role -> a host, or a platform, "
        "whose first host without a role is taken, or its first host if all have one. Replaces `platforms`. If all roles are on one "
        "host, each runs in its own network namespace.",
        max_length=16,
        examples=[{"server": "x86", "client": "arm"}],
    )
    placements: Literal["fixed", "swap"] = Field(
        "fixed",
        description="With `roles`: `swap` also measures with the two hosts exchanged, in the same blocks. The host of the first "
        "role becomes a parameter with the name of the role, so that results distinguish the host from the role.",
        examples=["swap"],
    )
    isolation: IsolationSpec = Field(
        LEFT_OUT,
        description=str(IsolationSpec.__doc__),
        examples=["docker", {"kind": "docker", "memory_mib": 2048}],
    )
    runtimes: Names = Field(
        [],
        description="Runtimes that execute the benchmarks, from `configs/runtimes.yml` or `define`. For native "
        "benchmarks, `native` is added automatically. A runtime that no benchmark can use is an "
        "error.",
        examples=[["temurin-21", "temurin-25"]],
    )
    collectors: Names = Field(
        [],
        description="Garbage collectors, from `configs/collectors.yml` or `define`. If omitted, the JVM chooses "
        "one, and the results call it `default`. Native benchmarks have no collector.",
        examples=[["serial", "parallel", "g1"]],
    )
    define: Define = Field(LEFT_OUT, description=str(Define.__doc__))
    modifiers: dict[ModifierName, ModifierSpec] = Field(
        {},
        description="Named changes to flags or environment, in addition to those of `configs/modifiers.yml`. A "
        "name from that file is an error here. A name must not contain `+` or be `none`.",
        max_length=MAX_ITEMS,
        examples=[{"no-tiering": {"flags": ["-XX:-TieredCompilation"]}}],
    )
    modifier_sets: list[Annotated[list[ModifierName], Field(max_length=64)]] | None = Field(
        None,
        description="Sets of modifiers to use together, from `modifiers` or `configs/modifiers.yml`. `[]` is the "
        "plain configuration. If omitted: the plain configuration, and each modifier of the spec "
        "alone.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[[[], ["no-tiering"], ["no-tiering", "one-arena"]]],
    )
    heap: HeapSpec | None = Field(
        None,
        description="Heap sizes. Required for Java benchmarks, because the default heap of a JVM depends on the "
        "machine. Native benchmarks have no heap size.",
        examples=[{"factors": [1.5, 4]}],
    )
    suites: Lines = Field(
        [],
        description="Suite files in addition to those in `configs/suites/`, relative to the spec.",
        examples=[["my-suite.yml"]],
    )
    benchmarks: list[BenchmarkChoice] = Field(
        description="The benchmarks to measure.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[[{"suite": "vm", "benchmark": "compress", "size": "s10"}]],
    )
    invocations: Invocations = Field(
        description=str(Invocations.__doc__), examples=[{"fixed": 10}, {"adaptive": {"target_percent": 1}}]
    )
    iterations: Iterations = Field(
        LEFT_OUT, description=str(Iterations.__doc__), examples=[{"count": 6, "warmup": 3}]
    )
    metric: MetricSpec | None = Field(
        None,
        description="The metric to compare, for all benchmarks. If omitted: the metric of each benchmark in its suite. "
        "With `method: startup`, the metric `elapsed` of a benchmark that a runtime executes becomes "
        "`process_elapsed`; `metric: elapsed` compares the first iteration that the harness times. A change of "
        "the metric needs no further measurements.",
        examples=["process_elapsed", {"name": "throughput", "better": "higher"}],
    )
    order: Order = Field(
        "randomized-blocks",
        description="Order of the alternatives of a block. `randomized-blocks`: shuffled in every block. "
        "`interleaved`: the same order in every block. `williams`: balanced, so that each alternative"
        " follows every other equally often. `back-to-back`: all invocations of one alternative, then"
        " all of the next; use it only for comparison with data measured that way. `duet`: the two alternatives "
        "of a block run at once, each on half of the CPUs, and swap the halves every round. What slows the host then slows "
        "both, and only their ratio is reported. The host tests each alternative first (docs/methodology.md).",
        examples=["williams"],
    )
    seed: int = Field(
        1,
        description="Seed of every random choice: order, inputs and padding.",
        ge=0,
        le=MAX_SEED,
        examples=[20070101],
    )
    compare: list[FactorName] = Field(
        ["runtime", "collector", "modifiers"],
        description="Factors to compare: `runtime`, `collector`, `modifiers`, `heap`, `benchmark`, `platform`, or "
        "`parameters.NAME`. Alternatives that differ only in these factors share a block, that is, they run close "
        "together in time, so that their ratios are paired. Platforms run on different hosts: their ratios are "
        "unpaired. `runtime*collector` also compares all combinations of both. Runtimes, collectors and modifiers are "
        "always compared; without an entry here, unpaired.",
        min_length=1,
        max_length=MAX_PARAMETERS,
        examples=[["collector", "heap"], ["parameters.threads"]],
    )
    segment: Segment = Field(LEFT_OUT, description=str(Segment.__doc__), examples=[{"rounds": 20}])
    timeout_s: float = Field(
        300.0, description="Timeout of an invocation in seconds.", gt=0, le=604800, examples=[60]
    )
    give_up_after: int | None = Field(
        3,
        description="Number of failed invocations after which a cell is given up, if all its attempts end with "
        "the same status. The remaining invocations are recorded as `skipped`; `--retry-failed` runs "
        "them. `null`: never give up.",
        ge=1,
        le=1000,
        examples=[5],
    )
    output_kib: int = Field(
        32,
        description="Maximum size in KiB of standard output, and of standard error, that each record keeps.",
        ge=0,
        le=65536,
        examples=[256],
    )
    cores: CoresSpec = Field(
        LEFT_OUT, description=str(CoresSpec.__doc__), examples=[{"use": "physical", "housekeeping": 1}]
    )
    perturbation: PerturbationSpec = Field(
        LEFT_OUT, description=str(PerturbationSpec.__doc__), examples=[{"steal_percent": 1, "retries": 2}]
    )
    environment: EnvironmentSpec = Field(
        LEFT_OUT, description=str(EnvironmentSpec.__doc__), examples=[{"set": {"LC_ALL": "C"}}]
    )
    limits: LimitsSpec = Field(LEFT_OUT, description=str(LimitsSpec.__doc__), examples=[{"open_files": 1024}])
    counters: CounterSpecs = Field(
        [],
        description="What the kernel and the processor count in every invocation, in addition to the counters of a benchmark "
        "(docs/counters.md). They are part of the identity of a cell.",
        examples=["instructions", ["instructions", "cycles", "llc-misses", "context-switches"]],
    )
    exclude: list[ExcludeSpec] = Field(
        [],
        description="Cells to exclude from the full crossing.",
        max_length=MAX_ITEMS,
        examples=[[{"collector": "z", "heap_factor": 1}]],
    )
    baseline: BaselineSpec = Field(
        LEFT_OUT, description=str(BaselineSpec.__doc__), examples=[{"collector": "serial"}]
    )
    aa: bool = Field(
        False,
        description="A/A test of the whole pipeline. The baseline of every comparison (or its first alternative) "
        "runs a second time in each block under another name. The answer then reports how often a "
        "difference was found although none exists. The copy appears in no other answer.",
        examples=[True],
    )
    canary: BenchmarkChoice | None = Field(
        None,
        description="A native benchmark that never changes, such as `canary/mixed`, which runs once in each round on every "
        "host. It is compared with nothing in its experiment. `regatta history` uses it to separate changes of "
        "the host from changes of the programs.",
        examples=[{"suite": "canary", "benchmark": "mixed"}],
    )
    minheap: MinheapSpec = Field(LEFT_OUT, description=str(MinheapSpec.__doc__), examples=[{"passes": 5}])
    level: float = Field(
        0.95, description="Confidence level of every interval.", ge=0.5, le=0.9999, examples=[0.99]
    )
    theta_percent: float = Field(
        1.0,
        description="Smallest difference of practical interest, in percent. Each ratio is reported as practically"
        " significant or not, in addition to statistical significance.",
        ge=0,
        le=100,
        examples=[2],
    )
    predict: PredictSpec | None = Field(
        None,
        description=f"{PredictSpec.__doc__} The experiment must measure their primitives. The answer compares predictions with "
        "measured times of the benchmarks that the vectors name. A change needs no further measurements.",
        examples=[{"applications": ["apache-static"]}],
    )
    capacity: Annotated[list[CapacitySpec], BeforeValidator(listed), OneOrList()] = Field(
        [],
        description=f"{CapacitySpec.__doc__} The answer reports this load with its confidence interval for each host, "
        "benchmark and configuration. Several targets are a list. A change of a target needs no further measurements.",
        max_length=MAX_PARAMETERS,
        examples=[
            {
                "parameter": "rate",
                "metric": "latency",
                "parameters": {"percentile": 99},
                "at_most": 10,
                "unit": "ms",
            }
        ],
    )
    results: ResultsSpec = Field(
        LEFT_OUT, description=str(ResultsSpec.__doc__), examples=[{"directory": "results"}]
    )
