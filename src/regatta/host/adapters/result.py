"""Input and output of adapters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class RunOutput:
    """The output of an invocation, for its adapter."""

    #: wall time of the process, ns
    elapsed_ns: int
    user_s: float
    system_s: float
    #: None: unknown, because it is not above the value inherited from the runner
    max_rss_kib: int | None
    #: bytes of the file in REGATTA_RESULTS, or of the file in the adapter option `file`; None if the benchmark
    #: wrote none
    results: bytes | None
    #: why the file was not read; "": it was read or does not exist
    refused: str
    #: the kept part of standard output, and whether it is truncated
    stdout: bytes
    stdout_cut: bool
    #: the kept part of standard error, and whether it is truncated
    stderr: bytes = b""
    stderr_cut: bool = False


@dataclass
class Reported:
    """Measurements of the benchmark. `iterations` has rows `[iteration, metric, value, unit, operations, parameters]`."""

    iterations: list[list[Any]] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)
    #: why the result is wrong or unreadable; "": it is correct
    error: str = ""
