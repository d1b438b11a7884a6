"""Run a fresh process from start to end: limits, timeout, its whole tree killed, nothing left behind.

The runner must be a child subreaper (`become_subreaper`). Daemons that leave the process group then become its children
when their parents die, and are found and killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import select
import signal
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from regatta.host.measure.capture import REST_BYTES, Capture, KeptOutput
from regatta.host.processes import children_of, prctl

#: time between SIGTERM and SIGKILL after a timeout, and the longest wait for killed processes to exit
GRACE_S = 1.0
REAP_S = 10.0

#: two pipes, two files, a pidfd, and one spare
_START_DESCRIPTORS = 8
_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>, the same on every architecture
#: The parent of the runner may have ignored any of them, which exec passes on. Each signal left out costs a
#: system call per start.
_RESET_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
#: A pipe without a peer must not block the runner, and no terminal may become its own.
_SAFE = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OUTPUT = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class Interrupted(Exception):
    """The runner was asked to stop while a process ran; its tree has been killed."""


class Drained(Protocol):
    """What the runner reads while a process runs."""

    fd: int

    def drain(self) -> bool:
        """Read the available data. Return False at end of file."""
        ...


@dataclass
class Launch:
    """A process to start. `argv[0]` is an absolute path; `rlimits` are pairs (resource, soft limit)."""

    argv: list[str]
    environment: dict[str, str]
    directory: str
    timeout_s: float
    output_bytes: int
    rlimits: list[tuple[int, int]] = field(default_factory=list)
    cores: frozenset[int] | None = None
    hash_stdout: bool = False
    #: absolute paths of the standard input and output; "": `/dev/null`, and a pipe that the runner reads
    input: str = ""
    output: str = ""
    #: processes of the runner that must survive the end of this one
    helpers: Collection[int] = ()
    #: called before the program starts, with the process that waits to execute it, or 0 in the thread that
    #: starts one
    count: Callable[[int], None] | None = None
    #: requests to the runner while the process runs
    requests: Collection[Drained] = ()
    #: each is called with the new process
    started: list[Callable[[int], None]] = field(default_factory=list)
    #: gets the standard output as it comes
    follow: Callable[[bytes], None] | None = None
    #: whether the runner itself asked the process to end
    told_to_end: bool = False


@dataclass
class Outcome:
    """The result of a process. Exactly one of `exit_code` and `signal` is set, unless it could not be started."""

    started_utc_ns: int
    started_monotonic_ns: int
    elapsed_ns: int
    exit_code: int | None
    signal: int | None
    timed_out: bool
    usage: resource.struct_rusage
    left_behind: int
    stdout: KeptOutput
    stderr: KeptOutput
    #: reason why it could not be started, or empty
    start_error: str = ""


def become_subreaper() -> str:
    """Make orphaned descendants children of this process.

    Returns:
        The reason if the system does not support it (an emulator that lacks the call), or empty.
    """
    if prctl(_PR_SET_CHILD_SUBREAPER, 1) != 0:
        return f"prctl(PR_SET_CHILD_SUBREAPER): {os.strerror(ctypes.get_errno())}"
    return ""


def keep_descriptors() -> None:
    """Prevent measured processes from inheriting files that the parent of this process left open."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            # The descriptor that listed the directory is already closed.
            with suppress(OSError):
                os.set_inheritable(int(name), False)


def reserve_descriptors() -> list[int]:
    """Reserve low numbers before opening long-lived files; close them for `run_process`.

    A limit on open files also limits the descriptor numbers of the pipes used to start a process.
    """
    return [os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC) for _ in range(_START_DESCRIPTORS)]


#: Signals that stop a runner, and the maximum delay between their delivery to the runner and to the measured
#: process.
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TOGETHER_S = 0.5


class StopSignals:
    """Make SIGINT, SIGTERM and SIGHUP available to `poll`. A context manager; restores the handlers."""

    def __init__(self) -> None:
        self.received = False
        self._before: dict[int, Any] = {}
        self.fd, self._write_fd = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_fd, False)

    def _handle(self, number: int, frame: object) -> None:
        self.received = True

    def __enter__(self) -> StopSignals:
        signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        for number in _STOPS:
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        os.close(self.fd)
        os.close(self._write_fd)


def _nothing() -> None:
    pass


