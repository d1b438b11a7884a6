"""Random numbers that are identical on all machines and Python versions."""

from __future__ import annotations

from collections.abc import Sequence

MASK_64 = (1 << 64) - 1


class SplitMix64:
    """A stream of 64-bit numbers.

    Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK_64

    def next(self) -> int:
        """Return the next number, 0 to 2^64 - 1."""
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & MASK_64
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK_64
        return z ^ (z >> 31)

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1; limit is far below 2^32, so the bias is negligible."""
        return ((self.next() >> 32) * limit) >> 32

    def between(self, low: int, high: int) -> int:
        """Return a number from low to high, inclusive."""
        return low + self.below(high - low + 1)

    def choose(self, options: Sequence[str]) -> str:
        return options[self.below(len(options))]
