"""What a workload reported, read from what it left. A table, not a scan: `ADAPTERS` names them all.

Standard library only, because the runner reads results on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from regatta.adapters import process, regatta_lines, regex
from regatta.adapters.result import Left, Reported

Adapter = Callable[[Left, Mapping[str, object]], Reported]

#: name in a suite -> what reads it
ADAPTERS: dict[str, Adapter] = {
    "process": process.read,
    "regatta": regatta_lines.read,
    "regex": regex.read,
}
