"""Cost of predicting: many applications on many systems, with intervals from the errors of both."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from command import run_command
from rows import Row, say
from turns import row_beside, take_turns

from regatta.predict.grid import predict_many
from regatta.predict.prediction import predict
from regatta.spec.vectors import (
    ApplicationVector,
    ConstantCost,
    Count,
    LinearCost,
    PrimitiveCost,
    SystemVector,
    Value,
)

VECTORS, PRIMITIVES, TURNS = 1000, 200, 7
#: limit for a grid of 1,000 x 1,000 x 200
LIMIT_S = 2.0
#: number of single predictions for extrapolating the total time
ALONE = 200

PRODUCT = "numpy: one product of ready matrices, no intervals"


def _numbers(random: np.random.Generator, count: int) -> list[Value]:
    """Return values of any magnitude with intervals of some percent, as in measurements."""
    values = random.lognormal(3.0, 2.0, count)
    below, above = values * random.uniform(0.0, 0.05, count), values * random.uniform(0.0, 0.05, count)
    return [
        Value(value, low, high, 30)
        for value, low, high in zip(
            values.tolist(), (values - below).tolist(), (values + above).tolist(), strict=True
        )
    ]


def _systems(random: np.random.Generator, count: int, lines: bool) -> list[SystemVector]:
    found = []
    for system in range(count):
        numbers = iter(_numbers(random, 2 * PRIMITIVES))
        costs = [
            LinearCost("bytes", next(numbers), next(numbers))
            if lines and primitive % 2
            else ConstantCost(next(numbers))
            for primitive in range(PRIMITIVES)
        ]
        primitives = {f"p{number}": PrimitiveCost("operation", cost) for number, cost in enumerate(costs)}
        found.append(SystemVector(f"s{system}", "ns", primitives))
    return found


def _applications(random: np.random.Generator, count: int) -> list[ApplicationVector]:
    found = []
    for application in range(count):
        sizes = random.integers(1, 100_000, PRIMITIVES).tolist()
        counts = tuple(
            Count(f"p{number}", one, {"bytes": float(size)})
            for number, (one, size) in enumerate(zip(_numbers(random, PRIMITIVES), sizes, strict=True))
        )
        found.append(ApplicationVector(f"a{application}", "request", counts))
    return found


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _alone(applications: Sequence[ApplicationVector], systems: Sequence[SystemVector]) -> float:
    """Return the time of all pairs, extrapolated from a sample."""

    def some() -> None:
        for number in range(ALONE):
            predict(applications[number % len(applications)], systems[number * 7 % len(systems)])

    return _seconds(some) * len(applications) * len(systems) / ALONE


def _rows(size: int, turns: int, lines: bool) -> list[Row]:
    random = np.random.default_rng(1)
    applications, systems = _applications(random, size), _systems(random, size, lines)
    counts, costs = random.random((size, PRIMITIVES)), random.random((PRIMITIVES, size))
    what = f"{size} applications x {size} systems x {PRIMITIVES} primitives"
    costs_are = "half of the costs lines" if lines else "costs constant"
    say(f"{what}, {costs_are}")
    alone = f"one `predict` after the other, extrapolated from {ALONE}"
    found = take_turns(
        {
            "ours": lambda: _seconds(lambda: predict_many(applications, systems)),
            PRODUCT: lambda: _seconds(lambda: counts @ costs),
            alone: lambda: _alone(applications, systems),
        },
        turns,
    )
    return [
        row_beside(f"{what}, {costs_are}", "s", found, PRODUCT, LIMIT_S, ahead=False),
        row_beside(f"{what}, {costs_are}", "s", found, alone, None),
    ]


def measure(place: Path, quick: bool) -> list[Row]:
    """Return all rows; write nothing."""
    size, turns = (100, 1) if quick else (VECTORS, TURNS)
    return [row for lines in (False, True) for row in _rows(size, turns, lines)]


if __name__ == "__main__":
    sys.exit(run_command("What predicting costs.", measure))
