"""The JSON of a record. `docs/protocol.md` section 3 is the reference of the keys. No I/O.

The annotations also define the types that readers check and the types of columns (`regatta.host.journal.record_shape`).
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

#: integers by the width of their column; a plain `int` has no column
Int32 = int
Int64 = int
#: iteration, metric, value, unit, operations, parameters
Iteration = list[Any]


class Rusage(TypedDict, total=False):
    """Resources of the process and the child processes that it waited for."""

    user_s: float | None
    system_s: float | None
    max_rss_kib: Int64 | None
    minor_faults: Int64 | None
    major_faults: Int64 | None
    voluntary_switches: Int64 | None
    involuntary_switches: Int64 | None


class Cgroup(TypedDict, total=False):
    """Resources of the whole process tree."""

    version: Int64
    cpu_ns: Int64 | None
    memory_peak_bytes: Int64 | None
    oom_kills: Int64 | None


class State(TypedDict, total=False):
    """State of the host directly before or after the process."""

    load1: float | None
    psi_cpu_some_us: float | None
    psi_memory_some_us: float | None
    psi_memory_full_us: float | None
    psi_io_some_us: float | None
    psi_io_full_us: float | None
    busy_s: float | None
    steal_s: float | None
    swap_pages: float | None
    frequency_khz: float | None
    temperature_mc: float | None
    throttle_events: float | None
    oom_kills: int | None


class Output(TypedDict, total=False):
    """The kept part of a stream."""

    bytes: Int64
    head: str
    tail: str


class OwnCost(TypedDict, total=False):
    """Overhead of the runner."""

    version: str
    before_ns: Int64
    after_ns: Int64


class _Record(TypedDict):
    v: Literal[1]
    invocation_id: str
    attempt: Int32
    cell_id: str
    experiment: str
    host: str
    platform: str
    plan_id: str
    seed: Int64
    order: str
    segment: Int32
    round: Int32
    block: Int32
    position: Int32
    planned_index: Int64
    sequence: Int64
    started_utc_ns: Int64
    started_monotonic_ns: Int64
    elapsed_ns: Int64
    status: str
    reason: str | None
    exit_code: Int32 | None
    signal: Int32 | None
    rusage: Rusage
    cgroup: Cgroup | None
    isolation: dict[str, Any]
    left_behind: Int32
    iterations: list[Iteration]
    digest: str | None
    info: dict[str, Any]
    host_before: State
    host_after: State
    perturbation: list[dict[str, Any]]
    cores: list[Int32]
    padding_bytes: Int64
    stdout: Output
    stderr: Output
    runner: OwnCost


class Record(_Record, total=False):
    """One invocation, with the keys in order. Older records lack some keys."""

    kept: list[dict[str, Any]]
    #: role -> its part of the invocation
    roles: dict[str, Any]
