"""The test of a host before a duet: a program alone on each half, and with a copy of itself on both.

Two identical programs must be equally fast if they swap the halves each time. And a program must be about as fast with its copy as
alone: one that uses the whole memory bus or cache waits for its partner, and its ratio says nothing about it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from regatta.host.errors import StoreError
from regatta.host.files import read_object, write_object
from regatta.host.journal.record_shape import is_number
from regatta.host.journal.round_values import values_of
from regatta.host.printable import printable
from regatta.host.values.cpu_list import cpu_list_text
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Record

TRIALS = "duet.json"
_VERSION = 1
#: rounds after which a test is looked at, and the quantile of Student's t for one degree of freedom less, two-sided 99 %; all are
#: even, so that both halves are used equally often
LOOKS = {6: 4.032143, 12: 3.105807, 24: 2.807336}
#: a program that is slower than this with its copy is refused
MOST_SLOWER_PERCENT = 10.0
#: identical programs that certainly differ, and by more than this, are refused
MOST_APART_PERCENT = 1.0
#: invocations of a test that may fail
MOST_FAILURES = 3
_FIX = "write `order: randomized-blocks`, or test again with --retry-failed"


#: a point with its 99 % interval, in percent; NaN if it could not be measured
Percent = tuple[float, float, float]
_UNKNOWN: Percent = (math.nan, math.nan, math.nan)
_PERCENTS = ("slower", "apart", "halves")


@dataclass(frozen=True)
class Trial:
    """What the test of one alternative found."""

    label: str
    #: how much slower with its copy, in percent of the time alone
    slower: Percent = _UNKNOWN
    #: time of the first copy relative to that of the second one
    apart: Percent = _UNKNOWN
    #: time on half 0 relative to that on half 1
    halves: Percent = _UNKNOWN
    #: in each round, the time alone on half `round % 2`, and those of both copies, by half
    alone: tuple[float, ...] = ()
    beside: tuple[tuple[float, float], ...] = ()
    #: why this program must not run in a duet here; "" if it may
    refused: str = ""


def value_of(record: Record, cell: PlanCell, steady: Mapping[str, Any]) -> float:
    """Return the value of an invocation as a time: the geometric mean of its series, inverted if more is better.

    Raises:
        ValueError: it has no value, or one that has no logarithm; the text is the reason.
    """
    if record["status"] not in ("ok", "perturbed"):
        raise ValueError(record["reason"] or record["status"])
    values = values_of(record, cell, steady)
    if not values:
        raise ValueError(f"no value of {cell['metric']}")
    if min(values.values()) <= 0:
        raise ValueError(f"a value of {cell['metric']} <= 0")
    mean = math.exp(statistics.fmean(map(math.log, values.values())))
    return 1.0 / mean if cell["better"] == "higher" else mean


def judged(label: str, alone: Sequence[float], beside: Sequence[tuple[float, float]]) -> Trial | None:
    """Judge the times of a test; return None if it needs more rounds.

    It ends early where the interval of the slowdown is below the limit, or above it. At last, its median decides: on a host where
    the time alone varies by 30 %, no interval is narrow enough.

    Args:
        label: of the alternative.
        alone: in each round, the time alone on half `round % 2`; as many as a look needs.
        beside: in each round, the times of both copies, by half. The first copy is on half `round % 2`.
    """
    logs = [math.log(both[place % 2] / one) for place, (one, both) in enumerate(zip(alone, beside))]
    halves = [math.log(left / right) for left, right in beside]
    copies = [-log if place % 2 else log for place, log in enumerate(halves)]
    slower_by, apart_by, halves_by = (_interval(one) for one in (logs, copies, halves))
    found = Trial(label, slower_by, apart_by, halves_by, tuple(alone), tuple(beside))
    slower, low, high = found.slower
    last = len(alone) == max(LOOKS)
    if low <= MOST_SLOWER_PERCENT < high:
        if not last:
            return None
        slower = _percent(statistics.median(logs))
    if slower > MOST_SLOWER_PERCENT:
        why = "the halves share a cache, the memory bus or the speed of the processor"
        what = f"{label} is {slower:.1f} % slower with a copy of itself than alone"
        return replace(found, refused=f"{what} (at most {MOST_SLOWER_PERCENT:g} %): {why}; {_FIX}")
    apart, low, high = found.apart
    if abs(apart) > MOST_APART_PERCENT and not low <= 0.0 <= high:
        what = f"two copies of {label} differ by {apart:+.1f} %"
        return replace(found, refused=f"{what} (at most {MOST_APART_PERCENT:g} %); {_FIX}")
    return found


def _interval(logs: Sequence[float]) -> Percent:
    mean, width = statistics.fmean(logs), LOOKS[len(logs)] * statistics.stdev(logs) / math.sqrt(len(logs))
    return _percent(mean), _percent(mean - width), _percent(mean + width)


def _percent(log: float) -> float:
    return 100.0 * math.expm1(log)


def failed(label: str, reason: str) -> Trial:
    """Return the test of a program that could not be measured."""
    return Trial(label, refused=f"the test of {label} failed ({reason}); {_FIX}")


class Trials:
    """The tests of a host that are done, by the division into halves, in `journal/<host>/duet.json`."""

    def __init__(self, journal: Path, halves: Sequence[Sequence[int]]) -> None:
        """Read them; a damaged file has none."""
        self._path = journal / TRIALS
        self._divisions = trials_in(read_object(self._path))
        self._of_cell = self._divisions.setdefault(" | ".join(map(cpu_list_text, halves)), {})

    def refused(self, cell_id: str) -> str | None:
        """Return why an alternative must not run in a duet; "" if it may; None if it was not tested."""
        found = self._of_cell.get(cell_id)
        return None if found is None else found.refused

    def add(self, cell_id: str, trial: Trial) -> None:
        """Add a test, durably.

        Raises:
            StoreError: the file cannot be written.
        """
        self._of_cell[cell_id] = trial
        divisions = {
            halves: {cell_id: _to_json(trial) for cell_id, trial in of_cell.items()}
            for halves, of_cell in self._divisions.items()
        }
        try:
            write_object(self._path, {"v": _VERSION, "halves": divisions}, durable=True)
        except OSError as error:
            raise StoreError(
                str(self._path),
                "free space for the test of the host",
                str(error.strerror or error),
                "free disk space and run the same command again; all records are intact",
            ) from error


def _to_json(trial: Trial) -> dict[str, Any]:
    found = asdict(trial)
    unknown = {key: None for key in _PERCENTS if any(value != value for value in found[key])}
    return {**found, **unknown}


def trials_in(document: Mapping[str, Any]) -> dict[str, dict[str, Trial]]:
    """Return halves -> cell id -> test, of the content of the file. What has another shape is left out."""
    divisions = document.get("halves")
    if document.get("v") != _VERSION or not isinstance(divisions, dict):
        return {}
    found: dict[str, dict[str, Trial]] = {}
    for halves, of_cell in divisions.items():
        if isinstance(of_cell, dict):
            trials = {cell_id: _from_json(one) for cell_id, one in of_cell.items()}
            found[halves] = {cell_id: trial for cell_id, trial in trials.items() if trial is not None}
    return found


def _from_json(value: Any) -> Trial | None:
    if not isinstance(value, dict):
        return None
    whole = {**value, **{key: _UNKNOWN for key in _PERCENTS if value.get(key) is None}}
    label, refused, alone, beside = (whole.get(key) for key in ("label", "refused", "alone", "beside"))
    if not (isinstance(label, str) and isinstance(refused, str) and _are_numbers(alone)):
        return None
    if not isinstance(beside, (list, tuple)) or not all(_are_numbers(pair, 2) for pair in beside):
        return None
    if not all(whole[key] is _UNKNOWN or _are_numbers(whole[key], 3) for key in _PERCENTS):
        return None
    slower, apart, halves = ((float(a), float(b), float(c)) for a, b, c in (whole[key] for key in _PERCENTS))
    pairs = tuple((float(left), float(right)) for left, right in beside)
    times = tuple(float(time) for time in alone or ())
    return Trial(printable(label), slower, apart, halves, times, pairs, printable(refused))


def _are_numbers(value: Any, count: int | None = None) -> bool:
    right = isinstance(value, (list, tuple)) and (count is None or len(value) == count)
    return right and all(map(is_number, value))
