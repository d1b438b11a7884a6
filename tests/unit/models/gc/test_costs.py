"""Costs of collectors: exact ones are recovered, from numbers and from a log."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from regatta.host.errors import RegattaError
from regatta.models.gc.collection_log import FULL, parse_collection_log
from regatta.models.gc.costs import Costs, Observation, fit_costs
from regatta.models.gc.heap_policy import policy_of
from regatta.models.gc.work import Knots, Work, features, work_of_case

MIB = 1 << 20
SIZES = (16, 32, 64)
#: ns, made up: of a collection, of a MiB of heap, of an object of each size, of a byte of a dead object
FIXED, PER_MIB = 2e6, 5e3
MOVED = {16: 30.0, 32: 40.0, 64: 60.0}
LIVE = {16: 12.0, 32: 15.0, 64: 20.0}
DEAD = {16: 4.0, 32: 5.0, 64: 7.0}


def cases() -> list[Mapping[str, object]]:
    """Return the parameters of all cases, without the heap."""
    return [
        {"shape": "list", "size": size, "objects": objects, "refs": 0, "moment": moment}
        for size in SIZES
        for objects in (100_000, 300_000)
        for moment in ("live_new", "live", "dead", "empty")
    ]


def exact_ns(case: Mapping[str, object], heap_mib: int) -> float:
    """Return the time of a case by the made-up costs."""
    of = {"live_new": MOVED, "live": LIVE, "dead": DEAD}.get(str(case["moment"]))
    each = of[int(str(case["size"]))] if of else 0.0
    return FIXED + PER_MIB * heap_mib + each * int(str(case["objects"]))


def test_a_log_with_known_costs_gives_them_back() -> None:
    # The log has 1 us resolution, and the shortest collection takes 2.6 ms.
    lines = ["[1ns][gc,init] Heap Max Capacity: 128M"]
    wanted: list[tuple[Mapping[str, object], int]] = []
    at = 0
    for heap in (128, 512):
        for case in cases():
            ns = exact_ns(case, heap)
            number = len(wanted)
            lines.append(f"[{at + 10}ns][gc,start] GC({number}) Pause Full (System.gc())")
            at += 10 + round(ns)
            lines.append(f"[{at}ns][gc] GC({number}) Pause Full (System.gc()) 9M->1M(128M) {ns / 1e6:.3f}ms")
            wanted.append((case, heap))
    log = parse_collection_log("\n".join(lines) + "\n", "log")
    observed = []
    for one, (case, heap) in zip(log.collections, wanted, strict=True):
        found = work_of_case(policy_of("serial", heap * MIB), "collection", case)  # type: ignore[arg-type]
        assert found is not None
        kind, work, label = found
        assert kind == FULL
        observed.append(Observation(work, one.pause_ns, label))
    costs = fit_costs([observed, observed], "serial")
    named = {name: float(each.mean()) for name, each in costs.named().items()}
    expected = {"fixed": FIXED, "heap": PER_MIB}
    expected |= {
        f"{kind} {size}": of[size]
        for kind, of in (("moved", MOVED), ("live", LIVE), ("dead", DEAD))
        for size in SIZES
    }
    assert named == pytest.approx(expected, rel=0.01)
    assert max(abs(each.error) for each in costs.residuals) < 0.01


def test_predicted_time_is_the_sum_of_the_thesis() -> None:
    observed = [
        Observation(found[1], exact_ns(case, heap), found[2])
        for heap in (128, 512)
        for case in cases()
        if (found := work_of_case(policy_of("serial", heap * MIB), "collection", case))  # type: ignore[arg-type]
    ]
    costs = fit_costs([observed], "serial")
    # 48 bytes are half way from 32 to 64.
    work = Work(256 * MIB, live={16: 1000, 48: 2000}, moved={64: 10}, dead={32: 500})
    wanted = FIXED + 256 * PER_MIB + 1000 * 12 + 2000 * 17.5 + 10 * 60 + 500 * 5
    assert costs.of([work, work]) == pytest.approx(np.full((1, 2), wanted), rel=1e-6)


def test_objects_beyond_the_sizes_follow_the_last_line() -> None:
    knots = Knots((16.0, 32.0))
    found = dict(zip(knots.names, features(Work(0, live={48: 1}), knots), strict=True))
    assert (found["live 16"], found["live 32"]) == (-1.0, 2.0)


def test_a_smaller_object_than_the_smallest_size_counts_as_that() -> None:
    knots = Knots((16.0, 32.0))
    found = dict(zip(knots.names, features(Work(0, live={8: 1}), knots), strict=True))
    assert (found["live 16"], found["live 32"]) == (1.0, 0.0)


def test_one_heap_size_has_no_cost_of_its_mib() -> None:
    costs = fit_costs([[Observation(Work(MIB), 1e6, "a"), Observation(Work(MIB), 1e6, "b")]], "one")
    assert costs.of([Work(100 * MIB)]) == pytest.approx(np.full((1, 1), 1e6))


def test_costs_that_give_no_time_above_0_give_none() -> None:
    knots = Knots((16.0,))
    per = np.array([[1e6 if name == "fixed" else 2e6 if name == "code" else 0.0 for name in knots.names]])
    # Of an application with 1 MiB less machine code than the programs that the costs are from.
    found = Costs(knots, per).of([Work(0, code_bytes=-MIB), Work(0, code_bytes=MIB)])
    assert found == pytest.approx(np.array([[math.nan, 3e6]]), nan_ok=True)


def test_no_observation_and_no_time_are_errors() -> None:
    with pytest.raises(RegattaError):
        fit_costs([], "serial")
    with pytest.raises(RegattaError):
        fit_costs([[Observation(Work(1), 0.0, "a case")]], "serial")


@pytest.mark.parametrize(
    ("size", "low", "high"), [(5.0, 0.5, 0.0), (10.0, 1.0, 0.0), (15.0, 0.5, 0.5), (90.0, 0.0, 1.0)]
)
def test_far_references_cost_no_more_beyond_the_measured_bytes(size: float, low: float, high: float) -> None:
    knots = Knots((16.0,), (10.0, 20.0))
    found = dict(zip(knots.names, features(Work(0, far={size: 1}), knots), strict=True))
    assert (found["far 10"], found["far 20"]) == (low, high)


@pytest.mark.parametrize(
    ("spreads", "knots"),
    [((1.5, 3, 6, 12, 24), (4, 16)), ((1, 13.434, 13.435, 16), (1, 4, 16)), ((2, 3), (2,)), ((), ())],
)
def test_costs_of_far_references_change_at_few_sizes(
    spreads: tuple[float, ...], knots: tuple[float, ...]
) -> None:
    works = [Work(MIB, far_moved={spread * MIB: 1e5}) for spread in spreads]
    assert Knots.of(works).spreads == tuple(knot * MIB for knot in knots)


def test_machine_code_and_shuffled_survivors_have_their_own_work() -> None:
    policy = policy_of("serial", 96 * MIB)
    base = {"size": 32, "objects": 1000, "refs": 1000}
    young = work_of_case(policy, "collection", {**base, "shape": "shuffled", "moment": "young", "age": 1})
    second = work_of_case(policy, "collection", {**base, "shape": "shuffled", "moment": "young", "age": 2})
    code = work_of_case(policy, "collection", {**base, "shape": "code", "moment": "live"})
    assert young is not None
    assert second is not None
    assert code is not None
    assert (young[1].far_moved, second[1].far_moved) == ({32_000: 1000}, {})
    assert code[1].classes == 1000
