"""The spec: every key, what it means, and what it is when left out."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from regatta.host.values.experiment import LEAST_JUDGED_ITERATIONS, Factor, Order, Scalar, SteadyMethod
from regatta.host.values.template import scalar_text
from regatta.spec.fields import (
    LEFT_OUT,
    MAX_ITEMS,
    Exact,
    InsidePath,
    Line,
    Lines,
    ModifierName,
    ModifierNames,
    Name,
    Names,
    ParameterName,
    Scalars,
    ScalarValue,
    Strict,
    Text,
    refusal,
)
from regatta.spec.heap_schema import HeapSpec
from regatta.spec.process_schema import (
    CoresSpec,
    EnvironmentSpec,
    IsolationSpec,
    LimitsSpec,
    PerturbationSpec,
)
from regatta.spec.registry_schema import CollectorSpec, ModifierSpec, RuntimeSpec

MAX_SEED = 2**63 - 1
MAX_LABELS = 32
MAX_PARAMETERS = 32
#: the plan holds a quantile for each round
MAX_ADAPTIVE = 10_000


class Adaptive(Strict):
    """Rounds until the comparisons are as narrow as wanted. All alternatives of a block stop together, on their differences."""

    rule: Literal["stein", "javastats"] = Field(
        "stein",
        description="`stein`: the spread of the pilot says once how many rounds are needed. `javastats`: after each segment "
        "it is seen whether the interval is narrow enough; intervals that stop so cover less than they say "
        "(0.90 to 0.94 for 0.95 with a pilot of 3).",
        examples=["javastats"],
    )
    target_percent: float = Field(
        1.0,
        description="Wanted half-width of each ratio's interval, in per cent.",
        gt=0,
        le=100,
        examples=[2],
    )
    pilot: int = Field(
        10,
        description="Rounds before the first decision. They are the first segment.",
        ge=3,
        le=MAX_ADAPTIVE,
        examples=[5],
    )
    maximum: int = Field(
        30,
        description="Rounds at most. Where the target would take more, or the pilot shows several modes, so many are run "
        "and the answer says that the target was not met.",
        ge=3,
        le=MAX_ADAPTIVE,
        examples=[50],
    )

    @model_validator(mode="after")
    def _room(self) -> Adaptive:
        if self.maximum < self.pilot:
            raise refusal(
                f"`maximum` of at least `pilot` ({self.pilot})",
                f"`maximum: {self.pilot}` or more",
                key="maximum",
            )
        return self


class Invocations(Strict):
    """How often each cell is measured, each time in a fresh process. Either `fixed` or `adaptive`."""

    fixed: int | None = Field(
        None,
        description="As many rounds for every cell. 30 is the setting for publication. Where the first iteration is an "
        "invocation's number (`startup`), one more is run before them and left out: it finds cold disk caches.",
        ge=1,
        le=10_000_000,
        examples=[10],
    )
    adaptive: Adaptive | None = Field(
        None,
        description=str(Adaptive.__doc__),
        examples=[{"target_percent": 1}],
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Invocations:
        fix = "`invocations: {fixed: 10}`"
        if self.adaptive is not None and self.fixed is not None:
            raise refusal("either `fixed` or `adaptive`", "remove one of them", key="adaptive")
        if self.adaptive is None and self.fixed is None:
            raise refusal("`fixed`, the number of invocations, or `adaptive`", fix, key="fixed")
        return self


class BenchmarkChoice(Strict):
    """Benchmarks of one suite, in one or more sizes."""

    suite: Name = Field(description="The suite's name.", examples=["vm"])
    benchmark: Names = Field(
        description="A benchmark, a list of them, or `all`.", examples=["h2", ["h2", "ecj"]]
    )
    size: Names = Field(
        ["default"],
        description="A size or a list of sizes that the suite gives the benchmark. A benchmark without sizes has `default`.",
        examples=["small", ["small", "default"]],
    )
    parameters: dict[ParameterName, Scalars] = Field(
        {},
        description="Parameters of the size to a value or a list of values, which take the place of the size's own. Lists are "
        f"crossed, the last varying fastest, to at most {MAX_ITEMS} combinations. Each combination is a benchmark by itself, as each size is. "
        "What the size expects (`expect`) holds for all of them: what a correct run gives must not depend on how it was run.",
        max_length=MAX_PARAMETERS,
        examples=[{"parallel": [1, 2, 3, 4], "placement": ["free", "compact"]}],
    )

    @field_validator("parameters")
    @classmethod
    def _once(cls, parameters: dict[str, list[Scalar]]) -> dict[str, list[Scalar]]:
        for name, values in parameters.items():
            texts = [scalar_text(value) for value in values]
            twice = [text for index, text in enumerate(texts) if text in texts[:index]]
            if twice:
                raise refusal("every value once", f"remove one `{twice[0]}`", key=name)
        return parameters


class Iterations(Strict):
    """What one invocation repeats inside, and how that becomes its one number."""

    count: int = Field(
        1,
        description="Iterations that a workload is asked for (`{iterations}`).",
        ge=1,
        le=1_000_000,
        examples=[6],
    )
    warmup: int = Field(
        0,
        description="First iterations that `fixed` leaves out; below `count`.",
        ge=0,
        le=1_000_000,
        examples=[3],
    )
    method: SteadyMethod | None = Field(
        None,
        description="`startup`: the first iteration is the invocation's number (count 1, warmup 0). "
        "`fixed`: the mean of those after `warmup`, or the benchmark's `summary` of them (suite). `cov`: the mean of the first `window` in a row that vary less than "
        "`threshold_percent`. `changepoints`: the mean of those after the last change of level, where the last quarter has none "
        f"(count {LEAST_JUDGED_ITERATIONS} or more). The last two take no `warmup`, and an invocation that reaches no steady state "
        "gives no number. `replay`: two numbers, the first iteration (phase `mix`) and the mean of those after `warmup` (phase "
        "`stable`; count 2 or more, warmup 1 where it is left out). Left out: `fixed` where `count` is 2 or more or a suite has a `summary`, else `startup`.",
        examples=["fixed"],
    )
    window: int = Field(
        10,
        description="Iterations in a row that `cov` looks at; at most `count`.",
        ge=2,
        le=1_000_000,
        examples=[5],
    )
    threshold_percent: float = Field(
        2.0,
        description="Below this coefficient of variation (standard deviation in per cent of the mean) `cov` calls a window steady.",
        gt=0,
        le=100,
        examples=[1],
    )

    @model_validator(mode="after")
    def _window(self) -> Iterations:
        if self.method == "startup" and (self.count, self.warmup) != (1, 0):
            raise refusal(
                "`count: 1` and `warmup: 0` with `method: startup`", "`method: fixed`", key="method"
            )
        if self.method == "replay" and self.count < 2:
            raise refusal("2 iterations or more with `method: replay`", "`count: 2`", key="count")
        if self.method in ("cov", "changepoints"):
            least = self.window if self.method == "cov" else LEAST_JUDGED_ITERATIONS
            if self.warmup:
                raise refusal(
                    f"no `warmup` with `method: {self.method}`, which finds it", "remove it", key="warmup"
                )
            if self.count < least:
                expected = f"{least} iterations or more with `method: {self.method}`"
                raise refusal(expected, f"`count: {least}` or more", key="count")
        if self.warmup >= self.count:
            raise refusal(
                f"`warmup` below `count` ({self.count})", f"`count: {self.warmup + 1}` or more", key="warmup"
            )
        return self


class Segment(Strict):
    """What one job does on a host."""

    rounds: int = Field(10, description="Consecutive rounds in a job.", ge=1, le=1_000_000, examples=[10])


class ExcludeSpec(Strict):
    """Leaves out the cells that match every key given. Each names something the spec itself uses."""

    suite: Name | None = Field(None, description="Benchmarks of this suite.", examples=["vm"])
    benchmark: Name | None = Field(None, description="This benchmark.", examples=["h2"])
    size: Name | None = Field(None, description="This size.", examples=["small"])
    parameters: dict[ParameterName, ScalarValue] | None = Field(
        None,
        description="Benchmarks whose parameters have these values.",
        min_length=1,
        max_length=MAX_PARAMETERS,
        examples=[{"parallel": 4, "placement": "compact"}],
    )
    runtime: Name | None = Field(None, description="This runtime.", examples=["temurin-21"])
    collector: Name | None = Field(None, description="This collector.", examples=["z"])
    modifiers: ModifierNames | None = Field(
        None,
        description="This set of modifiers, in any order; `[]` is the empty one.",
        examples=[["no-tiering"]],
    )
    heap_factor: Exact | None = Field(None, description="This heap factor.", examples=[1])
    heap_mib: int | None = Field(None, description="This heap size in MiB.", examples=[64])
    host: Name | None = Field(None, description="This host.", examples=["local"])

    @model_validator(mode="after")
    def _something(self) -> ExcludeSpec:
        if not self.model_dump(exclude_none=True):
            raise refusal("at least one key to match", "remove this entry")
        return self


class BaselineSpec(Strict):
    """The alternative that others are compared with. A key left out: each value of it is compared with itself."""

    runtime: Name | None = Field(None, description="One of `runtimes`.", examples=["temurin-21"])
    collector: Name | None = Field(None, description="One of `collectors`.", examples=["serial"])
    modifiers: ModifierNames | None = Field(
        None, description="One of the sets of modifiers; `[]` is the empty one.", examples=[[]]
    )


class MinheapSpec(Strict):
    """The search for the least heap."""

    passes: int = Field(
        3,
        description="Runs under every collector that a size must survive to be accepted.",
        ge=1,
        le=100,
        examples=[5],
    )
    source: Literal["measured", "kept"] = Field(
        "measured",
        description="`measured`: on this machine, for each runtime, under the spec's collectors. `kept`: those in "
        "`configs/suites/minheap/`, measured once on a reference runtime; a factor is then the same heap on every runtime.",
        examples=["kept"],
    )


class ResultsSpec(Strict):
    """Where results go."""

    directory: InsidePath = Field(
        "results",
        description="Folder, relative to where the command is run, in which the experiment gets its own, named after it. "
        "`--results` on the command line comes first.",
        examples=["results"],
    )


class Define(Strict):
    """Runtimes and collectors that only this spec has. Names that the registries have are refused: one name, one meaning."""

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
    """One experiment: a question, and what is measured to answer it."""

    name: Name = Field(description="Names the experiment and its folder in the results.", examples=["demo"])
    question: Text = Field(
        "",
        description="What the experiment is to answer; the report opens with it.",
        examples=["Which collector wins?"],
    )
    labels: dict[Name, Line] = Field(
        {},
        description="What was measured, in the user's words: `regatta history` tells experiments apart by them. "
        "They change no cell and no order.",
        max_length=MAX_LABELS,
        examples=[{"commit": "abc123", "build": "nightly-42"}],
    )
    include: Lines = Field(
        [],
        description="Other specs, relative to this file, whose keys this one takes over. Mappings are merged key by key, "
        "everything else is replaced; a later file wins over an earlier one and this file over all.",
        examples=["common.yml", ["machines.yml", "collectors.yml"]],
    )
    platforms: Names = Field(
        ["local"],
        description="Classes of machine: groups of the inventory in `configs/hosts/`.",
        min_length=1,
        examples=[["local"]],
    )
    isolation: IsolationSpec = Field(
        LEFT_OUT,
        description=str(IsolationSpec.__doc__),
        examples=["docker", {"kind": "docker", "memory_mib": 2048}],
    )
    runtimes: Names = Field(
        [],
        description="What executes the benchmarks, from `configs/runtimes.yml` or `define`. Native benchmarks need none: "
        "`native` is added for them. A runtime that no benchmark can use is an error.",
        examples=[["temurin-21", "temurin-25"]],
    )
    collectors: Names = Field(
        [],
        description="Garbage collectors, from `configs/collectors.yml` or `define`. None with Java benchmarks: the JVM "
        "chooses, and the results call it `default`. Native benchmarks have none.",
        examples=[["serial", "parallel", "g1"]],
    )
    define: Define = Field(LEFT_OUT, description=str(Define.__doc__))
    modifiers: dict[ModifierName, ModifierSpec] = Field(
        {},
        description="Named changes to flags or environment, beside those of `configs/modifiers.yml`, whose names are refused "
        "here. No name has a `+` or is `none`.",
        max_length=MAX_ITEMS,
        examples=[{"no-tiering": {"flags": ["-XX:-TieredCompilation"]}}],
    )
    modifier_sets: list[Annotated[list[ModifierName], Field(max_length=64)]] | None = Field(
        None,
        description="Sets of modifiers that are used together, from `modifiers` or `configs/modifiers.yml`; `[]` is the plain "
        "configuration. Left out: the plain configuration, and each modifier of the spec alone.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[[[], ["no-tiering"], ["no-tiering", "one-arena"]]],
    )
    heap: HeapSpec | None = Field(
        None,
        description="Heap sizes of Java benchmarks, which need it: what a JVM takes by itself depends on the machine. "
        "Native benchmarks have none.",
        examples=[{"factors": [1.5, 4]}],
    )
    suites: Lines = Field(
        [],
        description="Suite files beside those in `configs/suites/`, relative to the spec.",
        examples=[["my-suite.yml"]],
    )
    benchmarks: list[BenchmarkChoice] = Field(
        description="What is measured.",
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
    order: Order = Field(
        "randomized-blocks",
        description="How the alternatives of a block follow each other. `randomized-blocks`: shuffled in every block; "
        "`interleaved`: one order, block after block; `williams`: balanced, so that each follows every other equally "
        "often; `back-to-back`: all invocations of one, then of the next (for comparison with such data only).",
        examples=["williams"],
    )
    seed: int = Field(
        1,
        description="Of every random choice: order, inputs, padding.",
        ge=0,
        le=MAX_SEED,
        examples=[20070101],
    )
    compare: list[Factor] = Field(
        ["runtime", "collector", "modifiers"],
        description="Alternatives that differ only in these share a block, close together in time.",
        min_length=1,
        max_length=4,
        examples=[["collector", "heap"]],
    )
    segment: Segment = Field(LEFT_OUT, description=str(Segment.__doc__), examples=[{"rounds": 20}])
    timeout_s: float = Field(
        300.0, description="Seconds after which an invocation is ended.", gt=0, le=604800, examples=[60]
    )
    give_up_after: int | None = Field(
        3,
        description="Invocations of a cell that fail before the cell is given up: where all its attempts end with the same "
        "status, the rest is recorded as `skipped`. `null`: each is run. `--retry-failed` runs what was skipped.",
        ge=1,
        le=1000,
        examples=[5],
    )
    output_kib: int = Field(
        32,
        description="KiB of standard output and of standard error kept a record.",
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
    exclude: list[ExcludeSpec] = Field(
        [],
        description="Cells to leave out of the full crossing.",
        max_length=MAX_ITEMS,
        examples=[[{"collector": "z", "heap_factor": 1}]],
    )
    baseline: BaselineSpec = Field(
        LEFT_OUT, description=str(BaselineSpec.__doc__), examples=[{"collector": "serial"}]
    )
    aa: bool = Field(
        False,
        description="A/A test of the whole pipeline: the baseline of every comparison (or its first alternative) runs a "
        "second time in each block under another name. The answer then says how often a difference was shown where none "
        "can be. The twin is in no other answer.",
        examples=[True],
    )
    minheap: MinheapSpec = Field(LEFT_OUT, description=str(MinheapSpec.__doc__), examples=[{"passes": 5}])
    level: float = Field(
        0.95, description="Confidence level of every interval.", ge=0.5, le=0.9999, examples=[0.99]
    )
    theta_percent: float = Field(
        1.0,
        description="Differences below this many per cent are of no practical interest. The answer says of every ratio whether "
        "it matters by that measure, beside whether it is significant.",
        ge=0,
        le=100,
        examples=[2],
    )
    results: ResultsSpec = Field(
        LEFT_OUT, description=str(ResultsSpec.__doc__), examples=[{"directory": "results"}]
    )
