"""Open and read counters with perf_event_open(2), through ctypes: the runner has only the standard library.

A counter is opened, disabled, by the thread that starts the measured process. That process inherits it, and the kernel enables
it there at exec. Its threads and children inherit it in turn, and each adds its counts when it exits. So the counts are those
of the whole process tree, without those of the runner, and without a program around the measured one.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import struct
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from regatta.host.values.counters import RAW, SOFTWARE, Event

#: machine -> number of the system call
_CALL = {"x86_64": 298, "aarch64": 241}
#: `struct perf_event_attr` of 64 bytes (PERF_ATTR_SIZE_VER0), which every kernel accepts, without its last field
_ATTR = struct.Struct("=IIQQQQQIIQ")
_TIMES = 1 | 2  # PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING
_CLOEXEC = 8  # PERF_FLAG_FD_CLOEXEC
#: bits of the attribute
_DISABLED, _INHERIT, _NOT_USER, _NOT_KERNEL, _NOT_HYPERVISOR, _ENABLE_ON_EXEC = (
    1 << 0, 1 << 1, 1 << 4, 1 << 5, 1 << 6, 1 << 12,
)  # fmt: skip
_WITHOUT = {"": 0, "user": _NOT_KERNEL | _NOT_HYPERVISOR, "kernel": _NOT_USER | _NOT_HYPERVISOR}
#: Low numbers stay free: a limit on open files also limits those with which a process is started.
_FIRST_DESCRIPTOR = 128
_DEVICES = Path("/sys/bus/event_source/devices")
_FIELD = re.compile(r"config:\d{1,2}(-\d{1,2})?(,\d{1,2}(-\d{1,2})?)*")
#: where the number of a kind of cores is in the configuration of a generic event (PERF_PMU_TYPE_SHIFT, from Linux 5.13 on)
_KIND_SHIFT = 32
NO_COUNTER = "the processor has no such counter, or a virtual machine hides it"
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@dataclass(frozen=True)
class Count:
    """The value of a counter, and the ns for which it was enabled and for which it counted."""

    value: int
    enabled_ns: int
    running_ns: int


def open_event(event: Event, space: str, leader: int = -1, pid: int = 0) -> int:
    """Open a counter for the next program that this thread starts, or that a process becomes, and for all its descendants.

    Args:
        event: what to count.
        space: `user`, `kernel`, or "" for both.
        leader: descriptor of another counter with which it counts at the same time, or -1.
        pid: of a process that waits to execute the program; 0: this thread.

    Returns:
        A descriptor.

    Raises:
        OSError: the kernel refuses it.
    """
    number = _CALL.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, "perf_event_open is not known on this architecture")
    bits = _INHERIT | _WITHOUT[space]
    if leader < 0:
        # Not pinned: a pinned counter that loses its place stops to account for the time, and would seem complete.
        bits |= _DISABLED | _ENABLE_ON_EXEC
    attr = _ATTR.pack(event.type, _ATTR.size, event.config, 0, 0, _TIMES, bits, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(
        ctypes.c_long(number), ctypes.c_char_p(attr), ctypes.c_int(pid), ctypes.c_int(-1), ctypes.c_int(leader),
        ctypes.c_ulong(_CLOEXEC),
    )  # fmt: skip
    if fd < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return out_of_the_way(int(fd))


def out_of_the_way(fd: int) -> int:
    """Move a descriptor to a high number."""
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR)
    finally:
        os.close(fd)


def read_event(fd: int) -> Count | None:
    """Read a counter after its process has ended; None if the processor could not count it."""
    data = os.read(fd, 24)
    return Count(*struct.unpack("=QQQ", data)) if len(data) == 24 else None


def why_not(error: OSError) -> str:
    """Return why the kernel refuses a counter, in words."""
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return NO_COUNTER
    if error.errno in (errno.EACCES, errno.EPERM):
        try:
            level = _PARANOID.read_text().strip()
        except OSError:
            level = "unknown"
        return f"not permitted: kernel.perf_event_paranoid is {level}"
    if error.errno == errno.ENOSYS:
        return "perf_event_open is not available"
    return error.strerror or str(error)


@dataclass(frozen=True)
class Cores:
    """A kind of cores, which have counters of their own. `folder`: of the kernel; None: the processor has no counters."""

    #: name of the kernel: `cpu_core`, `cpu_atom`, `armv8_cortex_a53`; "" for the only kind
    name: str
    folder: Path | None

    @property
    def type(self) -> int:
        """Return the number by which perf_event_open(2) knows the kind."""
        try:
            return int((self.folder / "type").read_text()) if self.folder else RAW
        except OSError:
            return RAW

    def refusal(self, why: str, code: int = errno.EINVAL) -> OSError:
        """Return the error for an event that these cores do not count."""
        return OSError(code, f"{why} (cores {self.name})" if self.name else why)


def kinds_of_cores(cpus: Collection[int] | None = None, devices: Path | None = None) -> list[Cores]:
    """Return the kinds of cores on which a process can run; at least one.

    Args:
        cpus: on which the process may run; None: all.
        devices: the kernel's folder of event sources; None: of this machine.
    """
    devices = _DEVICES if devices is None else devices
    # As in the kernel's tools/perf/util/pmus.c: the event sources of cores are `cpu`, and those with a file `cpus`.
    folders = sorted({
        path for path in (devices / "cpu", *devices.glob("armv8*"), *(file.parent for file in devices.glob("*/cpus")))
        if path.is_dir()
    })  # fmt: skip
    if len(folders) < 2:
        return [Cores("", folders[0] if folders else None)]
    used = [folder for folder in folders if cpus is None or not _cpus_of(folder).isdisjoint(cpus)]
    return [Cores(folder.name, folder) for folder in used or folders]


def _cpus_of(folder: Path) -> set[int]:
    """Return the CPUs of a kind of cores, from a list such as `0-3,8`."""
    found: set[int] = set()
    for one in (folder / "cpus").read_text().strip().split(","):
        low, _, high = one.partition("-")
        if low:
            found |= set(range(int(low), int(high or low) + 1))
    return found


def event_on(event: Event, cores: Cores) -> Event:
    """Return an event as a kind of cores counts it: the plain event for the only kind, and for the kernel's own events.

    Raises:
        OSError: the kernel does not list it for these cores.
    """
    if event.listed and not (cores.folder and (cores.folder / "events" / event.listed).exists()):
        raise cores.refusal(NO_COUNTER)
    if not cores.name or event.type == SOFTWARE:
        return event
    if event.type == RAW:
        return Event(cores.type, event.config, event.listed)
    # Without a kind, the kernel opens a generic event on one kind only, and counts nothing on the others.
    return Event(event.type, event.config | cores.type << _KIND_SHIFT, event.listed)


def raw_event(text: str, cores: Cores) -> Event:
    """Return the event of the processor that terms describe.

    Args:
        text: such as `event=0xc4,umask=0x20`; the terms are files of `format` in the folder of the cores.
        cores: that count it.

    Raises:
        OSError: the processor has no counters, no such term, or the value does not fit.
    """
    if cores.folder is None:
        raise OSError(errno.ENOENT, "no counters")
    config = 0
    for term in text.split(","):
        name, _, value = term.partition("=")
        try:
            match = _FIELD.fullmatch((cores.folder / "format" / name).read_text().strip())
        except OSError:
            match = None
        if match is None:
            raise cores.refusal(f"this processor has no term `{name}` that an event of one word can hold")
        config |= _place(int(value, 0), match, name)
    return Event(cores.type, config)


def _place(value: int, match: re.Match[str], name: str) -> int:
    """Return a value at the bits that a format names, lowest bits first: `config:0-7,32-35`."""
    ranges = match[0].partition(":")[2].split(",")
    found = 0
    for one in ranges:
        low, _, high = one.partition("-")
        width = int(high or low) - int(low) + 1
        found |= (value & ((1 << width) - 1)) << int(low)
        value >>= width
    if value:
        raise OSError(errno.EINVAL, f"the value of `{name}` does not fit into {match[0]}")
    return found
