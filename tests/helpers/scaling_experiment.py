"""A scalable experiment: latencies and bandwidths with 1, 2, 3 and 4 processes on two CPUs, sizes of memory, sleeps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from helpers.synthetic_journal import native, record, write_facts, write_journal, write_plan
from regatta.host.values.experiment import Scalar

LOADS = (1, 2, 3, 4)
CPUS = 2
#: what `fleet.facts` says of the host
FACTS = {
    "cpu": "a processor",
    "cpus": str(CPUS),
    "caches": "L1d 48 KiB, L1i 32 KiB, L2 1 MiB, L3 32 MiB, lines of 64 bytes",
}
#: call -> ns alone; they take turns on the CPUs beyond those
CALLS = {"null": 60.0, "read": 110.0, "write": 95.0, "stat": 480.0, "open": 1050.0}
#: kernel -> MB/s alone; two processes move 1.8 times as much, more move no more
KERNELS = {"fill": 21000.0, "copy": 17000.0, "daxpy": 19000.0, "sum": 12000.0}
_NOISE = 0.01


def shared(load: int) -> float:
    """How many times as long an operation takes where `load` processes share the CPUs."""
    return max(1.0, load / CPUS)


def grown(load: int) -> float:
    """How many times as much `load` processes move together as one does."""
    return 1.0 if load == 1 else 1.8


def write_scaling_experiment(directory: Path, rounds: int = 12, loads: Sequence[int] = LOADS) -> Path:
    """Plan, journal and facts in `directory`: benchmarks `lm/NAME:default parallel=N`, each with its series."""
    rng = np.random.default_rng(20040101)
    cells, makers = [], []
    for name, metric, better, rows in _PROGRAMS:
        for load in loads:
            label = f"lm/{name}:default parallel={load}"
            cells.append(native(label, metric=metric, better=better))
            makers.append((rows, load))
    records = [
        record(one, r, list(rows(load, rng)), block=i, position=i)
        for r in range(rounds)
        for i, (one, (rows, load)) in enumerate(zip(cells, makers, strict=True))
    ]
    write_plan(directory, cells, rounds)
    write_facts(directory, host_facts={"alpha": FACTS})
    write_journal(directory, records)
    return directory


def latency_rows(
    load: int, rng: np.random.Generator, alone_ns: float, **parameters: Scalar
) -> Iterator[list[Any]]:
    """The lines of one latency, as a workload reports them."""
    value = alone_ns * shared(load) * math.exp(rng.normal(0, _NOISE))
    given = {**parameters, "parallel": load}
    yield [0, "latency", value, "ns", 1000, given]
    if load > 1:
        yield [0, "latency_fastest", 0.97 * value, "ns", 1000, given]
        yield [0, "latency_slowest", 1.05 * value, "ns", 1000, given]
        yield [0, "rate_system", 1e9 * load / value, "ops/s", 1000, given]


def bandwidth_rows(
    load: int, rng: np.random.Generator, alone: float, **parameters: Scalar
) -> Iterator[list[Any]]:
    """The lines of one bandwidth; three processes are placed well or badly, as the paper's are."""
    system = alone * grown(load) * math.exp(rng.normal(0, _NOISE))
    if load == 3 and rng.uniform() < 0.4:
        system *= 0.7
    given = {**parameters, "parallel": load}
    yield [0, "bandwidth", system / load, "MB/s", 10, given]
    if load > 1:
        yield [0, "bandwidth_fastest", 1.1 * system / load, "MB/s", 10, given]
        yield [0, "bandwidth_slowest", 0.9 * system / load, "MB/s", 10, given]
        yield [0, "bandwidth_system", system, "MB/s", 10, given]


def memory_ns(size_bytes: int) -> float:
    """The latency of a load from an area of that size, on the host of `FACTS`."""
    return (
        1.1
        if size_bytes <= 48 << 10
        else 3.2
        if size_bytes <= 1 << 20
        else 11.0
        if size_bytes <= 32 << 20
        else 96.0
    )


def _syscall(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    for call, alone in CALLS.items():
        yield from latency_rows(load, rng, alone, call=call)


def _select(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    for descriptors in (10, 100):
        yield from latency_rows(load, rng, 30.0 * descriptors, descriptors=descriptors, kind="tcp")


def _proc(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    for call, alone in (("fork", 1.5e5), ("exec", 4.1e5), ("sh", 9e5)):
        yield from latency_rows(load, rng, alone, call=call)


def _pipe(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    yield from latency_rows(load, rng, 5200.0)


def _tcp(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    yield from latency_rows(load, rng, 14000.0)


def _fs(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    for call in ("create", "delete"):
        yield from latency_rows(load, rng, 11000.0, call=call, size_bytes=1024)


def _unheard_of(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    yield from latency_rows(load, rng, 700.0)


def _memory(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    for step in range(15):
        size = 4096 << step
        given: dict[str, Scalar] = {
            "size_bytes": size,
            "stride_bytes": 64,
            "order": "random",
            "parallel": load,
        }
        value = memory_ns(size) * (1 + 0.1 * (load > CPUS)) * math.exp(rng.normal(0, _NOISE))
        yield [0, "latency", value, "ns", 1000, given]


def _sleep(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    for call, late_us in (("usleep", 55.0), ("nanosleep", 56.0), ("select", 60.0), ("itimer", 3.0)):
        for requested in (1, 10, 100, 1000, 10000):
            value = (requested + late_us * math.exp(rng.normal(0, 0.05))) * 1000
            yield [0, "latency", value, "ns", 10, {"call": call, "requested_us": requested, "parallel": load}]


def _memory_bandwidth(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    for kind, alone in (("read", 24000.0), ("write", 15000.0), ("copy", 9000.0)):
        yield from bandwidth_rows(load, rng, alone, kind=kind, size_bytes=64 << 20)


def _pipe_bandwidth(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    yield from bandwidth_rows(load, rng, 4200.0, size_bytes=65536)


def _stream(load: int, rng: np.random.Generator) -> Iterator[list[Any]]:
    for kernel, alone in KERNELS.items():
        yield from bandwidth_rows(load, rng, alone, kernel=kernel, version=2)


_Rows = Callable[[int, np.random.Generator], Iterator[list[Any]]]
_PROGRAMS: tuple[tuple[str, str, str, _Rows], ...] = (
    ("lat_syscall", "latency", "lower", _syscall),
    ("lat_select", "latency", "lower", _select),
    ("lat_proc", "latency", "lower", _proc),
    ("lat_pipe", "latency", "lower", _pipe),
    ("lat_tcp", "latency", "lower", _tcp),
    ("lat_fs", "latency", "lower", _fs),
    ("lat_unheard_of", "latency", "lower", _unheard_of),
    ("lat_mem_rd", "latency", "lower", _memory),
    ("lat_usleep", "latency", "lower", _sleep),
    ("bw_mem", "bandwidth", "higher", _memory_bandwidth),
    ("bw_pipe", "bandwidth", "higher", _pipe_bandwidth),
    ("stream", "bandwidth", "higher", _stream),
)
