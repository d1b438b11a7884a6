"""Processes of this machine behind the interface of a host: where file system and processes are shared anyway."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from regatta.errors import HostError
from regatta.fleet.remote.base import MAXIMUM_ANSWER_BYTES, Answer, Remote, Unreachable
from regatta.store.folder import replacing


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


def run_bounded(
    where: str,
    argv: list[str],
    stdin: bytes | Path,
    timeout_s: float,
    environment: dict[str, str] | None = None,
) -> Answer:
    """Run a process of this machine to its end, reading no more of it than an answer may have.

    Raises:
        Unreachable: it cannot be started or does not end in time.
        HostError: it prints too much.
    """
    source = stdin.open("rb") if isinstance(stdin, Path) else None
    try:
        process = subprocess.Popen(
            argv,
            stdin=source if source is not None else subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        raise Unreachable(
            where, f"`{argv[0]}` to start", str(error.strerror), f"install {argv[0]}"
        ) from error
    finally:
        if source is not None:
            source.close()
    try:
        given = stdin if isinstance(stdin, bytes) and stdin else None
        out, err = process.communicate(given, timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise Unreachable(
            where, f"an answer within {timeout_s:g} s", "none", "see whether it is up"
        ) from error
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    if len(out) > MAXIMUM_ANSWER_BYTES:
        raise HostError(
            where, f"an answer of at most {MAXIMUM_ANSWER_BYTES >> 20} MiB", f"{len(out) >> 20} MiB"
        )
    return Answer(process.returncode, out, err[-65536:].decode("utf-8", "replace"))
