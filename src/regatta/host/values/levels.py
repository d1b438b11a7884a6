"""Factors of an experiment, the levels of each alternative, and the pairs to compare. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from regatta.host.values.benchmark_label import LabelParts, benchmark_label, parts_of_label
from regatta.host.values.cell import NO_MODIFIERS, Cell
from regatta.host.values.experiment import Heap
from regatta.host.values.plan_cell import PlanCell

#: compared in every experiment, in the order of sentences
ALWAYS = ("collector", "runtime", "modifiers")
#: all factors that are not parameters
FACTORS = ("runtime", "collector", "modifiers", "heap", "benchmark", "platform")
#: start of the factor of a parameter: `parameters.threads`
PARAMETERS = "parameters."

#: between the factors of a crossing: `runtime*collector`
CROSSED = "*"

#: factor -> name of the level; a factor that the alternative does not have is absent
Levels = Mapping[str, str]


@lru_cache(maxsize=100_000)
def levels_of(benchmark: str, runtime: str, collector: str, modifiers: str, heap: Heap) -> Levels:
    """Return the levels of an alternative on one host.

    Args:
        benchmark: label; its chosen parameters are separate factors.
        runtime: name.
        collector: name; "" if it has none.
        modifiers: names joined by "+", or `none`.
        heap: as asked; its level is `1.5x` or `64 MiB`.
    """
    parts = parts_of_label(benchmark)
    named = {
        "collector": collector,
        "runtime": runtime,
        "modifiers": modifiers,
        "benchmark": benchmark_label(parts.suite, parts.name, parts.size, {}),
        "heap": heap_level(heap),
        **{PARAMETERS + name: text for name, text in parts.chosen.items()},
    }
    return MappingProxyType({factor: level for factor, level in named.items() if level})


def levels_of_cell(cell: Cell) -> Levels:
    """Return the levels of a planned cell."""
    return levels_of(cell.benchmark.label, cell.runtime, cell.collector, cell.modifiers, cell.heap.asked)


def levels_of_planned(cell: PlanCell) -> Levels:
    """Return the levels of a cell of a host's plan."""
    heap = Heap(cell["heap_factor"], cell["heap_mib"]).asked
    return levels_of(cell["benchmark"], cell["runtime"], cell["collector"], cell["modifiers"], heap)


def heap_level(heap: Heap) -> str:
    """Return `1.5x` for a factor, `64 MiB` for a size, "" for neither."""
    if heap.factor is not None:
        # Factors of a spec have at most 12 digits: different ones have different levels.
        return f"{heap.factor:.12g}x"
    return "" if heap.mib is None else f"{heap.mib} MiB"


def components(factors: Iterable[str]) -> tuple[str, ...]:
    """Return single factors: those of crossings separately, each once."""
    return tuple(dict.fromkeys(one for factor in factors for one in factor.split(CROSSED)))


def label_without(benchmark: str, factors: Iterable[str]) -> str:
    """Return the label of a benchmark without the parameters, or the program, that are among the factors."""
    factors = set(components(factors))
    parts: LabelParts = parts_of_label(benchmark)
    chosen = {name: text for name, text in parts.chosen.items() if PARAMETERS + name not in factors}
    if "benchmark" not in factors:
        return benchmark_label(parts.suite, parts.name, parts.size, chosen)
    return " ".join(f"{name}={text}" for name, text in sorted(chosen.items()))


def parameters_in(factors: Iterable[str]) -> frozenset[str]:
    """Return the names of the parameters among factors."""
    return frozenset(f[len(PARAMETERS) :] for f in components(factors) if f.startswith(PARAMETERS))


def differing(a: Levels, b: Levels) -> tuple[str, ...]:
    """Return the factors in which two alternatives differ."""
    return tuple(factor for factor in {**a, **b} if a.get(factor) != b.get(factor))


def shared_parameters(text: str, factors: Iterable[str]) -> str:
    """Return the parameters of a metric, as JSON, without those among the factors: equal texts are the same series."""
    names = parameters_in(factors)
    if not names or not text:
        return text
    kept = {name: value for name, value in json.loads(text).items() if name not in names}
    return json.dumps(kept, sort_keys=True) if kept else ""


def place_key(levels: Levels, compared: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Return the levels of the factors that are not compared: equal keys are one place."""
    but = set(components(compared))
    return frozenset((factor, level) for factor, level in levels.items() if factor not in but)


def baseline_pairs(
    group: Sequence[Levels], baseline: Levels, compared: Sequence[str]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Pair the alternatives of one place with their baselines.

    Args:
        group: levels of each alternative, in plan order.
        baseline: levels of the baseline; that of the platform is ignored. Other factors keep the level of the alternative.
            If empty, each compared factor is compared separately with its first level (modifiers: with `none`), and the
            other factors stay the same.
        compared: factors to compare if there is no baseline.

    Returns:
        Indices as `(alternative, baseline)`, and the alternatives whose baseline is missing from the group.
    """
    baseline = {factor: level for factor, level in baseline.items() if factor != "platform"}
    where = {frozenset(levels.items()): place for place, levels in enumerate(group)}
    several_runtimes = len({levels.get("runtime") for levels in group}) > 1
    pairs: list[tuple[int, int]] = []
    without: list[int] = []
    for place, levels in enumerate(group):
        if baseline:
            # A program without a JVM has no collector, and often a single runtime.
            own = {
                factor: level
                for factor, level in baseline.items()
                if factor in levels and (factor != "runtime" or "collector" in levels or several_runtimes)
            }
            found = where.get(frozenset({**levels, **own}.items()))
            if found is None:
                without.append(place)
            elif found != place:
                pairs.append((place, found))
            continue
        for factor in compared:
            if factor in levels:
                found = where.get(frozenset({**levels, factor: _first_level(group, factor)}.items()))
                if found is not None and found != place:
                    pairs.append((place, found))
    return pairs, without


def _first_level(group: Sequence[Levels], factor: str) -> str:
    levels = [one[factor] for one in group if factor in one]
    return NO_MODIFIERS if factor == "modifiers" and NO_MODIFIERS in levels else levels[0]


def compared_factors(compare: Iterable[str], baseline: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the factors that an experiment compares on one host: the usual ones, those of its spec, and of its baseline."""
    more = (factor for factor in components((*compare, *baseline)) if factor != "platform")
    return tuple(dict.fromkeys((*ALWAYS, *more)))
