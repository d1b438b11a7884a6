"""Renaissance's JSON (`--json renaissance.json -r N`): the duration of each repetition of the measured operation.

Source: `JsonWriter` in the harness of https://github.com/renaissance-benchmarks/renaissance, format versions 2 to 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regatta.host.adapters.document import BadDocument, document, part
from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.journal.record_shape import is_number

#: warning of a benchmark that does not check its result, so that a silent failure is possible
_NOT_VALIDATED = b"no result that can be validated"


def read(left: RunOutput, options: Mapping[str, object]) -> Reported:
    """Return `elapsed` in ns for each repetition of the single benchmark; in `info` whether it validates no result."""
    reported = Reported()
    if any(_NOT_VALIDATED in output for output in (left.stdout, left.stderr)):
        reported.info["not_validated"] = (
            "Renaissance: this benchmark provides no result that can be validated"
        )
    try:
        value = document(left, "Renaissance")
        if not isinstance(value, dict):
            raise BadDocument(f"expected an object, got {value!r:.80}")
        data = part(value, "data", dict, "the file of Renaissance")
        if not data:
            raise BadDocument("no result: the benchmark failed before its first repetition")
        if len(data) != 1:
            raise BadDocument(f"expected one benchmark per invocation, got {', '.join(data)[:200]}")
        ((name, measured),) = data.items()
        _add(name[:60], measured, reported)
        vm = value.get("environment", {}).get("vm", {}) if isinstance(value.get("environment"), dict) else {}
        if isinstance(vm, dict) and vm.get("termination", "normal") != "normal":
            raise BadDocument(f"expected termination 'normal' of the JVM, got {vm['termination']!r:.40}")
    except BadDocument as error:
        reported.error = str(error)
    return reported


def _add(name: str, measured: Any, reported: Reported) -> None:
    results = part(measured, "results", list, name)
    for iteration, result in enumerate(results):
        duration = result.get("duration_ns") if isinstance(result, dict) else None
        if duration is None or not is_number(duration) or duration <= 0:
            raise BadDocument(
                f"{name}: expected `duration_ns` of repetition {iteration + 1}, got {duration!r:.80}"
            )
        reported.iterations.append([iteration, "elapsed", duration, "ns", None, None])
    if measured.get("termination", "normal") != "normal":
        raise BadDocument(f"{name}: expected termination 'normal', got {measured['termination']!r:.40}")
    if not results:
        raise BadDocument(f"no result: Renaissance reported no repetition of {name}")
