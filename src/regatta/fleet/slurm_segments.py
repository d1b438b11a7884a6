"""Measure a segment as a Slurm allocation on a shared file system: the journal is written where it is read."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from pathlib import Path

from regatta.fleet.controller_side import Stopped, holder, runner_failed, show_state, stopping_on_signals
from regatta.fleet.remote.base import KEPT_TOLD_BYTES, LONGEST_STATE_BYTES, MAXIMUM_TOLD_BYTES
from regatta.fleet.remote.slurm import Ending, SlurmRemote
from regatta.host.errors import HostError
from regatta.host.values.host import Host
from regatta.store.folder import Folder

#: number of consecutive allocations without a record that is an error
_FRUITLESS = 3
_LOOK_S = 1.0
_SHOWN_LATE_S = 60.0
_READ = "read the log of the job"


class SlurmSegment:
    """One segment of one host: consecutive allocations until it is complete."""

    def __init__(self, folder: Folder, host: Host, number: int, receipt: Path, retry_failed: bool) -> None:
        self.folder = folder
        self.host = host
        self.number = number
        self.receipt = receipt.resolve()
        self.remote = SlurmRemote(host)
        self._retry_failed = retry_failed
        self._journal = folder.journal / host.name / f"{number:05d}.jsonl"
        self._node_state = (folder.state / f"{host.name}.node.json").resolve()

    def run(self) -> None:
        """Measure until the end of the segment; the runner writes its receipt.

        Raises:
            Stopped: a signal arrived; the runner has stopped too.
            HostError: the runner failed, or Slurm grants no node.
        """
        fruitless = 0
        try:
            with stopping_on_signals():
                try:
                    while True:
                        before = self._size()
                        ending, code, told = self._allocation()
                        if self._is_done(ending, code, told):
                            return
                        fruitless = 0 if self._size() > before else fruitless + 1
                        if fruitless >= _FRUITLESS:
                            got = f"{_FRUITLESS} consecutive allocations without a record ({ending.end})"
                            raise HostError(f"host {self.host.name}", "a measured segment", got, _READ)
                        # Retry failed invocations once, not in every allocation.
                        self._retry_failed = False
                        self._say(f"{ending.end}; continuing in another allocation")
                except Stopped:
                    self.remote.stop()
                    raise
        finally:
            self.remote.close()

    def _size(self) -> int:
        try:
            return self._journal.stat().st_size
        except OSError:
            return 0

    def _argv(self) -> list[str]:
        place, name = self.folder, self.host.name
        argv = [
            self.host.python, "-I", str(place.runner.resolve()), "segment",
            "--plan", str(place.host_plan(name).resolve()),
            "--segment", str(self.number),
            "--journal", str((place.journal / name).resolve()),
            "--state", str(self._node_state),
            "--scratch", str((place.scratch / name).resolve()),
            "--receipt", str(self.receipt),
            "--holder", holder(),
        ]  # fmt: skip
        return [*argv, *(["--retry-failed"] if self._retry_failed else [])]

    def _allocation(self) -> tuple[Ending, int, str]:
        """Run one allocation; return its end, the exit code of the runner, and its standard error."""
        self.receipt.parent.mkdir(parents=True, exist_ok=True)
        self.receipt.unlink(missing_ok=True)
        process = self.remote.open(self._argv())
        told = bytearray()
        self._attend(process, told)
        text = bytes(told[-KEPT_TOLD_BYTES:]).decode("utf-8", "replace")
        return self.remote.ending(process, text), process.returncode, text

    def _attend(self, process: subprocess.Popen[bytes], told: bytearray) -> None:
        """Forward its standard error and show its state until it ends."""
        shown_at = 0.0
        left = MAXIMUM_TOLD_BYTES
        with selectors.DefaultSelector() as selector:
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in selector.select(_LOOK_S):
                    data = key.fileobj.read1(65536)  # type: ignore[union-attr]
                    if not data:
                        selector.unregister(key.fileobj)
                    told += data
                    del told[: -4 * KEPT_TOLD_BYTES]
                    if left > 0:
                        # Here, the log of the job is a file.
                        sys.stderr.buffer.write(data[:left])
                        sys.stderr.flush()
                    left -= len(data)
                if time.monotonic() - shown_at >= _LOOK_S:
                    shown_at = time.monotonic()
                    self._show()
        process.wait()

    def _show(self) -> None:
        try:
            with self._node_state.open("rb") as file:
                text = file.read(LONGEST_STATE_BYTES + 1)
        except OSError:
            return
        show_state(self.folder, self.host.name, self.number, text)

    def _is_done(self, ending: Ending, code: int, told: str) -> bool:
        """Return whether the segment is complete; False if it needs another allocation.

        Raises:
            HostError: the runner failed, or the job was cancelled.
        """
        if self._receipt_is_here(patiently=ending.end == "done" and code == 0):
            return True
        if ending.end == "cancelled":
            raise HostError(
                f"host {self.host.name}",
                "an allocation that completes",
                f"it was canceled ({ending.state or 'Slurm'})",
                "run the same command again to continue; records are kept",
            )
        if ending.end != "done":
            return False
        lines = [line.partition("error: ")[2] for line in told.splitlines() if line.startswith("error: ")]
        raise runner_failed(self.host.name, lines, code, _READ)

    def _receipt_is_here(self, patiently: bool) -> bool:
        """Return whether the receipt of the node exists; a shared file system may show it late."""
        deadline = time.monotonic() + (_SHOWN_LATE_S if patiently else 0)
        while True:
            if self.receipt.name in os.listdir(self.receipt.parent):
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOOK_S)

    def _say(self, text: str) -> None:
        print(f"{self.host.name}: {text}", file=sys.stderr, flush=True)
