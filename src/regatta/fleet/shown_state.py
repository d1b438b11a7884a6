"""What a runner elsewhere says of itself, written where `regatta status` and the progress bar look, with this process as its own."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from regatta.printable import printable
from regatta.store.folder import Folder, write_json
from regatta.store.runner_state import process_start

#: the runner there has bounded them so already
_LONGEST = 80


def show_state(folder: Folder, host: str, segment: int, text: bytes) -> None:
    """Write a host's state; what is not of the agreed form is passed over, for it only informs.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        state = json.loads(text)
        shown: dict[str, Any] = {
            "experiment": folder.name,
            "host": host,
            "segment": segment,
            "total": int(state["total"]),
            "started_utc_s": int(state["started_utc_s"]),
            "cell": None if state.get("cell") is None else printable(str(state["cell"]), 200),
            "index": None if state.get("index") is None else int(state["index"]),
            "since_utc_s": float(state["since_utc_s"]),
            **_waiting(state.get("waiting_for")),
            "counts": {printable(str(k), 20): int(v) for k, v in dict(state["counts"]).items()},
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
