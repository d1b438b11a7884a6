"""The generations of Serial that grow, against the sizes that JVMs log (`-Xms32m -Xmx256m`, `-Xlog:gc*=debug`)."""

import pytest

from helpers.heap_vectors import MIB, made_vector
from regatta.host.errors import RegattaError
from regatta.models.gc.collection_log import FULL, YOUNG
from regatta.models.gc.heap_policy import Policy, after_full, after_young, policy_of, serial_policy
from regatta.models.gc.lifetimes import Lifetimes
from regatta.models.gc.simulate import SimulatedCollection, simulate

KIB = 1 << 10
#: the first sizes, KiB
YOUNG_KIB, OLD_KIB = 10880, 21888


def start(release: int = 21) -> Policy:
    return policy_of("serial", 256 * MIB, initial=32 * MIB, release=release)


def at(old_kib: int, young_kib: int = YOUNG_KIB) -> Policy:
    first = start()
    return serial_policy(young_kib * KIB, old_kib * KIB, first.copies, first.growth)


def test_the_first_sizes_are_those_of_the_initial_heap() -> None:
    first = start()
    assert (first.old, first.heap - first.old) == (OLD_KIB * KIB, YOUNG_KIB * KIB)
    assert first.most_heap == 256 * MIB
    assert first.most_old == policy_of("serial", 256 * MIB).old


def test_promotions_enlarge_the_old_generation_in_steps() -> None:
    grown = after_young(start(), 23177.0 * KIB, survivors=1.0)
    assert (grown.old, grown.eden) == (23232 * KIB, start().eden)
    assert after_young(start(), 100.0, survivors=1.0) == start()
    assert after_young(start(), 1e12, survivors=1.0).old == start().most_old


def test_without_survivors_the_young_generation_follows_the_old_one() -> None:
    assert after_young(at(47268), 0.0, survivors=0.0).eden == 18944 * KIB


@pytest.mark.parametrize(
    ("used", "old", "before", "shrink", "new_old", "eden", "survivor", "next_shrink"),
    [
        (7328, 23232, 21888, 0.0, 21888, 8832, 1088, 0.0),
        (28359, 28360, 21888, 0.0, 47268, 18944, 2368, 0.0),
        (26929, 40688, 40688, 0.0, 44884, 17984, 2240, 0.0),
        (7581, 33944, 26320, 0.0, 26320, 10624, 1280, 0.1),
        (6733, 33232, 26320, 0.1, 26320, 10624, 1280, 0.4),
        (4617, 28500, 26320, 0.4, 25856, 10432, 1280, 1.0),
        (15796, 166708, 166708, 0.0, 166708, 66752, 8320, 0.1),
    ],
)
def test_the_sizes_after_a_full_collection_are_those_of_the_vm(
    used: int,
    old: int,
    before: int,
    shrink: float,
    new_old: int,
    eden: int,
    survivor: int,
    next_shrink: float,
) -> None:
    policy, following = after_full(at(old), float(used * KIB), before * KIB, shrink)
    assert (policy.old >> 10, policy.eden >> 10, policy.survivor >> 10) == (new_old, eden, survivor)
    assert following == pytest.approx(next_shrink)


@pytest.mark.parametrize("used_mib", [0, 1, 12, 60, 130, 170])
@pytest.mark.parametrize("old_kib", [OLD_KIB, 60000, 174784])
def test_sizes_stay_within_their_bounds(used_mib: int, old_kib: int) -> None:
    policy, _ = after_full(at(old_kib), float(used_mib * MIB), OLD_KIB * KIB, 1.0)
    bounds = policy.growth
    assert bounds is not None
    assert bounds.least_old <= policy.old <= bounds.most_old
    assert bounds.least_young <= policy.heap - policy.old <= bounds.most_young


def test_a_given_young_size_does_not_grow() -> None:
    policy = policy_of("serial", 256 * MIB, initial=32 * MIB, young=8 * MIB)
    grown, _ = after_full(policy, 100.0 * MIB, policy.old, 0.0)
    assert grown.old > policy.old
    assert grown.eden == policy.eden


def collections(release: int, kept_mib: int) -> list[SimulatedCollection]:
    lives = Lifetimes(made_vector(iterations=1, mib=120, kept_mib=kept_mib).runs[0].profile)
    return simulate(lives, start(release), [])


def test_before_release_23_a_full_collection_follows_growth() -> None:
    found = collections(21, kept_mib=60)
    fulls = [place for place, each in enumerate(found) if each.kind == FULL]
    assert fulls
    assert all(found[place - 1].kind == YOUNG and found[place - 1].at == found[place].at for place in fulls)
    assert {each.kind for each in collections(25, kept_mib=60)} == {YOUNG}


def test_an_old_generation_with_room_for_what_lives_does_not_grow() -> None:
    assert {each.policy.old for each in collections(21, kept_mib=2)} == {start().old}


def test_more_live_objects_than_the_largest_heap_are_refused() -> None:
    lives = Lifetimes(made_vector(iterations=1, mib=120, kept_mib=100).runs[0].profile)
    with pytest.raises(RegattaError) as caught:
        simulate(lives, policy_of("serial", 64 * MIB, initial=32 * MIB), [])
    assert caught.value.problems[0].got == "64 MiB"


@pytest.mark.parametrize("collector", ["parallel", "g1", "z", "shenandoah", "epsilon"])
def test_growth_that_depends_on_time_is_refused(collector: str) -> None:
    with pytest.raises(RegattaError) as caught:
        policy_of(collector, 256 * MIB, initial=32 * MIB)
    assert caught.value.problems[0].where == "--initial-heap"
    assert policy_of(collector, 256 * MIB, initial=256 * MIB) == policy_of(collector, 256 * MIB)


@pytest.mark.parametrize("initial", [1000, 512 * MIB])
def test_an_initial_heap_is_below_the_largest(initial: int) -> None:
    with pytest.raises(RegattaError) as caught:
        policy_of("serial", 256 * MIB, initial=initial)
    assert caught.value.problems[0].where == "--initial-heap"
