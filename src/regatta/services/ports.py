"""Loopback ports: free ports, and listeners on the others."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from regatta.host.errors import HostError

ADDRESS = "127.0.0.1"
#: State of a listening socket in /proc/net/tcp.
_LISTENS = "0A"


def is_free(port: int) -> bool:
    """Return whether a port has no listener."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def noted_port(noted: object, usual: int) -> int:
    """Return the recorded port; the usual one if it is missing or damaged."""
    return noted if isinstance(noted, int) and 0 < noted < 65536 else usual


def port_for(service: str, wished: int | None, usual: int, option: str) -> int:
    """Return the port for a service.

    Args:
        service: its name, for the message.
        wished: the port requested by the user; None: the usual one if it is free, else any.
        usual: the default port, or the previous one.
        option: the option that requests a port, for the message.

    Raises:
        HostError: the requested port is in use.
    """
    if wished is None:
        return usual if is_free(usual) else _any()
    if not is_free(wished):
        raise HostError(
            f"{ADDRESS}:{wished}",
            f"a free port for {service}",
            "port in use, or no permission",
            f"remove {option}, or choose another port",
        )
    return wished


def _any() -> int:
    with socket.socket() as one:
        one.bind((ADDRESS, 0))
        return int(one.getsockname()[1])


def listeners(port: int) -> dict[str, int]:
    """Return the sockets that listen on a port: inode -> id of their user."""
    found = {}
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/self/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                found[fields[9]] = int(fields[7])
    return found


def strangers(port: int) -> set[int]:
    """Return users that listen on a port, except this user and root, whose proxies listen for containers."""
    return set(listeners(port).values()) - {0, os.geteuid()}
