"""A Slurm node through `srun`: each command is a separate exclusive allocation; the file system is shared.

A segment is one command and therefore one allocation. srun waits for the node without polling. Two failures of srun are
handled here. If its controller restarts or its machine fails, an empty allocation can hold the node forever (`end_orphans`).
After a node failure, srun may report success (`ending`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal

from regatta.fleet.remote import slurm_queue as queue
from regatta.fleet.remote.base import MAXIMUM_ANSWER_BYTES, Answer, Unreachable
from regatta.fleet.remote.here import Here
from regatta.host.errors import HostError
from regatta.host.files import locked, read_object
from regatta.host.values.host import Host, SlurmPlace
from regatta.store.folder import replacing

#: exit code of srun for internal errors; our commands never use it
_SRUN_FAILED = 213
#: exit code of a runner that was asked to stop (`regatta.host.verbs.segment_command`)
_STOPPED = 130
# A runner ends within seconds of a stop request. Slurm checks limits twice per minute, and may signal up to
# half a minute earlier than this.
_NOTICE_S = 20
#: how long a segment waits for a node out of service; `_SILENCE_S`: minimum wait for an unresponsive node
NODE_PATIENCE_S = 600.0
_SILENCE_S = 60.0
_LOOK_S = 0.5
_SETTLE_S = 30.0

_SHARED = "import os, sys; print(os.environ['SLURMD_NODENAME']); print(open(sys.argv[1]).read().strip())"
_OWN_LINES = re.compile(r"^(srun|slurmstepd[^:]*): ")
_QUEUED, _GRANTED = "queued and waiting for resources", "has been allocated resources"

#: options of a command that chooses its CPUs itself, and gets no environment of the controller
_UNBOUND = ("--cpu-bind=none", "--mpi=none", f"--export={','.join(queue.PASSED_ON)}", "--chdir=/")

#: `done`: the command ended, `not-started`: it never ran; the others: it was cut off, and may be restarted
End = Literal["done", "not-started", "time-limit", "cancelled", "preempted", "node-failed"]


@dataclass(frozen=True)
class Ending:
    """End of an allocation."""

    end: End
    #: state from Slurm, and the node; empty if Slurm has purged the job
    state: str = ""
    node: str = ""


def job_name(host: Host) -> str:
    """Return the name of all jobs for a host, unique by host and folder."""
    digest = hashlib.sha256(f"{host.root}\0{host.name}".encode()).hexdigest()[:8]
    return f"regatta-{digest}-{host.name}"


def allocating(nodes: Sequence[SlurmRemote], name: str) -> list[str]:
    """Return the words of a command that executes another one, here, in one exclusive allocation of several nodes.

    Allocations of the same hosts whose commands were killed are returned to Slurm first.

    Raises:
        NoController: the Slurm controller is unresponsive for minutes.
        HostError: no node is available.
    """
    first = nodes[0].host
    job = job_name(replace(first, name=name))
    queue.patiently(lambda: queue.end_orphans([job]))
    named = [f"--nodelist={','.join(remote.node() for remote in nodes)}", f"--nodes={len(nodes)}"]
    slurm = [remote.host.slurm or SlurmPlace() for remote in nodes]
    limits = [place.time_limit_min for place in slurm if place.time_limit_min]
    asked = [f"--partition={slurm[0].partition}"] if slurm[0].partition else []
    asked += [f"--time={min(limits)}"] if limits else []
    # The process becomes salloc, and stays the owner of the job.
    own = [f"--job-name={job}", f"--comment={queue.Owner.me(0)}"]
    return [
        queue.program("salloc"),
        *own,
        "--exclusive",
        "--mem=0",
        "--no-bell",
        "--kill-command=TERM",
        *named,
        *asked,
    ]


class SlurmRemote(Here):
    """A Slurm node: a named one, or one with a required feature, which is then kept."""

    #: how long `open` waits for a node out of service; `run` does not wait
    node_patience_s = NODE_PATIENCE_S

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._place = host.slurm or SlurmPlace()
        self._name = job_name(host)
        self._node = ""
        self._serial = 0
        #: by serial number, running and ended
        self._started: dict[int, subprocess.Popen[bytes]] = {}

    # ---- the five verbs; `put` and `get` are those of this machine ---------------------------------------------------

    def run(self, argv: Sequence[str], stdin: bytes | Path = b"", timeout_s: float = 600.0) -> Answer:
        """See `Remote.run`. `timeout_s` starts when the node is granted, because other jobs may run before."""
        named = f"--nodelist={self.node()}"
        return self._answer(argv, stdin, timeout_s, [named])

    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """See `Remote.open`. Queue messages of srun appear on standard error, too; `ending` returns the end state.

        Raises:
            NoController: the Slurm controller is unresponsive for minutes.
            HostError: the node stays out of service for `node_patience_s`.
        """
        named = f"--nodelist={self.node()}"
        self._make_way(self.node_patience_s)
        return self._start(argv, [named, *self._limit(None)], subprocess.DEVNULL, subprocess.PIPE)

    def words(self, argv: Sequence[str]) -> list[str]:
        """See `Remote.words`: a step of the allocation that `allocating` made."""
        step = ["--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={self.node()}"]
        return [queue.program("srun"), *step, "--unbuffered", *_UNBOUND, *argv]

    def close(self) -> None:
        """Return allocations of this process without an srun; nothing else is held between commands."""
        # The next user of the node does this too: an unresponsive Slurm is no error here.
        if self._started:
            with contextlib.suppress(HostError):
                queue.end_orphans([self._name], self._is_finished)

    # ---- the node ----------------------------------------------------------------------------------------------------

    def node(self) -> str:
        """Return the node of the host.

        The first call asks Slurm for one, checks the shared file system, and stores the node in the folder of the host.

        Raises:
            HostError: no node is available, or it does not share our file system.
        """
        if self._node:
            return self._node
        folder = Path(self.host.root) / "slurm"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Concurrent hosts with the same feature need different nodes; a named node needs no lock.
            with contextlib.nullcontext() if self._place.node else locked(folder / "lock"):
                self._node = self._kept(folder) or self._choose(folder)
        except OSError as error:
            raise HostError(
                f"{self.host.name}: {folder}",
                "a writable folder on a file system that the nodes share",
                str(error.strerror),
                "set `regatta_root` in the inventory",
            ) from error
        return self._node

    def _kept(self, folder: Path) -> str:
        kept = read_object(folder / f"{self.host.name}.json")
        return str(kept.get("node", "")) if kept.get("asked") == self._asked() else ""

    def _asked(self) -> dict[str, Any]:
        asked = asdict(self._place)
        del asked["time_limit_min"]
        return asked

    def _choose(self, folder: Path) -> str:
        token = secrets.token_hex(16)
        wanted = [f"--nodelist={self._place.node}"] if self._place.node else []
        others = sorted({str(read_object(path).get("node", "")) for path in folder.glob("*.json")} - {""})
        if not wanted and others:
            wanted = [f"--exclude={','.join(others)}"]
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".seen-") as file:
            file.write(token)
            file.flush()
            os.chmod(file.name, 0o644)
            self._node = self._place.node
            answer = self._answer([self.host.python, "-I", "-c", _SHARED, file.name], b"", 120, wanted)
        words = answer.stdout.decode("utf-8", "replace").split()
        if answer.returncode != 0 or words[1:] != [token]:
            raise HostError(
                f"{self.host.name}: {folder}",
                f"a file system that node {words[0] if words else ''} shares",
                answer.last_line() if answer.returncode else "another folder on the node",
                "set `regatta_root` in the inventory to a folder that all nodes share",
            )
        with replacing(folder / f"{self.host.name}.json") as temporary:
            temporary.write_text(
                json.dumps({"node": words[0], "asked": self._asked()}) + "\n", encoding="utf-8"
            )
        return words[0]

    # ---- allocations -------------------------------------------------------------------------------------------------

    def _answer(
        self, argv: Sequence[str], stdin: bytes | Path, timeout_s: float, wanted: list[str]
    ) -> Answer:
        deadline = time.monotonic() + queue.CONTROLLER_PATIENCE_S
        for pause in queue.pauses():
            self._make_way(0)
            answer = self._once(argv, stdin, timeout_s, [*wanted, *self._limit(timeout_s)])
            if not (answer.returncode == _SRUN_FAILED and queue.lost_controller(answer.stderr)):
                break
            if time.monotonic() + pause > deadline:
                raise queue.no_controller()
            time.sleep(pause)
        self._refuse(answer)
        kept = "".join(line for line in answer.stderr.splitlines(True) if not _OWN_LINES.match(line))
        return Answer(answer.returncode, answer.stdout, kept)

    def _make_way(self, patience_s: float) -> None:
        """End orphaned jobs, and check that the node is in service."""
        queue.patiently(lambda: queue.end_orphans([self._name], self._is_finished))
        if not self._node:
            return
        start = time.monotonic()
        for pause in queue.pauses():
            now = queue.patiently(lambda: queue.node(self._node))
            if now.in_service and now.responding:
                return
            waited_s = time.monotonic() - start
            if waited_s + pause > (max(patience_s, _SILENCE_S) if now.in_service else patience_s):
                raise HostError(
                    f"{self.host.name} (node {self._node})",
                    "a node in service",
                    str(now),
                    f"repair the node, then run `scontrol update NodeName={self._node} State=RESUME` and the same command again",
                )
            queue.tell(f"node {self._node} is {now}; checking again in {pause:.0f} s")
            time.sleep(pause)

    def _is_finished(self, owner: queue.Owner) -> bool:
        if owner != queue.Owner.me(owner.serial):
            return False
        process = self._started.get(owner.serial)
        return owner.serial <= self._serial and (process is None or process.poll() is not None)

    def _limit(self, timeout_s: float | None) -> list[str]:
        """Return the time limit: that of the inventory, or a shorter one for a short command."""
        minutes = self._place.time_limit_min
        if timeout_s is not None:
            minutes = min(minutes or 1 << 30, math.ceil(timeout_s / 60) + 2)
        return [f"--time={minutes}"] if minutes else []

    def _start(
        self, argv: Sequence[str], options: list[str], stdin: int | IO[bytes], stderr: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        self._serial += 1
        own = [f"--job-name={self._name}", f"--comment={queue.Owner.me(self._serial)}"]
        asked = [f"--constraint={self._place.constraint}"] if self._place.constraint else []
        asked += [f"--partition={self._place.partition}"] if self._place.partition else []
        # The whole node with all of its memory; the runner selects CPUs.
        size = ["--exclusive", "--nodes=1", "--ntasks=1", "--mem=0"]
        passed = [*_UNBOUND, f"--signal=TERM@{_NOTICE_S}"]
        given = ["--input=none"] if stdin == subprocess.DEVNULL else []
        command = [queue.program("srun"), *own, *size, *passed, *asked, *options, *given, *argv]
        try:
            process = subprocess.Popen(
                command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
                env={**queue.environment(), "SLURM_EXIT_ERROR": str(_SRUN_FAILED)},
            )  # fmt: skip
        except OSError as error:
            raise Unreachable(self.host.name, "`srun` to start", str(error.strerror)) from error
        self._started[self._serial] = process
        return process

    def _once(self, argv: Sequence[str], stdin: bytes | Path, timeout_s: float, options: list[str]) -> Answer:
        """Run a command once; its timeout starts when the node is granted."""
        with tempfile.TemporaryFile() as told, _source(stdin) as source:
            process = self._start(argv, options, source, told)
            given = stdin if isinstance(stdin, bytes) and stdin else None
            granted_at = None
            try:
                while True:
                    try:
                        out, _ = process.communicate(given, timeout=_LOOK_S)
                        break
                    except subprocess.TimeoutExpired:
                        given = None  # the input is still being sent
                    text = _read_all(told)
                    if _QUEUED in text and _GRANTED not in text:
                        granted_at = None  # srun has said so only after the first look
                        continue
                    granted_at = granted_at or time.monotonic()
                    if time.monotonic() - granted_at > timeout_s:
                        what = f"an answer within {timeout_s:g} s"
                        raise Unreachable(self.host.name, what, "none", "check that it is running")
            finally:
                _end(process)
            text = _read_all(told)
        if len(out) > MAXIMUM_ANSWER_BYTES:
            most, got = MAXIMUM_ANSWER_BYTES >> 20, len(out) >> 20
            raise HostError(self.host.name, f"an answer of at most {most} MiB", f"{got} MiB")
        return Answer(process.returncode, out, text)

    def _refuse(self, answer: Answer) -> None:
        """Raise errors of Slurm, as opposed to those of the command."""
        where = f"{self.host.name}{f' (node {self._node})' if self._node else ''}"
        told = answer.stderr
        why = re.search(r"^srun: (?:error|fatal): (.*)$", told, re.MULTILINE)
        text = why[1][:400] if why else answer.last_line()
        again = "check `sinfo`, then run the same command again"
        if "Node failure on" in told or "launch failed" in told:
            raise Unreachable(where, "a responding node", text, again)
        if "DUE TO TIME LIMIT" in told:
            fix = "raise `regatta_slurm_time_limit_min` in the inventory"
            raise HostError(
                where, "completion within the time limit of the job", "the limit was reached", fix
            )
        if answer.returncode == _SRUN_FAILED:
            raise HostError(
                where,
                "a node from Slurm",
                text.removeprefix("Unable to allocate resources: "),
                "check the host's `regatta_slurm_*` in the inventory, and `sinfo`",
            )
        if re.search(r"CANCELLED AT|allocation .* has been revoked", told) and answer.returncode != 0:
            raise Unreachable(where, "a job that completes", "it was canceled", "run the same command again")

    # ---- how it ended ------------------------------------------------------------------------------------------------

    def ending(self, process: subprocess.Popen[bytes], told: str = "") -> Ending:
        """Return how a process started by `open` ended; it must have exited. `told`: its standard error.

        Raises:
            NoController: the Slurm controller is unresponsive for minutes.
        """
        process.wait()
        serial = next((number for number, known in self._started.items() if known is process), 0)
        if process.returncode == 0 and "Node failure on" not in told:
            return Ending("done")
        deadline = time.monotonic() + _SETTLE_S
        while True:
            found = queue.patiently(lambda: queue.jobs([self._name], ended_too=True))
            job = next((job for job in reversed(found) if job.comment == str(queue.Owner.me(serial))), None)
            # Slurm reports the final state only after cleanup.
            if job is None or job.state not in ("COMPLETING", "RUNNING") or time.monotonic() > deadline:
                return _ending(job, process.returncode, told)
            time.sleep(_LOOK_S)

    def stop(self) -> None:
        """Stop the jobs of this process gracefully: a signal to srun would kill them at once."""
        own = [
            str(queue.Owner.me(serial)) for serial, process in self._started.items() if process.poll() is None
        ]
        found = [job.job_id for job in queue.jobs([self._name]) if job.comment in own]
        if found:
            subprocess.run(
                [queue.program("scancel"), "--quiet", "--signal=TERM", *found], stdin=subprocess.DEVNULL,
                capture_output=True, env=queue.environment(), check=False, timeout=60,
            )  # fmt: skip


def _ending(job: queue.Job | None, returncode: int, told: str) -> Ending:
    state, place = (job.state, job.node) if job else ("", "")
    if state in ("NODE_FAIL", "BOOT_FAIL") or "Node failure on" in told:
        return Ending("node-failed", state, place)
    if "launch failed" in told or (job and job.reason == "JobLaunchFailure"):
        return Ending("not-started", state, place)
    if state in ("TIMEOUT", "DEADLINE") or "DUE TO TIME LIMIT" in told:
        return Ending("time-limit", state, place)
    if state == "PREEMPTED" or "DUE TO PREEMPTION" in told:
        return Ending("preempted", state, place)
    if state in ("CANCELLED", "REVOKED") or "allocation has been revoked" in told:
        return Ending("cancelled", state, place)
    if returncode == _SRUN_FAILED:
        return Ending("not-started", state, place)
    if returncode == _STOPPED and job and job.limit_s is not None:
        # The runner stopped gracefully. Unless this side requested it, the cause is the notice before the limit.
        return Ending("time-limit", state, place)
    return Ending("done", state, place)


@contextlib.contextmanager
def _source(stdin: bytes | Path) -> Iterator[int | IO[bytes]]:
    """Provide the standard input of a command: a file, a pipe, or nothing."""
    if isinstance(stdin, Path):
        with stdin.open("rb") as file:
            yield file
    else:
        yield subprocess.PIPE if stdin else subprocess.DEVNULL


def _end(process: subprocess.Popen[bytes]) -> None:
    """End srun if it still runs; after SIGTERM it returns its allocation."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _read_all(file: IO[bytes]) -> str:
    """Read the end of a file without moving the position of its writer."""
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), 65536, max(0, size - 65536)).decode("utf-8", "replace")
