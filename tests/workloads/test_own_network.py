"""The network that tests of C programs have: it works, it is not that of the machine, and it goes with its test."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from helpers.own_network import own_network


def of_this_thread() -> str:
    return os.readlink("/proc/thread-self/ns/net")


def of_a_program() -> str:
    return subprocess.run(["readlink", "/proc/self/ns/net"], capture_output=True, text=True).stdout.strip()


def test_connections_within_are_none_of_the_machine_and_the_next_ones_are() -> None:
    machine = of_this_thread()
    with own_network():
        if of_this_thread() == machine:
            pytest.skip("NOT TESTED: no network namespace can be made here")
        assert of_a_program() == of_this_thread()
        for address in ("127.0.0.1", "127.1.2.3"):
            with (
                socket.create_server((address, 0)) as server,
                socket.create_connection(server.getsockname()) as client,
            ):
                client.sendall(b"hello")
                assert server.accept()[0].recv(5) == b"hello"
    assert of_a_program() == of_this_thread() == machine


def test_a_test_of_c_programs_has_one(lm_sources: Path) -> None:
    own = of_this_thread()
    if own == os.readlink(f"/proc/{os.getppid()}/ns/net"):
        pytest.skip("NOT TESTED: no network namespace can be made here")
    assert of_a_program() == own
