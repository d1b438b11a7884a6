"""A regular expression over standard output: each match is one measurement.

Options: `pattern` with a group named `value`, and optionally `metric` and `unit`; where the pattern has none,
the options `metric` (default "elapsed") and `unit` (default "ns") say it. With `stderr: true` standard error is read too, after
standard output.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from regatta.adapters.result import Left, Reported
from regatta.units import UNITS


def read(left: Left, options: Mapping[str, object]) -> Reported:
    """Match over the whole of standard output, line by line anchors (`^`, `$`) allowed."""
    if left.stdout_cut:
        return Reported(error="standard output is longer than what was kept; raise output_kib")
    output, streams = left.stdout, "standard output"
    if options.get("stderr") is True:
        if left.stderr_cut:
            return Reported(error="standard error is longer than what was kept; raise output_kib")
        output, streams = b"\n".join([left.stdout, left.stderr]), "standard output and error"
    pattern = re.compile(str(options["pattern"]), re.MULTILINE)
    counts: dict[str, int] = {}
    rows: list[list[Any]] = []
    for match in pattern.finditer(output.decode("utf-8", "replace")):
        groups = match.groupdict()
        metric = str(groups.get("metric") or options.get("metric", "elapsed"))
        unit = str(groups.get("unit") or options.get("unit", "ns"))
        try:
            value = float(groups["value"])
        except (KeyError, TypeError, ValueError):
            return Reported(error=f"the pattern found no number in {match.group(0)!r:.80}")
        if not math.isfinite(value):
            return Reported(error=f"not a finite number: {match.group(0)!r:.80}")
        if unit not in UNITS:
            return Reported(error=f"unknown unit {unit!r:.40} in {match.group(0)!r:.80}")
        rows.append([counts.get(metric, 0), metric, value, unit, None, None])
        counts[metric] = counts.get(metric, 0) + 1
    if not rows:
        return Reported(error=f"no result: the pattern matches nothing in {streams}")
    return Reported(iterations=rows)
