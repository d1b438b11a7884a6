"""Give a companion process of the runner time between blocks; it works only while nothing is measured."""

from __future__ import annotations

import fcntl
import os
import select
import time

from regatta.host.measure.process import StopSignals

#: messages of the runner and of the companion
PAUSE, DONE = b"p", b"d"
#: minimum time between pauses
EVERY_S = 5.0
#: The companion exits before this. A pause usually takes some 0.1 s; one of them includes loading its code.
_LONGEST_S = 8.0
#: Measured processes may have a small limit on descriptors, which then covers the lowest numbers.
_LOWEST_DESCRIPTOR = 64


class Pauses:
    """The runner's end of a socket. The companion only answers `PAUSE` with `DONE` when it has finished."""

    def __init__(self, fd: int | None = None) -> None:
        """Take ownership of the socket `fd`; None: no companion, and no pauses."""
        self._fd = fd
        if fd is not None:
            self._fd = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _LOWEST_DESCRIPTOR)
            os.close(fd)
        self._reason: tuple[object, ...] = ()
        self._next_ns = 0

    def offer(self, reason: tuple[object, ...], stop: StopSignals | None = None) -> int:
        """Pause before the first invocation of a block, or at the start of a wait, if the last pause was long enough ago.

        After a missing answer, no more pauses are offered.

        Args:
            reason: round and block of the next invocation, or the holder of the host lock; one pause for each.
            stop: signals that end the pause; None: nothing is measured yet, and the pause does not delay the next one.

        Returns:
            The duration of the pause in ns.
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
        """Close the socket, which releases the companion."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)
