"""How an application uses the heap, per iteration: rates with their intervals, and the profile they are from."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from regatta.gc.heap_profile import HeapProfile, allocated_per_iteration, live_after_iteration, survival
from regatta.host.files import write_whole
from regatta.stats.estimate import Interval

_VERSION = 1
MIB = 1 << 20
#: ages at which the surviving fraction is reported
AGES_MIB = (1, 4, 16, 64)


@dataclass(frozen=True)
class HeapVector:
    """The use of the heap by one application."""

    name: str
    per: str
    benchmark: str
    warmup: int
    level: float
    rates: Mapping[str, Interval]
    profile: HeapProfile


def heap_vector(
    profile: HeapProfile, name: str, *, benchmark: str = "", warmup: int = 1, level: float = 0.95
) -> HeapVector:
    """Return the vector of a profile.

    Args:
        profile: of one run.
        name: of the application.
        benchmark: `suite/name`, or "".
        warmup: iterations to leave out, from the first.
        level: confidence, between 0 and 1.

    Raises:
        RegattaError: no iteration is left.
    """
    allocated = allocated_per_iteration(profile, warmup, level)
    live = live_after_iteration(profile, warmup, level)
    rates = {
        "objects": allocated.objects,
        "bytes": allocated.bytes,
        "live_objects": live.objects,
        "live_bytes": live.bytes,
        "references_per_object": live.references_per_object,
    }
    for age in AGES_MIB:
        # A cohort spans this many bytes.
        if age * MIB >= profile.every_bytes > 0:
            rates[survival_at(age)] = survival(profile, age * MIB, warmup, level)
    per = "iteration" if profile.has_iterations else "run"
    return HeapVector(name, per, benchmark, warmup, level, rates, profile)


def survival_at(age_mib: int) -> str:
    """Return the name of the rate that is the fraction of bytes reachable at an age."""
    return f"survival_{age_mib}_mib"


def write_heap_vector(vector: HeapVector, path: Path) -> None:
    """Write the whole file or nothing."""
    head = {
        "heap_vector": _VERSION,
        "name": vector.name,
        "per": vector.per,
        "benchmark": vector.benchmark,
        "warmup": vector.warmup,
        "level": vector.level,
    }
    rates = {name: _written(rate) for name, rate in vector.rates.items()}
    profile = dataclasses.asdict(vector.profile)
    checkpoints = ",\n  ".join(json.dumps(at) for at in profile.pop("checkpoints"))
    start = json.dumps({**head, "rates": rates})[:-1]
    text = f'{start},\n"profile": {json.dumps(profile)[:-1]},\n "checkpoints": [\n  {checkpoints}\n]}}}}\n'
    write_whole(path, text)


def _written(rate: Interval) -> dict[str, float | int | str | None]:
    """Return an interval as JSON, which has no NaN."""
    edges = {"value": rate.point, "low": rate.low, "high": rate.high}
    written = {key: edge if math.isfinite(edge) else None for key, edge in edges.items()}
    return {**written, "n": rate.n, **({"reason": rate.reason} if rate.reason else {})}
