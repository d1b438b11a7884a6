"""The search for minheap: the least heap that survives every pass under every collector."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.host.minheap.search import Attempt, NoHeapIsEnough, search_minheap

thresholds = st.dictionaries(
    st.sampled_from(["serial", "parallel", "g1", "z"]), st.integers(1, 5000), min_size=1
)


def sharp(needs: dict[str, int]):
    def attempt(collector: str, heap_mib: int, nth: int) -> Attempt:
        return "ok" if heap_mib >= needs[collector] else "oom"

    return attempt


@given(needs=thresholds, passes=st.integers(1, 4))
def test_it_finds_the_largest_of_the_collectors_needs(needs: dict[str, int], passes: int) -> None:
    assert search_minheap(sharp(needs), list(needs), passes, 8192) == max(needs.values())


@given(needs=thresholds)
def test_it_asks_few_questions(needs: dict[str, int]) -> None:
    asked: list[tuple[str, int, int]] = []

    def attempt(collector: str, heap_mib: int, nth: int) -> Attempt:
        asked.append((collector, heap_mib, nth))
        return "ok" if heap_mib >= needs[collector] else "oom"

    search_minheap(attempt, list(needs), 3, 8192)
    # Doubling and halving to 5000 MiB is 10 + 12 questions for one collector; the passes are 3 a collector.
    assert len(set(asked)) <= 25 * len(needs) + 3 * len(needs)


def test_one_success_near_the_edge_is_not_enough() -> None:
    draw = random.Random(5)
    answers: dict[tuple[str, int, int], Attempt] = {}

    def attempt(collector: str, heap_mib: int, nth: int) -> Attempt:
        # Between 40 and 60 MiB a run completes by luck.
        luck = (heap_mib - 40) / 20
        return answers.setdefault((collector, heap_mib, nth), "ok" if draw.random() < luck else "oom")

    found = search_minheap(attempt, ["serial"], 5, 1024)
    assert all(answers["serial", found, nth] == "ok" for nth in range(5))


@pytest.mark.parametrize("outcome", ["oom", "timeout", "crashed", "failed"])
def test_it_says_how_the_largest_heap_failed(outcome: Attempt) -> None:
    with pytest.raises(NoHeapIsEnough) as caught:
        search_minheap(lambda c, h, n: outcome, ["g1"], 3, 512)
    assert (caught.value.heap_mib, caught.value.outcome, caught.value.collector) == (512, outcome, "g1")


def test_a_machine_smaller_than_the_first_guess_is_tried_as_it_is() -> None:
    assert search_minheap(sharp({"serial": 3}), ["serial"], 1, 8) == 3
