"""`follow`: stream the records of a detached runner to the caller.

Each line on standard output is a letter, a space and a text: `R` a record as in the journal; `S` the state of the
runner; `L` a log line of the runner; `E` the outcome of the segment; `G` the runner ended without an outcome;
`H` heartbeat. It polls slowly, on the CPUs of the runner, so that measurements are not disturbed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from regatta.host.files import read_object
from regatta.host.journal.host_folder import HostFolder
from regatta.host.journal.record import DamagedLine, decode_record
from regatta.host.verbs.detached import running

_LOOK_S = 0.5
_HEARTBEAT_S = 5.0
_STATE_S = 1.0
_LOG_BYTES = 4096


def command(argv: Sequence[str]) -> int:
    """Stream until the segment has ended. Return exit code 0."""
    parser = argparse.ArgumentParser(prog="regatta.pyz follow")
    parser.add_argument("--folder", type=Path, required=True, help="folder of the experiment on this host")
    parser.add_argument("--segment", type=int, required=True)
    parser.add_argument("--after", type=int, default=-1, help="send records with greater sequence numbers")
    arguments = parser.parse_args(argv)
    with contextlib.suppress(OSError):
        os.nice(10)
    try:
        Following(HostFolder(arguments.folder), arguments.segment, arguments.after).run()
    except BrokenPipeError:
        # The reader has disconnected; the runner continues.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


class Following:
    """Stream one segment."""

    def __init__(self, folder: HostFolder, segment: int, after: int) -> None:
        self.folder = folder
        self.segment = segment
        self._after = after
        self._journal = folder.journal / f"{segment:05d}.jsonl"
        self._offset = 0
        self._said = 0
        self._state = b""
        self._state_at = 0.0
        self._sent_at = time.monotonic()
        self._placed = False

    def run(self) -> None:
        """Stream everything until the end.

        Raises:
            BrokenPipeError: the reader has disconnected.
        """
        while True:
            # Check these before the journal, so that all earlier records are sent before the end. Read the outcome second: a
            # runner writes it before it releases its lock, so a dead runner without an outcome was killed.
            alive = running(self.folder) is not None
            ended = read_object(self.folder.ended(self.segment))
            self._place()
            self._records()
            self._say()
            self._show_state()
            if ended:
                return self._send(b"E", json.dumps(ended).encode())
            if not alive:
                return self._send(b"G", b"")
            if time.monotonic() - self._sent_at > _HEARTBEAT_S:
                self._send(b"H", b"")
            time.sleep(_LOOK_S)

    def _place(self) -> None:
        """Move to the runner's CPUs as soon as they are known."""
        if self._placed:
            return
        cores = read_object(self.folder.journal / "cores.json").get("runner")
        if cores:
            self._placed = True
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, cores)

    def _records(self) -> None:
        try:
            size = self._journal.stat().st_size
        except OSError:
            return
        if size <= self._offset:
            return
        # Count only whole lines as sent. A partial line, or one that a new runner truncates, is read again.
        with self._journal.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                self._record(line[:-1])

    def _record(self, line: bytes) -> None:
        try:
            sequence = int(decode_record(line)["sequence"])
        except (DamagedLine, KeyError, TypeError, ValueError, RecursionError):
            # Send it unchanged: the controller reports the damage.
            sequence = self._after + 1
        if sequence > self._after:
            self._send(b"R", line)

    def _say(self) -> None:
        """Send the log lines of the runner, such as lock waits; of a long log, only the end."""
        try:
            with self.folder.log(self.segment).open("rb") as file:
                file.seek(max(self._said, os.fstat(file.fileno()).st_size - _LOG_BYTES))
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._said = file.tell()
                    self._send(b"L", line[:-1])
        except OSError:
            return

    def _show_state(self) -> None:
        now = time.monotonic()
        if now - self._state_at < _STATE_S:
            return
        self._state_at = now
        with contextlib.suppress(OSError):
            state = self.folder.state.read_bytes().strip()
            if state != self._state and b"\n" not in state:
                self._state = state
                self._send(b"S", state)

    def _send(self, kind: bytes, text: bytes) -> None:
        sys.stdout.buffer.write(kind + b" " + text + b"\n")
        sys.stdout.buffer.flush()
        self._sent_at = time.monotonic()
