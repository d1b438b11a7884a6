"""Simulated collections of programs whose allocations and deaths are known."""

from dataclasses import replace
from itertools import pairwise

import pytest

from helpers.heap_vectors import MIB, SIZE, checkpoint, made_vector, profile
from regatta.host.errors import RegattaError
from regatta.models.gc.collection_log import CYCLE, FULL, YOUNG
from regatta.models.gc.heap_policy import policy_of, region_bytes
from regatta.models.gc.lifetimes import Amount, Lifetimes
from regatta.models.gc.simulate import SimulatedCollection, simulate


def run(collector: str, heap_mib: int, **program: int) -> list[SimulatedCollection]:
    vector = made_vector(**program)
    lives = Lifetimes(vector.runs[0].profile)
    forced = [
        float(lives.clock[at]) for number, at in vector.runs[0].profile.ends("before ").items() if number >= 1
    ]
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


@pytest.mark.parametrize(
    ("collector", "young_mib", "eden_kib", "survivor_kib"),
    [
        ("serial", 1, 896, 64),
        ("serial", 7, 5760, 704),
        ("serial", 64, 52480, 6528),
        ("parallel", 1, 512, 512),
        ("parallel", 7, 6144, 512),
        ("parallel", 64, 49152, 8192),
        ("g1", 64, 65536, 8192),
    ],
)
def test_a_young_generation_of_a_given_size_is_that_of_the_vm(
    collector: str, young_mib: int, eden_kib: int, survivor_kib: int
) -> None:
    # Serial and Parallel: the sizes that JDK 21 logs with -Xmx128m and -Xmn.
    policy = policy_of(collector, 128 * MIB, young=young_mib * MIB)
    assert (policy.eden >> 10, policy.survivor >> 10) == (eden_kib, survivor_kib)


