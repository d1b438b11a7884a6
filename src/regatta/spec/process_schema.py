"""The part of a spec that says how a process is run and judged: cores, environment, limits, perturbation."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from regatta.spec.fields import MAX_ITEMS, Environment, Strict, Variable, refusal


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
        "Without them PATH is the system's own, LC_ALL is C.UTF-8 and TZ is UTC.",
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
