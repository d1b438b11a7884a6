"""This machine's part while a host measures a segment: show the host's state, name the user for others, stop on signals."""

from __future__ import annotations

import getpass
import json
import os
import platform
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from regatta.fleet.bounds import LONGEST_STATE_BYTES
from regatta.host.journal.record_shape import STATUSES, is_number, is_whole
from regatta.host.printable import printable
from regatta.host.processes import process_start
from regatta.store.folder import Folder, write_json

#: the runner there has bounded them so already
_LONGEST = 80


class Stopped(Exception):
    """This process got SIGINT, SIGTERM or SIGHUP. Without it, the host would go on measuring."""


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """Raise `Stopped` inside at the first signal that ends programs; ignore those after it."""

    def interrupt(number: int, frame: object) -> None:
        # It takes a while to stop the host, and users press Ctrl-C again.
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


def holder() -> str:
    """`user@machine` of this process, which others who wait for the host see."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{platform.node()}"


def show_state(folder: Folder, host: str, segment: int, text: bytes) -> None:
    """Write a host's state where `regatta status` and the progress bar look, with this process as its own.

    Text of another form is ignored, because the state only informs.

    Raises:
        StoreError: it cannot be written.
    """
    if len(text) > LONGEST_STATE_BYTES:
        return
    try:
        state = json.loads(text)
        shown: dict[str, Any] = {
            "experiment": folder.name,
            "host": host,
            "segment": segment,
            "total": _whole(state["total"]),
            "started_utc_s": _whole(state["started_utc_s"]),
            "cell": None if state.get("cell") is None else printable(str(state["cell"]), 200),
            "index": None if state.get("index") is None else _whole(state["index"]),
            "since_utc_s": _number(state["since_utc_s"]),
            **_waiting(state.get("waiting_for")),
            "counts": {
                status: _whole(count) for status, count in dict(state["counts"]).items() if status in STATUSES
            },
            "pid": os.getpid(),
            "pid_start": process_start(os.getpid()),
            "written_utc_s": int(time.time()),
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return
    write_json(folder.state / f"{host}.json", shown, indent=None)


def _waiting(holder: Any) -> dict[str, dict[str, str]]:
    if not isinstance(holder, dict):
        return {}
    keys = ("pid", "experiment", "holder", "since")
    return {"waiting_for": {key: printable(str(holder[key]), _LONGEST) for key in keys if key in holder}}


def _whole(value: object) -> int:
    if not isinstance(value, int) or not is_whole(value):
        raise ValueError("expected a whole number")
    return value


def _number(value: object) -> float:
    if not isinstance(value, (int, float)) or not is_number(value):
        raise ValueError("expected a finite number")
    return float(value)