def test_the_default_is_a_third_and_one_copy() -> None:
    for collector in ("serial", "parallel", "g1"):
        heap = 192 * MIB
        assert policy_of(collector, heap) == policy_of(collector, heap, young=heap // 3, copies=1)


@pytest.mark.parametrize("age", [0, 1, 3, 15])
def test_an_object_is_promoted_after_as_many_copies_as_the_promotion_age(age: int) -> None:
    lives = Lifetimes(made_vector(iterations=1, mib=64, kept_mib=1).runs[0].profile)
    # Eden is 3.2 MiB, and each collection finds the MiB that lives.
    policy = replace(policy_of("serial", 64 * MIB, young=4 * MIB, copies=age), survivor=4 * MIB)
    found = simulate(lives, policy, [])
    promoted = [each.promoted.bytes for each in found]
    assert promoted.index(max(promoted)) == age
    assert promoted[age] == pytest.approx(MIB)
    assert sum(promoted) == pytest.approx(MIB)


@pytest.mark.parametrize("collector", ["serial", "parallel", "g1"])
def test_a_larger_young_generation_is_collected_less_often(collector: str) -> None:
    lives = Lifetimes(made_vector().runs[0].profile)
    counts = [
        len(simulate(lives, policy_of(collector, 256 * MIB, young=size * MIB), []))
        for size in (4, 8, 16, 32, 64)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_survivors_above_half_of_their_space_are_promoted_earlier() -> None:
    # The survivor space is 6528 KiB. 4 MiB are more than half of it, so that the next collection promotes them.
    lives = Lifetimes(made_vector(iterations=1, mib=200, kept_mib=4).runs[0].profile)
    serial, parallel = (
        simulate(lives, policy_of(collector, 256 * MIB, young=64 * MIB, copies=15), [])
        for collector in ("serial", "parallel")
    )
    assert [each.promoted.bytes / MIB for each in serial] == pytest.approx([0, 4, 0])
    assert [each.promoted.bytes for each in parallel] == [0] * 4


@pytest.mark.parametrize(
    ("collector", "young", "age", "where"),
    [
        ("serial", 128 * MIB, None, "--young"),
        ("g1", 1000, None, "--young"),
        ("z", 16 * MIB, 3, "--young"),
        ("shenandoah", None, 3, "--promotion-age"),
        ("parallel", None, 16, "--promotion-age"),
    ],
)
def test_sizes_that_no_vm_has_are_refused(
    collector: str, young: int | None, age: int | None, where: str
) -> None:
    with pytest.raises(RegattaError) as caught:
        policy_of(collector, 128 * MIB, young=young, copies=age)
    assert caught.value.problems[0].where == where


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
    lives = Lifetimes(vector.runs[0].profile)
    (full,) = simulate(lives, policy_of("serial", 256 * MIB), [15.0 * MIB])
    assert full.live.objects == pytest.approx(4 * MIB / SIZE)
    assert full.dead_new.bytes == pytest.approx(11 * MIB)
    assert full.dead.bytes == 0
    assert full.promoted == full.live


@pytest.mark.parametrize(("collector", "left"), [("serial", 0.05 * 64 * MIB), ("parallel", 0.0)])
def test_serial_leaves_garbage_in_place_except_in_each_fourth_full_collection(
    collector: str, left: float
) -> None:
    # Each collection moves the 8 MiB of the iteration before into the old generation, where those of another one have died.
    found = run(collector, 96, iterations=10, kept_mib=8)
    after = [later.old_bytes for each, later in pairwise(found) if each.kind == FULL and each.forced]
    assert len(after) == 9
    garbage = [size - 8 * MIB for size in after]
    assert garbage == pytest.approx([0.0, left, left, 0.0, left, left, left, 0.0, left], abs=0.01 * MIB)


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
    small, large = (simulate(Lifetimes(vector.runs[0].profile, factor), policy, []) for factor in (0.5, 2.0))
    assert len(large) >= 4 * len(small) - 2


@pytest.mark.parametrize("rate", [0.5, 1.5, 2.0])
def test_a_higher_rate_has_more_objects_of_the_same_size_and_age(rate: float) -> None:
    profile = made_vector().runs[0].profile
    before, after = Lifetimes(profile), Lifetimes(profile, rate=rate)
    for at in (10.0 * MIB, 49.0 * MIB, 60.0 * MIB):
        assert after.live(0.0, rate * at, rate * at) == before.live(0.0, at, at).times(rate)
        assert after.allocated(0.0, rate * at).objects == pytest.approx(
            rate * before.allocated(0.0, at).objects
        )
    larger = Lifetimes(profile, factor=rate)
    assert after.clock.tolist() == larger.clock.tolist()
    assert after.allocated(0.0, 10.0 * MIB).objects == rate * larger.allocated(0.0, 10.0 * MIB).objects


def test_twice_the_rate_in_twice_the_heap_needs_the_same_collections() -> None:
    profile = made_vector().runs[0].profile
    before = simulate(Lifetimes(profile), policy_of("serial", 96 * MIB), [])
    after = simulate(Lifetimes(profile, rate=2.0), policy_of("serial", 192 * MIB), [])
    assert [each.at for each in after] == pytest.approx([2 * each.at for each in before])
    assert [each.live.objects for each in after] == pytest.approx([2 * each.live.objects for each in before])


@pytest.mark.parametrize(("collector", "heap"), [("cms", 64 * MIB), ("serial", 1000)])
def test_unknown_collector_and_tiny_heap(collector: str, heap: int) -> None:
    with pytest.raises(RegattaError):
        policy_of(collector, heap)


def test_references_are_counted_with_the_objects_that_they_lead_to() -> None:
    walks = [checkpoint(at * MIB, 100, {}, 0) for at in (1, 2)]
    far = [[0, 10, 320, 20, 4], [1, 5, 160, 40, 8], [2, 2, 64, 3, 1]]
    last = replace(checkpoint(3 * MIB, 100, {0: 10, 1: 5, 2: 2}, 0, ends=True), cohorts=far)
    lives = Lifetimes(profile([*walks, last], ["rest"]), factor=0.5, rate=3.0)
    # Clock and bytes are scaled by both, all else by the rate. The objects of a cohort are born evenly between two walks.
    at = 4.5 * MIB
    assert lives.live(0.0, at / 3, at) == Amount(30.0, 480.0, 60.0, 12.0)
    assert lives.live(at / 2, at, at) == Amount(13.5, 216.0, 69.0, 15.0)
