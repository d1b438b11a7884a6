"""Jobs and nodes in Slurm: few queries, each for all jobs or nodes of interest."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from regatta.fleet.remote.base import Unreachable, last_line
from regatta.host.errors import HostError
from regatta.host.processes import process_start

#: in seconds: how long an unresponsive Slurm controller is retried, and the timeout of one query
CONTROLLER_PATIENCE_S = 600.0
_QUESTION_S = 120.0
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
#: a job without a step for this long has lost its srun (normally both start within milliseconds)
_STEPLESS_S = 10
_STEPLESS_ELSEWHERE_S = 300
#: time for a stopped runner to end its invocation
_STOP_S = 60.0

_NO_CONTROLLER = "Unable to contact slurm controller"
_ENDED = frozenset(
    {"BOOT_FAIL", "CANCELLED", "COMPLETED", "COMPLETING", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"}
    | {"PREEMPTED", "REVOKED", "TIMEOUT"}
)
_WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
#: sinfo states in which a node is not allocated
_OUT_OF_SERVICE = ("down", "drain", "fail", "error", "inval", "maint", "reboot", "perfctrs")

_T = TypeVar("_T")


class NoController(Unreachable):
    """The Slurm controller is unresponsive. Running jobs continue."""


@dataclass(frozen=True)
class Job:
    """A job of ours in the queue."""

    job_id: str
    name: str
    state: str
    node: str
    reason: str
    elapsed_s: int
    #: None: no limit
    limit_s: int | None
    #: identifies its owner (`Owner`)
    comment: str

    @property
    def ended(self) -> bool:
        """Return whether the job has ended for good."""
        return self.state in _ENDED

    @property
    def waiting(self) -> bool:
        """Return whether the job is pending."""
        return self.state in _WAITING


@dataclass(frozen=True)
class Owner:
    """The process that started a job, and the serial number of the job in that process."""

    machine: str
    pid: int
    #: in kernel ticks since boot: distinguishes processes that reuse a number
    since: str
    serial: int = 0

    @classmethod
    def me(cls, serial: int) -> Owner:
        """Return the owner for this process."""
        return cls(socket.gethostname(), os.getpid(), str(process_start(os.getpid())), serial)

    @classmethod
    def of(cls, job: Job) -> Owner | None:
        """Return the owner of a job; None if its comment is not ours."""
        machine, *rest = job.comment.split(":")
        if len(rest) != 3 or not rest[0].isdigit() or not rest[2].isdigit():
            return None
        return cls(machine, int(rest[0]), rest[1], int(rest[2]))

    def __str__(self) -> str:
        return f"{self.machine}:{self.pid}:{self.since}:{self.serial}"

    def is_gone(self) -> bool | None:
        """Return whether the process has ended; None if unknown from here."""
        if self.machine != socket.gethostname():
            return None
        return str(process_start(self.pid)) != self.since


def program(name: str) -> str:
    """Return the path of a Slurm command.

    Raises:
        HostError: it is not installed.
    """
    found = shutil.which(name)
    if found is None:
        raise HostError(name, "the commands of Slurm", "none on PATH", "run this on a machine of the cluster")
    return found


def environment() -> dict[str, str]:
    """Return the environment of Slurm commands and of their jobs: user identity and Slurm configuration only.

    A fixed PATH hides the virtual environment of the controller from hosts. Without `SLURM_JOB_ID` and similar variables, a
    controller inside a Slurm job can allocate nodes.
    """
    kept = {name: os.environ[name] for name in (*PASSED_ON, "SLURM_CONF", "TZ") if name in os.environ}
    return {**kept, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


#: variables passed to commands on a node; their values never appear in an argument
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL")


def ask(argv: Sequence[str]) -> str:
    """Run a Slurm query; return its output.

    Raises:
        NoController: the controller is unresponsive.
        HostError: Slurm refuses.
    """
    words = [program(argv[0]), *argv[1:]]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=environment(),
            timeout=_QUESTION_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise no_controller() from None
    if _NO_CONTROLLER in done.stderr or "Connection refused" in done.stderr:
        raise no_controller()
    if done.returncode != 0:
        got = last_line(done.stderr) or f"exit {done.returncode}"
        raise HostError(argv[0], "an answer from Slurm", got, "check that `sinfo` works on this machine")
    return done.stdout


def no_controller() -> NoController:
    """Return the error of an unresponsive controller."""
    return NoController(
        "Slurm", "an answer from its controller", "none", "check `scontrol ping`; records are kept"
    )


def lost_controller(told: str) -> bool:
    """Return whether srun failed to request an allocation, so that nothing was started."""
    return _NO_CONTROLLER in told


def patiently(question: Callable[[], _T]) -> _T:
    """Retry with growing pauses while the Slurm controller is unresponsive.

    Raises:
        NoController: no answer within `CONTROLLER_PATIENCE_S`.
    """
    deadline = time.monotonic() + CONTROLLER_PATIENCE_S
    for pause in pauses():
        try:
            return question()
        except NoController:
            if time.monotonic() + pause > deadline:
                raise
            tell(f"the controller of Slurm does not answer; trying again in {pause:.0f} s")
            time.sleep(pause)
    raise AssertionError("pauses never end")


def pauses() -> Iterator[float]:
    """Yield the seconds before each retry, increasing and randomized."""
    pause = _FIRST_PAUSE_S
    while True:
        yield pause * random.uniform(0.8, 1.2)
        pause = min(2 * pause, _LONGEST_PAUSE_S)


def tell(text: str) -> None:
    """Print a message to the log."""
    print(f"slurm: {text}", file=sys.stderr, flush=True)


# ---- jobs ------------------------------------------------------------------------------------------------------------


def jobs(names: Iterable[str], ended_too: bool = False) -> list[Job]:
    """Return all jobs of these names with one query, newest last.

    Raises:
        NoController, HostError: see `ask`.
    """
    found = []
    states = ["--states=all"] if ended_too else []
    form = "--format=%i|%j|%T|%N|%r|%M|%l|%k"
    for line in ask(
        ["squeue", "--me", "--noheader", *states, f"--name={','.join(names)}", form]
    ).splitlines():
        fields = line.strip().split("|", 7)
        if len(fields) == 8:
            job_id, name, state, node, reason, elapsed, limit, comment = fields
            found.append(
                Job(job_id, name, state, node, reason, _seconds(elapsed) or 0, _seconds(limit), comment)
            )
    return sorted(found, key=lambda job: int(job.job_id) if job.job_id.isdigit() else 0)


def _seconds(text: str) -> int | None:
    """Parse days-hours:minutes:seconds of Slurm; None for other text, such as UNLIMITED."""
    days, _, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in (*parts, days or "0")):
        return None
    seconds = 0
    for part in parts:
        seconds = 60 * seconds + int(part)
    return seconds + 86400 * int(days or "0")


def _with_steps(found: Iterable[Job]) -> set[str]:
    """Return the jobs with a running step."""
    ids = [job.job_id for job in found]
    if not ids:
        return set()
    lines = ask(["squeue", "--noheader", "--steps", f"--jobs={','.join(ids)}", "--format=%i"]).split()
    return {line.partition(".")[0] for line in lines}


def end_orphans(names: Iterable[str], finished: Callable[[Owner], bool] = lambda owner: False) -> None:
    """End jobs of these names whose owners have ended: stop measuring steps gracefully, then release their allocations.

    A killed process may leave a pending job, an unattended step, or an empty allocation that would hold the node forever.
    Jobs of living processes are left alone.

    `finished`: whether a job of this process has finished its work already.

    Raises:
        NoController, HostError: see `ask`.
    """
    alive = [job for job in jobs(names) if not job.ended]
    running = [job for job in alive if not job.waiting]
    busy = _with_steps(running)
    orphans = [job for job in alive if _is_orphan(job, job.job_id in busy, finished)]
    measuring = [job for job in orphans if job.job_id in busy]
    for job in orphans:
        tell(
            f"canceling job {job.job_id} ({job.state.lower()}{f', {job.node}' if job.node else ''}): the process that submitted it has ended"
        )
    if measuring:
        _cancel(measuring, "--signal=TERM")
        deadline = time.monotonic() + _STOP_S
        while _with_steps(measuring) and time.monotonic() < deadline:
            time.sleep(0.5)
    if orphans:
        _cancel(orphans)


def _is_orphan(job: Job, has_step: bool, finished: Callable[[Owner], bool]) -> bool:
    owner = Owner.of(job)
    if owner is None:
        return False
    gone = owner.is_gone()
    if gone is None:
        # Started on another machine: only a long-empty allocation is certainly orphaned.
        return not job.waiting and not has_step and job.elapsed_s >= _STEPLESS_ELSEWHERE_S
    if gone or finished(owner):
        return True
    return owner.pid != os.getpid() and not job.waiting and not has_step and job.elapsed_s >= _STEPLESS_S


def _cancel(found: Sequence[Job], *options: str) -> None:
    # Quiet: a job that has ended meanwhile is no error.
    ask(["scancel", "--quiet", *options, *[job.job_id for job in found]])


# ---- nodes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """State of a node in sinfo, and its reason, if set."""

    name: str
    state: str
    reason: str

    @property
    def in_service(self) -> bool:
        """Return whether Slurm allocates the node."""
        return not self.state.startswith(_OUT_OF_SERVICE)

    @property
    def responding(self) -> bool:
        """Return whether the node answered Slurm recently; after a restart, the controller knows of none."""
        return not self.state.endswith("*") and not self.state.startswith("unk")

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason not in ("", "none") else ""
        return f"{self.state.rstrip('*')}{why}{'' if self.responding else ', not responding'}"


def node(name: str) -> Node:
    """Return the state of a node.

    Raises:
        NoController: the controller is unresponsive.
        HostError: the node does not exist.
    """
    lines = ask(["sinfo", "--noheader", "--Node", f"--nodes={name}", "--format=%N|%T|%E"]).splitlines()
    for line in lines:
        fields = line.strip().split("|", 2)
        if len(fields) == 3:
            return Node(*fields)
    raise HostError(
        f"node {name}",
        "a node of the cluster",
        "no such node",
        "correct `regatta_slurm_node` in the inventory (names: `sinfo --Node`)",
    )
