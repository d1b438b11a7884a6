"""Sets of CPUs in the two formats of the kernel. Standard library only, because the zipapp carries it."""

from __future__ import annotations

from collections.abc import Iterable

#: above the limit of any kernel; a larger list in external text would only fill memory
_MAX_CPUS = 65_536


def parse_cpu_list(text: str) -> list[int]:
    """Parse the list format, "0-3,8" -> [0, 1, 2, 3, 8].

    Raises:
        ValueError: the text is not in this format.
    """
    cpus: list[int] = []
    for part in text.strip().split(","):
        if not part:
            continue
        first, _, last = part.partition("-")
        start, end = int(first), int(last or first)
        if not 0 <= start <= end < _MAX_CPUS:
            raise ValueError(f"{part[:40]!r} is not a range of CPUs")
        if len(cpus) + end - start >= _MAX_CPUS:
            raise ValueError(f"more than {_MAX_CPUS} CPUs")
        cpus.extend(range(start, end + 1))
    return cpus


def cpu_list_text(cpus: Iterable[int]) -> str:
    """Format a list, [0, 1, 2, 3, 8] -> "0-3,8"; "" for an empty set."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def parse_cpu_mask(text: str) -> list[int]:
    """Parse the mask format, hexadecimal words of 32 CPUs with the highest first, "1,0000000f" -> [0, 1, 2, 3, 32].

    Raises:
        ValueError: the text is not in this format.
    """
    mask = 0
    for word in text.strip().split(","):
        mask = mask << 32 | int(word, 16)
    return [cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1]


def cpu_mask_text(cpus: Iterable[int]) -> str:
    """Format a mask, [0, 1, 2, 3, 32] -> "1,0000000f"."""
    mask = sum(1 << cpu for cpu in set(cpus))
    words = [mask >> shift & 0xFFFFFFFF for shift in range(0, max(mask.bit_length(), 1), 32)]
    return ",".join([f"{words[-1]:x}", *(f"{word:08x}" for word in reversed(words[:-1]))])
