"""Whether this user may count events of the kernel here, and sample them."""

from __future__ import annotations

import os
import tempfile

import pytest

from regatta.host.counters import perf_events
from regatta.host.counters.profile import KernelProfile
from regatta.host.values.counters import COUNTERS


def skip_without_counters() -> None:
    """Skip where the kernel does not let this user count its own events."""
    switches = COUNTERS["context-switches"].event_of("")
    assert switches is not None
    try:
        os.close(perf_events.open_event(switches, ""))
    except OSError as error:
        pytest.skip(f"NOT TESTED: {perf_events.why_not(error)}")


def skip_without_perf() -> None:
    """Skip where perf cannot sample."""
    try:
        KernelProfile(os.path.join(tempfile.gettempdir(), "results")).close()
    except OSError as error:
        pytest.skip(f"NOT TESTED: {error}")
