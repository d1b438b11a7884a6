"""Adapter for any program: wall time, CPU time and memory of the process."""

from __future__ import annotations

from collections.abc import Mapping

from regatta.host.adapters.result import Reported, RunOutput


def read(left: RunOutput, options: Mapping[str, object]) -> Reported:
    """Return one iteration: `elapsed`, `user` and `system` times, and `max_rss` in KiB if known."""
    reported = Reported(
        iterations=[
            [0, "elapsed", left.elapsed_ns, "ns", None, None],
            [0, "user", left.user_s, "s", None, None],
            [0, "system", left.system_s, "s", None, None],
        ]
    )
    if left.max_rss_kib is not None:
        reported.iterations.append([0, "max_rss", left.max_rss_kib, "KiB", None, None])
    return reported
