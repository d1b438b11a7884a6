"""The conductor's end of an agent: start it, ask it, and hear what it tells."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from regatta.host.errors import HostError, Problem
from regatta.host.journal.record_shape import is_whole
from regatta.host.messages import Ended, Message, Reader, send
from regatta.host.printable import printable
from regatta.host.processes import own_environment

_END_S = 15.0
_CLOCK_ASKS = 8
_LONGEST = 4000


class Lost(HostError):
    """An agent ended without being asked to, or the connection to it."""


class Link:
    """An agent of one role on one host."""

    def __init__(self, role: str, host: str, argv: Sequence[str]) -> None:
        """Start the agent.

        Raises:
            HostError: its command cannot be started.
        """
        self.role = role
        self.host = host
        self.name = f"role {role} on {host}"
        try:
            # A separate session: Ctrl-C reaches only the conductor, which then ends its agents.
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=own_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise HostError(
                self.name, f"`{argv[0]}` to start", str(error.strerror), f"install {argv[0]}"
            ) from error
        assert self._process.stdout is not None
        self._reader = Reader(self._process.stdout.fileno(), self.name)
        self.fd = self._reader.fd
        #: process number of the agent on its host
        self.pid = 0
        self.broken = False

    def send(self, message: Message) -> None:
        """Send a request. If the agent has ended, the next `hear` says so."""
        assert self._process.stdin is not None
        with suppress(OSError):
            send(self._process.stdin.fileno(), message)

    def hear(self) -> Message | None:
        """Return the next message; None if there is none yet.

        Raises:
            Ended: the agent has ended, or the connection to it.
            HostError: the error that it tells, or no message.
        """
        try:
            message = self._reader.next()
        except (Ended, HostError):
            self.broken = True
            raise
        if message is not None and "error" in message:
            self.broken = True
            raise self._error(message["error"])
        return message

    def _error(self, told: object) -> HostError:
        problems = [
            Problem(f"host {self.host}: {part[0]}"[:_LONGEST], *(text[:_LONGEST] for text in part[1:4]))
            for part in (told if isinstance(told, list) else [])
            if isinstance(part, list) and len(part) == 4 and all(isinstance(text, str) for text in part)
        ]
        error = HostError(self.name, "an answer", printable(str(told))[:_LONGEST])
        if problems:
            error.problems = tuple(problems)
            error.args = ("\n".join(map(str, problems)),)
        return error

    def lost(self) -> Lost:
        """Return the error of an agent that ended without being asked to."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        code = self._process.returncode
        got = "the connection ended" if code is None else f"its command ended with exit code {code}"
        return Lost(self.name, "an agent until the end of the invocation", got, "run the same command again")

    def end(self) -> None:
        """End the agent and its program, and wait for that."""
        self.broken = True
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        if not self.pid:
            # It waits for the lock of its host, and hears nothing.
            self._process.kill()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            # The next agent there ends what is left.
            self._process.kill()
            self._process.wait()


def clock_of(link: Link, ask: Callable[[Link, Message, str], Message]) -> dict[str, int]:
    """Return how the monotonic clock of a host relates to that of this machine.

    Each question gives an interval that contains the difference: the answer was written between its sending and its return. The
    shortest one counts (Cristian, Probabilistic clock synchronization, 1989).

    Args:
        link: of an agent without a running program.
        ask: sends a request, and returns its answer.

    Returns:
        `offset_ns` of the host's clock, and `error_ns`: the true offset differs by at most this much.
    """
    best: dict[str, int] = {}
    for _ in range(_CLOCK_ASKS):
        before = time.monotonic_ns()
        answer = ask(link, {"do": "clock"}, "monotonic_ns")
        after = time.monotonic_ns()
        if not is_whole(answer["monotonic_ns"]):
            raise HostError(link.name, "the time of its clock", str(answer)[:200])
        error_ns = (after - before + 1) // 2
        if not best or error_ns < best["error_ns"]:
            best = {"offset_ns": answer["monotonic_ns"] - (before + after) // 2, "error_ns": error_ns}
    return best
