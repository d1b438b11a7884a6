"""Being here, it lets every test import the helpers beside it."""

import signal

from docker_engine import docker_engine

__all__ = ["docker_engine"]  # a fixture for all of them

# A suite that a shell started in the background inherits an ignored SIGINT, and so would every program it tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
