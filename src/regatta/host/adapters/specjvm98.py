"""SPECjvm98 as an application: `SpecApplication -a -m3 -M3 -s100 _209_db`.

Each execution of a benchmark is an iteration. The harness prints its time in seconds. It also prints lines about
unexpected output, and itself counts such executions as not valid.

Source: the format that scripts of Jikes RVM and OVM parse; the documents of the suite describe only the options.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.adapters.text import lines_of, number, quoted, uncaught

_STARTING = re.compile(r"=+ (_[0-9]{3}_\w+) Starting\b")
_FINISHED = re.compile(r"=+ (_[0-9]{3}_\w+) Finished in (\S+)(?: secs)?")
_WRONG = re.compile(
    r"\bnot valid\b|\binvalid\b|\bvalidity check\b|\bvalidation (?:error|failed)\b|\bdoes not exist\b", re.I
)


def read(left: RunOutput, options: Mapping[str, object]) -> Reported:
    """Return `elapsed` in s for each execution."""
    if left.stderr_cut or left.stdout_cut:
        return Reported(error="the output was truncated; increase output_kib")
    reported = Reported()
    started = 0
    names: list[str] = []
    for line in [*lines_of(left.stdout), *lines_of(left.stderr)]:
        starting, finished = _STARTING.match(line), _FINISHED.match(line)
        started += 1 if starting else 0
        names += [found.group(1) for found in (starting, finished) if found]
        if finished:
            seconds = number(finished.group(2))
            if seconds is None:
                reported.error = reported.error or f"expected seconds, got {quoted(line)}"
            else:
                reported.iterations.append([len(reported.iterations), "elapsed", seconds, "s", None, None])
        elif _WRONG.search(line):
            reported.error = reported.error or f"SPECjvm98 reports: {line[:300]}"
    reported.error = reported.error or uncaught(left.stdout, left.stderr)
    if len(set(names)) > 1:
        several = ", ".join(dict.fromkeys(names))[:200]
        reported.error = reported.error or f"expected one benchmark, got {several}"
    if not reported.error and started > len(reported.iterations):
        reported.error = f"{started} executions started, {len(reported.iterations)} ended"
    if not reported.error and not reported.iterations:
        reported.error = "no result: SPECjvm98 reported no execution"
    return reported
