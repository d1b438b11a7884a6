"""Processes of this machine behind the interface of a host: where file system and processes are shared anyway."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from regatta.errors import HostError
from regatta.fleet.remote.base import MAXIMUM_ANSWER_BYTES, Answer, Remote, Unreachable
from regatta.store.folder import replacing

#: of what it told, the end
_TOLD_BYTES = 65536


class Here(Remote):
    """This machine."""

    def run(self, argv: Sequence[str], stdin: bytes | Path = b"", timeout_s: float = 600.0) -> Answer:
        """See `Remote.run`."""
        return run_bounded(self.host.name, list(argv), stdin, timeout_s)

    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        """See `Remote.open`."""
        return subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def put(self, source: Path, target: str) -> None:
        """See `Remote.put`."""
        with replacing(Path(target)) as temporary:
            shutil.copyfile(source, temporary)

    def get(self, source: str, target: Path, maximum_bytes: int) -> None:
        """See `Remote.get`."""
        try:
            size = os.stat(source).st_size
        except OSError as error:
            raise HostError(f"{self.host.name}: {source}", "a file", str(error.strerror)) from error
        if size > maximum_bytes:
            raise HostError(f"{self.host.name}: {source}", f"at most {maximum_bytes} bytes", f"{size} bytes")
        with replacing(target) as temporary:
            shutil.copyfile(source, temporary)


def run_bounded(where: str, argv: list[str], stdin: bytes | Path, timeout_s: float) -> Answer:
    """Run a process of this machine to its end, reading no more of it than an answer may have.

    Raises:
        Unreachable: it cannot be started or does not end in time.
        HostError: it prints too much.
    """
    with _readable(stdin) as source, tempfile.TemporaryFile() as told:
        try:
            # In a session of its own: what ends the workflow reaches us, who then tell the host.
            process = subprocess.Popen(
                argv, stdin=source, stdout=subprocess.PIPE, stderr=told, start_new_session=True
            )
        except OSError as error:
            fix = f"install {argv[0]}"
            raise Unreachable(where, f"`{argv[0]}` to start", str(error.strerror), fix) from error
        # What is read later than its time is up comes to its end by the kill.
        late = threading.Event()

        def kill() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(timeout_s, kill)
        timer.start()
        output = process.stdout
        assert output is not None
        try:
            out = output.read(MAXIMUM_ANSWER_BYTES + 1)
            if len(out) <= MAXIMUM_ANSWER_BYTES:
                process.wait()
        finally:
            timer.cancel()
            process.kill()
            process.wait()
            output.close()
        if len(out) > MAXIMUM_ANSWER_BYTES:
            limit = f"an answer of at most {MAXIMUM_ANSWER_BYTES >> 20} MiB"
            raise HostError(where, limit, "more", "do not trust this host before you know why")
        if late.is_set():
            fix = "see whether it is up"
            raise Unreachable(where, f"an answer within {timeout_s:g} s", "none", fix)
        size = told.seek(0, os.SEEK_END)
        told.seek(max(0, size - _TOLD_BYTES))
        return Answer(process.returncode, out, told.read().decode("utf-8", "replace"))


@contextmanager
def _readable(stdin: bytes | Path) -> Iterator[IO[bytes]]:
    """What a process reads, as a file."""
    if isinstance(stdin, Path):
        with stdin.open("rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        yield file
