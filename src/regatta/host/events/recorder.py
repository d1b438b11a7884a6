"""Start, begin and end a recording of events around a measured process."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from regatta.host.errors import HostError
from regatta.host.processes import own_environment, own_words
from regatta.host.values.events import Events

_PATIENCE_S = 300.0


class Recorder:
    """A process that records events into `folder`. Use it as a context: nothing remains after it."""

    def __init__(self, folder: Path, events: Events, root: int | None = None) -> None:
        """Prepare nothing yet.

        Args:
            folder: for the files.
            events: what to record.
            root: process whose descendants are measured; None: this process.
        """
        self.folder = folder
        self._events = events
        self._root = os.getpid() if root is None else root
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        assert self._process is not None
        return self._process.pid

    def prepare(self) -> None:
        """Start the process, and make the kernel ready to record.

        Raises:
            HostError: this host cannot record the events.
        """
        self._process = subprocess.Popen(
            [sys.executable, *own_words(), "events", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self.folder,
            env=own_environment(),
            # In a session of its own, so that Ctrl-C ends the window through the parent, and the trace is kept.
            start_new_session=True,
        )
        self._tell(json.dumps({"root": self._root, **self._events.to_json()}))
        self._answer()

    def begin(self) -> None:
        """Begin the window, or the time before it.

        Raises:
            HostError: the kernel does not record.
        """
        self._tell("begin")
        self._answer()

    def end(self) -> None:
        """End the window if it has not ended, and write the trace.

        Raises:
            HostError: the trace is not written.
        """
        self._tell("end")
        self._answer()
        self.close()

    def close(self) -> None:
        """End the process, and remove what it recorded unless `end` has written it."""
        process, self._process = self._process, None
        if process is not None:
            reading, writing = _pipes(process)
            with contextlib.suppress(BrokenPipeError):
                writing.close()
            try:
                process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            reading.close()

    def _tell(self, line: str) -> None:
        _, writing = _pipes(self._process)
        # If it has ended, its answer has the reason.
        with contextlib.suppress(BrokenPipeError):
            writing.write(line.encode() + b"\n")
            writing.flush()

    def _answer(self) -> None:
        reading, _ = _pipes(self._process)
        # It answers in one line, so nothing waits in a buffer.
        if not select.select([reading], [], [], _PATIENCE_S)[0]:
            raise HostError(
                "recording events",
                f"an answer in {_PATIENCE_S:g} s",
                "none",
                "record less: fewer groups, a shorter window",
            )
        line = reading.readline()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            assert self._process is not None
            code = self._process.wait(_PATIENCE_S)
            raise HostError(
                "recording events", "an answer", f"exit code {code}", "see the messages above"
            ) from None
        if "error" in answer:
            problem = answer["error"]
            raise HostError(problem["where"], problem["expected"], problem["got"], problem["fix"])


def _pipes(process: subprocess.Popen[bytes] | None) -> tuple[IO[bytes], IO[bytes]]:
    """Return what the process writes and reads."""
    assert process is not None
    assert process.stdout is not None
    assert process.stdin is not None
    return process.stdout, process.stdin
