"""Which files a process has mapped: first from /proc/PID/maps, then from the system calls in its trace.

The calls are in the order of the references. /proc alone would be read too late, when the process has gone on
or ended.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from regatta.models.page_cache.cache import PAGE_BYTES


@dataclass(frozen=True)
class Mapping:
    """A range of addresses. `file` is its device and inode, or None for anonymous memory."""

    start: int
    end: int
    executable: bool
    shared: bool
    offset: int
    file: tuple[str, int] | None
    path: str


_MAPPING = re.compile(
    r"([0-9a-f]{1,15})-([0-9a-f]{1,15}) [r-][w-]([x-])([sp]) ([0-9a-f]{1,16}) ([0-9a-f]+:[0-9a-f]+) (\d{1,20})(?: +(.*))?"
)
#: files in memory: without swap, their pages cannot leave
_IN_MEMORY = ("/memfd:", "/SYSV", "/dev/zero", "/dev/shm/", "/anon_hugepage")
_CALL = re.compile(rb"SYSCALL\[\d+,(\d+)\]\(\d+\) (.*)")
_SUCCESS = re.compile(rb"Success\(0x([0-9a-f]{1,15})\)")
_NAME = rb"0x[0-9a-f]+\((.*)\), \d+(?:, \d+)? \)"
_OPEN = re.compile(rb"sys_(?:open \( |openat \( (\d+), )" + _NAME)
_MMAP = re.compile(rb"sys_mmap \( 0x[0-9a-f]+, (\d{1,15}), (\d{1,9}), (\d{1,9}), (\d{1,19}), (\d{1,18}) \)")
_MUNMAP = re.compile(rb"sys_munmap \( 0x([0-9a-f]{1,15}), (\d{1,15}) \)")
_MREMAP = re.compile(rb"sys_mremap \( 0x([0-9a-f]{1,15}), (\d{1,15}), (\d{1,15}), ")
_CHDIR = re.compile(rb"sys_chdir \( 0x[0-9a-f]+\((.*)\) \)")
_FCHDIR = re.compile(rb"sys_fchdir \( (\d{1,10}) \)")
_AT_FDCWD = (1 << 32) - 100
_SHARED, _EXECUTABLE, _ANONYMOUS = 1, 4, 32


def read_mappings(pid: int) -> list[Mapping]:
    """Return the mappings of a process in the order of addresses; none if it has ended."""
    try:
        text = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape")
    except OSError:
        return []
    return parse_mappings(text)


def read_folder(pid: int) -> str | None:
    """Return the current folder of a process; None if it has ended."""
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None


def parse_mappings(text: str) -> list[Mapping]:
    """Return the mappings of the text of /proc/PID/maps."""
    found = []
    for line in text.split("\n"):
        parts = _MAPPING.fullmatch(line)
        # The kernel maps vsyscall at the end of the address space.
        if parts is None:
            continue
        start, end, x, s, offset, device, inode, path = parts.groups(default="")
        of_file = int(inode) != 0 and not path.startswith(_IN_MEMORY)
        file = (device, int(inode)) if of_file else None
        found.append(Mapping(int(start, 16), int(end, 16), x == "x", s == "s", int(offset, 16), file, path))
    return found


class Mappings:
    """The mappings of one process. `ranges` is in the order of addresses.

    Args:
        folder: the current folder of the program, for names that are relative; None: unknown.
        unknown: called when a file is mapped whose name is not in the trace; its pages then count as
            anonymous.
    """

    def __init__(self, folder: str | None, unknown: Callable[[], None]) -> None:
        self.ranges: list[Mapping] = []
        self.folder = folder
        self._unknown = unknown
        #: descriptor -> path
        self._open: dict[int, str] = {}
        #: thread -> path that it is opening
        self._opening: dict[bytes, str | None] = {}

    def apply(self, line: bytes) -> bool:
        """Apply a line of a system call. Return whether it changed the ranges."""
        call = _CALL.match(line)
        if call is None:
            return False
        thread, rest = call.groups()
        success = _SUCCESS.search(rest)
        result = None if success is None else int(success[1], 16)
        opened = _OPEN.match(rest)
        if opened:
            self._opening[thread] = self._path(opened[1], opened[2])
        if opened or rest.startswith(b"..."):
            if result is not None and thread in self._opening:
                self._opened(result, self._opening.pop(thread))
            return False
        return result is not None and self._changed(rest, result)

    def _path(self, folder: bytes | None, name: bytes) -> str | None:
        path = os.fsdecode(name)
        if folder is None or int(folder) == _AT_FDCWD or path.startswith("/"):
            relative = not path.startswith("/")
            if self.folder is not None or not relative:
                return os.path.realpath(os.path.join(self.folder or "/", path))
        return None

    def _opened(self, descriptor: int, path: str | None) -> None:
        if path is None:
            self._open.pop(descriptor, None)
        else:
            self._open[descriptor] = path

    def _changed(self, rest: bytes, result: int) -> bool:
        if found := _MMAP.match(rest):
            size, access, flags, descriptor, offset = map(int, found.groups())
            self._cut(result, result + size)
            if not flags & _ANONYMOUS:
                self._map(result, size, offset, access, flags, descriptor)
        elif found := _MUNMAP.match(rest):
            start = int(found[1], 16)
            self._cut(start, start + int(found[2]))
        elif found := _MREMAP.match(rest):
            self._move(int(found[1], 16), int(found[3]), result)
        else:
            self._change_folder(rest)
            return False
        self.ranges.sort(key=lambda one: one.start)
        return True

    def _change_folder(self, rest: bytes) -> None:
        if found := _CHDIR.match(rest):
            self.folder = self._path(None, found[1])
        elif found := _FCHDIR.match(rest):
            self.folder = self._open.get(int(found[1]))

    def _map(self, start: int, size: int, offset: int, access: int, flags: int, descriptor: int) -> None:
        path = self._open.get(descriptor)
        if path is None:
            self._unknown()
        elif not path.startswith(_IN_MEMORY):
            end = start + -(-size // PAGE_BYTES) * PAGE_BYTES
            private = (bool(access & _EXECUTABLE), bool(flags & _SHARED))
            self.ranges.append(Mapping(start, end, *private, offset, _identity(path), path))

    def _move(self, start: int, size: int, to: int) -> None:
        moved = next((one for one in self.ranges if one.start <= start < one.end), None)
        if moved is not None:
            self._cut(start, moved.end)
            self._cut(to, to + size)
            end = to + -(-size // PAGE_BYTES) * PAGE_BYTES
            self.ranges.append(replace(moved, start=to, end=end, offset=moved.offset + start - moved.start))

    def _cut(self, start: int, end: int) -> None:
        end = -(-end // PAGE_BYTES) * PAGE_BYTES
        kept = []
        for one in self.ranges:
            if one.start < min(start, one.end):
                kept.append(replace(one, end=min(start, one.end)))
            if one.end > max(end, one.start):
                begin = max(end, one.start)
                kept.append(replace(one, start=begin, offset=one.offset + begin - one.start))
        self.ranges = kept


def _identity(path: str) -> tuple[str, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0
    return f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}", found.st_ino
