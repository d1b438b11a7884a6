"""Map ReBench's gauge adapters to Regatta's adapters: the same lines, read by an equivalent pattern.

ReBench discards a run if a line shows an error. A pattern does the same: its first alternative matches such a line
without a number, which the adapter `regex` reports as a failure, quoting the line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from regatta.host.units import UNITS

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_VERIFICATION = ("Failed.*verification", "Benchmark done.*verification failed", "incorrect")
_FIX = "edit `adapter` and `adapter_options` in the suite file"


@dataclass(frozen=True)
class Gauge:
    """Adapter of a benchmark: keys of a benchmark in a suite, and the differences from ReBench."""

    keys: dict[str, Any] = field(default_factory=dict)
    #: (reason, fix)
    notes: tuple[tuple[str, str], ...] = ()

    @property
    def lines(self) -> bool:
        """Return whether lines are read, of which an invocation may have several."""
        return self.keys.get("adapter") == "regex"


def _lines(
    pattern: str, errors: tuple[str, ...], unit: str, metric: str, *notes: tuple[str, str], unless: str = ""
) -> Gauge:
    """Return a gauge for lines of standard output and standard error, which ReBench reads as one."""
    harmless = f"(?!{unless})" if unless else ""
    both = f"^{harmless}.*(?:{'|'.join(errors)}).*$|{pattern}" if errors else pattern
    options = {"pattern": both, "unit": unit, "metric": metric, "stderr": True}
    return Gauge({"adapter": "regex", "adapter_options": options, "metric": metric}, notes)


_ERRORS = ("Error", "Segmentation fault", "Bus error")
#: units common to ReBench's `\w+` and Regatta
_UNIT = "|".join(sorted((unit for unit in UNITS if unit.isalnum()), key=lambda unit: (-len(unit), unit)))

_TABLE = {
    "time": Gauge(
        {"adapter": "process"},
        (
            (
                f"ReBench discards a run that prints {', '.join(f'`{word}`' for word in _ERRORS)}; in Regatta only the exit "
                "code fails a run",
                f"make the program exit with a nonzero code, or {_FIX}",
            ),
        ),
    ),
    "timemanual": _lines(
        r"^(?P<metric>real|user|sys)[ \t]*(?:0+m)?(?P<value>\d+\.\d+)s?[ \t]*$", _ERRORS, "s", "real",
        ("times >= 1 minute in the form `1m2.3s` are not read", "use `time -p`, which prints seconds only"),
    ),
    "rebenchlog": _lines(
        rf"^(?:.*: )?\S+(?: (?P<metric>[\w.]+))?: iterations=[0-9]+ runtime: (?P<value>{_NUMBER})(?P<unit>[mu]s)",
        (*_ERRORS, *_VERIFICATION), "ms", "total",
        ("lines with other criteria (`name: criterion: 12kb`) are not read", _FIX),
    ),
    "validationlog": _lines(
        r"^(?:.*: )?[\w.]+(?: (?P<metric>[\w.]+))?: iterations=[0-9]+ runtime: (?P<value>[0-9]+)(?P<unit>[mu]s)"
        r" success: true",
        (*_ERRORS, *_VERIFICATION, "success: false"), "ms", "total",
        (
            "`success: false` fails the invocation (in ReBench it is a measurement); `[Total] A# M# P#` lines are not "
            "read",
            _FIX,
        ),
    ),
    "plainsecondslog": _lines(
        rf"^[ \t]*(?P<value>[-+]?{_NUMBER})[ \t]*$", (*_ERRORS, *_VERIFICATION, "error"), "s", "elapsed"
    ),
    "savinalog": _lines(
        r"^[\w.]+[ \t]+Iteration-\d+:[ \t]+(?P<value>[0-9]+\.[0-9]+) ms", (), "ms", "elapsed"
    ),
    "jmh": _lines(
        r"^(?:Iteration|# Warmup Iteration)[ \t]+\d+:[ \t]+(?P<value>\d+(?:\.\d+)?)"
        r"[^\S\n]+(?:(?:±\([0-9.]+%\) [0-9.]+ )?(?P<unit>ops/s|(?:ns|us|ms|s)(?=/op)))",
        _ERRORS, "ns", "elapsed",
        (
            "of JMH's units, only ops/s and times per operation are read; the suite must mark metrics of which higher "
            "is better",
            "set `better: higher` in the suite file for throughput",
        ),
        # The header of JMH's table of results has a column `Error`.
        unless=r"Benchmark\b.*\bUnits",
    ),
    "multivariate": _lines(
        rf"^(?:\d+:)?RESULT-(?P<metric>\w+):(?:(?P<unit>{_UNIT}):)?[ \t]*(?P<value>\d+(?:\.\d+)?)",
        (*_ERRORS, "FAILED"), "ms", "total",
        (f"only lines with these units are read: {_UNIT.replace('|', ', ')}", _FIX),
    ),
    "testexecutor": _lines(
        r"^RESULT-(?P<metric>\w+):[ \t]*(?P<value>\d+\.\d+)", (*_ERRORS, "FAILED"), "ms", "total"
    ),
}  # fmt: skip


def gauge_of(name: str) -> Gauge:
    """Return the adapter for a ReBench adapter; names are case-insensitive.

    An unknown one (a class in a user's Python file, or `Perf`) becomes `process` with a note.
    """
    found = _TABLE.get(name.lower())
    if found is not None:
        return found
    why = f"Regatta has no adapter `{name}`; the wall time of the command is measured instead"
    return Gauge({"adapter": "process"}, ((why, f"use `adapter: regex` with a pattern: {_FIX}"),))
