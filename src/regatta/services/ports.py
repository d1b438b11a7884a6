"""Ports of the loopback."""

from __future__ import annotations

import socket

from regatta.host.errors import HostError

ADDRESS = "127.0.0.1"


def is_free(port: int) -> bool:
    """Whether nobody listens on a port now."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((ADDRESS, port))
        except OSError:
            return False
    return True


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
