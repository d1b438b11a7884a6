"""Simulated collections of programs whose allocations and deaths are known."""

import pytest

from helpers.heap_vectors import MIB, SIZE, made_vector
from regatta.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.gc.heap_policy import policy_of, region_bytes
from regatta.gc.lifetimes import Lifetimes
from regatta.gc.simulate import Found, simulate
from regatta.host.errors import RegattaError


def run(collector: str, heap_mib: int, **program: int) -> list[Found]:
    vector = made_vector(**program)
    lives = Lifetimes(vector.profile)
    forced = [float(lives.clock[at]) for number, at in vector.profile.ends("before ").items() if number >= 1]
    return simulate(lives, policy_of(collector, heap_mib * MIB), forced)


@pytest.mark.parametrize(("heap_mib", "young_kib", "eden_kib"), [(32, 10880, 8704), (128, 43648, 34944)])
def test_generations_of_serial_are_those_of_the_vm(heap_mib: int, young_kib: int, eden_kib: int) -> None:
    # The sizes are those that JDK 21 logs.
    policy = policy_of("serial", heap_mib * MIB)
    assert (policy.heap - policy.old) >> 10 == young_kib
    assert policy.eden >> 10 == eden_kib
    assert policy.eden + 2 * policy.survivor + policy.old == policy.heap


@pytest.mark.parametrize(("heap_mib", "eden_kib", "survivor_kib"), [(32, 8704, 1024), (128, 33280, 5120)])
def test_generations_of_parallel_are_those_of_the_vm(heap_mib: int, eden_kib: int, survivor_kib: int) -> None:
    policy = policy_of("parallel", heap_mib * MIB)
    assert (policy.eden >> 10, policy.survivor >> 10) == (eden_kib, survivor_kib)


@pytest.mark.parametrize(("heap_mib", "mib"), [(32, 1), (2048, 1), (4096, 2), (20000, 8), (200000, 32)])
def test_regions_of_g1(heap_mib: int, mib: int) -> None:
    assert region_bytes(heap_mib * MIB) == mib * MIB


@pytest.mark.parametrize("collector", ["serial", "parallel"])
def test_young_collections_come_when_eden_is_full(collector: str) -> None:
    found = run(collector, 128)
    eden = policy_of(collector, 128 * MIB).eden / MIB
    # Iteration 1 begins at 49 MiB with an empty young generation.
    young = [each.at / MIB for each in found if each.kind == YOUNG]
    assert young == pytest.approx([eden, 49 + eden, 97 + eden])
    assert [each.at / MIB for each in found if each.kind == FULL] == [49, 97]
    assert all(each.forced == (each.kind == FULL) for each in found)


def test_survivors_are_copied_and_then_promoted() -> None:
    found = [each for each in run("serial", 64, iterations=2, mib=48, kept_mib=1) if each.at > 49 * MIB]
    eden = policy_of("serial", 64 * MIB).eden / MIB
    assert [each.at / MIB for each in found] == pytest.approx([49 + eden, 49 + 2 * eden])
    first, second = found
    assert first.live.bytes == pytest.approx(MIB)
    assert first.promoted.bytes == 0
    assert second.promoted.bytes == pytest.approx(MIB)
    assert first.dead_new.bytes == pytest.approx(eden * MIB - MIB)


def test_survivors_that_do_not_fit_are_promoted_at_once() -> None:
    policy = policy_of("serial", 128 * MIB)
    (young,) = [each for each in run("serial", 128, iterations=1, mib=40, kept_mib=8) if each.kind == YOUNG]
    assert young.live.bytes == pytest.approx(8 * MIB)
    assert young.promoted.bytes == pytest.approx(8 * MIB - policy.survivor)


def test_a_full_collection_finds_what_lives_and_what_died() -> None:
    vector = made_vector(iterations=1, mib=20, kept_mib=4)
    lives = Lifetimes(vector.profile)
    (full,) = simulate(lives, policy_of("serial", 256 * MIB), [15.0 * MIB])
    assert full.live.objects == pytest.approx(4 * MIB / SIZE)
    assert full.dead_new.bytes == pytest.approx(11 * MIB)
    assert full.dead.bytes == 0
    assert full.promoted == full.live


def test_an_old_generation_that_fills_up_is_collected() -> None:
    # Each eden promotes half of what it holds, and all of it lives.
    found = run("serial", 128, iterations=1, mib=200, kept_mib=100)
    assert FULL in {each.kind for each in found}
    assert not any(each.forced for each in found)


def test_too_small_a_heap_is_refused() -> None:
    with pytest.raises(RegattaError) as caught:
        run("serial", 32, iterations=1, mib=100, kept_mib=60)
    assert caught.value.problems[0].where == "--heap"


def test_epsilon_never_collects_and_z_has_cycles() -> None:
    assert run("epsilon", 32) == []
    assert {each.kind for each in run("z", 64)} == {CYCLE}


def test_larger_objects_need_more_collections() -> None:
    vector = made_vector()
    policy = policy_of("parallel", 64 * MIB)
    small, large = (simulate(Lifetimes(vector.profile, factor), policy, []) for factor in (0.5, 2.0))
    assert len(large) >= 4 * len(small) - 2


@pytest.mark.parametrize(("collector", "heap"), [("cms", 64 * MIB), ("serial", 1000)])
def test_unknown_collector_and_tiny_heap(collector: str, heap: int) -> None:
    with pytest.raises(RegattaError):
        policy_of(collector, heap)
