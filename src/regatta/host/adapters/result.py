"""What an adapter gets and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Left:
    """What an invocation left behind for its adapter."""

    #: wall time of the process, ns
    elapsed_ns: int
    user_s: float
    system_s: float
    #: None: not above what the process inherited from the runner, so not known
    max_rss_kib: int | None
    #: bytes of the file named in REGATTA_RESULTS, or of the one that the adapter's option `file` names; None when the
    #: workload made none
    results: bytes | None
    #: why such a file was not read; empty: it was, or there is none
    refused: str
    #: what was kept of standard output, and whether some of it was dropped
    stdout: bytes
    stdout_cut: bool
    #: the same of standard error
    stderr: bytes = b""
    stderr_cut: bool = False


@dataclass
class Reported:
    """What the workload reported: `iterations` as rows `[iteration, metric, value, unit, operations, parameters]`."""

    iterations: list[list[Any]] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)
    #: why the result is wrong or cannot be read; empty: it is right
    error: str = ""
