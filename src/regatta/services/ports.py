"""Ports of the loopback: which are free, and who listens on the others."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from regatta.host.errors import HostError

ADDRESS = "127.0.0.1"
#: state of a listening socket in /proc/net/tcp
_LISTENS = "0A"


def is_free(port: int) -> bool:
    """Whether nobody listens on a port now."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def noted_port(noted: object, usual: int) -> int:
    """The port in a note, which may be damaged; the usual one where there is none."""
    return noted if isinstance(noted, int) and 0 < noted < 65536 else usual


def port_for(service: str, wished: int | None, usual: int, option: str) -> int:
    """The port for a service.

    Args:
        service: its name, for the message.
        wished: the user's wish; None: the usual one if it is free, else any.
        usual: the port that everybody knows it by, or the one that it had before.
        option: the option by which a user wishes.

    Raises:
        HostError: the wished one is taken.
    """
    if wished is None:
        return usual if is_free(usual) else _any()
    if not is_free(wished):
        raise HostError(
            f"{ADDRESS}:{wished}", f"a free port for {service}", "a program that listens on it, or no right to",
            f"leave {option} out, or name another port",
        )  # fmt: skip
    return wished


def _any() -> int:
    with socket.socket() as one:
        one.bind((ADDRESS, 0))
        return int(one.getsockname()[1])


def listeners(port: int) -> dict[str, int]:
    """The sockets that listen on a port: inode -> id of the user that they are of."""
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
    """Users that listen on a port, but for oneself and root, whose proxies listen for containers."""
    return set(listeners(port).values()) - {0, os.geteuid()}
