"""Event traces of threads that run, wait and wake each other, written as a schedule or drawn at random."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from helpers.synthetic_traces import write_trace
from regatta.models.kernel_traces.model import Facts, Kind, Sleep, Trace


class Schedule:
    """Collects the events of a trace; threads and resources are named.

    Each CPU has an idle thread `idle/N`. All times are in ns.
    """

    def __init__(self, cpus: int = 1) -> None:
        self.cpus = cpus
        self.objects: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self._of: dict[str, int] = {}
        self._cpu: dict[str, int] = {}
        for cpu in range(cpus):
            self.object("idle", f"idle/{cpu}")

    def __getitem__(self, name: str) -> int:
        return self._of[name]

    def object(self, kind: str, name: str, process: str | None = None) -> int:
        """Add an object; a thread with a process has it as parent."""
        self._of[name] = len(self.objects)
        parent = {} if process is None else {"parent": self._of[process]}
        self.objects.append({"kind": kind, "name": name, **parent})
        return self._of[name]

    def add(self, time: int, kind: Kind, actor: str, **columns: Any) -> Schedule:
        """Add an event; object and peer are names."""
        for column in ("object", "peer"):
            if isinstance(columns.get(column), str):
                columns[column] = self._of[columns[column]]
        columns.setdefault("cpu", self._cpu.get(actor, 0))
        self.events.append({"time_ns": time, "kind": kind, "actor": self._of[actor], **columns})
        return self

    def run(self, time: int, thread: str, cpu: int = 0) -> Schedule:
        """Let a CPU accept a thread."""
        self._cpu[thread] = cpu
        return self.add(time, Kind.RESUME, thread)

    def sleep(self, time: int, thread: str) -> Schedule:
        """Let a running thread sleep."""
        return self.add(time, Kind.SLEEP, thread, value=int(Sleep.INTERRUPTIBLE))

    def preempt(self, time: int, thread: str) -> Schedule:
        """Take its CPU from a thread."""
        return self.add(time, Kind.PREEMPT, thread)

    def wake(self, time: int, thread: str, by: str) -> Schedule:
        """Wake a thread."""
        return self.add(time, Kind.WAKE, thread, peer=by)

    def serve(
        self, begin: int, end: int, thread: str, number: int = 1, request: int | None = None
    ) -> Schedule:
        """Let a thread work for a transaction."""
        if request is not None:
            self.add(request, Kind.REQUEST, thread, object="transaction", request=number)
        self.add(begin, Kind.ACCEPT, thread, object="transaction", request=number)
        return self.add(end, Kind.FINISH, thread, object="transaction", request=number)

    def write(self, folder: Path, end: int, begin: int = 0) -> Trace:
        """Write the trace; its window is [begin, end)."""
        return write_trace(folder, self.events, self.objects, Facts(begin, end, self.cpus))


def random_schedule(seed: int, threads: int = 5, cpus: int = 2, steps: int = 60) -> tuple[Schedule, int]:
    """Return a schedule in which a consistent set of threads does random things, and the end of its window."""
    random_one = random.Random(seed)
    made = Schedule(cpus)
    made.object("process", "server")
    names = [f"t{number}" for number in range(threads)]
    for name in names:
        made.object("thread", name, "server")
    for kind, name in (
        ("network", "net"), ("timer", "tick"), ("lock", "mutex"), ("phase", "one"), ("phase", "two"), ("transaction", "transaction"),
    ):  # fmt: skip
        made.object(kind, name)
    one = _Random(made, random_one, names)
    time = 0
    for _ in range(steps):
        time += random_one.choice((0, 1, 2, 7, 30))
        one.step(time)
    return made, time + 5


class _Random:
    def __init__(self, made: Schedule, random_one: random.Random, names: list[str]) -> None:
        self._made = made
        self._random = random_one
        self._on: dict[int, str] = {}
        self._ready: list[str] = []
        self._asleep = list(names)
        self._owner: str | None = None
        self._queue: list[str] = []
        self._open: dict[str, int] = {}
        self._count = 0

    def step(self, time: int) -> None:
        """Do one thing at random."""
        chosen, made = self._random, self._made
        free = [cpu for cpu in range(made.cpus) if cpu not in self._on]
        cpu = chosen.choice(sorted(self._on)) if self._on else None
        action = chosen.choice(
            ("wake", "wake", "run", "run", "sleep", "preempt", "lock", "unlock", "phase", "begin", "end")
        )
        if action == "wake":
            self._wake(time, cpu)
        elif action == "run" and self._ready and free:
            thread = self._ready.pop(chosen.randrange(len(self._ready)))
            place = chosen.choice(free)
            made.run(time, thread, place)
            self._on[place] = thread
            if self._queue and thread == self._queue[0] and self._owner is None:
                self._own(time, self._queue.pop(0))
        elif cpu is not None:
            self._act(time, action, cpu)

    def _wake(self, time: int, cpu: int | None) -> None:
        able = [thread for thread in self._asleep if thread not in self._queue]
        if able:
            thread = self._random.choice(able)
            by = [self._on[cpu]] if cpu is not None else []
            self._made.wake(time, thread, self._random.choice(["net", "tick", *by, *by]))
            self._asleep.remove(thread)
            self._ready.append(thread)

    def _own(self, time: int, thread: str) -> None:
        self._made.add(time, Kind.ACCEPT, thread, object="mutex", request=self._made[thread])
        self._owner = thread

    def _act(self, time: int, action: str, cpu: int) -> None:
        made, thread = self._made, self._on[cpu]
        if thread in self._queue:
            return
        if action in ("sleep", "preempt"):
            del self._on[cpu]
            (made.sleep if action == "sleep" else made.preempt)(time, thread)
            (self._asleep if action == "sleep" else self._ready).append(thread)
        elif action == "lock" and thread != self._owner:
            made.add(time, Kind.REQUEST, thread, object="mutex", request=made[thread])
            if self._owner is None and not self._queue:
                self._own(time, thread)
            else:
                self._queue.append(thread)
                del self._on[cpu]
                made.sleep(time, thread)
                self._asleep.append(thread)
        elif action == "unlock" and thread == self._owner:
            made.add(time, Kind.FINISH, thread, object="mutex", request=made[thread])
            self._owner = None
            if self._queue:
                made.wake(time, self._queue[0], thread)
                self._asleep.remove(self._queue[0])
                self._ready.append(self._queue[0])
        elif action == "phase":
            made.add(time, Kind.ACCEPT, thread, object=self._random.choice(("one", "two")))
        elif action == "begin" and thread not in self._open:
            self._count += 1
            self._open[thread] = self._count
            made.add(time, Kind.ACCEPT, thread, object="transaction", request=self._count)
        elif action == "end" and thread in self._open:
            made.add(time, Kind.FINISH, thread, object="transaction", request=self._open.pop(thread))
