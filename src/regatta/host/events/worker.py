"""`events FOLDER`: the process that records, next to the measured one.

The recording is one line of JSON on standard input. The process answers `ready`, records after the line `begin`, which it answers
by `begun`, and ends the window after its length or at the line `end`. If its parent dies, its input ends: it removes everything and
leaves nothing.
"""

from __future__ import annotations

import json
import os
import platform
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError, RegattaError
from regatta.host.events.tracefs import Instance, missing_for_events, mounted
from regatta.host.files import write_object
from regatta.host.processes import descendants, own_words
from regatta.host.values.events import ABOUT_FILE, TRACE_FILE, About, Events, events_from_json

_PRIVATE = "REGATTA_PRIVATE_MOUNTS"


def command(argv: Sequence[str]) -> int:
    """Record a window. Return exit code 0, or 3 if this host cannot."""
    if len(argv) != 1:
        print("usage: regatta.pyz events FOLDER", file=sys.stderr)
        return 2
    if mounted() is None and os.environ.get(_PRIVATE) != "1" and not missing_for_events():
        # The mount is seen by this process only, and ends with it.
        words = ["unshare", "--mount", sys.executable, *own_words(), "events", *argv]
        os.execvpe(words[0], words, {**os.environ, _PRIVATE: "1"})
    try:
        told = json.loads(_read_line())
        root = int(told.pop("root"))
        return _record(Path(argv[0]).resolve(), events_from_json(told), root)
    except RegattaError as error:
        _say(error=vars(error.problems[0]))
        return error.exit_code


def _record(folder: Path, events: Events, root: int) -> int:
    missing = missing_for_events()
    if missing:
        raise HostError("recording events", missing, "none", "measure without the events, or on another host")
    with tempfile.TemporaryDirectory(prefix="regatta-tracefs-") as place:
        tracefs, private = mounted(), os.environ.get(_PRIVATE) == "1"
        if tracefs is None:
            if not private:
                raise HostError(
                    "tracefs", "a mount", "none", "run `mount -t tracefs nodev /sys/kernel/tracing`"
                )
            tracefs = _mount(Path(place))
        try:
            _record_in(Instance(tracefs, events), folder, events, root)
        finally:
            if private:
                # Lazily: the folder is removed next, and with a mount in it, so would be the buffers of others.
                subprocess.run(["umount", "--lazy", place], capture_output=True, check=False)
    return 0


def _mount(place: Path) -> Path:
    done = subprocess.run(
        ["mount", "-t", "tracefs", "nodev", str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise HostError(
            "tracefs",
            "permission to mount it",
            done.stderr.strip()[-200:],
            "give the container SYS_ADMIN, or trace outside",
        )
    return place


def _record_in(instance: Instance, folder: Path, events: Events, root: int) -> None:
    try:
        instance.open()
        _say(ready=True)
        if _read_line() != b"begin":
            return
        if events.after_s:
            _say(begun=True)
            if _pause(events.after_s):
                if _read_line() == b"end":
                    raise HostError(
                        "recording events",
                        f"a process that runs longer than the {events.after_s:g} s before its window",
                        "one that ended before",
                        "set a shorter `after_s`",
                    )
                return
        before, own = _tasks(), _tree(root)
        begin_ns = time.monotonic_ns()
        instance.record(True)
        if not events.after_s:
            _say(begun=True)
        _pause(events.for_s)
        instance.record(False)
        end_ns = time.monotonic_ns()
        offset_ns = _realtime_offset_ns()
        tasks, own = _tasks(), own | _tree(root)
        # If the measured process is still busy, the parent asks for the trace when it has ended.
        if _read_line() != b"end":
            return
        lost = instance.lost()
        instance.extract(folder / TRACE_FILE)
        about = About(
            begin_ns=begin_ns,
            end_ns=end_ns,
            realtime_offset_ns=offset_ns,
            cpus=os.cpu_count() or 1,
            kernel=platform.release(),
            machine=platform.machine(),
            host=platform.node(),
            lost=lost,
            missing=tuple(instance.missing),
            recording=events.to_json(),
            tasks={**tasks, **before},
            own=tuple(sorted(own)),
        )
        write_object(folder / ABOUT_FILE, vars(about))
        _say(done=True)
    finally:
        instance.close()


def _read_line() -> bytes:
    """Return the next line of the parent, "" after its death. Read no further: `select` does not see what a buffer holds."""
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line.strip()


def _pause(seconds: float) -> bool:
    """Wait for a time, or until the parent writes or dies. Return whether it did."""
    return bool(select.select([0], [], [], seconds)[0])


def _realtime_offset_ns() -> int:
    """Return the time since 1970 minus the monotonic clock, from the closest of some readings."""
    best, found = 1 << 62, 0
    for _ in range(20):
        before = time.monotonic_ns()
        now = time.time_ns()
        after = time.monotonic_ns()
        if after - before < best:
            best, found = after - before, now - (before + after) // 2
    return found


def _tasks() -> dict[str, list[Any]]:
    """Return tid -> pid, name of the process, name of the thread, and whether it belongs to the kernel."""
    found: dict[str, list[Any]] = {}
    for process in os.listdir("/proc"):
        if not process.isdigit():
            continue
        try:
            name = Path(f"/proc/{process}/comm").read_text(errors="replace").strip()
            kernel = not Path(f"/proc/{process}/cmdline").read_bytes()
            for thread in os.listdir(f"/proc/{process}/task"):
                own = Path(f"/proc/{process}/task/{thread}/comm").read_text(errors="replace").strip()
                found[thread] = [int(process), name, own, kernel]
        except OSError:
            continue
    return found


def _tree(root: int) -> set[int]:
    """Return a process and its descendants, without this one and its own."""
    return {root, *descendants(root)} - {os.getpid(), *descendants(os.getpid())}


def _say(**answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
