"""Running a helper program (a package manager, a build, a JVM that is asked something) and telling why it failed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from regatta.errors import HostError


def run_command(
    argv: Sequence[str],
    what: str,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 1800,
    fix: str = "",
) -> str:
    """Run a program to its end; no shell reads its arguments.

    Returns:
        Its standard output and error.

    Raises:
        HostError: it cannot be started, fails, or takes too long; the last lines of its output are told.
    """
    try:
        done = subprocess.run(
            list(argv),
            cwd=directory,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise HostError(
            what, f"the program {argv[0]}", "it is not installed", fix or f"install {argv[0]}"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise HostError(what, f"an end within {timeout_s:g} s", "none", fix) from error
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        tail = "\n    ".join([line for line in text.splitlines() if line.strip()][-8:])
        raise HostError(what, f"`{' '.join(argv)}` to succeed", f"exit {done.returncode}\n    {tail}", fix)
    return text
