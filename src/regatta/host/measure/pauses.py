"""Time between blocks for a process beside the runner, which works only while nothing is measured."""

from __future__ import annotations

import fcntl
import os
import select
import time

from regatta.host.measure.process import StopSignals

#: what the runner says, and what it waits for
PAUSE, DONE = b"p", b"d"
#: at most one pause in so many seconds
EVERY_S = 5.0
#: The other side ends itself before this. Usually a pause takes some tenths of a second; in one of them it loads its code.
_LONGEST_S = 8.0
#: Measured processes may be limited to few descriptors, which are the lowest ones.
_LOWEST_DESCRIPTOR = 64


class Pauses:
    """The runner's end of a socket. The other side does nothing but answer `PAUSE` by `DONE` when it has finished."""

    def __init__(self, fd: int | None = None) -> None:
        """`fd`: the socket, which becomes this object's; None: nobody is there, and there are no pauses."""
        self._fd = fd
        if fd is not None:
            self._fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST_DESCRIPTOR)
            os.close(fd)
        self._reason: tuple[object, ...] = ()
        self._next_ns = 0

    def offer(self, reason: tuple[object, ...], stop: StopSignals | None = None) -> int:
        """Pause before the first invocation of a block, or at the start of a wait, if the last pause was long enough ago.

        After an answer that does not come there are no more pauses.

        Args:
            reason: round and block of the next invocation, or the holder of the host's lock; one pause for each.
            stop: signals that end the pause; None: nothing is measured yet, and the next pause need not be later.

        Returns:
            how long the pause was, in ns.
        """
        began_ns = time.monotonic_ns()
        if self._fd is None or reason == self._reason:
            return 0
        self._reason = reason
        if began_ns < self._next_ns:
            return 0
        if not self._answered(self._fd, stop):
            self.close()
        ended_ns = time.monotonic_ns()
        if stop is not None:
            self._next_ns = ended_ns + int(EVERY_S * 1e9)
        return ended_ns - began_ns

    def _answered(self, fd: int, stop: StopSignals | None) -> bool:
        try:
            os.write(fd, PAUSE)
            poll = select.poll()
            for each in (fd, *((stop.fd,) if stop else ())):
                poll.register(each, select.POLLIN)
            ready = {each for each, _ in poll.poll(1000 * _LONGEST_S)}
            return fd in ready and os.read(fd, 1) == DONE
        except OSError:
            return False

    def close(self) -> None:
        """Let the other side go."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)
