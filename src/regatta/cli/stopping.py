"""End a command early: its signals, and the processes that it started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def told_to_stop() -> Iterator[None]:
    """Handle SIGTERM, and SIGHUP unless ignored (nohup), like Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def stop_session(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the whole session; the runner kills its invocation and ends between two records."""
    for number, patience_s in ((signal.SIGINT, 2), (signal.SIGTERM, 15), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=patience_s)
        except subprocess.TimeoutExpired:
            continue
