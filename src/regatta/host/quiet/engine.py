"""Run the three verbs over all knobs: status, apply, restore."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Mapping

from regatta.host.quiet.groups import Services
from regatta.host.quiet.host import QuietHost
from regatta.host.quiet.interrupts import Interrupts, KernelThreads, WorkQueues
from regatta.host.quiet.kernel import (
    ASLR,
    HUGE_PAGES,
    SWAPPINESS,
    TIMER_MIGRATION,
    WATCHDOGS,
    PageCache,
)
from regatta.host.quiet.knob import Item, Knob, KnobState
from regatta.host.quiet.processor import Boost, Governor, Siblings
from regatta.host.quiet.report import KnobPlace, KnobReport, Outcome, Problem, report_of
from regatta.host.quiet.state import Before, StateFolder
from regatta.host.quiet.swap import Swap
from regatta.host.quiet.units import Units

#: In the order of setting; restoring uses the reverse. Units are first, because some of them set the same
#: values as other knobs. Hardware threads are set last and restored first: the settings of a CPU are not
#: visible while it is offline.
KNOBS: tuple[Knob, ...] = (
    Units(), Governor(), Boost(), ASLR, HUGE_PAGES, Swap(), SWAPPINESS, WATCHDOGS, TIMER_MIGRATION,
    Interrupts(), WorkQueues(), KernelThreads(), Services(), PageCache(), Siblings(),
)  # fmt: skip
NAMES = tuple(knob.name for knob in KNOBS)
KEYS = {knob.name: knob.keys for knob in KNOBS}

_NEVER_HERE = (errno.EPERM, errno.EACCES, errno.EROFS)


def status(host: QuietHost, folder: StateFolder, left: Collection[str] = ()) -> Outcome:
    """Report the state without changes. Raises StoreError."""
    before = folder.load()
    restarted = before is not None and before.boot_id != host.boot_id
    kept = Before(host.boot_id) if before is None or restarted else before
    reports = []
    for knob in KNOBS:
        if knob.name in left:
            reports.append(report_of(knob, "left"))
            continue
        found = knob.find(host, kept.of(knob.name))
        report = _look(host, knob, found, kept)
        report.restores = _restores(host, knob, kept.of(knob.name))
        reports.append(report)
    return Outcome("status", host.measured, host.housekeeping, reports, before is not None, restarted)


def apply(host: QuietHost, folder: StateFolder, left: Collection[str] = ()) -> Outcome:
    """Make the host quiet. Stored values are not overwritten, so a second call changes nothing.

    Args:
        left: names of knobs to leave unchanged.

    Raises:
        StoreError: the stored values cannot be read.
        OSError: values cannot be stored; nothing was changed.
    """
    before = folder.load()
    restarted = before is not None and before.boot_id != host.boot_id
    if before is None or restarted:
        before = Before(host.boot_id)
    asked = (host.measured, host.named_housekeeping, host.isolate)
    earlier: Outcome | None = None
    if (before.cpus, before.housekeeping, before.isolate) != asked:
        if before.values:
            earlier = restore(host, folder)
            host.look_again()
            before = folder.load() or Before(host.boot_id)
        before.cpus, before.housekeeping, before.isolate = asked
    chosen = [knob for knob in KNOBS if knob.name not in left]
    for knob in chosen:
        _remember(before, knob, knob.find(host, before.of(knob.name)))
    folder.save(before)
    reports, refused = [], dict[str, list[str]]()
    for knob in KNOBS:
        if knob not in chosen:
            reports.append(report_of(knob, "left"))
        elif isinstance(knob, PageCache):
            reports.append(_drop_once(host, folder, knob, before))
        else:
            reports.append(_apply_one(host, knob, before, refused))
    if refused != before.refused:
        before.refused = refused
        folder.save(before)
    if earlier is not None:
        for report, one in zip(reports, earlier.knobs):
            report.changed += one.changed
    return Outcome("apply", host.measured, host.housekeeping, reports, True, restarted)


def restore(host: QuietHost, folder: StateFolder) -> Outcome:
    """Restore the stored values. After a reboot nothing is left to restore, because no knob changes persistent settings.

    Raises:
        StoreError: the stored values cannot be read.
    """
    before = folder.load()
    if before is None or before.boot_id != host.boot_id:
        restarted = before is not None
        folder.forget()
        words = "back by restart" if restarted else "nothing kept"
        reports = [report_of(knob, words) for knob in KNOBS]
        return Outcome("restore", host.measured, host.housekeeping, reports, False, restarted)
    reports_by_name: dict[str, KnobReport] = {}
    gone: dict[str, dict[str, str]] = {}
    left: dict[str, dict[str, str]] = {}
    for knob in reversed(KNOBS):
        report = reports_by_name[knob.name] = report_of(knob, "restored")
        _restore_one(host, knob, before.of(knob.name), report, gone, left)
    reports = [reports_by_name[name] for name in NAMES]
    if left:
        # Places that are gone may reappear with those that could not be restored.
        for name, places in gone.items():
            left.setdefault(name, {}).update(places)
        # In the order in which they were stored, which is the order of setting.
        before.values = {
            name: {key: value for key, value in before.of(name).items() if key in left[name]}
            for name in before.values
            if name in left
        }
        folder.save(before)
    else:
        folder.forget()
    return Outcome("restore", host.measured, host.housekeeping, reports, bool(left))


def _remember(before: Before, knob: Knob, found: KnobState) -> None:
    """Store the values that will change, without overwriting stored ones."""
    for item in found.items:
        if item.now != item.wanted:
            before.values.setdefault(knob.name, {}).setdefault(item.key, item.now)


def _place(host: QuietHost, knob: Knob, item: Item, now: str, saved: Mapping[str, str]) -> KnobPlace:
    return KnobPlace(knob.describe(host, item.key), saved.get(item.key, ""), now, item.wanted)


def _look(host: QuietHost, knob: Knob, found: KnobState, before: Before) -> KnobReport:
    report = report_of(knob)
    report.told = [*([found.missing] if found.missing else []), *found.told]
    if found.missing:
        report.state = "not available" if found.asked else "not asked"
    elif isinstance(knob, PageCache):
        report.state = "quiet" if before.dropped else "noisy"
        report.changes = [] if before.dropped else [f"{knob.name} -> dropped"]
    else:
        refused = before.refused.get(knob.name, [])
        for item in found.items:
            if item.now != item.wanted and item.key in refused:
                report.refused.append(f"{knob.describe(host, item.key)} stays on CPU {item.now}")
            elif item.now != item.wanted:
                report.state = "noisy"
                report.changes.append(f"{knob.describe(host, item.key)}: {item.now} -> {item.wanted}")
    report.places = [_place(host, knob, item, item.now, before.of(knob.name)) for item in found.items]
    return report


def _restores(host: QuietHost, knob: Knob, saved: Mapping[str, str]) -> list[str]:
    """Return the changes that would restore the stored values."""
    now = {key: _get(host, knob, key) for key in knob.restore_order(list(saved))}
    return [
        f"{knob.describe(host, key)}: {value} -> {saved[key]}"
        for key, value in now.items()
        if value is not None and not knob.is_restored(host, value, saved[key])
    ]


def _apply_one(host: QuietHost, knob: Knob, before: Before, refused: dict[str, list[str]]) -> KnobReport:
    saved = before.of(knob.name)
    found = knob.find(host, saved)
    report = _look(host, knob, found, before)
    if found.missing:
        return report
    report.state = "quiet"
    report.places, report.refused, report.changes = [], [], []
    for item in found.items:
        now = item.now
        # A place that appeared after storing waits for the next call: only stored places are changed.
        if now != item.wanted and item.key in saved:
            now = _set(host, knob, item, report, refused)
        report.places.append(_place(host, knob, item, now, saved))
    if not report.problems and report.state != "not available":
        report.told += knob.after_setting(host)
    if report.problems:
        report.state = "noisy"
    return report


def _set(host: QuietHost, knob: Knob, item: Item, report: KnobReport, refused: dict[str, list[str]]) -> str:
    """Set one place and read it back; return its current value."""
    reason, code = _try(host, knob, item.key, item.wanted)
    got = _get(host, knob, item.key)
    where = knob.describe(host, item.key)
    if got == item.wanted:
        report.changed += 1
    elif got is None:
        report.told.append(f"{where} no longer exists")
    elif knob.may_refuse:
        report.refused.append(f"{where} stays on CPU {got}" + (f": {reason}" if reason else ""))
        refused.setdefault(knob.name, []).append(item.key)
    elif code in _NEVER_HERE and os.geteuid() == 0:
        report.state = "not available"
        report.told.append(f"{where}: {reason}")
    else:
        report.problems.append(Problem(where, item.wanted, f"{got} ({reason})" if reason else got))
    return got if got is not None else item.now


def _drop_once(host: QuietHost, folder: StateFolder, knob: PageCache, before: Before) -> KnobReport:
    found = knob.find(host, {})
    if found.missing or before.dropped:
        return _look(host, knob, found, before)
    report = report_of(knob)
    try:
        knob.drop(host)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _NEVER_HERE and os.geteuid() == 0:
            report.state, report.told = "not available", [reason]
        else:
            report.state = "noisy"
            report.problems.append(Problem("page cache", "dropped", reason))
        return report
    before.dropped = True
    folder.save(before)
    report.changed = 1
    return report


def _restore_one(
    host: QuietHost,
    knob: Knob,
    saved: Mapping[str, str],
    report: KnobReport,
    gone: dict[str, dict[str, str]],
    left: dict[str, dict[str, str]],
) -> None:
    if not saved:
        report.state = "nothing kept"
    for key in knob.restore_order(list(saved)):
        value, where = saved[key], knob.describe(host, key)
        got, reason = _get(host, knob, key), ""
        restored = knob.is_restored(host, got, value)
        if got is not None and not restored:
            reason, _ = _try(host, knob, key, value)
            got = _get(host, knob, key)
            restored = knob.is_restored(host, got, value)
            report.changed += restored
        if got is None:
            report.told.append(f"{where} no longer exists")
            gone.setdefault(knob.name, {})[key] = value
        elif not restored and knob.may_refuse:
            report.refused.append(f"{where} stays on CPU {got}" + (f": {reason}" if reason else ""))
        elif not restored:
            report.problems.append(Problem(where, value, f"{got} ({reason})" if reason else got))
            left.setdefault(knob.name, {})[key] = value
        report.places.append(KnobPlace(where, value, got or "", value))
    if report.problems:
        report.state = "noisy"


def _try(host: QuietHost, knob: Knob, key: str, value: str) -> tuple[str, int | None]:
    """Set a place; return the reason and errno of a refusal ("" on success)."""
    try:
        knob.put(host, key, value)
    except OSError as error:
        return error.strerror or str(error), error.errno
    return "", None


def _get(host: QuietHost, knob: Knob, key: str) -> str | None:
    try:
        return knob.get(host, key)
    except OSError:
        return None
