"""What a collector adds to the time of a program whose objects are known, with costs that are known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from scipy.stats import t

from helpers.heap_vectors import MIB, SIZE, made_vector
from regatta.models.gc.added_time import MODEL_ERRORS, AddedTime, added_time
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.gc.costs import Costs, Observation, fit_costs
from regatta.models.gc.heap_policy import policy_of
from regatta.models.gc.measured import MeasuredCollections, Vm
from regatta.models.gc.prediction import predict_collections
from regatta.models.gc.work import CPU, Work

#: ns: of each collection
FIXED = 4e6


def costs(ns: float = FIXED) -> Costs:
    """Return the costs of collections that take a fixed time, from three invocations that hardly differ."""
    works = [Work(MIB), Work(MIB, moved={SIZE: 1e5})]
    each = [
        [Observation(work, ns * factor, str(at)) for at, work in enumerate(works)]
        for factor in (1.0, 1 + 1e-9, 1 - 1e-9)
    ]
    return fit_costs(each, "made")


def added(
    collector: str,
    heap_mib: int,
    kinds: dict[str, Costs],
    *,
    mib: int = 48,
    processors: int | None = 2,
    threads: float = 1.0,
) -> AddedTime:
    vm = Vm("local", "temurin-21", collector)
    measured = MeasuredCollections(0.95, 1, {vm: kinds}, ())
    return added_time(
        made_vector(mib=mib), vm, heap_mib * MIB, measured, processors=processors, threads=threads, level=0.95
    )


def times_of(kind: str, level: float = 0.95) -> float:
    """Return by which factor the model's own error alone makes an end."""
    return math.exp(MODEL_ERRORS[kind].base * t.ppf(0.5 + level / 2, MODEL_ERRORS[kind].applications - 1))


def test_pauses_are_those_of_iterations_without_a_forced_collection() -> None:
    found = added("serial", 64, {YOUNG: costs(), FULL: costs()})
    policy = policy_of("serial", 64 * MIB)
    alone = predict_collections(made_vector(), policy, {YOUNG: costs(), FULL: costs()}, forced=False)
    count = alone.totals[YOUNG].count
    assert count > 1
    assert FULL not in alone.totals
    assert found.time.value == pytest.approx(count * FIXED)
    assert found.words.startswith(f"{count:.3g} young")
    # Exact costs leave the model's own error.
    assert found.time.high / found.time.value == pytest.approx(times_of(YOUNG), rel=1e-5)
    assert found.time.value / found.time.low == pytest.approx(times_of(YOUNG), rel=1e-5)


def test_a_larger_heap_has_fewer_collections_and_no_collections_take_no_time() -> None:
    times = [added("serial", heap, {YOUNG: costs(), FULL: costs()}).time for heap in (32, 64, 128, 1024)]
    assert [one.value for one in times] == sorted((one.value for one in times), reverse=True)
    assert times[-1].is_exact
    assert times[-1].value == 0.0


def test_a_kind_without_costs_leaves_no_number() -> None:
    found = added("serial", 64, {FULL: costs()})
    assert math.isnan(found.time.value)
    assert YOUNG in found.time.reason
    assert YOUNG in " ".join(found.notes)


def cycles(processors: int | None, threads: float) -> AddedTime:
    return added("z", 64, {CYCLE: costs(), CPU: costs(3 * FIXED)}, processors=processors, threads=threads)


def test_concurrent_work_delays_a_program_only_where_processors_are_short() -> None:
    count = (
        predict_collections(
            made_vector(), policy_of("z", 64 * MIB), {CYCLE: costs(), CPU: costs()}, forced=False
        )
        .totals[CYCLE]
        .count
    )
    work = count * 3 * FIXED
    assert count > 0
    expected = {
        # One thread of the collector has a processor of its own.
        (2, 1.0): 0.0,
        (8, 6.0): 0.0,
        # Half a processor too few; both busy: a half each of the work of one thread; all of eight busy, with two threads.
        (2, 1.5): 0.5 / 2,
        (2, 2.0): 1 / 2,
        (8, 8.0): 1 / 8,
        (8, 20.0): 1 / 8,
        # Two of them on one processor, from which each has the half.
        (1, 1.0): 1.0,
    }
    for (processors, threads), part in expected.items():
        found = cycles(processors, threads).time
        assert found.value == pytest.approx(part * work), (processors, threads)
        assert found.low == 0.0
        assert found.high == pytest.approx(work * times_of(CYCLE) / processors)


def test_without_the_number_of_processors_nothing_is_known_of_concurrent_work() -> None:
    found = cycles(None, 1.0)
    assert math.isnan(found.time.value)
    assert found.time.reason
    assert added("serial", 64, {YOUNG: costs()}, processors=None).time.value > 0.0


def test_cycles_without_costs_in_processor_time_leave_no_number() -> None:
    found = added("z", 64, {CYCLE: costs()})
    assert math.isnan(found.time.value)
    assert found.time.reason


def test_the_level_moves_the_ends_only() -> None:
    vm = Vm("local", "temurin-21", "serial")
    measured = MeasuredCollections(0.95, 1, {vm: {YOUNG: costs()}}, ())
    wide, narrow = (
        added_time(made_vector(), vm, 64 * MIB, measured, processors=2, threads=1.0, level=level).time
        for level in (0.99, 0.5)
    )
    assert wide.value == narrow.value
    assert wide.high / wide.value == pytest.approx(times_of(YOUNG, 0.99), rel=1e-5)
    assert replace(narrow, low=wide.low, high=wide.high) == wide
