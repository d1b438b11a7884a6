"""A process that works while the local runner pauses between blocks, and sleeps during measurements."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regatta.answers.spine.so_far import Estimates
from regatta.host.errors import RegattaError
from regatta.host.measure.pauses import DONE, PAUSE
from regatta.influx.settings import Settings
from regatta.store.folder import Folder

#: Maximum length of a pause: the kernel then ends the process, before the timeout of the runner.
_LONGEST_S = 7.5
#: Parts of it: sending to InfluxDB, after which the kernel ends the process; one computation of estimates, which ends separately.
_SENDING_S, _ESTIMATES_S = 2.0, 2.0


@dataclass(frozen=True)
class Task:
    """Work for each pause, for at most `limit_s`."""

    do: Callable[[], None]
    limit_s: float


def start_companion(folder: Folder, host: str, segment: int, settings: Settings | None) -> int:
    """Start the companion; return the descriptor for `--pauses` of the runner.

    It ends when the descriptor is closed. It is not a child of this process, because the runner ends all of its children after
    each invocation.

    Args:
        folder: folder of the experiment.
        host: name of this machine in it.
        segment: measured segment, for the name of the log.
        settings: InfluxDB for the results; None: none.

    Raises:
        OSError: no process can be created.
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
    """Run the work in a child, which the kernel ends after `limit_s`; return whether it succeeded."""
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
    """Do every task whenever the runner pauses, until the runner closes its end of the socket.

    A failed task is not repeated; its work is done after the segment.
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
    """Return whether the runner timed out and measures again."""
    ready, _, _ = select.select([fd], [], [], 0)
    return bool(ready)
