"""Sample what the kernel executes while a program runs, with `perf record` on all CPUs.

perf samples by a timer (`cpu-clock`), which virtual machines have, too. All processes of the machine count, without idle time, the
runner and perf itself.
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
from collections import Counter as Tally
from pathlib import Path

#: not a divisor of the frequencies of timers in the kernel, with which samples would coincide
FREQUENCY_HZ = 997
_PATIENCE_S = 60.0
_SAMPLE = re.compile(rb"\s*(\d+)\s+([0-9a-f]+) (.+?) \((.*)\)\s*")
_LOST = re.compile(rb"PERF_RECORD_LOST")
#: addresses of the kernel on x86-64 and AArch64
_KERNEL = 1 << 63
_OF_IDLE = 0


def why_not() -> str:
    """Return why this machine cannot sample, as far as it is known without starting perf; "" if nothing is known."""
    return "" if shutil.which("perf") else "no perf on PATH (Debian: `apt-get install linux-perf`)"


class KernelProfile:
    """A running perf. Use it as a context: nothing remains after it."""

    def __init__(self, results_file: str) -> None:
        """Start perf, without sampling yet.

        Args:
            results_file: marks the process, so that the next runner finds it if this one is killed.

        Raises:
            OSError: this machine cannot sample, with the reason.
        """
        why = why_not()
        if why:
            raise OSError(why)
        self._perf = str(shutil.which("perf"))
        self._folder = Path(tempfile.mkdtemp(prefix="regatta-profile-"))
        control, own_control = os.pipe()
        own_ack, ack = os.pipe()
        self._control, self._ack = own_control, own_ack
        command = [
            self._perf, "record", "-q", "-a", "-e", "cpu-clock", "-F", str(FREQUENCY_HZ), "-D", "-1", "-o", str(self._data),
            "--control", f"fd:{control},{ack}",
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

    def end(self) -> tuple[dict[str, float], float]:
        """End sampling.

        Returns:
            Symbol of the kernel -> time in s; time of programs in s.

        Raises:
            OSError: perf failed, or lost samples.
        """
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise OSError("perf does not end") from None
        return self._read()

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

    def _read(self) -> tuple[dict[str, float], float]:
        command = [
            self._perf,
            "script",
            "-i",
            str(self._data),
            "-G",
            "-F",
            "pid,ip,sym,dso",
            "--show-lost-events",
        ]
        kernel: Tally[str] = Tally()
        programs = 0
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as script:
            assert script.stdout is not None
            for line in script.stdout:
                if _LOST.search(line):
                    script.kill()
                    raise OSError("perf lost samples, because the machine is too busy")
                match = _SAMPLE.fullmatch(line)
                if match is None or int(match[1]) in (_OF_IDLE, self.pid, os.getpid()):
                    continue
                if int(match[2], 16) >= _KERNEL:
                    kernel[match[3].decode("utf-8", "replace")] += 1
                else:
                    programs += 1
        if script.returncode:
            raise OSError(f"perf script: exit code {script.returncode}")
        return {symbol: count / FREQUENCY_HZ for symbol, count in kernel.items()}, programs / FREQUENCY_HZ
