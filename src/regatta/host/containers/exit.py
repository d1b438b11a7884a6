"""How a process ended that is not a child of the runner: asked of the kernel, or told by the shell that waited for it."""

from __future__ import annotations

import fcntl
import signal
import struct

#: <linux/pidfd.h>, Linux 6.15 and later: struct pidfd_info of 64 bytes, `mask` first and `exit_code` last
_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3
_INFO = struct.Struct("=Q52xi")
_BY_SIGNAL = 128


def ending_by_kernel(pidfd: int) -> tuple[int | None, int | None] | None:
    """(exit code, signal) of a process that was waited for by somebody; None where the kernel does not tell."""
    info = bytearray(_INFO.pack(_PIDFD_INFO_EXIT, 0))
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    mask, status = _INFO.unpack(info)
    if not mask & _PIDFD_INFO_EXIT:
        return None
    number = status & 0x7F
    return (None, number) if number else (status >> 8 & 0xFF, None)


def ending_by_word(code: int) -> tuple[int | None, int | None]:
    """The same from a shell's exit code, which is 128 and the signal's number. A program may end with such a code by itself."""
    number = code - _BY_SIGNAL
    return (None, number) if number in signal.valid_signals() else (code, None)
