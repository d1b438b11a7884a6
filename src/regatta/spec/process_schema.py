"""The part of a spec that says how a process is run and judged: cores, environment, limits, perturbation."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, Field, GetJsonSchemaHandler, model_validator

from regatta.host.values.capabilities import CAPABILITIES
from regatta.host.values.isolation import IsolationKind, Network
from regatta.spec.fields import MAX_ITEMS, Environment, Name, Strict, Text, Variable, refusal

#: what Docker takes for a name: registry, path, tag or digest
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}")


class CoresSpec(Strict):
    """Where measured processes run."""

    use: Literal["all", "physical", "cpus"] = Field(
        "all",
        description="`all`, `physical` (one hardware thread a core), or `cpus` (those listed).",
        examples=["physical"],
    )
    cpus: list[Annotated[int, Field(ge=0, le=65535)]] = Field(
        [], description="CPU numbers, with `use: cpus`.", max_length=4096, examples=[[2, 3]]
    )
    housekeeping: int = Field(
        0, description="Cores kept for the runner and the rest of the system.", ge=0, le=4096, examples=[1]
    )

    count: int | None = Field(
        None,
        description="So many physical cores, of one memory node and one largest cache where there is such a place.",
        ge=1,
        le=4096,
        examples=[4],
    )

    @model_validator(mode="after")
    def _listed(self) -> CoresSpec:
        if (self.use == "cpus") != bool(self.cpus):
            raise refusal("`cpus` exactly with `use: cpus`", "`{use: cpus, cpus: [0]}`")
        if self.cpus and (self.count or self.housekeeping):
            raise refusal("neither `count` nor `housekeeping` beside listed CPUs", "list fewer CPUs")
        if len(set(self.cpus)) != len(self.cpus):
            raise refusal("every CPU once", key="cpus")
        return self


_Percent = Annotated[float, Field(ge=0, le=100)]
_Count = Annotated[int, Field(ge=0, le=2**53)]


class PerturbationSpec(Strict):
    """Past any of these an invocation counts as perturbed and is run again at the end of its block. `null`: not judged."""

    steal_percent: _Percent | None = Field(5.0, description="CPU time taken by the hypervisor.", examples=[1])
    other_cpu_percent: _Percent | None = Field(
        10.0, description="CPU time of processes that are not measured, over all CPUs.", examples=[5]
    )
    memory_pressure_percent: _Percent | None = Field(
        5.0, description="Time in which tasks waited for memory (PSI, some).", examples=[1]
    )
    io_pressure_percent: _Percent | None = Field(
        None, description="Time in which tasks waited for I/O (PSI, some).", examples=[10]
    )
    frequency_drop_percent: _Percent | None = Field(
        10.0, description="Fall of the measured cores' median frequency.", examples=[5]
    )
    swapped_pages: _Count | None = Field(64, description="Pages swapped in or out.", examples=[0])
    throttle_events: _Count | None = Field(0, description="Thermal throttling events.", examples=[0])
    retries: int = Field(
        1,
        description="How often it is run again before its last try is kept as it is.",
        ge=0,
        le=100,
        examples=[2],
    )


class EnvironmentSpec(Strict):
    """The environment of measured processes: made, not inherited."""

    allow: list[Variable] = Field(
        [],
        description="Variables taken from the environment in which the plan is made; their values become part of what is measured. "
        "They are written to `plan.json` in clear, so name no secret. Without them PATH is the system's own, LC_ALL is C.UTF-8 and TZ is UTC.",
        max_length=MAX_ITEMS,
        examples=[["LD_LIBRARY_PATH"]],
    )
    set: Environment = Field({}, description="Variables set for every process.", examples=[{"LC_ALL": "C"}])
    padding_bytes: int = Field(
        0,
        description="Upper bound of a padding of random length, because the environment's size alone shifts results. 0: none.",
        ge=0,
        le=65536,
        examples=[4096],
    )


class LimitsSpec(Strict):
    """Resource limits (`setrlimit`) of measured processes. `null`: as they are."""

    address_space_mib: Annotated[int, Field(ge=1, le=2**40)] | None = Field(
        None, description="Virtual memory. JVMs reserve much more than they use.", examples=[65536]
    )
    open_files: Annotated[int, Field(ge=16, le=2**31)] | None = Field(
        None, description="Open files.", examples=[1024]
    )
    processes: Annotated[int, Field(ge=1, le=2**31)] | None = Field(
        None, description="Processes and threads of the user.", examples=[4096]
    )
    core_mib: Annotated[int, Field(ge=0, le=2**40)] | None = Field(
        0, description="Core dumps; 0: none.", examples=[0]
    )


def _check_image(text: str) -> str:
    if not _IMAGE.fullmatch(text):
        raise refusal("the name of a Docker image", "regatta-base:bookworm")
    return text


ImageName = Annotated[Text, AfterValidator(_check_image)]


def _check_capability(text: str) -> str:
    if text not in CAPABILITIES:
        short = text.upper().removeprefix("CAP_")
        raise refusal(
            "a capability of the kernel, without CAP_", short if short in CAPABILITIES else "SETUID"
        )
    return text


Capability = Annotated[Text, AfterValidator(_check_capability)]


class IsolationSpec(Strict):
    """How an invocation is kept apart from the rest of its host. `isolation: docker` alone is `{kind: docker}`."""

    kind: IsolationKind = Field(
        "cgroup",
        description="`cgroup`: a control group that accounts for all processes of an invocation, where one may be made, and nothing "
        "else but the limits below. `none`: not even that. `docker`: each invocation in a fresh container, which sees no file but those of its cell.",
        examples=["docker"],
    )
    memory_mib: Annotated[int, Field(ge=16, le=2**30)] | None = Field(
        None,
        description="With `docker`: memory of the container, without swap. What needs more is killed, and the invocation is `oom`.",
        examples=[2048],
    )
    network: Network = Field(
        "none",
        description="With `docker`: `none` (loopback alone) or Docker's `bridge`.",
        examples=["bridge"],
    )
    image: ImageName | None = Field(
        None,
        description="With `docker`: the image of every runtime that neither `images` nor its registry names one for. Left out: "
        "`regatta-base:bookworm`, which `docker/base` makes.",
        examples=["my/base:1"],
    )
    images: dict[Name, ImageName] = Field(
        {},
        description="With `docker`: runtime to image. It must hold /bin/sh, and the programs that commands name without a path; the "
        "runtime's own folder and all that is built or made for a cell is shown to the container read-only.",
        max_length=MAX_ITEMS,
        examples=[{"temurin-21": "my/image:tag"}],
    )

    processors: Annotated[int, Field(ge=1, le=65536)] | None = Field(
        None,
        description="So many CPUs, the last of those that the host measures on (`cores`): the processes' affinity, with `docker` the "
        "container's CPU set. A host that has fewer is refused.",
        examples=[1],
    )
    cpu_quota: Annotated[float, Field(ge=0.01, le=65536)] | None = Field(
        None,
        description="Processors' worth of time in each 100 ms, with `cgroup` or `docker`: 0.5 is half a processor. It is read back, and "
        "a host where it cannot be set is refused.",
        examples=[0.5],
    )
    capabilities: list[Capability] = Field(
        [],
        description="With `docker`: capabilities of the kernel that the container has; it has no other. They take effect for root only.",
        max_length=len(CAPABILITIES),
        examples=[["SETUID", "SETGID"]],
    )

    @model_validator(mode="before")
    @classmethod
    def _kind_alone(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _docker_only(self) -> IsolationSpec:
        given = [key for key in ("memory_mib", "image", "images", "capabilities") if getattr(self, key)]
        given += ["network"] if self.network != "none" else []
        if self.kind != "docker" and given:
            raise refusal(f"`{given[0]}` with `kind: docker` only", "`kind: docker`", key=given[0])
        if self.kind == "none" and self.cpu_quota is not None:
            raise refusal("`cpu_quota` with a control group", "`kind: cgroup`", key="cpu_quota")
        if len(set(self.capabilities)) != len(self.capabilities):
            raise refusal("every capability once", key="capabilities")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(get_args(IsolationKind))}, handler(schema)]}
