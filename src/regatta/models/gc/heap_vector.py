"""How an application uses the heap, per iteration: rates with their intervals, and their profiles."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from regatta.answers.kit.plain import finite
from regatta.host.errors import SpecError
from regatta.host.files import parse_json, read_bounded, write_output
from regatta.host.foreign import foreign
from regatta.host.values.from_json import value_from_json
from regatta.models.gc.heap_profile import HeapProfile, checked_profile, rates_per_iteration, survival
from regatta.stats.estimate import Interval
from regatta.stats.intervals import mean_interval

_VERSION = 2
MIB = 1 << 20
#: profiles of a hundred runs with thousands of checkpoints are smaller
_MOST_BYTES = 64 << 20
#: ages at which the surviving fraction is reported
AGES_MIB = (1, 4, 16, 64)
_FIX = "make it with `regatta trace heap -o FILE -- java ...`"


@dataclass(frozen=True)
class HeapRun:
    """One profiled run of an application."""

    profile: HeapProfile
    warmup: int

    @cached_property
    def counted(self) -> Sequence[int]:
        """Return the iterations after warm-up; none of a program without the harness."""
        return [number for number in self.profile.ends() if number >= self.warmup]

    @cached_property
    def allocated(self) -> Sequence[tuple[float, float]]:
        """Return objects and bytes of each bin of sizes that the counted iterations, or the run, allocate."""
        wanted = {f"iteration {number}" for number in self.counted}
        sums: dict[float, tuple[float, float]] = {}
        for at in self.profile.checkpoints:
            if not wanted or self.profile.windows[at.window] in wanted:
                for key, objects, size in at.allocated:
                    before = sums.get(key, (0.0, 0.0))
                    sums[key] = (before[0] + objects, before[1] + size)
        return list(sums.values())


@dataclass(frozen=True)
class HeapVector:
    """The use of the heap by one application."""

    name: str
    per: str
    benchmark: str
    warmup: int
    level: float
    rates: Mapping[str, Interval]
    #: one or more: HotSpot removes more allocations in one run than in the next
    runs: Sequence[HeapRun]


def heap_vector(
    profiles: Sequence[HeapProfile], name: str, *, benchmark: str = "", warmup: int = 1, level: float = 0.95
) -> HeapVector:
    """Return the vector of an application.

    Args:
        profiles: of its runs, at least one. The rates are means over the runs; those of a single run, over
            its iterations.
        benchmark: `suite/name`, or "".
        warmup: iterations to leave out, from the first.
        level: confidence, between 0 and 1.

    Raises:
        SpecError: no iteration is left.
    """
    each = [_rates(profile, warmup, level) for profile in profiles]
    rates = {key: _over_runs([one[key] for one in each if key in one], level) for key in each[0]}
    per = "iteration" if profiles[0].has_iterations else "run"
    runs = [HeapRun(profile, warmup) for profile in profiles]
    return HeapVector(name, per, benchmark, warmup, level, rates, runs)


def _over_runs(rates: Sequence[Interval], level: float) -> Interval:
    return rates[0] if len(rates) == 1 else mean_interval([one.point for one in rates], level, positive=True)


def _rates(profile: HeapProfile, warmup: int, level: float) -> dict[str, Interval]:
    rates = rates_per_iteration(profile, warmup, level)
    for age in AGES_MIB:
        # A cohort spans this many bytes.
        if age * MIB >= profile.every_bytes > 0:
            rates[survival_at(age)] = survival(profile, age * MIB, warmup, level)
    return rates


def survival_at(age_mib: int) -> str:
    """Return the name of the rate that is the fraction of bytes reachable at an age."""
    return f"survival_{age_mib}_mib"


def write_heap_vector(vector: HeapVector, path: Path) -> None:
    """Write the whole file or nothing."""
    names = ("name", "per", "benchmark", "warmup", "level")
    document = {
        "heap_vector": _VERSION,
        **{name: getattr(vector, name) for name in names},
        "rates": {name: _written(rate) for name, rate in vector.rates.items()},
        "profiles": [dataclasses.asdict(one.profile) for one in vector.runs],
    }
    write_output(path, json.dumps(document) + "\n")


def read_heap_vector(path: Path) -> HeapVector:
    """Read a vector that `regatta trace heap` has written.

    Raises:
        SpecError: no such file, or it has another shape.
    """
    with foreign(path, "a heap vector", _FIX):
        try:
            told = parse_json(read_bounded(path, _MOST_BYTES))
        except OSError as error:
            raise SpecError.of(str(path), "a heap vector", error.strerror or str(error), _FIX) from error
        except ValueError as error:
            raise SpecError.of(str(path), "JSON", str(error), _FIX) from error
        found = told.get("heap_vector") if isinstance(told, dict) else None
        if found != _VERSION:
            got = f"version {found}" if isinstance(told, dict) and "heap_vector" in told else "another file"
            raise SpecError.of(str(path), f"a heap vector of version {_VERSION}", got, _FIX)
        head = value_from_json(_Head, {key: told.get(key) for key in _Head.__annotations__}, str(path))
        if not head.profiles:
            raise SpecError.of(f"{path}: profiles", "at least one", "none", _FIX)
        profiles = [checked_profile(each) for each in head.profiles]
        return heap_vector(
            profiles, head.name, benchmark=head.benchmark, warmup=head.warmup, level=head.level
        )


@dataclass(frozen=True)
class _Head:
    """The keys of the file that are not computed from the others."""

    name: str
    benchmark: str
    warmup: int
    level: float
    profiles: list[HeapProfile]


def _written(rate: Interval) -> dict[str, float | int | str | None]:
    """Return an interval as JSON, which has no NaN."""
    ends = {"value": finite(rate.point), "low": finite(rate.low), "high": finite(rate.high)}
    return {**ends, "n": rate.n, **({"reason": rate.reason} if rate.reason else {})}
