"""A headless browser that draws figures. It starts once, is controlled over a pipe, and is always terminated.

The installed browser draws the same figures as the pages of the report, so no second drawing library is needed. Its network
access is disabled. Figures are passed in, not loaded.

Source: Chrome DevTools Protocol, https://chromedevtools.github.io/devtools-protocol/ (`--remote-debugging-pipe`: JSON messages
terminated by a zero byte, read by the browser from descriptor 3 and written to descriptor 4).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from regatta.host.errors import HostError

#: Environment variable with the path of the browser.
BROWSER_VARIABLE = "REGATTA_BROWSER"
_NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "brave-browser",
)  # fmt: skip
_FLAGS = (
    "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
    "--no-default-browser-check", "--no-pings", "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
_START_S = 60.0
_ANSWER_S = 120.0
_END_S = 5.0
#: Moves the ends of the pipes to the descriptors of the browser. The shell cannot name descriptors above 9.
_TRAMPOLINE = (
    "import os, sys; r, w = int(sys.argv[1]), int(sys.argv[2]); os.dup2(r, 3); os.dup2(w, 4); "
    "os.close(r); os.close(w); os.execv(sys.argv[3], sys.argv[3:])"
)
_FIX = (
    f"`apt-get install chromium`, or name a Chromium or Chrome in ${BROWSER_VARIABLE}; "
    "`--format html` needs no browser"
)


def find_browser() -> str:
    """Return the path of the browser: `$REGATTA_BROWSER`, or the first Chromium-based browser on PATH.

    Raises:
        HostError: no browser is installed.
    """
    named = os.environ.get(BROWSER_VARIABLE, "")
    if named:
        program = shutil.which(named)
        if program is None:
            raise HostError(f"${BROWSER_VARIABLE}", "a program that can be run", named, _FIX)
        return program
    for name in _NAMES:
        if program := shutil.which(name):
            return program
    raise HostError("pictures", "a Chromium or Chrome on PATH, which draws them", "none", _FIX)


class Browser:
    """A context that evaluates JavaScript in one empty page."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._profile = ""
        self._log: Any = None
        self._to = self._from = -1
        self._unread = bytearray()
        self._number = 0
        self._session = ""

    def __enter__(self) -> Browser:
        try:
            self._start()
            deadline = time.monotonic() + _START_S
            target = self._ask("Target.createTarget", {"url": "about:blank"}, deadline)["targetId"]
            attached = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True}, deadline)
            self._session = attached["sessionId"]
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression, awaited if it is a promise; None if JSON cannot represent it.

        Raises:
            HostError: the script throws, or the browser exits or does not answer.
        """
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if thrown := answer.get("exceptionDetails"):
            told = thrown.get("exception", {}).get("description") or thrown.get("text", "")
            raise self._error("a figure that can be drawn", str(told).splitlines()[0][:300])
        return answer["result"].get("value")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the result of a command of the Chrome DevTools Protocol for the page.

        Raises:
            HostError: the browser rejects the command, exits or does not answer.
        """
        return self._ask(method, parameters, time.monotonic() + _ANSWER_S)

    def _start(self) -> None:
        self._profile = tempfile.mkdtemp(prefix="regatta-browser-")
        self._log = open(Path(self._profile) / "stderr", "w+b")  # noqa: SIM115 closed by _end
        command = [self._program, *_FLAGS, f"--user-data-dir={self._profile}"]
        if os.geteuid() == 0:
            # Chromium refuses to run as root with its sandbox. The page contains only figures made here.
            command.append("--no-sandbox")
        theirs_in, self._to = _high_pipe()
        self._from, theirs_out = _high_pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-c", _TRAMPOLINE, str(theirs_in), str(theirs_out), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._log,
                pass_fds=(theirs_in, theirs_out),
                start_new_session=True,
                cwd=self._profile,
            )
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        os.set_blocking(self._to, False)

    def _ask(self, method: str, parameters: dict[str, Any], deadline: float) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._send(json.dumps(message).encode() + b"\0", deadline)
        while True:
            answer = json.loads(self._receive(deadline))
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise self._error("an answer", str(answer["error"].get("message", ""))[:300])
                return dict(answer["result"])

    def _send(self, message: bytes, deadline: float) -> None:
        rest = memoryview(message)
        while rest:
            self._wait([], [self._to], deadline)
            try:
                rest = rest[os.write(self._to, rest[: 1 << 16]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._error("to be listened to", self._last_words()) from error

    def _receive(self, deadline: float) -> bytes:
        while (end := self._unread.find(b"\0")) < 0:
            self._wait([self._from], [], deadline)
            chunk = os.read(self._from, 1 << 20)
            if not chunk:
                raise self._error("an answer", self._last_words())
            self._unread += chunk
        message = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return message

    def _wait(self, readers: list[int], writers: list[int], deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0 or not any(select.select(readers, writers, [], left)):
            raise self._error("an answer in time", f"silence; {self._last_words()}")

    def _last_words(self) -> str:
        """Return the last line of the browser's output, for a message."""
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
        with contextlib.suppress(OSError):
            self._log.seek(0)
            lines = self._log.read()[-4000:].decode(errors="replace").split("\n")
            said = [line.strip() for line in lines if line.strip()]
            if said:
                return f"it said {said[-1][:300]!r}"
        return "it ended without a word"

    def _error(self, expected: str, got: str) -> HostError:
        return HostError(f"browser {self._program}", expected, got, _FIX)

    def _end(self) -> None:
        for descriptor in (self._to, self._from):
            if descriptor >= 0:
                os.close(descriptor)
        self._to = self._from = -1
        if self._process is not None:
            # The end of the pipe asks the browser to exit. If it does not, its process group is killed, with all remaining
            # children.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._log is not None:
            self._log.close()
        if self._profile:
            shutil.rmtree(self._profile, ignore_errors=True)


def _high_pipe() -> tuple[int, int]:
    """Return a pipe whose ends are above the descriptors that the browser reads and writes."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high[0], high[1]
