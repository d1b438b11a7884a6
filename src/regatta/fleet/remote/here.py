"""Processes of this machine behind the interface of a host, for shared file systems and processes."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from regatta.fleet.remote.base import (
    KEPT_TOLD_BYTES,
    MAXIMUM_ANSWER_BYTES,
    MAXIMUM_TOLD_BYTES,
    Answer,
    Remote,
    Unreachable,
    distrusted,
)
from regatta.host.errors import HostError
from regatta.store.folder import replacing

_LOOK_S = 0.02
_PIECE_BYTES = 65_536


class Here(Remote):
    """This machine."""

    def run(self, argv: Sequence[str], stdin: bytes | Path = b"", timeout_s: float = 600.0) -> Answer:
        return run_bounded(self.host.name, list(argv), stdin, timeout_s)

    def words(self, argv: Sequence[str]) -> list[str]:
        return list(argv)

    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def put(self, source: Path, target: str) -> None:
        with replacing(Path(target)) as temporary:
            shutil.copyfile(source, temporary)

    def get(self, source: str, target: Path, maximum_bytes: int) -> None:
        try:
            size = os.stat(source).st_size
        except OSError as error:
            raise HostError(f"{self.host.name}: {source}", "a file", str(error.strerror)) from error
        if size > maximum_bytes:
            raise HostError(f"{self.host.name}: {source}", f"at most {maximum_bytes} bytes", f"{size} bytes")
        with replacing(target) as temporary:
            shutil.copyfile(source, temporary)


def run_bounded(where: str, argv: list[str], stdin: bytes | Path, timeout_s: float) -> Answer:
    """Run a local process to its end, and limit its output to the size of an answer.

    Raises:
        Unreachable: it cannot be started or exceeds the timeout.
        HostError: its output is too large.
    """
    with _readable(stdin) as source:
        try:
            # A separate session: signals that end the workflow reach this process, which then stops the host.
            process = subprocess.Popen(
                argv, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            fix = f"install {argv[0]}"
            raise Unreachable(where, f"`{argv[0]}` to start", str(error.strerror), fix) from error
        try:
            out, told = _read_both(process, where, timeout_s)
        finally:
            process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        return Answer(process.returncode, out, told.decode("utf-8", "replace"))


def _read_both(process: subprocess.Popen[bytes], where: str, timeout_s: float) -> tuple[bytes, bytes]:
    """Return standard output and the end of standard error, once the process has ended.

    Standard error is not read to its end: ssh leaves it open in its shared connection.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = time.monotonic() + timeout_s
    out, told = bytearray(), bytearray()
    told_bytes = 0
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, out)
        selector.register(process.stderr, selectors.EVENT_READ, told)
        os.set_blocking(process.stderr.fileno(), False)
        answering = True
        while answering or process.poll() is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise Unreachable(
                    where, f"an answer within {timeout_s:g} s", "none", "check that it is running"
                )
            if not selector.get_map():
                time.sleep(min(left_s, _LOOK_S))
            for key, _ in selector.select(left_s if answering else min(left_s, _LOOK_S)):
                data = os.read(key.fd, _PIECE_BYTES)
                key.data.extend(data)
                if not data:
                    selector.unregister(key.fileobj)
                    answering = answering and key.data is not out
                if key.data is told:
                    told_bytes += len(data)
                    del told[:-KEPT_TOLD_BYTES]
            if len(out) > MAXIMUM_ANSWER_BYTES:
                raise distrusted(where, f"an answer of at most {MAXIMUM_ANSWER_BYTES >> 20} MiB", "more")
            if told_bytes > MAXIMUM_TOLD_BYTES:
                raise distrusted(where, f"messages of at most {MAXIMUM_TOLD_BYTES >> 20} MiB", "more")
        with suppress(BlockingIOError):
            told += os.read(process.stderr.fileno(), KEPT_TOLD_BYTES)
    return bytes(out), bytes(told[-KEPT_TOLD_BYTES:])


@contextmanager
def _readable(stdin: bytes | Path) -> Iterator[IO[bytes]]:
    """Provide the standard input of a process as a file."""
    if isinstance(stdin, Path):
        with stdin.open("rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        yield file