def run_process(
    launch: Launch,
    stop: StopSignals,
    before_start: Callable[[], None] = _nothing,
    after_start: Callable[[], None] = _nothing,
    in_thread: bool = False,
) -> Outcome:
    """Start a process, wait for its end or its timeout, and kill the rest of its tree.

    Args:
        launch: the process to start.
        stop: signals that end it early.
        before_start, after_start: called immediately before and after the start, for accounting that the child inherits.
        in_thread: start the process from another thread than the main one.

    Raises:
        Interrupted: the runner received a stop signal; the tree is killed.
    """
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    stdout = Capture(out_read, launch.output_bytes, launch.hash_stdout, launch.follow)
    stderr = Capture(err_read, launch.output_bytes, False)
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, out_write, 1),
            (os.POSIX_SPAWN_DUP2, err_write, 2),
        ]
        utc_ns = time.time_ns()
        try:
            start = _start_in_thread if in_thread else _start
            with _redirections(launch.input, launch.output) as more:
                pid, start_ns = start(launch, [*actions, *more], before_start, after_start)
        except OSError as error:
            usage = resource.struct_rusage((0.0, 0.0) + (0,) * 14)
            return Outcome(
                utc_ns, time.monotonic_ns(), 0, None, None, False, usage, 0, stdout, stderr,
                start_error=f"cannot start {launch.argv[0]}{_where(launch, error)}: {error.strerror}",
            )  # fmt: skip
        finally:
            os.close(out_write)
            os.close(err_write)
        return _attend(pid, launch, stop, utc_ns, start_ns, stdout, stderr)
    finally:
        os.close(out_read)
        os.close(err_read)


def _where(launch: Launch, error: OSError) -> str:
    """Return which folder or file is the reason of an error; "" for the program itself."""
    names = {"in": launch.directory, "with the input": launch.input, "with the output": launch.output}
    return next((f" {word} {name}" for word, name in names.items() if name and name == error.filename), "")


