"""Process external text in a child process with limits of time and memory: a regular expression of a spec may never end.

A backtracking pattern runs inside one call of C code, which neither a signal handler nor a thread can stop.
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

#: of processor time; most patterns process a megabyte in milliseconds
LIMIT_S = 5
#: of wall time, for hosts on which the child waits for a processor
_PATIENCE_S = 6 * LIMIT_S
#: in addition to the memory of the runner
_MEMORY_BYTES = 512 << 20
_ANSWER_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20
_OUT_OF_MEMORY, _FAULT = 3, 4
_LONGEST_FAULT = 200


class OverLimit(Exception):
    """The work failed. The message names the exceeded limit or the error."""


def bounded(work: Callable[[], Any], limit_s: int = LIMIT_S) -> Any:
    """Do work in a child process.

    Args:
        work: returns a JSON value; its side effects are lost with the child.
        limit_s: processor time, in whole seconds.

    Returns:
        The result of the work, encoded to and decoded from JSON.

    Raises:
        OverLimit: the work exceeded a limit or failed.
        OSError: no further process can be created.
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
        raise OverLimit(f"result larger than {_ANSWER_BYTES >> 20} MiB")
    if data is None or os.WIFSIGNALED(status):
        raise OverLimit(f"runs longer than {limit_s} s")
    code = os.WEXITSTATUS(status)
    if code == _OUT_OF_MEMORY:
        raise OverLimit(f"uses more than {_MEMORY_BYTES >> 20} MiB of memory")
    if code != 0:
        raise OverLimit(data.decode(errors="replace") or f"exit code {code}")
    return json.loads(data)


def _answer(reader: int, deadline: float) -> tuple[bytes | None, bool]:
    """Return the output of the child, or None on a timeout or too much output; and whether the output was too large."""
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
    """Never return. Close all inherited files, because a lock in the child must not outlive the runner."""
    status = 1
    try:
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) != writer:
                # The descriptor that listed the folder is closed already.
                with contextlib.suppress(OSError):
                    os.close(int(name))
        with open("/proc/self/statm", "rb") as file:
            own = int(file.read().split()[0]) * resource.getpagesize()
        for which, value in ((resource.RLIMIT_CPU, limit_s), (resource.RLIMIT_AS, own + _MEMORY_BYTES)):
            hard = resource.getrlimit(which)[1]
            # Set the hard limit too: at the soft limit the process dumps core, which would disturb the next measurement.
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
