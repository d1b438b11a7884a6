"""Sample what processors execute while a program runs, with `perf record` on all CPUs.

perf samples by a timer (`cpu-clock`), which virtual machines have, too. Of the kernel, all processes of the machine count, without
idle time, the runner and perf itself. A sample in the kernel has the chain of calls, so that locks and copies belong to the call
that needs them. For samples of one program see `program_profile`.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.host.values.counters import ALL, FUTEX, OTHERS, PROFILE, PROGRAMS, SCHEDULER, SYMBOL, metric_of
from regatta.host.values.record import Iteration

#: not a divisor of the frequencies of timers in the kernel, with which samples would coincide
FREQUENCY_HZ = 997
_PATIENCE_S = 60.0
#: what perf records of one invocation at most, in KiB: ten minutes of eight busy processors with long chains of calls
LARGEST_KIB = 4 << 20
#: of perf record, which ends itself by the signal that it was asked to end by
_GOOD_ENDS = (0, -signal.SIGINT, 128 + signal.SIGINT)
#: a sample begins with its process; the chain of calls in the kernel follows, innermost first, or nothing
_PROCESS = re.compile(rb"\s*(\d+)\s*")
_FRAME = re.compile(rb"\s+[0-9a-f]+ (.+?) \(.*\)\s*")
_LOST = b"PERF_RECORD_LOST"
_OF_IDLE = 0
#: functions of the kernel with a smaller share are reported together
_LEAST_SHARE = 0.005
#: what compilers add to the name of a part of a function
_PART = re.compile(r"\.(isra|part|constprop|cold)\b.*")
#: Kind of work -> functions with which it begins, of Linux 5.10 to 6.12. A futex call that waits also schedules: kinds overlap.
KINDS = {
    FUTEX: {"do_futex", "__x64_sys_futex", "__arm64_sys_futex", "__x64_sys_futex_waitv", "__arm64_sys_futex_waitv"},
    SCHEDULER: {
        "__schedule", "try_to_wake_up", "wake_up_new_task", "sched_ttwu_pending", "schedule_tail",
        "scheduler_tick", "sched_tick", "run_rebalance_domains", "sched_balance_softirq",
    },
}  # fmt: skip


def why_not() -> str:
    """Return why this machine cannot sample, as far as it is known without starting perf; "" if nothing is known."""
    return "" if shutil.which("perf") else "no perf on PATH (Debian: `apt-get install linux-perf`)"


@dataclass(frozen=True)
class Profile:
    """Times of all processors, in s."""

    #: function of the kernel -> time in it alone
    symbols: dict[str, float]
    #: kind of work of the kernel (`KINDS`) -> time, with all that its functions call
    kinds: dict[str, float]
    #: time outside of the kernel
    programs: float


@dataclass(frozen=True)
class Sampled:
    """What was sampled. `program`: its first process. `helpers`: processes of the runner that worked beside it."""

    program: int
    #: iteration -> its begin and end, in ns of CLOCK_MONOTONIC, of those that the program marked
    windows: Mapping[int, tuple[int, int]]
    helpers: Sequence[int]


class Sampling(ABC):
    """A running perf. Nothing remains after `close`."""

    def __init__(self, results_file: str, options: Sequence[str]) -> None:
        """Start perf, without sampling yet.

        Args:
            results_file: marks the process, so that the next runner finds it if this one is killed.
            options: of `perf record`: what a sample has.

        Raises:
            OSError: this machine cannot sample, with the reason.
        """
        why = why_not()
        if why:
            raise OSError(why)
        self._perf = str(shutil.which("perf"))
        # Next to the results of the program, which the next runner removes if this one is killed.
        beside = Path(results_file).parent
        folder = beside if beside.is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="regatta-profile-", dir=folder))
        control, own_control = os.pipe()
        own_ack, ack = os.pipe()
        self._control, self._ack = own_control, own_ack
        command = [
            self._perf, "record", "-q", "-a", "-e", "cpu-clock:I", "-F", str(FREQUENCY_HZ), "-g", *options,
            "-D", "-1", "-o", str(self._data), "--max-size", f"{LARGEST_KIB}K", "--control", f"fd:{control},{ack}",
        ]  # fmt: skip
        with self._words.open("wb") as words:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=words, stderr=words, pass_fds=(control, ack),
                env={**os.environ, "REGATTA_RESULTS": results_file, "LC_ALL": "C"}, start_new_session=True,
            )  # fmt: skip
        os.close(control)
        os.close(ack)
        try:
            self._tell(b"disable\n")
        except OSError:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        return self._process.pid

    @property
    def _data(self) -> Path:
        return self._folder / "perf.data"

    @property
    def _words(self) -> Path:
        return self._folder / "perf.err"

    def begin(self) -> None:
        """Begin to sample.

        Raises:
            OSError: perf has ended.
        """
        self._tell(b"enable\n")

    def stop(self) -> None:
        """End sampling.

        Raises:
            OSError: perf failed, or recorded as much as it may, so that samples are missing.
        """
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise OSError("perf does not end") from None
        if self._process.returncode not in _GOOD_ENDS:
            raise OSError(f"perf record: exit code {self._process.returncode}")
        if self._data.stat().st_size >= LARGEST_KIB << 10:
            raise OSError(
                f"perf recorded {LARGEST_KIB >> 10} MiB, which is the most: run the program for a shorter time"
            )

    @abstractmethod
    def read(self, sampled: Sampled) -> tuple[list[Iteration], dict[str, str]]:
        """Read the samples, after `stop`.

        Returns:
            Rows of the record, and name -> text of files to keep next to it.

        Raises:
            OSError: perf failed, or lost samples.
        """

    @contextlib.contextmanager
    def script(self, *options: str) -> Iterator[Iterator[bytes]]:
        """Yield the lines of the samples, as `perf script` prints them with these options.

        Raises:
            OSError: perf lost samples, or fails.
        """
        command = [self._perf, "script", "-i", str(self._data), *options, "--show-lost-events"]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as script:
            assert script.stdout is not None
            try:
                yield without_losses(script.stdout)
            except BaseException:
                script.kill()
                raise
        if script.returncode:
            raise OSError(f"perf script: exit code {script.returncode}")

    def close(self) -> None:
        """End perf and remove what it recorded."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for fd in (self._control, self._ack):
            with contextlib.suppress(OSError):
                os.close(fd)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _tell(self, command: bytes) -> None:
        """Send a command and wait for the answer."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._control, command)
        if not select.select([self._ack], [], [], _PATIENCE_S)[0] or not os.read(self._ack, 64):
            words = self._words.read_text(errors="replace").strip().splitlines()
            raise OSError(f"perf: {words[0]:.200}" if words else "perf does not answer")


class KernelProfile(Sampling):
    """Samples of the kernel."""

    def __init__(self, results_file: str) -> None:
        super().__init__(results_file, ["--kernel-callchains"])

    def read(self, sampled: Sampled) -> tuple[list[Iteration], dict[str, str]]:
        """Return the time in each function of the kernel, in its kinds of work, and outside of it; see `Sampling.read`."""
        with self.script("-F", "pid,ip,sym,dso") as lines:
            found = profile_of(lines, {_OF_IDLE, os.getpid(), *sampled.helpers})
        total_s = sum(found.symbols.values())
        shown = {name: used_s for name, used_s in found.symbols.items() if used_s >= _LEAST_SHARE * total_s}
        parts = {ALL: total_s, **shown, OTHERS: max(0.0, total_s - sum(shown.values()))}
        metric = metric_of(PROFILE)
        rows: list[Iteration] = [
            *([0, metric, used_s, "s", None, {SYMBOL: symbol}] for symbol, used_s in parts.items()),
            *([0, metric_of(kind), used_s, "s", None, None] for kind, used_s in found.kinds.items()),
            [0, metric_of(PROGRAMS), found.programs, "s", None, None],
        ]
        return rows, {}


def without_losses(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines of `perf script`. Raises OSError: perf lost samples."""
    for line in lines:
        if _LOST in line:
            raise OSError("perf lost samples, because the machine is too busy")
        yield line


