"""Being told to stop while something is measured elsewhere."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Stopped(Exception):
    """This process was told to stop (SIGINT, SIGTERM or SIGHUP); what only dies leaves its host measuring."""


@contextmanager
def told_to_stop() -> Iterator[None]:
    """Raise `Stopped` inside when told so."""

    def interrupt(number: int, frame: object) -> None:
        # Telling the host takes a while, and whoever asked may grow impatient.
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        raise Stopped

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
