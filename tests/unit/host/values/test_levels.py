"""Levels of alternatives, and the pairs that follow from the compared factors and the baseline."""

from __future__ import annotations

import pytest

from regatta.host.values.experiment import Heap
from regatta.host.values.levels import (
    Levels,
    baseline_pairs,
    compared_factors,
    label_without,
    levels_of,
    place_key,
)


def java(collector: str, heap: float, modifiers: str = "none") -> Levels:
    return levels_of("vm/h2:small", "jdk-21", collector, modifiers, Heap(heap))


def native(threads: int, program: str = "sort", runtime: str = "native") -> Levels:
    return levels_of(f"c/{program}:small threads={threads} kib=4", runtime, "", "none", Heap())


def test_chosen_parameters_are_factors_of_their_own() -> None:
    assert dict(native(8)) == {
        "runtime": "native", "modifiers": "none", "benchmark": "c/sort:small",
        "parameters.threads": "8", "parameters.kib": "4",
    }  # fmt: skip
    assert dict(java("g1", 1.5))["heap"] == "1.5x"
    assert levels_of("a/b:c", "x", "", "none", Heap(mib=64))["heap"] == "64 MiB"


def test_a_place_is_what_is_not_compared() -> None:
    assert place_key(native(1), ["parameters.threads"]) == place_key(native(8), ["parameters.threads"])
    assert place_key(native(1), ["runtime"]) != place_key(native(8), ["runtime"])
    for compared in (["benchmark", "parameters.threads"], ["benchmark*parameters.threads"]):
        assert place_key(native(1), compared) == place_key(native(8, "gzip"), compared)


def test_without_a_baseline_each_factor_is_compared_with_its_first_level() -> None:
    group = [java("serial", 1.5), java("g1", 1.5), java("serial", 4), java("g1", 4)]
    assert baseline_pairs(group, {}, ["collector", "heap"]) == ([(1, 0), (2, 0), (3, 2), (3, 1)], [])
    assert baseline_pairs(group, {}, ["heap"]) == ([(2, 0), (3, 1)], [])


def test_a_baseline_keeps_the_other_levels() -> None:
    group = [native(1), native(2), native(1, "gzip"), native(2, "gzip")]
    assert baseline_pairs(group, {"parameters.threads": "2"}, []) == ([(0, 1), (2, 3)], [])
    both = {"parameters.threads": "2", "benchmark": "c/gzip:small"}
    assert baseline_pairs(group, both, []) == ([(0, 3), (1, 3), (2, 3)], [])


def test_an_alternative_without_its_baseline_is_named_and_one_without_the_factor_is_not() -> None:
    group = [native(1), native(2), java("g1", 2)]
    assert baseline_pairs(group[:2], {"parameters.threads": "4"}, []) == ([], [0, 1])
    assert baseline_pairs(group, {"parameters.threads": "2"}, []) == ([(0, 1)], [])
    assert baseline_pairs(group, {"platform": "x86"}, ["parameters.threads"]) == ([(1, 0)], [])


def test_the_baseline_of_modifiers_is_none_where_there_is_none() -> None:
    group = [java("g1", 2, "thp"), java("g1", 2), java("g1", 2, "lean")]
    assert baseline_pairs(group, {}, ["modifiers"]) == ([(0, 1), (2, 1)], [])


def test_runtimes_collectors_and_modifiers_are_always_compared_and_platforms_not_on_a_host() -> None:
    assert compared_factors(["heap", "platform"], ["parameters.n"]) == (
        "collector", "runtime", "modifiers", "heap", "parameters.n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("factors", "label"),
    [
        ([], "c/sort:small kib=4 threads=8"),
        (["parameters.threads", "heap"], "c/sort:small kib=4"),
        (["benchmark"], "kib=4 threads=8"),
        (["benchmark", "parameters.kib", "parameters.threads"], ""),
    ],
)
def test_a_label_without_what_is_compared(factors: list[str], label: str) -> None:
    assert label_without("c/sort:small kib=4 threads=8", factors) == label
