"""Measure on one half of the host, in a process that the runner forks.

The process keeps the lock of the host open. If the runner is killed, the host stays locked until its halves have ended.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError, Problem, RegattaError
from regatta.host.journal.plan_files import Row
from regatta.host.measure.cgroup import open_accounting
from regatta.host.measure.invocation import Bench
from regatta.host.measure.limits import check_limits, controllers_of, limits_asked
from regatta.host.measure.process import Interrupted, StopSignals, become_subreaper, reserve_descriptors
from regatta.host.measure.scratch import results_of
from regatta.host.messages import Ended, Message, Reader, send
from regatta.host.processes import die_with_parent, end_orphans
from regatta.host.values.plan_cell import PlanCell

#: Its program gets SIGKILL at once; the rest is to remove its group and its files.
_END_S = 10.0


@dataclass(frozen=True)
class Work:
    """What a half measures, and where."""

    #: of the plan
    header: Mapping[str, Any]
    #: those that will be measured
    cells: Sequence[PlanCell]
    #: number of the segment
    segment: int
    #: folder of its working directory
    scratch: Path
    #: folder of the files that are kept next to records
    kept: Path
    #: its CPUs
    cores: Sequence[int]


class Half:
    """The runner's end of a half."""

    def __init__(self, number: int, work: Work, others: Iterable[Half], forget: Callable[[], None]) -> None:
        """Fork the process. Its first message says that it is open.

        Args:
            number: 0 or 1.
            work: what it measures.
            others: halves that were forked before.
            forget: closes in the new process what belongs to the runner alone.
        """
        self.name = f"half {number} of the host"
        self._results = str(results_of(work.scratch))
        requests, self._requests = os.pipe()
        answers, written = os.pipe()
        runner = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                for fd in (self._requests, answers, *(fd for other in others for fd in other.descriptors)):
                    os.close(fd)
                forget()
                code = _work(runner, requests, written, work)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.close(requests)
        os.close(written)
        self._reader = Reader(answers, self.name)
        self.fd = answers

    @property
    def descriptors(self) -> tuple[int, int]:
        """Return the runner's ends of the pipes, which no other half may hold open."""
        return self._requests, self.fd

    def send(self, message: Message) -> None:
        """Send a request. If the half has ended, the next `hear` says so."""
        with contextlib.suppress(OSError):
            send(self._requests, message)

    def hear(self) -> Message | None:
        """Return the next message; None if there is none yet.

        Raises:
            Ended: its process has ended.
            HostError: the error that it reports.
        """
        message = self._reader.next()
        if message is None or "error" not in message:
            return message
        error = HostError(self.name, "an answer", "an error")
        error.problems = tuple(Problem(*parts) for parts in message["error"])
        error.args = ("\n".join(map(str, error.problems)),)
        raise error

    def stop(self, measures: bool) -> None:
        """Ask the process to end. `measures`: a program may run, which it ends, too."""
        if measures:
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGTERM)
        for fd in self.descriptors:
            os.close(fd)

    def end(self) -> None:
        """Wait for the end of the process after `stop`; kill it if it does not end, with what it leaves."""
        pidfd = os.pidfd_open(self.pid)
        try:
            if not select.select([pidfd], [], [], _END_S)[0]:
                os.kill(self.pid, signal.SIGKILL)
        finally:
            os.close(pidfd)
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status):
            # Without a subreaper, its program is no child of the runner now.
            end_orphans(self._results)


class _Conversation:
    """The half's end of the pipes, and the partner of its program."""

    def __init__(self, requests: int, written: int, stop: StopSignals) -> None:
        self._reader = Reader(requests, "the runner")
        self._written = written
        self._stop = stop

    def say(self, message: Mapping[str, Any]) -> None:
        send(self._written, dict(message))

    def next(self) -> Message:
        """Return the next request, when it comes."""
        poll = select.poll()
        poll.register(self._reader.fd, select.POLLIN)
        poll.register(self._stop.fd, select.POLLIN)
        while True:
            message = self._reader.next()
            if message is not None:
                return message
            poll.poll()
            if self._stop.received:
                raise Interrupted

    def ready(self) -> str:
        """Wait until the partner is ready, too. Return why it does not start, or ""."""
        self.say({"ready": True})
        return str(self.next()["problem"])

    def ended(self, cpu_s: float) -> float:
        """Wait until the partner has ended, too. Return its processor time in s while the own program ran."""
        self.say({"ended": cpu_s})
        return float(self.next()["cpu_s"])


def _work(runner: int, requests: int, written: int, work: Work) -> int:
    with StopSignals() as stop, contextlib.ExitStack() as stack:
        conversation = _Conversation(requests, written, stop)
        die_with_parent()
        if os.getppid() != runner:
            return 0
        try:
            _serve(_open(work, stop, stack, conversation), work, conversation)
        except (Ended, Interrupted, BrokenPipeError):
            return 0
        except RegattaError as error:
            conversation.say({"error": [[p.where, p.expected, p.got, p.fix] for p in error.problems]})
        except OSError as error:
            what = str(error.filename or "the host")
            conversation.say(
                {"error": [[what, "a successful system call", str(error.strerror or error), ""]]}
            )
    return 1


def _open(work: Work, stop: StopSignals, stack: contextlib.ExitStack, conversation: _Conversation) -> Bench:
    header, cells, cores = work.header, list(work.cells), list(work.cores)
    if any("memory_mib" in limits_asked(cell) for cell in cells):
        # The memory pressure is that of the host: a limit of one program would perturb its partner.
        header = {**header, "limits": {**header["limits"], "memory_pressure_percent": None}}
    no_subreaper = become_subreaper()
    reserved = reserve_descriptors()
    accounting, no_accounting = open_accounting(controllers_of(cells))
    if accounting is not None:
        stack.callback(accounting.close)
    bench = Bench(header, work.scratch, cores, accounting, stop)
    stack.callback(bench.close)
    bench.strays = bool(no_subreaper)
    bench.partner = conversation
    bench.clear()
    for fd in reserved:
        os.close(fd)
    check_limits(cells, cores, accounting, no_accounting)
    usage = "" if accounting is None else accounting.cpu_file
    conversation.say({"no_accounting": no_accounting, "usage": usage})
    return bench


def _serve(bench: Bench, work: Work, conversation: _Conversation) -> None:
    cells = bench.header["cells"]
    while True:
        try:
            request = conversation.next()
        except Ended:
            bench.clear()
            return
        # What a test before the first round leaves is not kept.
        bench.kept = work.kept if request["counts"] else None
        index, round_, block, position = request["row"]
        row = Row(index, round_, block, position, cells[request["cell"]])
        conversation.say({"record": bench.measure(row, request["attempt"], work.segment)})
