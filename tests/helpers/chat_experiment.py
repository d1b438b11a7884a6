"""A chat experiment whose answer is known: virtual threads lose with few connections and win with many, one selector wins always."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.host.values.counters import ALL, SPACE, metric_of

CONNECTIONS = (20, 200, 800)
MODES = ("platform", "virtual", "selector")
#: messages delivered a second, over what platform threads deliver with as many connections
SPEED = {
    "platform": {20: 1.0, 200: 1.0, 800: 1.0},
    "virtual": {20: 0.5, 200: 1.0, 800: 2.0},
    "selector": {20: 3.0, 200: 3.0, 800: 3.0},
}
#: processor time for a message, in ns
COST_NS = {"platform": 300_000.0, "virtual": 60_000.0, "selector": 20_000.0}
#: space -> instructions per cycle
IPC = {"user": 0.5, "kernel": 0.25, ALL: 0.4}
#: in a window
INSTRUCTIONS_PER_CONNECTION = 5_000_000
RATIOS = {"branches_per_instruction": 0.2, "branch_taken_ratio": 0.6, "stalled_frontend_share": 0.1}
#: of the server's processors, in every cell
SHARE = 0.3
PLATFORM_RATE = 100_000.0
_NOISE = 0.02


def write_chat_experiment(
    directory: Path,
    *,
    rounds: int = 6,
    rate: int = 0,
    runtimes: Sequence[str] = ("temurin-17", "temurin-21"),
    modes: Sequence[str] = MODES,
    counted: bool = False,
    windows: Sequence[str] = ("",),
    share: float = SHARE,
) -> Path:
    """Plan, journal and facts; `counted`: with counters, of the windows and of messages.

    `windows`: what labels end with; a mode is twice as fast in each next one, so that to mix them would show.
    """
    rng = np.random.default_rng(2001)
    cells, makers = [], []
    for place, runtime, mode, connections in product(range(len(windows)), runtimes, modes, CONNECTIONS):
        if (runtime, mode) != ("temurin-17", "virtual"):
            label = f"chat/chat:short connections={connections} mode={mode}{windows[place]}"
            better = {"metric": "delivered_rate", "better": "higher"}
            cells.append(cell(benchmark=label, runtime=runtime, heap_factor=None, heap_mib=256, **better))
            makers.append((mode, connections, 2.0**place))
    records = [
        record(one, r, list(_rows(*maker, rate, counted, share, rng)), position=i)
        for r in range(rounds)
        for i, (one, maker) in enumerate(zip(cells, makers, strict=True))
    ]
    return write_experiment(directory, cells, records, rounds, method="fixed")


def _rows(
    mode: str,
    connections: int,
    faster: float,
    rate: int,
    counted: bool,
    share_of_cpus: float,
    rng: np.random.Generator,
) -> Iterator[list[Any]]:
    given = {"connections": connections, "mode": mode, "rate": rate}

    def noisy(value: float) -> float:
        return value * math.exp(rng.normal(0, _NOISE))

    speed = faster * PLATFORM_RATE * SPEED[mode][connections]
    yield [0, "delivered_rate", noisy(rate * connections * 20 if rate else speed), "ops/s", None, given]
    for percent, times in ((50, 1.0), (99, 4.0)):
        latency = times * connections * 1e9 / speed
        yield [0, "latency", noisy(latency), "ns", None, {**given, "percentile": percent}]
    cost = COST_NS[mode]
    for name, share in (("", 1.0), ("_user", 0.25), ("_system", 0.75)):
        yield [0, f"cpu{name}_per_message", noisy(share * cost), "ns", None, given]
    for name in ("voluntary", "involuntary"):
        yield [0, f"switches_{name}_per_message", noisy(cost / 50_000), "count", None, given]
    if counted:
        # The runner knows nothing of the program's parameters.
        for space, ipc in IPC.items():
            yield [0, metric_of("ipc", "iteration"), noisy(ipc), "ratio", None, {SPACE: space}]
            for name, value in RATIOS.items():
                yield [0, metric_of(name, "iteration"), value, "ratio", None, {SPACE: space}]
            instructions = INSTRUCTIONS_PER_CONNECTION * connections
            yield [0, metric_of("instructions", "iteration"), instructions, "count", None, {SPACE: space}]
        yield [0, metric_of("context-switches", "operation"), noisy(cost / 50_000), "count", None, None]
        yield [0, metric_of("context-switches"), 1e6, "count", None, None]
    # Noise of their own, so that the series above are as they would be without them.
    (rng,) = rng.spawn(1)
    yield [0, "cpu_client_per_message", noisy(COST_NS["selector"]), "ns", None, given]
    yield [0, "cpu_share", noisy(share_of_cpus), "ratio", None, given]
    yield [0, "window", 1.5e9, "ns", None, given]
    yield [0, "latency", noisy(5e9 * connections / speed), "ns", None, {**given, "percentile": 99.9}]
    yield [0, "minor_faults", noisy(700.0), "count", None, given]
    # Virtual threads are still being compiled.
    yield [0, "compile_time", noisy(0.6e9 if mode == "virtual" else 0.06e9), "ns", None, given]