def profile_of(lines: Iterable[bytes], without: set[int]) -> Profile:
    """Return the times of samples.

    Args:
        lines: output of `perf script -F pid,ip,sym,dso`.
        without: processes whose samples do not count.
    """
    symbols: Tally[str] = Tally()
    kinds: Tally[str] = Tally(dict.fromkeys(KINDS, 0))
    programs = 0
    for process, chain in _samples(lines):
        if process in without:
            continue
        if not chain:
            programs += 1
            continue
        symbols[chain[0]] += 1
        functions = {_PART.sub("", symbol) for symbol in chain}
        kinds.update(kind for kind, begins in KINDS.items() if not functions.isdisjoint(begins))
    return Profile(_times(symbols), _times(kinds), programs / FREQUENCY_HZ)


def _samples(lines: Iterable[bytes]) -> Iterator[tuple[int, list[str]]]:
    """Yield the process of each sample, and its functions of the kernel, innermost first."""
    process: int | None = None
    chain: list[str] = []
    for line in lines:
        if match := _PROCESS.fullmatch(line):
            if process is not None:
                yield process, chain
            process, chain = int(match[1]), []
        elif match := _FRAME.fullmatch(line):
            chain.append(match[1].decode("utf-8", "replace"))
    if process is not None:
        yield process, chain


def _times(samples: Mapping[str, int]) -> dict[str, float]:
    return {name: count / FREQUENCY_HZ for name, count in samples.items()}
