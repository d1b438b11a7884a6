"""Network namespaces for roles that share one host: each role has its own, joined to that of the first role.

A namespace and its links last as long as the agent in it, so that nothing remains after a kill.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from regatta.host.errors import HostError

_CLONE_NEWNET = 0x40000000  # <linux/sched.h>, the same on every architecture
_PATIENCE_S = 30
#: Private addresses (RFC 1918). They exist only inside the namespaces.
_NETWORK = "10.213"
MOST_ROLES = 255


def address_of(number: int) -> str:
    """Return the address of a role. `number`: 0 for the first one, then 1, 2 and so on."""
    return f"{_NETWORK}.{number}.2" if number else f"{_NETWORK}.1.1"


def enter_new() -> None:
    """Move this thread, and all processes that it starts from now on, into a new network namespace.

    Raises:
        HostError: this process may not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        raise HostError(
            "roles on one host",
            "a network namespace for each role",
            os.strerror(ctypes.get_errno()),
            "run as root, or give each role its own host",
        )
    _ip("link", "set", "lo", "up")


def join(number: int, pid: int) -> None:
    """Connect the namespace of this process, that of the first role, to that of another role.

    Args:
        number: of the other role, from 1.
        pid: a process in its namespace.

    Raises:
        HostError: the kernel refuses.
    """
    name = f"role{number}"
    _ip("link", "add", name, "type", "veth", "peer", "name", "role0", "netns", str(pid))
    _ip("addr", "add", f"{_NETWORK}.{number}.1/24", "dev", name)
    _ip("link", "set", name, "up")
    if number > 1:
        # The other roles reach each other through the first one.
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def take_address(number: int) -> None:
    """Give the namespace of this process the address of a role after the first one, when it is joined.

    Raises:
        HostError: the kernel refuses.
    """
    _ip("addr", "add", f"{address_of(number)}/24", "dev", "role0")
    _ip("link", "set", "role0", "up")
    _ip("route", "add", "default", "via", f"{_NETWORK}.{number}.1")


def _ip(*words: str) -> None:
    command: Sequence[str] = ("ip", *words)
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=False
        )
        told = done.stderr.decode("utf-8", "replace").strip() if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        told = str(error)
    if told:
        fix = "install iproute2 and run as root, or give each role its own host"
        raise HostError("roles on one host", f"`{' '.join(command)}` to succeed", told, fix)
