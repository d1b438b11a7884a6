"""How the generations of Serial grow and shrink between `-Xms` and `-Xmx`.

Source: the files tenuredGeneration.cpp (compute_new_size, expand_and_allocate) and defNewGeneration.cpp (compute_new_size) of OpenJDK
17 to 25.
"""

from __future__ import annotations

import math

from regatta.models.gc.heap_policy import NEW_RATIO, SERIAL_UNIT, Growth, Policy, serial_policy

#: Parts of the old generation that should be free after a full collection (MinHeapFreeRatio, MaxHeapFreeRatio).
_LEAST_FREE, _MOST_FREE = 0.4, 0.7
#: MinHeapDeltaBytes: smaller changes are not made, and the old generation grows by it when a promotion does not fit
_STEP = 192 << 10
#: Sizes of the old generation change by whole pages, bytes.
_PAGE = 4096
#: NewSizeThreadIncrease, for the main thread
_PER_THREAD = 5320
#: the part by which a heap shrinks that is too large for the second time; then 4 times as much each time (ShrinkHeapInSteps)
_FIRST_SHRINK, _MORE = 0.1, 4.0


def after_young(policy: Policy, used: float, survivors: float) -> Policy:
    """Return the sizes after a young collection: the old generation holds what was promoted.

    Args:
        policy: before.
        used: bytes in the old generation.
        survivors: bytes in the survivor space; only if there are none, the young generation changes.
    """
    growth = policy.growth
    if growth is None:
        return policy
    steps = math.ceil(max(used - policy.old, 0.0) / _STEP)
    old = min(policy.old + steps * _STEP, growth.most_old)
    young = policy.heap - policy.old if survivors > 0.0 else _young_for(old, growth)
    return serial_policy(young, old, policy.copies, growth)


def after_full(policy: Policy, used: float, before: int, shrink: float) -> tuple[Policy, float]:
    """Return the sizes after a full collection, and the next part by which the heap shrinks.

    Args:
        policy: before.
        used: live bytes.
        before: size of the old generation before the collection, and before the young one that led to it, bytes.
        shrink: part of what is too large by which the heap shrinks, from 0 to 1.
    """
    growth = policy.growth
    if growth is None:
        return policy, shrink
    old, following = policy.old, 0.0
    wanted = max(used / (1.0 - _LEAST_FREE), growth.least_old)
    most = max(used / (1.0 - _MOST_FREE), growth.least_old)
    if old < wanted:
        more = math.ceil((wanted - old) / _PAGE) * _PAGE
        old = min(old + more, growth.most_old) if wanted - old >= _STEP else old
    else:
        less = 0.0
        if old > most:
            less = (old - most) * shrink
            following = min(_MORE * shrink, 1.0) if shrink else _FIRST_SHRINK
        # What has grown for promotions is taken back.
        less = max(less, min(old - before, old - wanted))
        old -= int(less // _PAGE) * _PAGE if less >= _STEP else 0
    return serial_policy(_young_for(old, growth), old, policy.copies, growth), following


def _young_for(old: int, growth: Growth) -> int:
    """Return the size of the young generation that fits an old one."""
    wanted = math.ceil((old // NEW_RATIO + _PER_THREAD) / SERIAL_UNIT) * SERIAL_UNIT
    return min(max(wanted, growth.least_young), growth.most_young)
