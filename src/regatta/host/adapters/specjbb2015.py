"""SPECjbb2015, one JVM (`-m COMPOSITE`): a whole run is one iteration, with the rates of its result line.

Source: the SPECjbb2015 User Guide; the line is the controller's
`RUN RESULT: hbIR (max attempted) = 12000, hbIR (settled) = 12000, max-jOPS = 11640, critical-jOPS = 2684`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.adapters.text import lines_of, number, quoted, uncaught

_RESULT = re.compile(r"RUN RESULT: (.{1,300})")
_PART = re.compile(r"([A-Za-z() -]{1,40}?) = ([^,]{1,40})(?:, |\Z)")
_METRICS = {
    "hbIR (max attempted)": "hbir_max_attempted",
    "hbIR (settled)": "hbir_settled",
    "max-jOPS": "max_jops",
    "critical-jOPS": "critical_jops",
}
_WRONG = re.compile(
    r"\bValidation (?:FAILED|failed)\b|\bINVALID\b|\bFATAL\b|\bRun is not valid\b|\bRUN FAILED\b|"
    r"\b(?i:unexpected(?:ly)? (?:exit|terminat)\w*)|"
    # after a time, and names of a thread and a logger: `<...> `, `[...] `, `org.spec.jbb: `
    r"\A(?:<[^>]{0,60}> |\[[^\]]{0,60}\] |[\w$]{1,40}(?:\.[\w$]{1,40}){1,12}:? |[\w$]{1,40}: ){0,4}(?:SEVERE|ERROR)\b",
)


def read(left: RunOutput, options: Mapping[str, object]) -> Reported:
    """Return `max_jops` and `critical_jops` in ops/s, and the two rates of the preceding search."""
    if left.stdout_cut or left.stderr_cut:
        return Reported(error="the output was truncated; increase output_kib")
    reported = Reported()
    for line in [*lines_of(left.stdout), *lines_of(left.stderr)]:
        result = _RESULT.match(line)
        if result and reported.iterations:
            reported.error = reported.error or f"a second result: {quoted(line)}"
        elif result:
            reported.error = reported.error or _take(result.group(1), reported)
        elif _WRONG.search(line):
            reported.error = reported.error or f"SPECjbb2015 reports: {line[:300]}"
    reported.error = reported.error or uncaught(left.stdout, left.stderr)
    if not reported.error and not reported.iterations:
        reported.error = "no result: no RUN RESULT in the output of SPECjbb2015"
    return reported


def _take(result: str, reported: Reported) -> str:
    found = dict(_PART.findall(result))
    for name, metric in _METRICS.items():
        value = number(found.get(name, ""))
        if value is not None:
            reported.iterations.append([0, metric, value, "ops/s", None, None])
        elif metric == "critical_jops" and found.get(name) == "0":
            # No load met the response-time limits of this rate. The other rates are valid.
            reported.info["critical_jops"] = 0
        else:
            return f"no {name} in {quoted(result)}"
    return ""