def _start(
    launch: Launch,
    actions: list[tuple[Any, ...]],
    before_start: Callable[[], None],
    after_start: Callable[[], None],
) -> tuple[int, int]:
    """Start the process; return its PID and the time (monotonic ns).

    posix_spawn is three times as fast as fork and exec from an interpreter, but cannot set limits, cores or directory. No other
    thread of the runner works meanwhile, so it sets them on itself for the start and restores them.
    """
    if launch.count is not None:
        launch.count(0)
    saved = [(which, resource.getrlimit(which)) for which, _ in launch.rlimits]
    affinity = os.sched_getaffinity(0) if launch.cores is not None else None
    os.chdir(launch.directory)
    try:
        for (which, soft), (_, (_, hard)) in zip(launch.rlimits, saved):
            resource.setrlimit(which, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
        if launch.cores is not None:
            os.sched_setaffinity(0, launch.cores)
        before_start()
        try:
            start_ns = time.monotonic_ns()
            pid = os.posix_spawn(
                launch.argv[0],
                launch.argv,
                launch.environment,
                file_actions=actions,
                setpgroup=0,
                setsigmask=[],
                setsigdef=_RESET_SIGNALS,
            )
        finally:
            after_start()
        return pid, start_ns
    finally:
        if affinity is not None:
            os.sched_setaffinity(0, affinity)
        for which, limits in saved:
            resource.setrlimit(which, limits)
        os.chdir("/")


def _start_in_thread(
    launch: Launch,
    actions: list[tuple[Any, ...]],
    before_start: Callable[[], None],
    after_start: Callable[[], None],
) -> tuple[int, int]:
    # Imported here because only cells with a memory limit need it.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_start, launch, actions, before_start, after_start).result()


def _attend(
    pid: int, launch: Launch, stop: StopSignals, utc_ns: int, start_ns: int, stdout: Capture, stderr: Capture
) -> Outcome:
    end_ns = 0
    timed_out = False
    try:
        for tell in launch.started:
            tell(pid)
        end_ns = _wait(pid, start_ns + int(launch.timeout_s * 1e9), stop, stdout, stderr, *launch.requests)
        if not end_ns:
            timed_out = True
            end_ns = time.monotonic_ns()
            _terminate(pid, stop, stdout, stderr)
    finally:
        # The main process is not reaped yet, so the group ID cannot have been reused.
        _kill_group(pid)
        _, wait_status, usage = os.wait4(pid, 0)
        left_behind = reap_descendants(launch.helpers)
    stdout.drain(REST_BYTES)
    stderr.drain(REST_BYTES)
    code = os.waitstatus_to_exitcode(wait_status)
    if not timed_out and not launch.told_to_end and _stopped_together(code, stop):
        raise Interrupted
    return Outcome(
        utc_ns,
        start_ns,
        end_ns - start_ns,
        code if code >= 0 else None,
        -code if code < 0 else None,
        timed_out,
        usage,
        left_behind,
        stdout,
        stderr,
    )


def _stopped_together(code: int, stop: StopSignals) -> bool:
    """Return whether process and runner were stopped together, as Slurm does. The exit code then says nothing about the process.

    The runner may receive the signal slightly later. A JVM and a shell exit with 128 + the signal's number.
    """
    if not stop.received and (-code in _STOPS or code - 128 in _STOPS):
        select.select([stop.fd], [], [], _TOGETHER_S)
    return stop.received


def _wait(pid: int, deadline_ns: int, stop: StopSignals, *read: Drained) -> int:
    pidfd = os.pidfd_open(pid)
    try:
        return wait_for_end(pidfd, deadline_ns, stop, *read)
    finally:
        os.close(pidfd)


def wait_for_end(pidfd: int, deadline_ns: int, stop: StopSignals, *read: Drained) -> int:
    """Sleep until the process ends; return that time (monotonic ns), or 0 if the deadline came first.

    Args:
        read: drained whenever they have data.

    Raises:
        Interrupted: the runner received a stop signal; nothing is killed yet.
    """
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(stop.fd, select.POLLIN)
    sources = {source.fd: source for source in read}
    for fd in sources:
        poll.register(fd, select.POLLIN)
    while True:
        remaining_ms = (deadline_ns - time.monotonic_ns()) / 1e6
        events = poll.poll(max(remaining_ms, 0))
        now_ns = time.monotonic_ns()
        ready = {fd for fd, _ in events}
        if pidfd in ready:
            return now_ns
        if stop.received:
            raise Interrupted
        for fd in ready & sources.keys():
            if not sources[fd].drain():
                poll.unregister(fd)
        if now_ns >= deadline_ns:
            return 0


def _terminate(pid: int, stop: StopSignals, stdout: Capture, stderr: Capture) -> None:
    """Send SIGTERM to the group, and drain its pipes for up to `GRACE_S`."""
    try:
        os.killpg(pid, signal.SIGTERM)
    except OSError:
        return
    _wait(pid, time.monotonic_ns() + int(GRACE_S * 1e9), stop, stdout, stderr)


def _kill_group(pid: int) -> None:
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def reap_descendants(helpers: Collection[int] = ()) -> int:
    """Kill and reap every process that is or becomes a child of this one, except helpers of the runner; return the number killed."""
    count = 0
    deadline = time.monotonic() + REAP_S
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return count
        if pid:
            # A process that exited without being reaped did not outlive its parent.
            count += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            continue
        others = [child for child in children_of(os.getpid()) if child not in helpers]
        if helpers and not others:
            return count
        for child in others:
            _kill_tree(child)
        if time.monotonic() > deadline:
            # Only a process in uninterruptible sleep survives SIGKILL; waiting for it is impossible here.
            return count
        time.sleep(0.001)


def _kill_tree(pid: int) -> None:
    """Kill a process and its descendants, children first so that none is missed."""
    try:
        os.kill(pid, signal.SIGSTOP)
        for child in children_of(pid):
            _kill_tree(child)
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


@contextlib.contextmanager
def _redirections(source: str, target: str) -> Iterator[list[tuple[Any, ...]]]:
    """Open both files, and yield the actions of `posix_spawn` that make them the standard input and output.

    Args:
        source: path of the input; "": none.
        target: path of the output, which is emptied; "": none.

    Raises:
        OSError: a file cannot be opened, or is neither a regular file nor a device. `filename` is its path.
    """
    wanted = [(0, source, os.O_RDONLY), (1, target, _OUTPUT)]
    with contextlib.ExitStack() as opened:
        actions: list[tuple[Any, ...]] = []
        for stream, path, flags in wanted:
            if path:
                actions.append((os.POSIX_SPAWN_DUP2, _open_stream(path, flags, opened), stream))
        yield actions


def _open_stream(path: str, flags: int, opened: contextlib.ExitStack) -> int:
    fd = os.open(path, flags | _SAFE, 0o666)
    opened.callback(os.close, fd)
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
        raise OSError(errno.EINVAL, "expected a regular file or a device", path)
    os.set_blocking(fd, True)
    return fd
