"""A network for one test: its connections use no port of the machine, and no place in the table of its firewall.

A firewall that tracks connections, such as that of a dockerd, remembers each for minutes, and drops packets once its table
is full. A program that measures connections, or a web server under load, fills it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import socket
import struct
from collections.abc import Iterator

#: from <linux/sched.h>, <linux/sockios.h> and <linux/if.h>
_CLONE_NEWNET, _SIOCSIFFLAGS, _IFF_UP = 0x40000000, 0x8914, 1
_LIBC = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def own_network() -> Iterator[None]:
    """Give this thread, and what it starts, a network that has nothing but a loopback.

    Does nothing for a user who may make none: only root starts a dockerd for the tests.
    """
    with open("/proc/thread-self/ns/net") as network_of_the_machine:
        if _LIBC.unshare(_CLONE_NEWNET) != 0:
            if ctypes.get_errno() != errno.EPERM:
                raise _error()
            yield
            return
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", _IFF_UP))
            yield
        finally:
            if _LIBC.setns(network_of_the_machine.fileno(), _CLONE_NEWNET) != 0:
                raise _error()


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
