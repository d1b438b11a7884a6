"""`detached start|hello|stop`: measure a segment in a separate process of the host that survives the caller's connection."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regatta.host.cache import bytes_sha256
from regatta.host.files import read_object, take_lock, write_object
from regatta.host.journal.host_folder import HostFolder
from regatta.host.journal.journal import Damage, read_file, segment_files
from regatta.host.verbs.segment_command import run_segment

#: time for a stopped runner to finish the current invocation
_STOP_S = 30.0


def command(argv: Sequence[str]) -> int:
    """Execute the action. Print one JSON object."""
    parser = argparse.ArgumentParser(prog="regatta.pyz detached")
    parser.add_argument("what", choices=("start", "hello", "stop"))
    parser.add_argument("--folder", type=Path, required=True, help="folder of the experiment on this host")
    parser.add_argument("--segment", type=int, default=0)
    parser.add_argument("--retry-failed", action="store_true")
    parser.add_argument("--holder", default="")
    arguments = parser.parse_args(argv)
    folder = HostFolder(arguments.folder)
    if arguments.what == "start":
        answer = start(folder, arguments.segment, arguments.retry_failed, arguments.holder)
    elif arguments.what == "stop":
        answer = stop(folder)
    else:
        answer = hello(folder)
    print(json.dumps(answer))
    return 0


def hello(folder: HostFolder) -> dict[str, Any]:
    """Return the state of the host: clock, running segment, plan, and number of records per journal file."""
    plan = read_object(folder.plan / "plan.json")
    journal = {}
    for path in segment_files(folder.journal):
        journal[path.name] = sum(not isinstance(item, Damage) for item in read_file(path))
    return {
        "utc_ns": time.time_ns(),
        "running": running(folder),
        "plan_id": plan.get("plan_id", ""),
        "rows_sha256": _digest(folder.plan / "rows.i32"),
        "journal": journal,
    }


def _digest(path: Path) -> str:
    try:
        return bytes_sha256(path)
    except OSError:
        return ""


def _hold(folder: HostFolder) -> int | None:
    """Take the lock for measuring here; None if another process holds it."""
    folder.path.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        take_lock(fd, patience_s=0)
    except OSError:
        os.close(fd)
        return None
    return fd


def running(folder: HostFolder) -> dict[str, Any] | None:
    """Return `pid` and `segment` of the running runner; None if no runner is active."""
    held = _hold(folder)
    if held is None:
        return read_object(folder.lock)
    os.close(held)
    return None


def start(folder: HostFolder, segment: int, retry_failed: bool, holder: str) -> dict[str, Any]:
    """Start a detached runner, unless one is running.

    Returns:
        `started`, and `running` in the format of `running()`.
    """
    held = _hold(folder)
    if held is None:
        return {"started": False, "running": read_object(folder.lock)}
    folder.ended(segment).unlink(missing_ok=True)
    for path in (folder.log(segment), folder.errors(segment)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
    sys.stdout.flush()
    ready, told = os.pipe()
    first = os.fork()
    if first == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.close(ready)
        _become(folder, segment, retry_failed, holder, held, told)
    os.waitpid(first, 0)
    os.close(told)
    os.close(held)
    # Wait until the runner has written its PID; before that, it cannot be found.
    with os.fdopen(ready, "rb") as pipe:
        pid = int(pipe.read() or b"0")
    return {"started": True, "running": {"pid": pid, "segment": segment}}


def _become(folder: HostFolder, segment: int, retry_failed: bool, holder: str, held: int, told: int) -> None:
    """In the child process: measure, write the outcome, exit. Never return."""
    code = 70
    try:
        log = os.open(folder.log(segment), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.ftruncate(held, 0)
        os.pwrite(held, json.dumps({"pid": os.getpid(), "segment": segment}).encode(), 0)
        os.write(told, str(os.getpid()).encode())
        os.close(told)
        os.environ["REGATTA_ERRORS"] = str(folder.errors(segment))
        argv = [
            "--plan", str(folder.plan), "--segment", str(segment), "--journal", str(folder.journal),
            "--state", str(folder.state), "--scratch", str(folder.scratch), "--receipt", str(folder.receipt(segment)),
            "--holder", holder,
        ]  # fmt: skip
        try:
            code = run_segment([*argv, *(["--retry-failed"] if retry_failed else [])])
        finally:
            _leave_word(folder, segment, code)
    finally:
        os._exit(code)


def _leave_word(folder: HostFolder, segment: int, code: int) -> None:
    problems = []
    with contextlib.suppress(OSError, ValueError):
        lines = folder.errors(segment).read_text(encoding="utf-8").splitlines()
        problems = [text for line in lines for text in json.loads(line)["problems"]]
    write_object(
        folder.ended(segment),
        {
            "exit_code": code,
            "problems": problems,
            "receipt": read_object(folder.receipt(segment)) if code == 0 else {},
            "cores": read_object(folder.journal / "cores.json"),
            "decisions": read_object(folder.journal / "decisions.json"),
            "duet": read_object(folder.journal / "duet.json"),
        },
        durable=True,
    )


def stop(folder: HostFolder) -> dict[str, Any]:
    """Stop the runner between two records, and wait for its end.

    Returns:
        `stopped`: whether no runner is active.
    """
    deadline = time.monotonic() + _STOP_S
    while time.monotonic() < deadline:
        now = running(folder)
        if now is None:
            return {"stopped": True}
        with contextlib.suppress(OSError, KeyError, TypeError, ValueError):
            os.kill(int(now["pid"]), signal.SIGTERM)
        time.sleep(0.1)
    return {"stopped": running(folder) is None}
