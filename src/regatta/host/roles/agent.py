"""`role`: execute the program of one role on this host, as a conductor asks on standard input.

The answers are messages on standard output. If the conductor ends, for any reason, so does the agent, with its program.
"""

from __future__ import annotations

import base64
import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regatta.host.counters.borders import Borders
from regatta.host.errors import HostError, RegattaError
from regatta.host.journal.plan_files import check_files
from regatta.host.measure.cgroup import open_accounting
from regatta.host.measure.host_lock import DEFAULT_LOCK, HostLock
from regatta.host.measure.invocation import Bench, sampling
from regatta.host.measure.limits import check_limits, controllers_of
from regatta.host.measure.process import (
    Interrupted,
    Launch,
    StopSignals,
    become_subreaper,
    keep_descriptors,
    reserve_descriptors,
)
from regatta.host.measure.record_making import Run, peak_rss_kib
from regatta.host.measure.segment import check_host, end_what_was_left, lock_host, place_on_cores
from regatta.host.measure.verdict import adapter_file
from regatta.host.messages import Ended, Message, Reader, send
from regatta.host.roles import network, readiness
from regatta.host.roles.part import Part
from regatta.host.values.counters import BORDERS
from regatta.host.values.from_json import value_from_json
from regatta.host.values.plan_cell import PlanCell

if TYPE_CHECKING:
    from regatta.host.counters.counting import Counting

_LONGEST_REQUEST = 64
#: between two looks for the end of the conductor, while nothing is measured
_LOOK_S = 0.2
#: time of a program between SIGTERM and SIGKILL
STOP_S = 10.0


@dataclass(frozen=True)
class Opening:
    """The first request: what the agent will measure, and whether it locks the host for all agents there."""

    experiment: str
    segment: int
    holder: str
    scratch: str
    #: of the other agents on this host
    others: list[str]
    #: whether this agent takes the lock
    locks: bool
    #: whether each role has its own network
    apart: bool
    header: dict[str, Any]
    cells: list[Any]


def command(argv: Sequence[str]) -> int:
    """Answer requests until the conductor ends. Return the exit code."""
    if argv:
        print("usage: regatta.pyz role", file=sys.stderr)
        return 2
    # What the program or a library prints must not get among the messages.
    answers = os.dup(1)
    os.set_inheritable(answers, False)
    os.dup2(2, 1)
    with StopSignals() as stop, contextlib.ExitStack() as stack:
        agent = _Agent(Reader(0, "conductor"), answers, stop, stack)
        try:
            agent.work()
        except (Ended, Interrupted, BrokenPipeError):
            return 0
        except RegattaError as error:
            agent.tell({"error": [[p.where, p.expected, p.got, p.fix] for p in error.problems]})
            return error.exit_code
        except OSError as error:
            agent.tell(
                {"error": [[str(error.filename or "the host"), "a successful system call", str(error), ""]]}
            )
            return RegattaError.exit_code
    return 0


class _Relay(Borders[None]):
    """The requests of a program for the borders of its iterations, where the counters belong to another role."""

    def __init__(self, path: Path, forward: Callable[[str], None]) -> None:
        super().__init__(path, lambda begins: None)
        self._forward = forward

    def mark(self, request: bytes, asker: str = "") -> None:
        """Let the other role read its counters."""
        self._forward(request[:_LONGEST_REQUEST].decode("utf-8", "backslashreplace"))


