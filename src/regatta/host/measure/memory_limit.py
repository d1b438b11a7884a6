"""Set and read back the memory limit of a control group, version 2 or 1, after its old pages were given back."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path

_FILE = {1: "memory.limit_in_bytes", 2: "memory.max"}
#: version 1: the limit of memory and swap together; absent if the kernel does not account for swap
_WITH_SWAP = "memory.memsw.limit_in_bytes"
#: version 2: the limit of swap alone; absent in a kernel without swap
_SWAP = "memory.swap.max"
_USED = {1: "memory.usage_in_bytes", 2: "memory.current"}
_EMPTY = {1: "memory.force_empty", 2: "memory.reclaim"}
_UNLIMITED = {1: "-1", 2: "max"}


def can_limit(folder: Path, version: int) -> bool:
    """Return whether a group accepts a limit: the controller is available."""
    return (folder / _FILE[version]).exists()


def apply(folder: Path, version: int, memory_bytes: int | None) -> str:
    """Set the limit of a group without processes; None: unlimited. With a limit, the group is emptied first.

    Args:
        folder: of the group.
        version: of control groups.
        memory_bytes: a multiple of 1 MiB.

    Returns:
        The reason why the limit does not hold, or "" if it was read back.

    Raises:
        OSError: the kernel refuses it.
    """
    if memory_bytes is None:
        _set(folder, version, None)
        return ""
    _empty(folder, version)
    try:
        _set(folder, version, memory_bytes)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return _left(folder, _read(folder / _USED[version]))
    return why_not(folder, version, memory_bytes)


def _empty(folder: Path, version: int) -> None:
    """Give back the pages of files that a group without processes still holds, as far as the kernel can."""
    # Version 1 ignores the value. Version 2 takes an amount, and fails if it finds less; Linux before 5.19 has no such file.
    with contextlib.suppress(OSError):
        (folder / _EMPTY[version]).write_text((folder / _USED[version]).read_text().strip())


def _set(folder: Path, version: int, memory_bytes: int | None) -> None:
    """Set the limit, without swap. Version 1 refuses it (EBUSY) if the group holds more that it cannot give back."""
    asked = _UNLIMITED[version] if memory_bytes is None else str(memory_bytes)
    if version == 2:
        (folder / _FILE[2]).write_text(asked)
        if (folder / _SWAP).exists():
            (folder / _SWAP).write_text("max" if memory_bytes is None else "0")
        return
    with_swap = (folder / _WITH_SWAP).exists()
    if with_swap:
        # Remove this limit first: the kernel refuses one of memory above it.
        (folder / _WITH_SWAP).write_text(_UNLIMITED[1])
    (folder / _FILE[1]).write_text(asked)
    if with_swap and memory_bytes is not None:
        (folder / _WITH_SWAP).write_text(asked)


def why_not(folder: Path, version: int, memory_bytes: int) -> str:
    """Compare the limits of a group and its ancestors with the requested one; return "" if that one is effective."""
    expected = {_FILE[version]: memory_bytes, **({_SWAP: 0} if version == 2 else {_WITH_SWAP: memory_bytes})}
    try:
        for name, limit in expected.items():
            if name != _FILE[version] and not (folder / name).exists():
                continue
            found = _read(folder / name)
            if found != limit:
                return f"{'no limit' if found is None else f'{found} bytes'} in {folder / name}"
        used = _read(folder / _USED[version]) or 0
        if used > memory_bytes:
            return _left(folder, used)
        for above in folder.parents:
            if not can_limit(above, version):
                break
            found = _read(above / _FILE[version])
            if found is not None and found < memory_bytes:
                return f"{found} bytes in {above / _FILE[version]}, which limits all groups below"
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def _left(folder: Path, used: int | None) -> str:
    return f"{used} bytes that earlier invocations left in {folder}, such as files in /dev/shm"


def _read(path: Path) -> int | None:
    """Return a number of bytes; None: no limit, which is a large number in version 1."""
    text = path.read_text().strip()
    return None if text == "max" else int(text)
