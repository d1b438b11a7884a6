"""Controller side while a host measures a segment: show the state of the host, identify the user, stop on signals."""

from __future__ import annotations

import getpass
import json
import os
import platform
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from regatta.fleet.remote.base import LONGEST_STATE_BYTES
from regatta.host.errors import HostError, RegattaError
from regatta.host.journal.record_shape import STATUSES, is_number, is_whole
from regatta.host.printable import printable
from regatta.host.processes import process_start
from regatta.store.folder import Folder, write_json

#: The runner already limits them to this length.
_LONGEST = 80


class Stopped(Exception):
    """This process received SIGINT, SIGTERM or SIGHUP. Without this exception, the host would continue to measure."""


@contextmanager
def stopping_on_signals() -> Iterator[None]:
    """Raise `Stopped` inside at the first signal that ends programs; ignore those after it."""

    def interrupt(number: int, frame: object) -> None:
        # Stopping the host takes a while, and users press Ctrl-C again.
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
    """Return `user@machine` of this process, shown to others who wait for the host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{platform.node()}"


def runner_failed(host: str, problems: Sequence[str], code: Any, fix: str) -> HostError:
    """Return the error of a runner that ended with an exit code, which becomes that of this command."""
    error = HostError(f"host {host}", "a measured segment", "; ".join(problems) or f"exit {code}", fix)
    error.exit_code = code if code in (1, 2, 3) else RegattaError.exit_code
    return error


def show_state(folder: Folder, host: str, segment: int, text: bytes) -> None:
    """Write the state of a host for `regatta status` and the progress bar, with this process as its owner.

    Invalid text is ignored, because the state is only informative.

    Raises:
        StoreError: the state cannot be written.
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
            **({"tests": printable(str(state["tests"]), 200)} if state.get("tests") else {}),
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
