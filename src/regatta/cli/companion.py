"""A process that works while the runner of this machine pauses between blocks, and sleeps while anything is measured."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regatta.answers.so_far import Estimates
from regatta.host.errors import RegattaError
from regatta.host.measure.pauses import DONE, PAUSE
from regatta.influx.settings import Settings
from regatta.store.folder import Folder

#: How long a pause may be: the kernel ends the process then, before the runner gives up waiting.
_LONGEST_S = 7.5
#: of it, for sending to InfluxDB, after which the kernel ends the process; and for one computation of the estimates, which ends alone
_SENDING_S, _ESTIMATES_S = 2.0, 2.0


@dataclass(frozen=True)
class Task:
    """Something to do in each pause, for at most `limit_s`."""

    do: Callable[[], None]
    limit_s: float


def start_companion(folder: Folder, host: str, segment: int, settings: Settings | None) -> int:
    """Start it; returns the descriptor for the runner's `--pauses`.

    It ends when the descriptor is closed. It is no child of this process, for the runner ends every child that it has when an
    invocation ends.

    Args:
        folder: of the experiment.
        host: this machine's name in it.
        segment: which one is measured, for the name of the log.
        settings: where to send results; None: nowhere.

    Raises:
        OSError: there is no room for another process.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.fork() == 0:
                ours.close()
                _become_companion(theirs.fileno(), folder, host, segment, settings)
            code = 0
        finally:
            os._exit(code)
    os.waitpid(child, 0)
    theirs.close()
    ours.set_inheritable(True)
    return ours.detach()


def _become_companion(fd: int, folder: Folder, host: str, segment: int, settings: Settings | None) -> None:
    folder.logs.mkdir(parents=True, exist_ok=True)
    log = os.open(
        folder.logs / f"live-{host}-{segment:05d}.log",
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC,
        0o644,
    )
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    estimates = Estimates(folder, apart=lambda work: _in_child(work, _ESTIMATES_S))
    tasks = [Task(estimates.look, _LONGEST_S - _SENDING_S)]
    if settings is not None:
        from regatta.influx.live import PauseSender

        tasks.insert(0, Task(PauseSender(folder, host, settings, _say).look, _SENDING_S))
    work_in_pauses(fd, tasks, _say)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _in_child(work: Callable[[], None], limit_s: float) -> bool:
    """Run it in a child, which the kernel ends after `limit_s`; whether it ended well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.setitimer(signal.ITIMER_REAL, limit_s)
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def work_in_pauses(fd: int, tasks: Sequence[Task], say: Callable[[str], None]) -> None:
    """Do every task whenever the runner pauses, until it closes its end of the socket.

    A task that fails is not done again; what it leaves undone is done after the segment.
    """
    left = list(tasks)
    while os.read(fd, 1) == PAUSE and not _gone(fd):
        for task in list(left):
            signal.setitimer(signal.ITIMER_REAL, task.limit_s)
            try:
                task.do()
            except (RegattaError, OSError) as error:
                left.remove(task)
                say(f"not sent until the segment ends: {error}")
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        os.write(fd, DONE)


def _gone(fd: int) -> bool:
    """Whether the runner has not waited for the answer, and measures."""
    ready, _, _ = select.select([fd], [], [], 0)
    return bool(ready)