class _Running:
    """What happens while a program runs: requests of the conductor, and the search for readiness."""

    def __init__(self, agent: _Agent, counting: Counting | None) -> None:
        self.agent = agent
        self.counting = counting
        self.relay: _Relay | None = None
        self.fd = agent.requests.fd
        self.looks: list[readiness.Look] = []
        self.output: readiness.Output | None = None
        self._launch: Launch | None = None
        self._pid = 0
        self._pidfd = -1
        self._timer: threading.Timer | None = None

    def attach(self, launch: Launch) -> None:
        """Follow a launch."""
        self._launch = launch
        launch.requests = [*launch.requests, self]
        if self.relay is not None:
            launch.requests = [*launch.requests, self.relay]
            launch.environment = {**launch.environment, BORDERS: str(self.relay.path)}
        launch.started.append(self._started)
        if self.output is not None:
            launch.follow = self.output.follow

    @property
    def told_to_end(self) -> bool:
        """Return whether the program ended because it was asked to."""
        return self._timer is not None

    def _started(self, pid: int) -> None:
        self._pid = pid
        self._pidfd = os.pidfd_open(pid)

    def drain(self) -> bool:
        """Answer the requests that have come."""
        while (message := self.agent.requests.next()) is not None:
            self._answer(message)
        return True

    def _answer(self, message: Message) -> None:
        what = message.get("do")
        if what == "stop":
            self.stop()
        elif what == "mark":
            if self.counting is not None:
                self.counting.mark(str(message["border"]))
            self.agent.tell({"marked": message["border"]})
        elif what != "marked":
            raise HostError("conductor", "a request for a running program", str(message)[:200])

    def forward(self, border: str) -> None:
        """Ask the conductor to let the first role read its counters, and wait for that."""
        self.agent.tell({"border": border})
        answer: Message = {}
        while answer.get("do") != "marked" and self._timer is None:
            answer = self.agent.next()
            self._answer(answer)
        # Requests that came together with the answer make no descriptor readable any more.
        self.drain()

    def stop(self) -> None:
        """Ask the program to end, and kill it if it does not."""
        if self._timer is None and self._launch is not None:
            self._launch.told_to_end = True
            with contextlib.suppress(OSError):
                os.killpg(self._pid, signal.SIGTERM)
            self._timer = threading.Timer(STOP_S, self._kill)
            self._timer.daemon = True
            self._timer.start()

    def _kill(self) -> None:
        # The rest of its group is killed when it has ended.
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def end(self) -> None:
        """Stop the search, and the clock of a stop."""
        for look in self.looks:
            look.end()
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self.relay is not None:
            self.relay.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)


