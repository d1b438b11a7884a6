"""The output of valgrind's tool lackey: one line per reference to memory, between lines of valgrind.

Source: valgrind 3.19, lackey/lk_main.c (`--trace-mem=yes`) and coregrind/m_syswrap (`--trace-syscalls=yes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regatta.models.page_cache.cache import PAGE_BYTES

#: references of a line: instruction, load, store, modify (load and store)
INSTRUCTION, LOAD, STORE, MODIFY = b"ILSM"
#: the address begins here in a line
_ADDRESS = 3
#: least digits of an address, and most: user space ends at 2^47, or at 2^57 with five levels of page tables
_LEAST_DIGITS, _MOST_DIGITS = 8, 15
#: largest reference that is believed: a page. Vector instructions and fxsave need 64 to 2,696 bytes
_MOST_BYTES = PAGE_BYTES
#: a reference has its comma so many characters before its end
_COMMA_BEFORE = range(2, 6)
_NO_DIGIT = 255
_HEX = np.full(256, _NO_DIGIT, np.uint8)
_HEX[list(b"0123456789abcdef")] = range(16)
_FORK = re.compile(rb"(?:clone\(fork\)|v?fork): process \d+ created child")
_SUMMARY = re.compile(rb"==\d+==   guest instrs:  ([\d,]+)$")
_NOTE = re.compile(rb"(==|--|\*\*)\d+\1|SYSCALL\[| *-->")


def lackey_arguments(port: int, command: Sequence[str]) -> list[str]:
    """Return the arguments of valgrind, without its name, that send references to a port of this host."""
    options = [
        "--tool=lackey",
        "--trace-mem=yes",
        "--trace-syscalls=yes",
        "--trace-children=yes",
        "--vgdb=no",
        "--child-silent-after-fork=yes",
    ]
    return ["--command-line-only=yes", *options, f"--log-socket=127.0.0.1:{port}", "--", *command]


@dataclass(frozen=True)
class Lines:
    """Consecutive references, then one line of another kind.

    Args:
        kinds: one of `INSTRUCTION`, `LOAD`, `STORE` and `MODIFY` for each reference.
        addresses: first byte of each.
        sizes: bytes of each, from 1.
        line: the line after them, without its end; empty: none.
    """

    kinds: NDArray[np.uint8]
    addresses: NDArray[np.int64]
    sizes: NDArray[np.int64]
    line: bytes = b""


def parse(text: bytes) -> Iterator[Lines]:
    """Split whole lines of lackey into runs of references and other lines, in order.

    Lines that only resemble references are among the other lines.
    """
    data = np.frombuffer(text + b"\0" * _MOST_DIGITS, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    first, kinds, third = data[starts], data[starts + 1], data[starts + 2]
    blank = ord(" ")
    kinds = np.where((first == INSTRUCTION) & (kinds == blank), np.uint8(INSTRUCTION), kinds)
    is_reference = ((first == blank) | (first == INSTRUCTION)) & (third == blank)
    is_reference &= np.isin(kinds, (INSTRUCTION, LOAD, STORE, MODIFY))
    is_reference &= (first == INSTRUCTION) == (kinds == INSTRUCTION)
    comma = np.zeros_like(ends)
    sizes = np.zeros(len(ends), np.int64)
    for before in _COMMA_BEFORE:
        found = data[ends - before] == ord(",")
        comma = np.where(found, ends - before, comma)
    for place in range(1, _COMMA_BEFORE[-1]):
        at = comma + place
        used = at < ends
        digits = _HEX[data[np.where(used, at, 0)]]
        is_reference &= ~used | (digits < 10)
        sizes = np.where(used, sizes * 10 + digits, sizes)
    width = comma - starts - _ADDRESS
    is_reference &= (width >= _LEAST_DIGITS) & (width <= _MOST_DIGITS) & (sizes >= 1) & (sizes <= _MOST_BYTES)
    addresses = np.zeros(len(ends), np.int64)
    for place in range(_MOST_DIGITS):
        at = comma - 1 - place
        used = place < width
        digits = _HEX[data[np.where(used, at, 0)]]
        is_reference &= ~used | (digits != _NO_DIGIT)
        addresses |= np.where(used, digits, 0).astype(np.int64) << (4 * place)
    begin = 0
    for other in np.flatnonzero(~is_reference).tolist():
        part = slice(begin, other)
        yield Lines(kinds[part], addresses[part], sizes[part], text[starts[other] : ends[other]])
        begin = other + 1
    yield Lines(kinds[begin:], addresses[begin:], sizes[begin:])


def forks(line: bytes) -> bool:
    """Whether a line is a system call that made a process."""
    return _FORK.search(line) is not None


def counted_instructions(line: bytes) -> int | None:
    """Return the number of instructions in the summary that ends a complete trace; None: another line."""
    found = _SUMMARY.match(line)
    return None if found is None else int(found[1].replace(b",", b""))


def process_of(line: bytes) -> int | None:
    """Return the process that a message of valgrind names; None: it is no message."""
    found = re.match(rb"==(\d{1,10})== ", line)
    return None if found is None else int(found[1])


def is_known(line: bytes) -> bool:
    """Whether a line is a message of valgrind or a part of a system call."""
    return not line or _NOTE.match(line) is not None
