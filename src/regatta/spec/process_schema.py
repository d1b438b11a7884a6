"""The execution of a process in a spec: cores, environment, limits, perturbation."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, model_validator

from regatta.host.values.capabilities import CAPABILITIES
from regatta.host.values.counters import METRICS, NAMES, RAW_EVENT, metric_of
from regatta.host.values.isolation import IsolationKind, Network
from regatta.spec.fields import (
    MAX_ITEMS,
    Environment,
    Line,
    Name,
    OneOrList,
    Strict,
    Text,
    Variable,
    listed,
    refusal,
)

#: valid image names of Docker: registry, path, tag or digest
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}")


class CoresSpec(Strict):
    """The CPUs on which measured processes run."""

    use: Literal["all", "physical", "cpus"] = Field(
        "all",
        description="`all`; `physical` (one hardware thread per core); or `cpus` (the listed ones).",
        examples=["physical"],
    )
    cpus: list[Annotated[int, Field(ge=0, le=65535)]] = Field(
        [], description="CPU numbers, with `use: cpus`.", max_length=4096, examples=[[2, 3]]
    )
    housekeeping: int = Field(
        0,
        description="Number of cores reserved for the runner and the rest of the system.",
        ge=0,
        le=4096,
        examples=[1],
    )

    count: int | None = Field(
        None,
        description="Number of physical cores to use. They share one memory node and one last-level cache if a "
        "node with enough cores exists.",
        ge=1,
        le=4096,
        examples=[4],
    )

    @model_validator(mode="after")
    def _listed(self) -> CoresSpec:
        if (self.use == "cpus") != bool(self.cpus):
            raise refusal("`cpus` if and only if `use: cpus`", "write `{use: cpus, cpus: [0]}`")
        if self.cpus and (self.count or self.housekeeping):
            raise refusal("no `count` and no `housekeeping` together with `cpus`", "list fewer CPUs")
        if len(set(self.cpus)) != len(self.cpus):
            raise refusal("unique CPUs", "remove one", key="cpus")
        return self


_Percent = Annotated[float, Field(ge=0, le=100)]
_Count = Annotated[int, Field(ge=0, le=2**53)]


class PerturbationSpec(Strict):
    """Limits of perturbation. An invocation that exceeds one is perturbed, and is repeated at the end of its block. `null` disables a limit. Less strict limits also apply to existing records."""

    steal_percent: _Percent | None = Field(
        5.0, description="CPU time taken by the hypervisor, in percent of all CPUs.", examples=[1]
    )
    other_cpu_percent: _Percent | None = Field(
        10.0, description="CPU time of processes that are not measured, in percent of all CPUs.", examples=[5]
    )
    memory_pressure_percent: _Percent | None = Field(
        5.0,
        description="Time during which some task waited for memory (PSI `some`), in percent. Not checked for an invocation with "
        "`memory_mib`, whose limit makes it wait.",
        examples=[1],
    )
    io_pressure_percent: _Percent | None = Field(
        None,
        description="Time during which some task waited for I/O (PSI `some`), in percent.",
        examples=[10],
    )
    frequency_drop_percent: _Percent | None = Field(
        10.0, description="Drop of the median frequency of the measured cores, in percent.", examples=[5]
    )
    swapped_pages: _Count | None = Field(64, description="Number of pages swapped in or out.", examples=[0])
    throttle_events: _Count | None = Field(
        0, description="Number of thermal throttling events.", examples=[0]
    )
    retries: int = Field(
        1,
        description="Maximum number of retries of a perturbed invocation, in each `regatta run`. If the last retry is"
        " perturbed too, its record is kept, and the next `regatta run` retries again.",
        ge=0,
        le=100,
        examples=[2],
    )


class EnvironmentSpec(Strict):
    """Environment variables of measured processes. They are not inherited."""

    allow: list[Variable] = Field(
        [],
        description="Variables to copy from the environment in which the plan is made. Their values become part "
        "of the identity of the cells. They are written to `plan.json` in plain text, so do not list "
        "secrets. Defaults: PATH is the system path, LC_ALL is C.UTF-8 and TZ is UTC.",
        max_length=MAX_ITEMS,
        examples=[["LD_LIBRARY_PATH"]],
    )
    set: Environment = Field({}, description="Variables set for every process.", examples=[{"LC_ALL": "C"}])
    padding_bytes: int = Field(
        0,
        description="Maximum length of a padding variable of random length. The size of the environment alone can"
        " shift results; the padding randomizes it. 0: no padding.",
        ge=0,
        le=65536,
        examples=[4096],
    )


class LimitsSpec(Strict):
    """Resource limits (`setrlimit`) of measured processes. `null`: inherited."""

    address_space_mib: Annotated[int, Field(ge=1, le=2**40)] | None = Field(
        None, description="Virtual memory in MiB. JVMs reserve much more than they use.", examples=[65536]
    )
    open_files: Annotated[int, Field(ge=16, le=2**31)] | None = Field(
        None, description="Number of open files.", examples=[1024]
    )
    processes: Annotated[int, Field(ge=1, le=2**31)] | None = Field(
        None, description="Number of processes and threads of the user.", examples=[4096]
    )
    core_mib: Annotated[int, Field(ge=0, le=2**40)] | None = Field(
        0, description="Size of core dumps in MiB. 0: no core dumps.", examples=[0]
    )


def _check_image(text: str) -> str:
    if not _IMAGE.fullmatch(text):
        raise refusal("the name of a Docker image", "write a name such as `regatta-base:bookworm`")
    return text


ImageName = Annotated[Text, AfterValidator(_check_image)]


def _check_capability(text: str) -> str:
    if text not in CAPABILITIES:
        short = text.upper().removeprefix("CAP_")
        fix = f"use `{short}`" if short in CAPABILITIES else "write a name such as `SETUID`"
        raise refusal("a kernel capability without the prefix CAP_", fix)
    return text


Capability = Annotated[Text, AfterValidator(_check_capability)]


class CounterSpec(Strict):
    """Something to count in every invocation (docs/counters.md). `instructions` is short for `{name: instructions}`."""

    name: Name = Field(
        description=f"One of {', '.join(f'`{name}`' for name in NAMES)}; or another name, with `event`.",
        examples=["instructions"],
    )
    event: Line | None = Field(
        None,
        description="An event from the manual of the processor, as terms of `/sys/bus/event_source/devices/cpu/format`.",
        examples=["event=0xc4,umask=0x20"],
    )

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _known(self) -> CounterSpec:
        if self.event is None:
            if self.name not in NAMES:
                near = get_close_matches(self.name, NAMES, n=1)
                fix = (
                    f"did you mean `{near[0]}`?" if near else "or give the `event` of the processor's manual"
                )
                raise refusal(f"one of {', '.join(NAMES)}", fix, key="name")
        elif metric_of(self.name) in METRICS:
            raise refusal("a name that no other counter has", "rename it", key="name")
        elif not RAW_EVENT.fullmatch(self.event):
            raise refusal("terms such as `event=0xc4,umask=0x20`", key="event")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(NAMES)}, handler(schema)]}


def _check_unique(given: list[CounterSpec]) -> list[CounterSpec]:
    names = [metric_of(one.name) for one in given]
    if len(set(names)) != len(names):
        twice = next(one.name for i, one in enumerate(given) if names[i] in names[:i])
        raise refusal(f"unique counters; `{twice}` is a duplicate", "remove it")
    return given


CounterSpecs = Annotated[
    list[CounterSpec],
    BeforeValidator(listed),
    AfterValidator(_check_unique),
    Field(max_length=64),
    OneOrList(),
]


class IsolationSpec(Strict):
    """Isolation of an invocation from its host. `isolation: docker` is short for `{kind: docker}`."""

    kind: IsolationKind = Field(
        "cgroup",
        description="`cgroup`: a control group that accounts for all processes of an invocation, if the host "
        "permits one, and that applies `cpu_quota` and `memory_mib`. `none`: no control group. `docker`: "
        "a fresh container for each invocation, which sees only the files of its cell.",
        examples=["docker"],
    )
    memory_mib: Annotated[int, Field(ge=16, le=2**30)] | None = Field(
        None,
        description="Memory in MiB, without swap: with `docker` of the container, with `cgroup` of all processes "
        "and of the files that they have in the page cache. An invocation that needs more is killed, with status "
        "`oom`.",
        examples=[2048],
    )
    network: Network = Field(
        "none",
        description="With `docker`: `none` (loopback only) or Docker's `bridge`.",
        examples=["bridge"],
    )
    image: ImageName | None = Field(
        None,
        description="With `docker`: the image of every runtime without an image in `images` or in its registry "
        "entry. If omitted: `regatta-base:bookworm`, built from `docker/base`.",
        examples=["my/base:1"],
    )
    images: dict[Name, ImageName] = Field(
        {},
        description="With `docker`: images, by runtime. An image must contain /bin/sh and all programs that "
        "commands name without a path. The container sees the folder of the runtime and all files "
        "built or generated for a cell, read-only.",
        max_length=MAX_ITEMS,
        examples=[{"temurin-21": "my/image:tag"}],
    )

    processors: Annotated[int, Field(ge=1, le=65536)] | None = Field(
        None,
        description="Number of CPUs: the last ones of those that the host measures on (`cores`). Sets the CPU "
        "affinity of the processes or, with `docker`, the CPU set of the container. A host with fewer"
        " CPUs is an error.",
        examples=[1],
    )
    cpu_quota: Annotated[float, Field(ge=0.01, le=65536)] | None = Field(
        None,
        description="CPU time per 100 ms, in CPUs, with `cgroup` or `docker`; 0.5 is half a CPU. Regatta verifies"
        " the quota; a host where it cannot be set is an error.",
        examples=[0.5],
    )
    capabilities: list[Capability] = Field(
        [],
        description="With `docker`: the kernel capabilities of the container; all others are dropped. They take "
        "effect for root only.",
        max_length=len(CAPABILITIES),
        examples=[["SETUID", "SETGID"]],
    )

    @model_validator(mode="before")
    @classmethod
    def _kind_alone(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _possible(self) -> IsolationSpec:
        given = [key for key in ("image", "images", "capabilities") if getattr(self, key)]
        given += ["network"] if self.network != "none" else []
        if self.kind != "docker" and given:
            raise refusal(f"`{given[0]}` only with `kind: docker`", "write `kind: docker`", key=given[0])
        for key in ("cpu_quota", "memory_mib"):
            if self.kind == "none" and getattr(self, key) is not None:
                raise refusal(f"`{key}` only with a control group", "write `kind: cgroup`", key=key)
        if len(set(self.capabilities)) != len(self.capabilities):
            raise refusal("unique capabilities", "remove one", key="capabilities")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(get_args(IsolationKind))}, handler(schema)]}