class _Agent:
    def __init__(
        self, requests: Reader, answers: int, stop: StopSignals, stack: contextlib.ExitStack
    ) -> None:
        self.requests = requests
        self._answers = answers
        self._stop = stop
        self._stack = stack
        self._bench: Bench | None = None

    def tell(self, message: Message) -> None:
        """Send a message; from any thread, because a short one is written at once."""
        with contextlib.suppress(OSError):
            send(self._answers, message)

    def next(self) -> Message:
        """Return the next request, when it comes."""
        poll = select.poll()
        poll.register(self.requests.fd, select.POLLIN)
        poll.register(self._stop.fd, select.POLLIN)
        while True:
            message = self.requests.next()
            if message is not None:
                return message
            poll.poll()
            if self._stop.received:
                raise Interrupted

    def work(self) -> None:
        """Answer requests."""
        opening = value_from_json(Opening, self.next(), "conductor: the first request")
        self._open(opening)
        while True:
            request = self.next()
            what = request.get("do")
            if what == "clock":
                self.tell({"monotonic_ns": time.monotonic_ns()})
            elif what == "join":
                network.join(int(request["number"]), int(request["pid"]))
                self.tell({"joined": request["number"]})
            elif what == "address":
                network.take_address(int(request["number"]))
                self.tell({"address": request["number"]})
            elif what == "start":
                self._run(request)
            # The program has ended while a request for it was on its way.
            elif what not in ("stop", "mark", "marked"):
                raise HostError("conductor", "a known request", str(request)[:200])

    def _open(self, opening: Opening) -> None:
        header, cells = opening.header, opening.cells
        scratch = Path(opening.scratch)
        scratch.mkdir(parents=True, exist_ok=True)
        check_host(header)
        check_files(cells)
        ended = self._lock(opening, scratch) if opening.locks else 0
        if opening.apart:
            network.enter_new()
        place = place_on_cores(header)
        measured, own = place["measured"], place["runner"]
        no_subreaper = become_subreaper()
        keep_descriptors()
        reserved = reserve_descriptors()
        accounting, why_none = open_accounting(controllers_of(cells))
        if accounting is not None:
            self._stack.callback(accounting.close)
        bench = Bench({**header, "cells": cells}, scratch, measured, accounting, self._stop)
        self._stack.callback(bench.close)
        bench.strays = bool(no_subreaper)
        bench.clear()
        for fd in reserved:
            os.close(fd)
        check_limits(cells, bench.all_cores if measured is None else measured, accounting, why_none)
        if own is not None:
            os.sched_setaffinity(0, own)
        self._bench = bench
        self.tell({"opened": os.getpid(), "orphans_ended": ended, "no_accounting": why_none})

    def _lock(self, opening: Opening, scratch: Path) -> int:
        others = [Path(other) for other in opening.others]
        granted = threading.Event()
        threading.Thread(target=self._end_with_conductor, args=(granted,), daemon=True).start()
        lock: HostLock = lock_host(
            Path(os.environ.get("REGATTA_HOST_LOCK", DEFAULT_LOCK)),
            scratch,
            opening.experiment,
            opening.segment,
            opening.holder,
            waiting=lambda holder: self.tell({"waiting": holder}),
            others=others,
        )
        granted.set()
        self._stack.callback(lock.release)
        return end_what_was_left(lock, scratch, others=others)

    def _end_with_conductor(self, granted: threading.Event) -> None:
        """End this process if the conductor does, or a signal asks for it, while the lock of the host is not granted."""
        poll = select.poll()
        poll.register(self.requests.fd, 0)
        while not granted.wait(_LOOK_S):
            if self._stop.received or poll.poll(0):
                os._exit(0)

    def _run(self, request: Message) -> None:
        bench = self._bench
        assert bench is not None
        cell: PlanCell = request["cell"]
        bench.clear()
        environment = bench.environment_for(cell, str(request["invocation_id"]), int(request["attempt"]))
        counting = bench.counting(cell, int(request["round"]))
        running = _Running(self, counting)
        if request["borders"]:
            running.relay = _Relay(Path(bench.results_name).parent / "counters", running.forward)
        self._seek(request.get("ready") or {}, bench, running)
        try:
            with sampling(bench, counting):
                run = bench.run(cell, environment, counting, running.attach)
        finally:
            running.end()
        counts, told = counting.end() if counting else ([], {})
        padding_bytes = len(environment.get("REGATTA_PADDING", ""))
        part = _part_of(run, bench, cell, counts, told, running.told_to_end, padding_bytes)
        self.tell({"ended": part})

    def _seek(self, ready: dict[str, str], bench: Bench, running: _Running) -> None:
        def tell(values: Any) -> None:
            self.tell({"ready": dict(values)})

        if ready.get("output"):
            running.output = readiness.Output(ready["output"], tell)
        elif ready.get("port"):
            listens = readiness.listens(ready["port"])
            if listens():
                where = f"port {ready['port']} of the host"
                raise HostError(
                    where, "no listener before the role starts", "one", "end it, or use another port"
                )
            running.looks.append(readiness.Look(listens, tell))
        elif ready.get("file"):
            path = bench.directory / ready["file"]
            running.looks.append(readiness.Look(readiness.holds_something(path), tell))


def _part_of(
    run: Run,
    bench: Bench,
    cell: PlanCell,
    counts: list[Any],
    told: dict[str, Any],
    told_to_end: bool,
    padding_bytes: int,
) -> dict[str, Any]:
    outcome = run.outcome
    results, refused = bench.read_results(adapter_file(cell))
    return Part(
        started_utc_ns=outcome.started_utc_ns,
        started_monotonic_ns=outcome.started_monotonic_ns,
        ended_ns=run.ended_ns,
        elapsed_ns=outcome.elapsed_ns,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        timed_out=outcome.timed_out,
        usage=list(outcome.usage),
        max_rss_kib=peak_rss_kib(outcome.usage),
        left_behind=outcome.left_behind,
        stdout=dict(outcome.stdout.to_json()),
        stdout_sha256=outcome.stdout.sha256,
        stderr=dict(outcome.stderr.to_json()),
        start_error=outcome.start_error,
        tree=run.tree,
        before=dict(run.before),
        after=dict(run.after),
        isolation=run.isolation,
        results=None if results is None else base64.b64encode(results).decode("ascii"),
        refused=refused,
        counts=counts,
        told=told,
        cores=bench.cores_of(cell),
        cpus=bench.cpus,
        padding_bytes=padding_bytes,
        told_to_end=told_to_end,
    ).to_json()
