"""Work on outside text in a child process with limits of time and memory: a pattern of a spec can take for ever.

A pattern that backtracks runs inside one call of C code, which neither a signal handler nor a thread can end.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable
from typing import Any

#: of processor time; most patterns read a megabyte in milliseconds
LIMIT_S = 5
#: of time, for hosts on which the child waits for a processor
_PATIENCE_S = 6 * LIMIT_S
#: beyond what the runner itself has
_MEMORY_BYTES = 512 << 20
_ANSWER_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20
_OUT_OF_MEMORY, _FAULT = 3, 4
_LONGEST_FAULT = 200


class OverLimit(Exception):
    """The work did not end well; the message says which limit it reached, or what was wrong."""


def bounded(work: Callable[[], Any], limit_s: int = LIMIT_S) -> Any:
    """Do work in a child process.

    Args:
        work: returns something that JSON can hold; what else it does is lost with the child.
        limit_s: processor time, in whole seconds.

    Returns:
        what the work returned, after a way through JSON.

    Raises:
        OverLimit: the work took too long, or too much memory.
        OSError: there is no room for another process.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(work, writer, limit_s)
    os.close(writer)
    ended = too_long = False
    try:
        data, too_long = _answer(reader, time.monotonic() + _PATIENCE_S)
        ended = data is not None
    finally:
        os.close(reader)
        if not ended:
            os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    if data is None and too_long:
        raise OverLimit(f"its answer has more than {_ANSWER_BYTES >> 20} MiB")
    if data is None or os.WIFSIGNALED(status):
        raise OverLimit(f"it takes more than {limit_s} s")
    code = os.WEXITSTATUS(status)
    if code == _OUT_OF_MEMORY:
        raise OverLimit(f"it takes more than {_MEMORY_BYTES >> 20} MiB of memory")
    if code != 0:
        raise OverLimit(data.decode(errors="replace") or f"an end with exit code {code}")
    return json.loads(data)


def _answer(reader: int, deadline: float) -> tuple[bytes | None, bool]:
    """All that the child wrote, or None where it did not end in time or wrote too much; whether it wrote too much."""
    data = bytearray()
    waiting = select.poll()
    waiting.register(reader, select.POLLIN)
    while len(data) <= _ANSWER_BYTES and waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
        part = os.read(reader, _CHUNK_BYTES)
        if not part:
            return bytes(data), False
        data += part
    return None, len(data) > _ANSWER_BYTES


def _child(work: Callable[[], Any], writer: int, limit_s: int) -> None:
    """Never returns. Keeps nothing open: a lock must not outlive the runner in it."""
    status = 1
    try:
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) != writer:
                # The one that listed them is closed already.
                with contextlib.suppress(OSError):
                    os.close(int(name))
        with open("/proc/self/statm", "rb") as file:
            own = int(file.read().split()[0]) * resource.getpagesize()
        for which, value in ((resource.RLIMIT_CPU, limit_s), (resource.RLIMIT_AS, own + _MEMORY_BYTES)):
            hard = resource.getrlimit(which)[1]
            # The hard limit too: at the soft one a process ends with a core dump, which would disturb what is measured next.
            least = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(which, (least, least))
        data = memoryview(json.dumps(work()).encode())
        while data:
            data = data[os.write(writer, data) :]
        status = 0
    except MemoryError:
        status = _OUT_OF_MEMORY
    except Exception as error:
        status = _FAULT
        os.write(writer, f"{type(error).__name__}: {error}"[:_LONGEST_FAULT].encode(errors="replace"))
    finally:
        os._exit(status)
