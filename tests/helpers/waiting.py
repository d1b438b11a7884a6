"""Waiting for what a machine does at once, unless it is busy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: longest wait for what a machine does within a second, unless it lets processes wait
PATIENCE_S = 300.0


def wait_until(
    true: Callable[[], Any], what: str, patience_s: float = PATIENCE_S, every_s: float = 0.002
) -> Any:
    """Wait for a condition and give its value; fails loudly when it never comes."""
    deadline = time.monotonic() + patience_s
    while not (value := true()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience_s:g} s in vain for: {what}")
        time.sleep(every_s)
    return value
