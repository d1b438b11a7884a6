"""Adapters: read measurements from the output of a benchmark. `ADAPTERS` is an explicit table.

Standard library only, because the runner reads results on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from regatta.host.adapters import (
    dacapo,
    jmh,
    process,
    regatta_lines,
    regex,
    renaissance,
    specjbb2015,
    specjvm98,
    specjvm2008,
)
from regatta.host.adapters.result import Reported, RunOutput

Adapter = Callable[[RunOutput, Mapping[str, object]], Reported]

#: name in a suite -> adapter
ADAPTERS: dict[str, Adapter] = {
    "process": process.read,
    "regatta": regatta_lines.read,
    "regex": regex.read,
    "jmh": jmh.read,
    "dacapo": dacapo.read,
    "renaissance": renaissance.read,
    "specjvm98": specjvm98.read,
    "specjvm2008": specjvm2008.read,
    "specjbb2015": specjbb2015.read,
}
